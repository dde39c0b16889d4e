"""`checklist-dispatch link`: prints the link alone, says why a run has none, and repeats no key."""

import json
from functools import partialmethod
from pathlib import Path

import pytest
from tests.cli.conftest import KEY, LINK, RUN, Answer, Asked, Capture, Service, refused, said

from checklist_cli.client import runs as client_runs
from checklist_cli.client.api_key import KEY_VARIABLE
from checklist_cli.client.runs import Runs
from checklist_cli.program import main


@pytest.fixture(autouse=True)
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The key is in the environment, and pauses take no time: how long they would have been."""
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    monkeypatch.delenv("CHECKLISTS_BASE_URL", raising=False)
    pauses: list[float] = []
    monkeypatch.setattr(Runs, "__init__", partialmethod(Runs.__init__, pause=pauses.append))
    return pauses


def link(service: Service, *arguments: str) -> int:
    return main(["link", RUN, "--server", service.url, *arguments])


def test_it_prints_the_link_alone_or_all_that_the_service_answers(
    service: Service, capsys: Capture, tmp_path: Path
) -> None:
    service.answers = [said({"link": LINK, "expires_at": "2026-11-22T13:50:00.000Z"})]
    assert link(service) == 0
    assert capsys.readouterr() == (f"{LINK}\n", "")
    file = tmp_path / "key"
    file.write_text("cds_live_of_the_file\n")
    assert link(service, "-o", "json", "--key-file", str(file)) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed == {"run_id": RUN, "link": LINK, "expires_at": "2026-11-22T13:50:00.000Z"}
    assert service.asked == [
        Asked(f"/v1/runs/{RUN}/link", {}, f"Bearer {key}", None) for key in (KEY, "cds_live_of_the_file")
    ]


@pytest.mark.parametrize(
    ("refusal", "status"),
    [
        (refused(409, "run_closed", "It is over."), 1),
        (refused(410, "run_expired", "It is over."), 1),
        (refused(409, "run_not_admitted", "It is over."), 1),
        (refused(404, "run_not_found", "It is over."), 2),
        (refused(401, "unauthorized", "It is over."), 2),
        (refused(500, "internal_error", "It is over."), 2),
    ],
)
def test_its_status_tells_a_run_without_a_link_from_what_could_not_be_done(
    service: Service, capsys: Capture, slept: list[float], refusal: Answer, status: int
) -> None:
    service.answers = [refusal]
    assert link(service) == status
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("checklist-dispatch link: ")
    assert printed.err.endswith("It is over.\n")
    assert KEY not in printed.err
    assert (len(service.asked), slept) == (1, [])


def test_a_busy_service_is_asked_again_and_a_silent_one_five_times(
    service: Service, capsys: Capture, slept: list[float]
) -> None:
    busy = [refused(429, "rate_limited", "Too many.", Retry_After="7"), refused(503, "service_unavailable", "Later.")]
    service.answers = [*busy, said({"link": LINK, "expires_at": None})]
    assert link(service) == 0
    assert (capsys.readouterr().out, slept) == (f"{LINK}\n", [7.0, 2.0])
    service.answers = [refused(503, "service_unavailable", "Later.")]
    assert link(service) == 2
    assert "503: Later." in capsys.readouterr().err
    service.shutdown()
    service.server_close()
    assert link(service) == 2
    assert "does not answer" in capsys.readouterr().err
    assert len(slept) == 2 + 2 * (client_runs.ATTEMPTS - 1)


@pytest.mark.parametrize("content", [b"<html>", b"[]", b'{"link": 1}'])
def test_what_is_no_answer_of_the_service_is_refused(service: Service, capsys: Capture, content: bytes) -> None:
    service.answers = [Answer(content)]
    assert link(service) == 2
    assert capsys.readouterr().out == ""


def test_a_strange_link_moves_no_cursor(service: Service, capsys: Capture) -> None:
    service.answers = [said({"link": "https://a.example/\x1b[2J", "expires_at": None})]
    assert link(service) == 0
    assert "\x1b" not in capsys.readouterr().out
