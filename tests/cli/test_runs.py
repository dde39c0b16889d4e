"""`checklist-dispatch dispatch`, `wait` and `answers`: one run, whatever is lost, and an exit status for each end."""

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import DISPATCHED, KEY, LINK, RUN, TEMPLATE, Answer, Capture, Service, refused, said

from checklist_cli.client import runs as client_runs
from checklist_cli.client.api_key import KEY_VARIABLE
from checklist_cli.client.connection import client_of
from checklist_cli.client.runs import WAIT_S, Runs
from checklist_cli.console.command import CommandFailed
from checklist_cli.console.progress import Progress
from checklist_cli.program import main
from checklist_cli.receiver.secret_source import VARIABLE


def run_of(status: str = "in_progress", **fields: Any) -> dict[str, Any]:
    progress = {"total": 3, "answered": 1, "skipped": 0}
    return {"run_id": RUN, "status": status, "progress": progress, "answers": {}, **fields}


@pytest.fixture(autouse=True)
def slept(monkeypatch: pytest.MonkeyPatch, service: Service) -> list[float]:
    """Key and service are in the environment, and pauses take no time: how long they would have been."""
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    monkeypatch.setenv("CHECKLISTS_BASE_URL", service.url)
    monkeypatch.delenv(VARIABLE, raising=False)
    pauses: list[float] = []
    made = Runs.__init__

    def without_pauses(self: Runs, client: object, progress: Progress, **given: Any) -> None:
        made(self, client, progress, **{"pause": pauses.append, **given})  # type: ignore[arg-type]

    monkeypatch.setattr(Runs, "__init__", without_pauses)
    return pauses


def test_a_dispatch_sends_what_it_is_given_with_a_new_key_and_prints_run_and_link_once(
    service: Service, capsys: Capture, tmp_path: Path
) -> None:
    service.answers = [said(DISPATCHED, 201)]
    assert main(["dispatch", TEMPLATE]) == 0
    printed = capsys.readouterr()
    assert printed.out.splitlines() == [RUN, LINK]
    assert LINK not in printed.err
    secret = tmp_path / "secret"
    secret.write_text("a secret of the test\n")
    options = ["--ref", "order 7", "--expires", "90m", "--idempotency-key", "step-7", "-o", "json"]
    hook = [
        "--webhook",
        "https://hooks.example.com/",
        "--secret-file",
        str(secret),
        "--events",
        "run.completed, run.expired",
    ]
    assert main(["dispatch", TEMPLATE, *options, *hook]) == 0
    assert json.loads(capsys.readouterr().out) == DISPATCHED
    first, second = service.asked
    assert (first.path, first.body, first.authorization) == ("/v1/runs", {"template_id": TEMPLATE}, f"Bearer {KEY}")
    assert second.body == {
        "template_id": TEMPLATE,
        "executor_ref": "order 7",
        "expires_in_hours": 1.5,
        "webhook": {
            "url": "https://hooks.example.com/",
            "secret": "a secret of the test",
            "events": ["run.completed", "run.expired"],
        },
    }
    assert second.idempotency_key == "step-7"
    main(["dispatch", TEMPLATE])
    assert first.idempotency_key and service.asked[-1].idempotency_key not in (first.idempotency_key, None)


def test_a_dispatch_is_repeated_with_the_same_key_until_its_answer_has_come(
    service: Service, slept: list[float], capsys: Capture
) -> None:
    lost = Answer(b"half", 201, breaks=True)
    service.answers = [
        lost,
        refused(503, "service_unavailable", Retry_After="7"),
        refused(409, "idempotency_in_progress"),
    ]
    service.answers += [said(DISPATCHED, 201)]
    assert main(["dispatch", TEMPLATE]) == 0
    assert len({asked.idempotency_key for asked in service.asked}) == 1
    assert [asked.body for asked in service.asked] == [{"template_id": TEMPLATE}] * 4
    assert slept == [1.0, 7.0, 4.0]
    printed = capsys.readouterr()
    assert printed.out.count(LINK) == 1 and "the answer is lost" in printed.err


def test_a_dispatch_without_an_answer_names_the_key_that_makes_no_second_run(service: Service, capsys: Capture) -> None:
    service.answers = [Answer(b"half", 201, breaks=True)]
    assert main(["dispatch", TEMPLATE]) == 2
    assert len(service.asked) == 5
    assert f"--idempotency-key {service.asked[0].idempotency_key}" in capsys.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (refused(402, "quota_exceeded", "The runs of this month are used up."), "402: The runs of this month"),
        (refused(409, "run_closed"), "409: Not now."),
        (
            said(
                {
                    "error": "validation_failed",
                    "message": "x",
                    "details": [{"path": "webhook.url", "message": "bad\x1b"}],
                },
                422,
            ),
            "422: x (webhook.url: bad",
        ),
        (said(["no run"], 201), "unexpected body"),
    ],
)
def test_a_refused_dispatch_is_not_repeated(service: Service, capsys: Capture, answer: Answer, text: str) -> None:
    service.answers = [answer]
    assert main(["dispatch", TEMPLATE]) == 2
    printed = capsys.readouterr()
    assert text in printed.err and printed.out == ""
    assert "\x1b" not in printed.err and KEY not in printed.err
    assert len(service.asked) == 1


