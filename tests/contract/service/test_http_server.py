"""What is no HTTP is refused in the service's own words, and neither repeated nor logged; callers are let go."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator

import httpx
import pytest
from aiohttp import web
from tests.contract.conftest import Api

from checklist_api.http.server import ApiRunner
from checklist_crds.ids import new_id

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
