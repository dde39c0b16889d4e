"""Every request: HTTP, bodies, errors, ids, methods (contract section 7)."""

import asyncio
import gzip
import json
import logging
import re
from collections.abc import AsyncIterator

import httpx
import pytest
from aiohttp import web
from tests.contract.conftest import Api, StartApi, definition, shared_api
from tests.contract.executor_client import error_of

from checklist_api.http.server import ApiRunner
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
        for body in (b"", b"[]", b'{"name": 1, "name": 2}'):  # all of them: tests/unit/api/test_requests.py
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


SECRET = b"4711-secret"
GET = b"GET /healthz HTTP/1.1\r\nHost: x\r\n"


async def answer_to(api: Api, sent: bytes) -> tuple[str, dict[str, str], bytes]:
    """Status line, headers and body of the only answer; the connection ends with it."""
    host, port = api.base_url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(sent)
    head, _, body = (await asyncio.wait_for(reader.read(), 10)).partition(b"\r\n\r\n")
    writer.close()
    status, *lines = head.decode().split("\r\n")
    return status, dict(line.split(": ", 1) for line in lines), body


NO_HTTP = (
    b"\xff\xd8\xff" + SECRET + b"\r\n\r\n",
    SECRET + b" / HTTP/1.1\r\nHost: x\r\n\r\n" + b"\0",
    GET + b"Authorization: Bearer " + SECRET * 1000 + b"\r\n\r\n",
    GET + SECRET + b"\r\n\r\n",
    b"GET /v1/templates?page=" + SECRET * 1000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
    GET + b"Content-Length: " + SECRET + b"\r\n\r\n",
    GET + b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
)


def refused(answer: tuple[str, dict[str, str], bytes], status: str, code: str) -> None:
    line, headers, body = answer
    document = json.loads(body)
    assert (line.split()[1], document["error"], SECRET in body) == (status, code, False)
    assert set(document) == {"error", "message", "request_id"}
    assert headers["X-Request-Id"] == document["request_id"]
    assert (headers["Server"], headers["Content-Type"]) == ("checklist-dispatch", "application/json")


async def test_invalid_http_is_refused_like_any_error(shared_api: Api, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    for sent in NO_HTTP:
        refused(await answer_to(shared_api, sent), "400", "invalid_parameter")
    assert SECRET.decode() not in caplog.text
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []
    assert [record.message for record in caplog.records].count("http.malformed") == len(NO_HTTP)
    for path, expected in ((b"/v1/runs", SECRET), (b"/nothing", SECRET), (b"/v1/runs", SECRET + b"\xff\xe9")):
        sent = b"POST " + path + b" HTTP/1.1\r\nHost: x\r\nExpect: " + expected + b"\r\nContent-Length: 2\r\n\r\n{}"
        refused(await answer_to(shared_api, sent), "417", "expectation_failed")


async def test_a_request_whose_length_is_too_small_ends_with_its_connection(shared_api: Api) -> None:
    sent = b"POST /v1/runs HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}" + b"\xff\xd8" + SECRET
    status, _, body = await answer_to(shared_api, sent)
    assert status.split()[1] in {"400", "401"}
    assert SECRET not in body
    assert (await shared_api.anonymous.get(f"/v1/runs/{new_id('r')}/preview")).status_code == 404


async def _here(_: web.Request) -> web.Response:
    return web.Response(text="here")


@pytest.fixture
async def runner() -> AsyncIterator[ApiRunner]:
    app = web.Application()
    app.router.add_get("/", _here)
    runner = ApiRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield runner
    await runner.cleanup()


async def test_callers_that_say_nothing_or_never_stop_are_not_waited_for_for_ever(runner: ApiRunner) -> None:
    port = runner.addresses[0][1]
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", trust_env=False) as http, asyncio.timeout(60):
        await runner.drain(idle_for_s=60, within_s=60)  # there is no connection
        await http.get("/")
        await runner.drain(idle_for_s=0.1, within_s=60)
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET / HTTP/1.1\r\n")
        await runner.drain(idle_for_s=60, within_s=0.2)
        writer.close()
