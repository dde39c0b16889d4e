"""`checklist-dispatch export`: a file is whole or not there, and the key is nowhere but in the request."""

import io
import json
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest

from checklist_cli.api_key import KEY_VARIABLE
from checklist_cli.export_download import ATTEMPTS, Download, File, client_of
from checklist_cli.program import main
from checklist_cli.progress import Progress

Capture = pytest.CaptureFixture[str]
KEY = "cds_live_of_the_test_which_nobody_sees"
RUN = "r-0b9c7a52-6f0e-4f58-9a0c-3c1c9a9f2f10"


@dataclass
class Answer:
    """`content` in chunks, the last of which is missing where it `breaks`."""

    content: bytes = b"run_id\r\nr-1\r\n"
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    breaks: bool = False


class Service(ThreadingHTTPServer):
    """Gives one answer after the other, the last one for ever, and keeps what it was asked."""

    daemon_threads = True
    answers: list[Answer]
    asked: list[tuple[str, dict[str, str], str]]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


@pytest.fixture
def service() -> Iterator[Service]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            server.asked.append((parts.path, dict(parse_qsl(parts.query)), self.headers["Authorization"]))
            answer = server.answers.pop(0) if len(server.answers) > 1 else server.answers[0]
            self.send_response(answer.status)
            for name, value in {"Transfer-Encoding": "chunked", **answer.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(b"%x\r\n%b\r\n" % (len(answer.content), answer.content))
            if answer.breaks:
                self.close_connection = True
            else:
                self.wfile.write(b"0\r\n\r\n")

        def log_message(self, *_: object) -> None:
            pass

    server = Service(("127.0.0.1", 0), Handler)
    server.answers, server.asked = [Answer()], []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


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


def export(service: Service, *arguments: str) -> int:
    return main(["export", "--server", service.url, *arguments])


def refused(status: int, message: str = "no", **headers: str) -> Answer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(json.dumps({"error": "x", "message": message}).encode(), status, named)


def test_a_file_has_what_the_service_gave_and_is_for_its_owner_alone(service: Service, tmp_path: Path) -> None:
    target = tmp_path / "runs.csv"
    assert export(service, "--format", "csv", "--to", str(target)) == 0
    assert target.read_bytes() == b"run_id\r\nr-1\r\n"
    assert target.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [target]
    assert service.asked == [("/v1/exports", {"format": "csv"}, f"Bearer {KEY}")]


def test_filters_and_options_of_a_table_are_what_the_service_calls_them(service: Service, tmp_path: Path) -> None:
    arguments = ["--status", "completed", "--template", "t-1", "--reference", "=order 7 & more", "--rows", "runs"]
    times = ["--created-after", "2026-11-01T00:00:00Z", "--created-before", "2026-12-01T00:00:00Z", "--no-bom"]
    assert export(service, "--format", "csv", *arguments, *times, "--to", str(tmp_path / "a")) == 0
    [(_, query, _)] = service.asked
    assert query == {
        "format": "csv",
        "status": "completed",
        "template_id": "t-1",
        "executor_ref": "=order 7 & more",
        "created_after": "2026-11-01T00:00:00Z",
        "created_before": "2026-12-01T00:00:00Z",
        "rows": "runs",
        "bom": "false",
    }


def test_one_run_comes_as_a_pdf(service: Service, tmp_path: Path) -> None:
    service.answers = [Answer(b"%PDF-1.7")]
    assert export(service, "--format", "pdf", "--run", RUN, "--to", str(tmp_path / "run.pdf")) == 0
    assert (tmp_path / "run.pdf").read_bytes() == b"%PDF-1.7"
    assert service.asked[0][:2] == (f"/v1/runs/{RUN}/export", {"format": "pdf"})


def test_without_a_file_it_goes_to_standard_output(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    printed = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(printed, write_through=True))
    assert export(service, "--format", "jsonl") == 0
    assert printed.getvalue() == service.answers[0].content


def test_what_breaks_off_is_begun_anew_and_never_seen(service: Service, tmp_path: Path, slept: list[float]) -> None:
    target = tmp_path / "runs.csv"
    target.write_text("of yesterday")
    service.answers = [Answer(b"half", breaks=True), Answer(b"the whole")]
    assert export(service, "--format", "csv", "--to", str(target)) == 0
    assert target.read_bytes() == b"the whole"
    assert (len(service.asked), slept) == (2, [2.0])
    assert list(tmp_path.iterdir()) == [target]


def test_what_is_never_whole_leaves_the_file_of_before(service: Service, tmp_path: Path, capsys: Capture) -> None:
    target = tmp_path / "runs.csv"
    target.write_text("of yesterday")
    service.answers = [Answer(b"half", breaks=True)]
    assert export(service, "--format", "csv", "--to", str(target)) == 2
    assert target.read_text() == "of yesterday"
    assert list(tmp_path.iterdir()) == [target]
    assert len(service.asked) == ATTEMPTS
    assert "it broke off" in capsys.readouterr().err


def test_what_was_printed_in_part_is_not_printed_again(
    service: Service, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    service.answers = [Answer(b"x" * 100_000, breaks=True)]
    printed = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(printed, write_through=True))
    assert export(service, "--format", "jsonl") == 2
    assert 0 < len(printed.getvalue()) < 100_000
    assert len(service.asked) == 1
    assert "what was printed is not whole" in capsys.readouterr().err


def test_a_service_that_is_busy_is_asked_when_it_said(
    service: Service, tmp_path: Path, slept: list[float], capsys: Capture
) -> None:
    service.answers = [refused(429, "Other exports are under way", Retry_After="7"), refused(503), Answer(b"it")]
    assert export(service, "--format", "jsonl", "--to", str(tmp_path / "a")) == 0
    assert slept == [7.0, 4.0]
    assert "429: Other exports are under way; again in 7 s" in capsys.readouterr().err


def test_what_is_refused_is_not_asked_again(service: Service, tmp_path: Path, capsys: Capture) -> None:
    service.answers = [refused(401, "no such key\x1b[2J")]
    assert export(service, "--format", "csv", "--to", str(tmp_path / "a")) == 2
    said = capsys.readouterr().err
    assert "the service answers 401: no such key" in said
    assert "\x1b" not in said and KEY not in said
    assert len(service.asked) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_lacks_damaged_runs_is_kept_and_is_no_success(
    service: Service, tmp_path: Path, capsys: Capture
) -> None:
    service.answers = [Answer(headers={"Export-Incomplete": "damaged", "Export-Runs": "1204"})]
    assert export(service, "--format", "csv", "--to", str(tmp_path / "a")) == 1
    assert (tmp_path / "a").exists()
    said = capsys.readouterr().err
    assert "1,204 runs, 13 bytes" in said and "damaged" in said


def test_progress_counts_the_lines_that_have_come(service: Service, tmp_path: Path) -> None:
    service.answers = [Answer(b"{}\n" * 3, headers={"Export-Runs": "5", "Content-Type": "application/jsonl"})]
    told: list[str] = []

    class Each(Progress):
        def now_and_then(self, text: Callable[[], str]) -> None:
            told.append(text())

    with client_of(service.url, KEY) as client:
        Download(client, Each()).run("/v1/exports", {"format": "jsonl"}, File(tmp_path / "a"))
    assert told == ["0.0 MB, 3 of 5 runs"]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--format", "pdf"], "--format pdf is of one run: say which with --run"),
        (["--format", "csv", "--run", RUN], "--run goes with --format pdf and json"),
        (["--format", "pdf", "--run", RUN, "--status", "expired"], "filters and options of a table do not go"),
        (["--format", "jsonl", "--rows", "answers"], "go with --format csv"),
        (["--format", "csv", "--rows", "runs"], "--rows runs needs --template"),
        (["--format", "csv", "--to", "/"], "is a folder"),
        (["--format", "csv", "--to", "/no/such/folder/a"], "/no/such/folder/a cannot be written"),
        (["--format", "csv", "--key-file", "/no/such"], "/no/such cannot be read"),
    ],
)
def test_what_cannot_be_done_is_one_clear_line(
    service: Service, arguments: list[str], why: str, capsys: Capture
) -> None:
    assert export(service, *arguments) == 2
    said = capsys.readouterr().err
    # (A server of this process may complain of a caller that went away, in between.)
    said = said[said.index("checklist-dispatch export: ") :]
    assert why in said
    assert said.count("\n") == 1


def test_the_key_cannot_be_given_on_the_command_line(service: Service, capsys: Capture) -> None:
    with pytest.raises(SystemExit):
        export(service, "--format", "csv", "--key", KEY)
    assert "unrecognized arguments" in capsys.readouterr().err
    assert service.asked == []


def test_without_a_key_or_a_service_nothing_is_asked(
    service: Service, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    assert main(["export", "--format", "csv"]) == 2
    monkeypatch.delenv(KEY_VARIABLE)
    assert export(service, "--format", "csv") == 2
    said = capsys.readouterr().err
    assert "which service?" in said and "no API key" in said
    assert service.asked == []