@pytest.mark.parametrize(("status", "code"), [("completed", 0), ("cancelled", 3), ("expired", 4)])
def test_each_end_of_a_run_has_an_exit_status_of_its_own(
    service: Service, capsys: Capture, status: str, code: int
) -> None:
    service.answers = [said(run_of("pending")), said(run_of()), said(run_of()), said(run_of(status))]
    assert main(["wait", RUN]) == code
    printed = capsys.readouterr()
    assert printed.out == f"{RUN} {status}\n"
    assert printed.err.splitlines() == [
        f"{RUN} is pending, 1 of 3 answered",
        f"{RUN} is in_progress, 1 of 3 answered",
    ]
    assert [(asked.path, asked.query) for asked in service.asked] == [(f"/v1/runs/{RUN}", {"wait": str(WAIT_S)})] * 4

    service.answers = [said(DISPATCHED, 201), said(run_of(status, answers={"s-a": {"value": "ü\u202e"}}))]
    assert main(["dispatch", TEMPLATE, "--wait", "-o", "json"]) == code
    out = capsys.readouterr().out
    assert out.isascii()
    dispatched, run = map(json.loads, out.splitlines())
    assert (dispatched, run["status"], run["answers"]["s-a"]["value"]) == (DISPATCHED, status, "ü\u202e")


class Clock:
    """Moves by pauses, and by what the service takes for an answer."""

    def __init__(self, service: Service, *takes_s: float) -> None:
        self.at = 0.0
        self._service = service
        self._takes = list(takes_s)
        self._answered = 0

    def now(self) -> float:
        while self._answered < len(self._service.asked):
            self._answered += 1
            self.at += self._takes.pop(0) if self._takes else 0.0
        return self.at

    def pause(self, seconds: float) -> None:
        self.at += seconds


def waited(service: Service, clock: Clock, timeout_s: float | None) -> dict[str, Any]:
    with client_of(service.url, KEY, next_byte_within_s=60) as client:
        runs = Runs(client, Progress(lambda _: None), pause=clock.pause, now=clock.now)
        return runs.wait(RUN, timeout_s)


def test_a_wait_ends_at_its_time_and_asks_for_no_more_than_is_left(service: Service) -> None:
    service.answers = [said(run_of())]
    assert waited(service, Clock(service, WAIT_S, WAIT_S, 15.5), 2 * WAIT_S + 15.5)["status"] == "in_progress"
    assert [asked.query["wait"] for asked in service.asked] == [str(WAIT_S), str(WAIT_S), "15"]


def test_the_time_that_is_up_has_an_exit_status_and_leaves_the_run_open(
    service: Service, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.answers = [said(run_of())]
    clock = Clock(service, 1.0)
    made = Runs.__init__
    timed: Callable[..., None] = lambda self, client, progress: made(self, client, progress, now=clock.now)  # noqa: E731
    monkeypatch.setattr(Runs, "__init__", timed)
    assert main(["wait", RUN, "--timeout", "1s"]) == 5
    assert capsys.readouterr().out == f"{RUN} in_progress\n"
    assert [asked.path for asked in service.asked] == [f"/v1/runs/{RUN}"]


def test_a_service_that_answers_at_once_is_not_asked_in_a_loop_without_pauses(
    service: Service, slept: list[float]
) -> None:
    service.answers = [said(run_of()), said(run_of()), said(run_of("completed"))]
    assert main(["wait", RUN]) == 0
    assert slept == [1.0, 1.0]


def test_a_wait_outlasts_a_service_that_is_away_for_some_minutes_but_not_for_ever(service: Service) -> None:
    away = refused(503, "service_unavailable")
    service.answers = [away] * 9 + [said(run_of("completed"))]
    assert waited(service, Clock(service), None)["status"] == "completed"
    service.answers = [away]
    clock = Clock(service)
    with pytest.raises(CommandFailed, match="503"):
        waited(service, clock, None)
    assert 600 < clock.at < 640
    with pytest.raises(CommandFailed, match="503"):
        waited(service, clock, 20)
    assert clock.at < 665


def test_a_run_that_is_gone_ends_the_wait(service: Service, capsys: Capture) -> None:
    service.answers = [said(run_of()), refused(404, "run_not_found", "There is no such run.")]
    assert main(["wait", RUN]) == 2
    assert "404: There is no such run." in capsys.readouterr().err


@pytest.mark.parametrize(("number", "cancels"), [(signal.SIGINT, False), (signal.SIGINT, True), (signal.SIGTERM, True)])
@pytest.mark.usefixtures("default_sigint")
def test_an_interruption_leaves_the_run_or_cancels_it(
    service: Service, capsys: Capture, monkeypatch: pytest.MonkeyPatch, number: signal.Signals, cancels: bool
) -> None:
    service.answers = [said(DISPATCHED, 201), said(run_of()), said(run_of("cancelled"))]
    made = Runs.__init__

    def interrupted(self: Runs, client: object, progress: Progress) -> None:
        made(self, client, progress, pause=lambda _: os.kill(os.getpid(), number))  # type: ignore[arg-type]

    monkeypatch.setattr(Runs, "__init__", interrupted)
    handlers = [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)]
    assert main(["dispatch", TEMPLATE, "--wait", *(["--cancel-on-interrupt"] if cancels else [])]) == 130
    assert [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)] == handlers
    paths = [asked.path for asked in service.asked]
    assert paths == ["/v1/runs", f"/v1/runs/{RUN}", *([f"/v1/runs/{RUN}/cancel"] if cancels else [])]
    last = capsys.readouterr().err.splitlines()[-1]
    assert last == (
        f"cancelled {RUN}" if cancels else f"{RUN} is still open; to wait again: checklist-dispatch wait {RUN}"
    )


