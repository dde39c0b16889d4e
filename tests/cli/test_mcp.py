"""`checklist-dispatch mcp`: what it needs to start, and what its tools do when the service fails."""

import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from mcp import Client
from mcp.types import CallToolResult
from tests.cli.conftest import DISPATCHED, KEY, LINK, RUN, TEMPLATE, Answer, Capture, Service, refused, said

from checklist_cli.client.api_key import KEY_VARIABLE
from checklist_cli.client.connection import async_client_of
from checklist_cli.mcp_server import service as mcp_service
from checklist_cli.mcp_server.server import as_text, server_of
from checklist_cli.program import main


class Time:
    """A clock that only pauses advance."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.pauses: list[float] = []

    def now(self) -> float:
        return self.now_s

    async def pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now_s += max(seconds, 0.01)


def run_of(status: str, answered: int = 1) -> dict[str, Any]:
    times = dict.fromkeys(("expires_at", "completed_at", "cancelled_at", "executor_ref"))
    progress = {"total": 3, "answered": answered, "skipped": 0}
    of_template = {"template_id": TEMPLATE, "template_name": "Van"}
    return {"run_id": RUN, "status": status, "progress": progress, "created_at": "now", **of_template, **times}


@asynccontextmanager
async def client(service: Service, time: Time | None = None, *, with_link: bool = False) -> AsyncIterator[Client]:
    time = time or Time()
    async with async_client_of(service.url, KEY, next_byte_within_s=20) as http:
        tools = mcp_service.Service(http, pause=time.pause, now=time.now)
        async with Client(server_of(tools, with_link=with_link)) as connected:
            yield connected


def error_of(result: CallToolResult) -> tuple[str, str]:
    assert result.is_error
    return result.structured_content["error"], result.structured_content["message"]


def test_without_the_extra_it_says_in_one_line_how_to_get_it(
    service: Service, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    monkeypatch.setitem(sys.modules, "mcp", None)
    assert main(["mcp", "--server", service.url]) == 2
    said_text = "checklist-dispatch mcp: needs the extra mcp: pip install 'checklist-dispatch[mcp]'\n"
    assert capsys.readouterr() == ("", said_text)


@pytest.mark.parametrize(
    ("key", "arguments", "message"),
    [
        ("", ["--server", "http://127.0.0.1:1"], "no API key: give --key-file, or set CHECKLISTS_API_KEY"),
        ("two words", ["--server", "http://127.0.0.1:1"], "the given text is not an API key"),
        (KEY, [], "give --server, or set CHECKLISTS_BASE_URL"),
    ],
)
def test_it_does_not_start_without_key_and_server(
    key: str, arguments: list[str], message: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY_VARIABLE, key)
    monkeypatch.delenv("CHECKLISTS_BASE_URL", raising=False)
    assert main(["mcp", *arguments]) == 2
    assert capsys.readouterr() == ("", f"checklist-dispatch mcp: {message}\n")


def test_the_key_is_no_argument(capsys: Capture) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["mcp", "--key", KEY])
    assert ended.value.code == 2
    assert "unrecognized arguments" in capsys.readouterr().err


async def test_a_lost_answer_of_a_dispatch_is_retried_with_the_same_key(service: Service) -> None:
    time = Time()
    service.answers = [Answer(b"{", 201, breaks=True), said(DISPATCHED, 201)]
    async with client(service, time) as connected:
        result = await connected.call_tool("dispatch_run", {"template_id": TEMPLATE})
    assert result.structured_content == {"run_id": RUN, "expires_at": None}
    assert LINK not in result.model_dump_json()
    first, second = [asked.idempotency_key for asked in service.asked]
    assert first and first == second
    assert time.pauses == [0.5]


async def test_a_service_that_stays_away_is_a_tool_error_within_the_bound(service: Service) -> None:
    time = Time()
    service.answers = [refused(503, "service_unavailable")]
    async with client(service, time) as connected:
        result = await connected.call_tool("dispatch_run", {"template_id": TEMPLATE, "idempotency_key": "step-7"})
        assert sum(time.pauses) <= mcp_service.RETRY_WITHIN_S
        assert len(time.pauses) > 3
        code, message = error_of(result)
        assert code == "service_unavailable"
        assert "answers 503: Not now." in message and "idempotency_key step-7" in message
        service.answers = [refused(429, "rate_limited", Retry_After="60")]
        time.pauses.clear()
        code, message = error_of(await connected.call_tool("cancel_run", {"run_id": RUN}))
    assert (code, time.pauses) == ("rate_limited", [])
    assert "try again in 60 s" in message


async def test_a_wait_survives_an_outage_and_ends_at_its_time(service: Service) -> None:
    time = Time()
    lost = Answer(b"{", breaks=True)
    service.answers = [said(run_of("pending", 0)), lost, refused(503, "service_unavailable"), said(run_of("completed"))]
    progress: list[tuple[float, float | None, str | None]] = []

    async def on_progress(done: float, total: float | None, message: str | None) -> None:
        progress.append((done, total, message))

    async with client(service, time) as connected:
        result = await connected.call_tool("wait_for_run", {"run_id": RUN}, progress_callback=on_progress)
        assert (result.structured_content["outcome"], result.structured_content["status"]) == ("ended", "completed")
        assert [(total, text) for _, total, text in progress] == [(30.0, "pending, 0 of 3 steps answered")]
        service.answers = [said(run_of("in_progress"))]
        result = await connected.call_tool("wait_for_run", {"run_id": RUN, "timeout_seconds": 2})
        assert result.structured_content["outcome"] == "still waiting"
        assert result.content[0].text.startswith("Still waiting: in_progress, 1 of 3 steps answered.")
        service.answers = [refused(503, "service_unavailable")]
        code, _ = error_of(await connected.call_tool("wait_for_run", {"run_id": RUN, "timeout_seconds": 5}))
        assert code == "service_unavailable"
    assert {asked.query.get("wait") for asked in service.asked} <= {str(n) for n in range(1, 11)} | {None}


async def test_another_server_than_the_service_is_said(service: Service) -> None:
    service.answers = [said({"hello": "world"}), Answer(b"<html>"), said([])]
    async with client(service) as connected:
        for name, given in (("cancel_run", {"run_id": RUN}), ("list_templates", {}), ("get_answers", {"run_id": RUN})):
            code, message = error_of(await connected.call_tool(name, given))
            assert code == "unexpected_response", name
            assert "check --server" in message


@pytest.mark.parametrize(
    ("name", "given", "path"),
    [
        ("get_answers", {"run_id": "../templates"}, "run_id"),
        ("wait_for_run", {"run_id": RUN, "timeout_seconds": 601}, "timeout_seconds"),
        ("dispatch_run", {"template_id": TEMPLATE, "link": True}, "link"),
        ("dispatch_run", {}, "template_id"),
        ("save_template", {"template": "x"}, "template"),
    ],
)
async def test_wrong_arguments_are_named_and_reach_no_service(
    service: Service, name: str, given: dict[str, Any], path: str
) -> None:
    async with client(service) as connected:
        code, message = error_of(await connected.call_tool(name, given))
    assert code == "invalid_arguments" and message.startswith(f"{path}: ")
    assert service.asked == []


def test_invisible_characters_are_escaped_in_text() -> None:
    hidden = "ok\u200b\u202e\U000e0041 é\n"
    text = as_text({"note": hidden})
    assert json.loads(text) == {"note": hidden}
    assert text == '{"note": "ok\\u200b\\u202e\\udb40\\udc41 é\\n"}'
