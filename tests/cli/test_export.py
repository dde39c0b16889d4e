"""`checklist-dispatch export`: a file is whole or not there, and the key is nowhere but in the request."""

import io
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import KEY, RUN, Answer, Asked, Capture, Service, refused

from checklist_cli.client.api_key import KEY_VARIABLE
from checklist_cli.client.connection import client_of
from checklist_cli.client.export_download import ATTEMPTS, Download, File
from checklist_cli.console.progress import Progress
from checklist_cli.program import main


@pytest.fixture(autouse=True)
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The key is in the environment, and pauses take no time: how long they would have been."""
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    monkeypatch.delenv("CHECKLISTS_BASE_URL", raising=False)
    pauses: list[float] = []
    made = Download.__init__

    def without_pauses(self: Download, client: object, progress: Progress) -> None:
        made(self, client, progress, pause=pauses.append)  # type: ignore[arg-type]

    monkeypatch.setattr(Download, "__init__", without_pauses)
    return pauses


def printed_by(monkeypatch: pytest.MonkeyPatch) -> io.BytesIO:
    """What goes to standard output from now on."""
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, write_through=True))
    return raw


@pytest.fixture
def target(tmp_path: Path) -> Path:
    (tmp_path / "exports").mkdir()
    return tmp_path / "exports" / "runs"


def export(service: Service, *arguments: str | Path) -> int:
    return main(["export", "--server", service.url, *map(str, arguments)])


def test_a_file_has_what_the_service_gave_for_the_filters_and_is_for_its_owner_alone(
    service: Service, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filters = {"status": "completed", "template": "t-1", "reference": "=order 7 & more", "rows": "runs"}
    filters |= {"created-after": "2026-11-01T00:00:00Z", "created-before": "2026-12-01T00:00:00Z"}
    arguments = [word for name, value in filters.items() for word in (f"--{name}", value)]
    assert export(service, "--format", "csv", *arguments, "--no-bom", "--to", target) == 0
    assert target.read_bytes() == b"run_id\r\nr-1\r\n"
    assert target.stat().st_mode & 0o777 == 0o600
    assert list(target.parent.iterdir()) == [target]
    query = {
        **{"format": "csv", "status": "completed", "template_id": "t-1", "executor_ref": "=order 7 & more"},
        **{"created_after": filters["created-after"], "created_before": filters["created-before"]},
        **{"rows": "runs", "bom": "false"},
    }
    assert service.asked == [Asked("/v1/exports", query, f"Bearer {KEY}", None)]

    # One run comes as a PDF, and a table on standard output.
    assert export(service, "--format", "pdf", "--run", RUN, "--to", target) == 0
    assert (service.asked[1].path, service.asked[1].query) == (f"/v1/runs/{RUN}/export", {"format": "pdf"})
    printed = printed_by(monkeypatch)
    assert export(service, "--format", "jsonl") == 0
    assert printed.getvalue() == b"run_id\r\nr-1\r\n"


@pytest.mark.parametrize("comes", [True, False])
def test_a_broken_download_begins_again_and_leaves_the_file_of_before(
    service: Service, target: Path, slept: list[float], capsys: Capture, comes: bool
) -> None:
    target.write_text("of yesterday")
    service.answers = [Answer(b"half", breaks=True), *([Answer(b"the whole")] if comes else [])]
    assert export(service, "--format", "csv", "--to", target) == (0 if comes else 2)
    assert target.read_text() == ("the whole" if comes else "of yesterday")
    assert list(target.parent.iterdir()) == [target]
    assert len(service.asked) == (2 if comes else ATTEMPTS)
    assert slept[0] == 2.0
    assert ("the download was interrupted" in capsys.readouterr().err.splitlines()[-1]) is not comes


def test_what_was_printed_in_part_is_not_printed_again(
    service: Service, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    service.answers = [Answer(b"x" * 100_000, breaks=True)]
    printed = printed_by(monkeypatch)
    assert export(service, "--format", "jsonl") == 2
    assert 0 < len(printed.getvalue()) < 100_000
    assert len(service.asked) == 1
    assert "the output is incomplete" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("answers", "status", "pauses", "said"),
    [
        (
            [
                refused(429, "rate_limited", "Other exports are under way", Retry_After="7"),
                refused(503, "service_unavailable"),
                Answer(b"it"),
            ],
            *(0, [7.0, 4.0], "429: Other exports are under way; next attempt in 7 s"),
        ),
        ([refused(401, "unauthorized", "no such key\x1b[2J")], 2, [], "the service answers 401: no such key"),
        (
            [Answer(b"it", headers={"Export-Incomplete": "damaged", "Export-Runs": "1204"})],
            1,
            [],
            "1,204 runs, 2 bytes",
        ),
    ],
    ids=[
        "busy, and asked when it said",
        "refused, and not asked again",
        "damaged runs are missing, which is no success",
    ],
)
def test_what_the_service_answers_decides(
    *,
    service: Service,
    target: Path,
    slept: list[float],
    capsys: Capture,
    answers: list[Answer],
    status: int,
    pauses: list[float],
    said: str,
) -> None:
    service.answers = answers.copy()
    assert export(service, "--format", "csv", "--to", target) == status
    assert (slept, len(service.asked), target.exists()) == (pauses, len(answers), status != 2)
    printed = capsys.readouterr().err
    assert said in printed
    assert "\x1b" not in printed and KEY not in printed


def test_progress_counts_the_lines_that_have_come(service: Service, target: Path) -> None:
    service.answers = [Answer(b"{}\n" * 3, headers={"Export-Runs": "5", "Content-Type": "application/jsonl"})]
    said: list[str] = []

    class Each(Progress):
        def now_and_then(self, text: Callable[[], str]) -> None:
            said.append(text())

    with client_of(service.url, KEY, next_byte_within_s=60) as client:
        Download(client, Each()).run("/v1/exports", {"format": "jsonl"}, File(target))
    assert said == ["0.0 MB, 3 of 5 runs"]


def test_without_a_key_or_a_service_nothing_is_asked(
    service: Service, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    with pytest.raises(SystemExit):  # the command line is no place for a key
        export(service, "--format", "csv", "--key", KEY)
    assert main(["export", "--format", "csv"]) == 2
    monkeypatch.delenv(KEY_VARIABLE)
    assert export(service, "--format", "csv") == 2
    said = capsys.readouterr().err
    assert "unrecognized arguments" in said and "give --server" in said and "no API key" in said
    assert service.asked == []
