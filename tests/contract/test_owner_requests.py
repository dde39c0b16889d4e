"""What holds for every request: bodies, errors, ids, methods (contract section 7)."""

import gzip
import json
import re

import pytest

from checklist_crds.ids import new_id

from .conftest import Api, definition

WRITES = [
    ("POST", "/v1/templates"),
    ("POST", "/v1/runs"),
    ("POST", "/v1/templates/generate"),
    ("PATCH", "/v1/templates/{id}"),
]


@pytest.mark.parametrize(("method", "path"), WRITES)
@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"\xff\xfe", b'{"name": 1, "name": 2}', b'{"name": NaN}', b"nul"])
async def test_a_body_that_is_no_json_object_is_malformed(api: Api, method: str, path: str, body: bytes) -> None:
    path = path.format(id=new_id("t"))
    response = await api.http.request(method, path, content=body, headers={"Content-Type": "application/json"})
    assert (response.status_code, response.json()["error"]) == (400, "malformed_json")


@pytest.mark.parametrize(("method", "path"), WRITES)
@pytest.mark.parametrize("media_type", [None, "text/plain", "application/x-www-form-urlencoded", "application/jsonp"])
async def test_a_body_of_another_media_type_is_refused(
    api: Api, method: str, path: str, media_type: str | None
) -> None:
    headers = {"Content-Type": media_type} if media_type else {}
    response = await api.http.request(method, path.format(id=new_id("t")), content=b"{}", headers=headers)
    assert (response.status_code, response.json()["error"]) == (415, "unsupported_media_type")


async def test_a_media_type_with_parameters_is_fine(api: Api) -> None:
    response = await api.http.post(
        "/v1/templates",
        content=json.dumps(definition()),
        headers={"Content-Type": "application/JSON; charset=utf-8"},
    )
    assert response.status_code == 201


async def test_a_body_beyond_256_kib_is_too_large_and_one_of_just_that_is_not(api: Api) -> None:
    def body(size: int) -> bytes:
        start, end = json.dumps(definition())[:-1].encode() + b', "padding": "', b'"}'
        return start + b"x" * (size - len(start) - len(end)) + end

    headers = {"Content-Type": "application/json"}
    fits = await api.http.post("/v1/templates", content=body(256 * 1024), headers=headers)
    assert fits.status_code == 201
    refused = await api.http.post("/v1/templates", content=body(256 * 1024 + 1), headers=headers)
    assert (refused.status_code, refused.json()["error"]) == (413, "payload_too_large")


async def test_a_body_without_a_length_is_not_read_beyond_the_limit(api: Api) -> None:
    async def endless() -> object:
        for _ in range(64):
            yield b" " * 65_536

    response = await api.http.post(
        "/v1/templates",
        content=endless(),
        headers={"Content-Type": "application/json"},  # type: ignore[arg-type]
    )
    assert response.status_code == 413


async def test_the_media_type_and_the_size_are_judged_before_the_content(api: Api) -> None:
    response = await api.http.post("/v1/runs", content=b"x" * 300_000, headers={"Content-Type": "application/json"})
    assert response.status_code == 413


@pytest.mark.parametrize("path", ["/v1", "/v1/nothing", "/v2/templates", "/v1/templates/", "/v1/runs/a/b/c"])
async def test_an_unknown_path_is_404(api: Api, path: str) -> None:
    response = await api.anonymous.get(path)
    assert (response.status_code, response.json()["error"]) == (404, "not_found")


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("DELETE", "/v1/templates", {"GET", "HEAD", "POST", "OPTIONS"}),
        ("PUT", "/v1/templates/t-x", {"DELETE", "GET", "HEAD", "OPTIONS", "PATCH"}),
        ("PATCH", "/v1/runs", {"GET", "HEAD", "OPTIONS", "POST"}),
        ("DELETE", "/v1/runs/r-x", {"GET", "HEAD", "OPTIONS"}),
        ("GET", "/v1/runs/r-x/cancel", {"OPTIONS", "POST"}),
        ("POST", "/v1/usage", {"GET", "HEAD", "OPTIONS"}),
    ],
)
async def test_a_method_that_an_address_does_not_take_is_405_with_those_it_does(
    api: Api, method: str, path: str, allowed: set[str]
) -> None:
    response = await api.http.request(method, path)
    assert (response.status_code, response.json()["error"]) == (405, "method_not_allowed")
    assert set(response.headers["Allow"].split(", ")) == allowed
    options = await api.anonymous.options(path)
    assert (options.status_code, set(options.headers["Allow"].split(", "))) == (204, allowed)


