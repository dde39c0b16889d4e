"""Servers that are slow, broken or malicious: each ends in one word, in time, and with little memory."""

import asyncio
import contextlib
import json
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from tests.generation.conftest import StartModel
from tests.generation.model_server import (
    TEMPLATE,
    Behaviour,
    ModelServer,
    completion,
    dribbles,
    fails,
    floods_headers,
    gzip_bomb,
    model_server,
    raw,
    redirect,
    response,
    says,
    stays_silent,
    streams_without_end,
)
from tests.waiting import eventually

from checklist_api.generation.language_model.failures import Reason
from checklist_dev.system.ports import free_ports

Elsewhere = Callable[[Behaviour], Awaitable[ModelServer]]

GOOD = response(completion(json.dumps(TEMPLATE)))


@pytest.fixture
async def elsewhere() -> AsyncIterator[Elsewhere]:
    """`await elsewhere(says(...))`: a second server, which should perhaps not be asked."""
    async with contextlib.AsyncExitStack() as stack:
        yield lambda behaviour: stack.enter_async_context(model_server(behaviour))


@pytest.mark.parametrize(
    ("behaviour", "reason", "requests"),
    [
        (fails("500 Internal Server Error"), Reason.ERROR, 4),
        (fails("503 Service Unavailable", Retry_After="3600"), Reason.ERROR, 1),
        (fails("429 Too Many Requests", Retry_After="0"), Reason.RATE_LIMITED, 2),
        (fails("429 Too Many Requests", Retry_After="Sat, 21 Nov 2026 14:50:00 GMT"), Reason.RATE_LIMITED, 1),
        (fails("429 Too Many Requests", Retry_After="soon, I promise"), Reason.RATE_LIMITED, 2),
        (fails("402 Payment Required"), Reason.RATE_LIMITED, 1),
        (fails("401 Unauthorized"), Reason.UNAUTHORIZED, 1),
        (fails("404 Not Found"), Reason.ERROR, 1),
        (raw(response(b"<html><body>Welcome</body></html>", Content_Type="text/html")), Reason.ERROR, 1),
        (raw(response(b'{"choices": []}')), Reason.ERROR, 1),
        (raw(response(b'{"choices": [{"message": "hi"}]}')), Reason.ERROR, 1),
        (raw(response(b'{"error": {"message": "overloaded"}}')), Reason.ERROR, 1),
        (raw(response(b'{"choices":' + b"[" * 100_000)), Reason.ERROR, 1),
        (says(None, refusal="I would rather not."), Reason.REFUSED, 1),
        (says("", finish="content_filter"), Reason.REFUSED, 1),
        (raw(GOOD[:-50]), Reason.ERROR, 1),
        (raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"), Reason.ERROR, 1),
        (raw(gzip_bomb()), Reason.ERROR, 1),
        (raw(response(b"", Content_Length="99999999999")), Reason.TOO_LARGE, 1),
        (streams_without_end, Reason.TOO_LARGE, 1),
        (floods_headers, Reason.ERROR, 1),
    ],
)  # fmt: skip
async def test_every_fault_has_its_word(model: StartModel, behaviour: Any, reason: Reason, requests: int) -> None:
    async with model(behaviour) as it:
        assert await it.fails() is reason
        assert len(it.server.asked) == requests
        assert it.counted("checklists_model_prompts_total", outcome=reason.value) == 1


@pytest.mark.parametrize("behaviour", [streams_without_end, raw(gzip_bomb()), floods_headers])
async def test_what_a_server_pours_out_is_not_kept(model: StartModel, behaviour: Any) -> None:
    async with model(behaviour) as it:
        await it.fails()  # what is made once, as contexts of TLS, is made by now
        tracemalloc.start()
        try:
            await it.fails()
            _, most = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert most < 8 * 1024 * 1024


@pytest.mark.parametrize(
    "behaviour", [stays_silent, dribbles(GOOD, 0.01), dribbles(b"HTTP/1.1 200 OK\r\nX-" * 900, 0.01)]
)
async def test_the_time_for_all_of_it_holds_however_slowly_bytes_come(model: StartModel, behaviour: Any) -> None:
    async with model(behaviour, timeout_s=0.3) as it:
        assert await it.fails() is Reason.TIMEOUT


async def test_the_time_is_for_all_corrections_together(model: StartModel) -> None:
    async def answers_late(asked: Any, writer: Any) -> None:
        await asyncio.sleep(0.2)
        writer.write(response(completion("nonsense")))

    async with model(answers_late, timeout_s=0.5) as it:
        assert await it.fails() is Reason.TIMEOUT, "three answers of 0.2 s would be nonsense after 0.6 s"


async def test_a_passing_failure_is_tried_once_more(model: StartModel) -> None:
    async with model(fails("503 Service Unavailable", Retry_After="0"), says(TEMPLATE)) as it:
        assert (await it.makes()).name == "Cold room check"
        assert len(it.server.asked) == 2


async def test_absent_servers_are_unreachable(model: StartModel, elsewhere: Elsewhere) -> None:
    plain = await elsewhere(fails("400 Bad Request"))
    for url in (f"http://127.0.0.1:{free_ports(1)[0]}", "http://models.invalid", f"https://127.0.0.1:{plain.port}"):
        async with model(says(TEMPLATE), url=f"{url}/v1") as it:
            assert await it.fails() is Reason.UNREACHABLE


async def test_redirects_and_proxies(model: StartModel, elsewhere: Elsewhere, monkeypatch: pytest.MonkeyPatch) -> None:
    other = await elsewhere(says(TEMPLATE))
    async with model(redirect(f"{other.url}/chat/completions")) as it:
        assert await it.fails() is Reason.ERROR
    for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{other.port}")
    async with model(says(TEMPLATE)) as it:
        await it.makes()
    assert other.asked == []
    async with model(says(TEMPLATE), url="http://models.invalid/v1", proxy=f"http://127.0.0.1:{other.port}") as it:
        await it.makes()
    assert [asked.path for asked in other.asked] == ["http://models.invalid/v1/chat/completions"]


async def test_a_caller_that_goes_away_leaves_no_place_taken(model: StartModel) -> None:
    async with model(*[stays_silent] * 4, says(TEMPLATE)) as it:
        gone = [asyncio.create_task(it.makes()) for _ in range(4)]
        await eventually(lambda: len(it.server.asked) == len(gone))
        assert await it.fails() is Reason.BUSY
        for task in gone:
            task.cancel()
        await asyncio.gather(*gone, return_exceptions=True)
        assert (await it.makes()).name == "Cold room check"
