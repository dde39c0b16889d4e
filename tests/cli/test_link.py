"""`checklist-dispatch link`: prints the link alone, says why a run has none, and repeats no key."""

import json
from functools import partialmethod
from pathlib import Path
from typing import Final

import pytest
from tests.cli.conftest import RUN, Answer, Asked, Capture, Service

from checklist_cli.client import runs as client_runs
from checklist_cli.client.api_key import KEY_VARIABLE
from checklist_cli.client.runs import Runs
from checklist_cli.program import main

KEY: Final = "cds_live_of_the_test"
LINK: Final = f"https://checklists.example/r/{RUN}#token"


@pytest.fixture(autouse=True)
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The key is in the environment, and pauses take no time: how long they would have been."""
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    monkeypatch.delenv("CHECKLISTS_BASE_URL", raising=False)
    pauses: list[float] = []
    monkeypatch.setattr(Runs, "__init__", partialmethod(Runs.__init__, pause=pauses.append))
    return pauses


def answers(status: int = 200, **body: object) -> Answer:
    return Answer(json.dumps(body).encode(), status)


def error(status: int, code: str, message: str, **headers: str) -> Answer:
    answer = answers(status, error=code, message=message)
    answer.headers = {name.replace("_", "-"): value for name, value in headers.items()}
    return answer


def link(service: Service, *arguments: str) -> int:
    return main(["link", RUN, "--server", service.url, *arguments])


def test_it_prints_the_link_alone_or_all_that_the_service_answers(
    service: Service, capsys: Capture, tmp_path: Path
) -> None:
    service.answers = [answers(link=LINK, expires_at="2026-11-22T13:50:00.000Z")]
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
        (error(409, "run_closed", "It is over."), 1),
        (error(410, "run_expired", "It is over."), 1),
        (error(409, "run_not_admitted", "It is over."), 1),
        (error(404, "run_not_found", "It is over."), 2),
        (error(401, "unauthorized", "It is over."), 2),
        (error(500, "internal_error", "It is over."), 2),
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
    busy = [error(429, "rate_limited", "Too many.", Retry_After="7"), error(503, "service_unavailable", "Later.")]
    service.answers = [*busy, answers(link=LINK, expires_at=None)]
    assert link(service) == 0
    assert (capsys.readouterr().out, slept) == (f"{LINK}\n", [7.0, 2.0])
    service.answers = [error(503, "service_unavailable", "Later.")]
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
    service.answers = [answers(link="https://a.example/\x1b[2J", expires_at=None)]
    assert link(service) == 0
    assert "\x1b" not in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["r-1"], []])
def test_wrong_usage_asks_nothing(service: Service, arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["link", *arguments, "--server", service.url])
    assert ended.value.code == 2
    assert service.asked == []


def test_it_needs_to_know_which_service(capsys: Capture) -> None:
    assert main(["link", RUN]) == 2
    assert "--server" in capsys.readouterr().err