async def test_head_is_get_without_a_body(api: Api) -> None:
    template = await api.account.create_template()
    for path in ("/v1/templates", f"/v1/templates/{template['id']}", "/v1/usage", "/v1/runs"):
        response = await api.http.head(path)
        assert (response.status_code, response.content) == (200, b"")
        assert int(response.headers["Content-Length"]) == len((await api.http.get(path)).content)


async def test_every_answer_bears_a_request_id_and_errors_repeat_it(api: Api) -> None:
    for path, status in (("/v1/templates", 200), ("/v1/nothing", 404), ("/v1/runs/r-x", 404), ("/healthz", 200)):
        response = await api.http.get(path)
        assert response.status_code == status
        assert re.fullmatch(r"req-[0-9a-f]{24}", response.headers["X-Request-Id"])
        assert response.headers["Server"] == "checklist-dispatch"
        if status != 200:
            assert response.json()["request_id"] == response.headers["X-Request-Id"]


@pytest.mark.parametrize(
    ("given", "echoed"),
    [("trace-1.2:3_4~5", True), ("x" * 128, True), ("x" * 129, False), ("a b", False), ('a"b', False), ("", False)],
)
async def test_a_well_formed_request_id_is_echoed_and_another_is_not(api: Api, given: str, echoed: bool) -> None:
    response = await api.http.get("/v1/templates", headers={"X-Request-Id": given})
    assert (response.headers["X-Request-Id"] == given) is echoed


async def test_answers_are_json_and_are_kept_by_no_cache(api: Api) -> None:
    for path in ("/v1/templates", "/v1/nothing", "/v1/runs/r-x"):
        response = await api.http.get(path)
        assert response.headers["Content-Type"] == "application/json"
        assert response.headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize("path", ["/v1/templates", "/v1/runs"])
@pytest.mark.parametrize(
    "query",
    [
        "page=0",
        "page=-1",
        "page=x",
        "page=1.5",
        "page=",
        "per_page=0",
        "per_page=ten",
        "page=1&page=2",
        "page=" + "9" * 30,
    ],
)
async def test_a_page_that_is_no_positive_integer_is_refused(api: Api, path: str, query: str) -> None:
    response = await api.http.get(f"{path}?{query}")
    assert (response.status_code, response.json()["error"]) == (400, "invalid_parameter")
    assert response.json()["details"][0]["path"] in ("page", "per_page")


@pytest.mark.parametrize("path", ["/v1/templates", "/v1/runs"])
async def test_a_larger_page_than_allowed_is_cut_and_a_page_past_the_end_is_empty(api: Api, path: str) -> None:
    cut = (await api.http.get(f"{path}?per_page=1000")).json()
    assert cut == {"data": [], "pagination": {"total": 0, "page": 1, "per_page": 100, "next_page": None}}
    past = (await api.http.get(f"{path}?page=999999999")).json()
    assert past == {"data": [], "pagination": {"total": 0, "page": 999999999, "per_page": 20, "next_page": None}}


async def test_health_readiness_and_metrics_need_no_key(api: Api) -> None:
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

    await ask("almond")
    await series()  # which is a route, too
    before = await series()
    for word in ("walnut", "cashew", "hazel"):
        await ask(word)
    after = await series()
    assert after == before
    assert not any(word in line.lower() for line in after for word in ("almond", "walnut", "cashew", "hazel"))


async def test_an_unexpected_failure_is_500_and_tells_nothing_of_its_cause(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: object) -> None:
        raise RuntimeError("the cause, with a secret in it")

    monkeypatch.setattr(api.services.templates, "all_of", broken)
    response = await api.http.get("/v1/templates")
    assert (response.status_code, response.json()["error"]) == (500, "internal_error")
    assert "secret" not in response.text


async def test_a_compressed_body_is_read_and_counts_by_what_it_unpacks_to(api: Api) -> None:
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    good = await api.http.post(
        "/v1/templates", content=gzip.compress(json.dumps(definition()).encode()), headers=headers
    )
    assert good.status_code == 201
    bomb = await api.http.post("/v1/templates", content=gzip.compress(b" " * 50_000_000), headers=headers)
    assert bomb.status_code == 413
    broken = await api.http.post("/v1/templates", content=b"no gzip at all", headers=headers)
    assert (broken.status_code, broken.json()["error"]) == (400, "malformed_json")