ANSWERS: dict[str, Any] = {
    "s-clean": {"value": True, "photos": [], "geo": None, "at": "2026-11-21T13:50:00Z", "by": None},
    "s-why": {"value": "grease\x1b[2J\nand \u202emore", "photos": [{"photo_index": 0}], "geo": None},
    "s-photo": {"value": None, "photos": [{"photo_index": 0}, {"photo_index": 1}], "geo": None},
}


@pytest.mark.parametrize(
    ("status", "code"), [("completed", 0), ("pending", 1), ("in_progress", 1), ("cancelled", 3), ("expired", 4)]
)
def test_answers_are_printed_for_people_and_programs_with_the_state_of_the_run(
    service: Service, capsys: Capture, status: str, code: int
) -> None:
    service.answers = [said(run_of(status, answers=ANSWERS))]
    assert main(["answers", RUN]) == code
    printed = capsys.readouterr().out
    assert "\x1b" not in printed and "\u202e" not in printed
    lines = printed.splitlines()
    assert (lines[0], lines[2]) == ("s-clean  true", "s-photo  2 photos")
    assert lines[1].startswith('s-why    "grease\\u001b[2J\\nand ') and lines[1].endswith(", 1 photo")
    assert main(["answers", RUN, "-o", "json"]) == code
    assert json.loads(capsys.readouterr().out) == ANSWERS
    assert service.asked[0].query == {}


def test_the_value_of_one_step_is_printed_for_a_shell_variable(service: Service, capsys: Capture) -> None:
    service.answers = [said(run_of("completed", answers={"s-t": {"value": 4.5}, "s-text": {"value": "all good"}}))]
    for step_id, text in (("s-t", "4.5\n"), ("s-text", "all good\n")):
        assert main(["answers", RUN, "--step", step_id]) == 0
        assert capsys.readouterr().out == text
    assert main(["answers", RUN, "--step", "s-t", "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"value": 4.5}
    assert main(["answers", RUN, "--step", "s-none"]) == 2
    assert "the run has no answer to s-none" in capsys.readouterr().err


def test_what_makes_no_sense_is_refused_before_anything_is_asked(
    service: Service, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    for arguments, why in (
        (["dispatch", TEMPLATE, "--timeout", "1h"], "need --wait"),
        (["dispatch", TEMPLATE, "--cancel-on-interrupt"], "need --wait"),
        (["dispatch", TEMPLATE, "--events", "*"], "need --webhook"),
        (["dispatch", TEMPLATE, "--webhook", "https://hooks.example.com/"], "no secret"),
    ):
        assert main(arguments) == 2
        assert why in capsys.readouterr().err
    for wrong in (
        ["dispatch", "kitchen"],
        ["dispatch", TEMPLATE, "--expires", "4"],
        ["dispatch", TEMPLATE, "--expires", "0h"],
        ["wait", "r-1"],
        ["link", "r-1"],
        ["link"],
        ["wait", RUN, "--timeout", "-1s"],
        ["answers", RUN, "-o", "yaml"],
    ):
        with pytest.raises(SystemExit):
            main(wrong)
    monkeypatch.delenv("CHECKLISTS_BASE_URL")
    for command in (["dispatch", TEMPLATE], ["wait", RUN], ["answers", RUN], ["link", RUN]):
        assert main(command) == 2
        assert "--server" in capsys.readouterr().err
    assert service.asked == []


def test_a_request_that_waits_is_shorter_than_the_time_that_is_allowed_for_its_answer() -> None:
    assert WAIT_S + 10 < client_runs.ANSWER_WITHIN_S
