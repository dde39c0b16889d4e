"""What holds for every request: bodies, errors, ids, methods (contract section 7)."""

import gzip
import json
import re
from collections.abc import AsyncIterator

import pytest
from tests.contract.conftest import Api, StartApi, definition, shared_api
from tests.contract.executor_client import error_of

from checklist_crds.ids import new_id

api = shared_api

WRITES = [
    ("POST", "/v1/templates"),
    ("POST", "/v1/runs"),
    ("POST", "/v1/templates/generate"),
    ("PATCH", f"/v1/templates/{new_id('t')}"),
    ("POST", "/v1/deliveries/replay"),
]
JSON = {"Content-Type": "application/json"}


async def test_a_body_that_is_no_json_object_or_of_another_media_type_is_refused(api: Api) -> None:
    for method, path in WRITES:
        for body in (b"", b"[]", b'{"name": 1, "name": 2}'):  # all of them: tests/unit/api/test_request_body.py
            response = await api.http.request(method, path, content=body, headers=JSON)
            assert error_of(response) == (400, "malformed_json"), (path, body)
        for media_type in (None, "text/plain", "application/x-www-form-urlencoded", "application/jsonp"):
            headers = {"Content-Type": media_type} if media_type else {}
            response = await api.http.request(method, path, content=b"{}", headers=headers)
            assert error_of(response) == (415, "unsupported_media_type"), (path, media_type)
    parameters = {"Content-Type": "application/JSON; charset=utf-8"}
    fine = await api.http.post("/v1/templates", content=json.dumps(definition()), headers=parameters)
    assert fine.status_code == 201


async def test_a_body_beyond_256_kib_is_too_large_and_one_of_just_that_is_not(api: Api) -> None:
    def body(size: int) -> bytes:
        start, end = json.dumps(definition())[:-1].encode() + b', "padding": "', b'"}'
        return start + b"x" * (size - len(start) - len(end)) + end

    async def endless() -> AsyncIterator[bytes]:
        for _ in range(64):
            yield b" " * 65_536

    assert (await api.http.post("/v1/templates", content=body(256 * 1024), headers=JSON)).status_code == 201
    # The size is judged before the content, and whatever the length says.
    for content in (body(256 * 1024 + 1), b"x" * 300_000, endless()):
        refused = await api.http.post("/v1/templates", content=content, headers=JSON)
        assert error_of(refused) == (413, "payload_too_large")


async def test_a_compressed_body_counts_by_what_it_unpacks_to_and_other_encodings_are_415(api: Api) -> None:
    for content, status in (
        (gzip.compress(json.dumps(definition()).encode()), 201),
        (gzip.compress(b" " * 50_000_000), 413),
        (b"no gzip at all", 400),
    ):
        headers = {**JSON, "Content-Encoding": "gzip"}
        assert (await api.http.post("/v1/templates", content=content, headers=headers)).status_code == status
    for encoding in ("br", "zstd", "x-mine", "gzip, gzip", "gzip\xe9"):
        other = {"Content-Encoding": encoding.encode("latin-1"), **JSON}
        for method, path in (*WRITES, ("POST", f"/v1/runs/{new_id('r')}/cancel")):
            refused = await api.http.request(method, path, content=b"{}", headers=other)
            assert error_of(refused) == (415, "unsupported_media_type"), (encoding, path)
            assert refused.headers["Accept-Encoding"] == "gzip, deflate"
    fine = {**JSON, "Content-Encoding": "Identity"}
    assert (await api.http.post("/v1/templates", json=definition(), headers=fine)).status_code == 201


async def test_an_unknown_path_is_404_and_another_method_is_405_with_those_that_there_are(api: Api) -> None:
    for path in ("/v1", "/v1/nothing", "/v2/templates", "/v1/templates/", "/v1/runs/a/b/c"):
        assert error_of(await api.anonymous.get(path)) == (404, "not_found"), path
    for method, path, allowed in (
        ("DELETE", "/v1/templates", {"GET", "HEAD", "POST", "OPTIONS"}),
        ("PUT", "/v1/templates/t-x", {"DELETE", "GET", "HEAD", "OPTIONS", "PATCH"}),
        ("PATCH", "/v1/runs", {"GET", "HEAD", "OPTIONS", "POST"}),
        ("DELETE", "/v1/runs/r-x", {"GET", "HEAD", "OPTIONS"}),
        ("GET", "/v1/runs/r-x/cancel", {"OPTIONS", "POST"}),
        ("POST", "/v1/usage", {"GET", "HEAD", "OPTIONS"}),
        *((method, "/v1/templates/generate", {"OPTIONS", "POST"}) for method in ("GET", "PATCH", "DELETE", "PUT")),
        ("GET", "/v1/deliveries/replay", {"OPTIONS", "POST"}),
    ):
        response = await api.http.request(method, path)
        assert error_of(response) == (405, "method_not_allowed")
        assert set(response.headers["Allow"].split(", ")) == allowed
        options = await api.anonymous.options(path)
        assert (options.status_code, set(options.headers["Allow"].split(", "))) == (204, allowed)


async def test_head_is_get_without_a_body(api: Api) -> None:
    template = await api.account.create_template()
    for path in ("/v1/templates", f"/v1/templates/{template['id']}", "/v1/usage", "/v1/runs"):
        response = await api.http.head(path)
        assert (response.status_code, response.content) == (200, b"")
        assert int(response.headers["Content-Length"]) == len((await api.http.get(path)).content)


async def test_every_answer_bears_a_request_id_and_is_kept_by_no_cache(api: Api) -> None:
    for path, status in (("/v1/templates", 200), ("/v1/nothing", 404), ("/v1/runs/r-x", 404), ("/healthz", 200)):
        response = await api.http.get(path)
        assert response.status_code == status
        assert re.fullmatch(r"req-[0-9a-f]{24}", response.headers["X-Request-Id"])
        assert response.headers["Server"] == "checklist-dispatch"
        if path != "/healthz":
            assert response.headers["Cache-Control"] == "no-store"
        if status != 200:
            assert response.json()["request_id"] == response.headers["X-Request-Id"]
    echo = {"trace-1.2:3_4~5": True, "x" * 128: True, "x" * 129: False, "a b": False, 'a"b': False, "": False}
    for given, echoed in echo.items():
        response = await api.http.get("/v1/templates", headers={"X-Request-Id": given})
        assert (response.headers["X-Request-Id"] == given) is echoed, given


@pytest.mark.parametrize("path", ["/v1/templates", "/v1/runs"])
async def test_a_page_is_a_positive_integer_that_is_cut_to_what_is_allowed(api: Api, path: str) -> None:
    wrong = ("0", "-1", "x", "1.5", "", "1&page=2", "1000001", "9" * 5_000)
    for query in (*(f"page={value}" for value in wrong), "per_page=0", "per_page=ten", "per_page=000"):
        response = await api.http.get(f"{path}?{query}")
        assert error_of(response) == (400, "invalid_parameter"), query
        assert response.json()["details"][0]["path"] == query.partition("=")[0]
    for per_page in ("1000", "0101", "9" * 5_000):
        cut = (await api.http.get(f"{path}?per_page={per_page}")).json()
        assert cut == {"data": [], "pagination": {"total": 0, "page": 1, "per_page": 100, "next_page": None}}
    past = (await api.http.get(f"{path}?page=1000000")).json()
    assert past == {"data": [], "pagination": {"total": 0, "page": 1_000_000, "per_page": 20, "next_page": None}}


async def test_health_readiness_and_metrics_need_no_key(start_api: StartApi) -> None:
    api = await start_api()
    assert (await api.anonymous.get("/healthz")).json() == {"status": "ok"}
    ready = (await api.anonymous.get("/readyz")).json()
    checks = ready.pop("checks")
    assert ready == {"status": "ok", "reasons": [], "notes": []}
    assert {"kubernetes", "runs", "organizations"} <= {check["name"] for check in checks}
    assert all(check == {"name": check["name"], "ok": True, "reason": None} for check in checks)
    await api.account.new_run()
    metrics = (await api.anonymous.get("/metrics")).text
    assert 'checklists_http_requests_total{method="POST",route="/v1/runs",status="201"} 1.0' in metrics
    assert "checklists_runs_dispatched_total 1.0" in metrics
    assert "checklists_kube_up 1.0" in metrics
    assert 'checklists_kube_call_seconds_count{method="POST"}' in metrics


async def test_no_method_path_or_id_of_a_caller_becomes_a_series(api: Api) -> None:
    async def series() -> set[str]:
        text = (await api.anonymous.get("/metrics")).text
        return {line.rpartition(" ")[0] for line in text.splitlines() if line.startswith("checklists_http_")}

    async def ask(word: str) -> None:
        await api.http.get(f"/v1/runs/r-{word}")
        await api.http.get(f"/{word}/{word}?{word}")
        await api.http.request(word.upper(), "/v1/runs")
        await api.http.get("/v1/runs", headers={"Host": f"{word}.example", "X-Request-Id": word})

    words = ("almond", "walnut", "cashew", "hazel")
    await ask(words[0])
    await series()  # which is a route, too
    before = await series()
    for word in words[1:]:
        await ask(word)
    after = await series()
    assert after == before
    assert not any(word in line.lower() for line in after for word in words)
