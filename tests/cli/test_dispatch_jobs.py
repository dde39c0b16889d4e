"""`dispatch --csv` against a service that answers as a test says: one run for each row, whatever is lost."""

import asyncio
import csv
import io
import json
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.cli.conftest import Capture

from checklist_cli.bulk import dispatching
from checklist_cli.bulk import job as jobs
from checklist_cli.client.api_key import KEY_VARIABLE
from checklist_cli.commands import dispatch_many
from checklist_cli.program import main

TEMPLATE = "t-0b9c7a52-6f0e-4f58-9a0c-3c1c9a9f2f10"
NOW = datetime(2026, 11, 27, 12, 0, tzinfo=UTC)
Answer = httpx.Response | Exception | None


@dataclass
class Service:
    """Makes one run for each Idempotency-Key. `answers(number of the request, body)` may answer in its place; an
    exception is raised after the run was made: the answer is lost."""

    runs: dict[str, dict[str, Any]] = field(default_factory=dict)
    requests: list[httpx.Request] = field(default_factory=list)
    at: list[float] = field(default_factory=list)
    answers: Callable[[int, dict[str, Any]], Answer] = lambda number, body: None
    pauses: list[float] = field(default_factory=list)
    now: datetime = NOW
    clock_s: float = 0.0

    async def handle(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        self.at.append(self.clock_s)
        body = json.loads(request.content)
        answer = self.answers(len(self.requests), body)
        if isinstance(answer, httpx.Response):
            return answer
        run = self.runs.setdefault(request.headers["Idempotency-Key"], {"run_id": f"r-{uuid.uuid4()}", "body": body})
        if isinstance(answer, Exception):
            raise answer
        link = f"https://checklists.example/r/{run['run_id']}#token"
        return httpx.Response(201, json={"run_id": run["run_id"], "link": link, "expires_at": None})

    async def pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.clock_s += seconds
        await asyncio.sleep(0)


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Service:
    service = Service()
    made = dispatching.Dispatching

    def timed(*given: Any, **options: Any) -> dispatching.Dispatching:
        return made(*given, **options, pause=service.pause, now=lambda: service.clock_s)

    def client(*_: Any, **__: Any) -> httpx.AsyncClient:
        return httpx.AsyncClient(transport=httpx.MockTransport(service.handle), base_url="https://checklists.example")

    monkeypatch.setattr(jobs, "Dispatching", timed)
    monkeypatch.setattr(dispatch_many, "async_client_of", client)
    monkeypatch.setattr(dispatch_many, "utc_now", lambda: service.now)
    monkeypatch.setenv(KEY_VARIABLE, "cds_live_of_the_test")
    monkeypatch.setenv("CHECKLISTS_BASE_URL", "https://checklists.example")
    return service


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "rooms.csv"
    path.write_text("reference,name\n" + "".join(f"room {number},=cmd {number}\n" for number in range(1, 21)))
    return path


def dispatch(table: Path, *options: str) -> int:
    return main(["dispatch", TEMPLATE, "--csv", str(table), *options])


def result_of(table: Path) -> list[dict[str, str]]:
    content = table.with_name(f"{table.stem}.runs.csv").read_bytes().decode("utf-8-sig")
    return list(csv.DictReader(io.StringIO(content, newline=""), delimiter=";" if ";" in content[:20] else ","))


def refusal(status: int, code: str, **headers: str) -> httpx.Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx.Response(status, json={"error": code, "message": "No."}, headers=named)


def test_each_row_becomes_a_run_and_the_result_has_its_link_for_its_owner_alone(
    service: Service, table: Path, capsys: Capture
) -> None:
    assert dispatch(table, "--expires", "2d") == 0
    rows = result_of(table)
    assert [row["row"] for row in rows] == [str(number) for number in range(2, 22)]
    assert {row["status"] for row in rows} == {"dispatched"}
    assert rows[0]["name"] == "'=cmd 1"  # a spreadsheet takes it for text
    by_id = {run["run_id"]: run["body"] for run in service.runs.values()}
    for row in rows:
        body = {"template_id": TEMPLATE, "executor_ref": row["reference"], "expires_in_hours": 48.0}
        assert by_id[row["run_id"]] == body
        assert row["link"] == f"https://checklists.example/r/{row['run_id']}#token"
    path = table.with_name("rooms.runs.csv")
    assert path.stat().st_mode & 0o777 == 0o600
    assert sorted(each.name for each in table.parent.iterdir()) == ["rooms.csv", "rooms.runs.csv"]
    printed = capsys.readouterr()
    assert printed.out == f"{path}\n" and "20 of 20 rows dispatched\n" in printed.err
    assert "#token" not in printed.err

    # Repeated, it dispatches nothing, and touches nothing.
    before = path.read_bytes()
    assert dispatch(table, "--expires", "2d", "-o", "json") == 0
    counts = {"rows": 20, "dispatched": 20, "already": 20, "refused": 0, "left": 0, "stopped": None}
    assert json.loads(capsys.readouterr().out) == {"result": str(path), **counts}
    assert (len(service.requests), path.read_bytes()) == (20, before)


def test_the_result_has_the_delimiter_and_the_byte_order_mark_of_the_table(service: Service, table: Path) -> None:
    table.write_bytes('\ufeffReference;Name\r\nZimmer 1;"Ida; ""Idi"""\r\n'.encode())
    assert dispatch(table) == 0
    content = table.with_name("rooms.runs.csv").read_bytes().decode()
    assert content.startswith("\ufeffrow;status;reference;name;run_id;link;")
    assert result_of(table)[0]["name"] == 'Ida; "Idi"'


def test_lost_answers_and_busy_services_make_no_second_run_and_are_waited_for(service: Service, table: Path) -> None:
    def answers(number: int, body: dict[str, Any]) -> Answer:
        if number == 3:
            return refusal(429, "rate_limited", Retry_After="7")
        if number == 9:
            return refusal(503, "service_unavailable", Retry_After="3")
        return httpx.ReadError("lost") if number in (5, 6) else None

    service.answers = answers
    assert dispatch(table) == 0
    assert len(service.runs) == 20 and {row["status"] for row in result_of(table)} == {"dispatched"}
    assert 7.0 in service.pauses and 3.0 in service.pauses
    # While the service asks for time, no other row is sent.
    assert not [at for at in service.at if 0 < at < 7]


def test_the_quota_ends_the_job_keeps_what_is_done_and_the_repetition_goes_on(
    service: Service, table: Path, capsys: Capture
) -> None:
    service.answers = lambda number, body: refusal(402, "quota_exceeded") if len(service.runs) >= 7 else None
    assert dispatch(table) == 1
    assert "the service answers 402: No.; what is dispatched is kept; repeat" in capsys.readouterr().err
    statuses = [row["status"] for row in result_of(table)]
    assert (statuses.count("dispatched"), statuses.count("waiting"), len(service.requests) <= 11) == (7, 13, True)
    # A month later: all outcomes were known.
    service.now += timedelta(days=31)
    service.answers = lambda number, body: None
    assert dispatch(table) == 0
    assert len(service.runs) == 20
    assert len({row["job"] for row in result_of(table)}) == 1


def test_a_refused_row_is_reported_and_the_others_go_on_until_it_is_corrected(
    service: Service, table: Path, capsys: Capture
) -> None:
    service.answers = lambda number, body: (
        refusal(422, "validation_failed") if body["executor_ref"] == "room 4" else None
    )
    assert dispatch(table) == 1
    assert "19 of 20 rows dispatched, 1 refused" in capsys.readouterr().err
    refused = result_of(table)[3]
    assert (refused["status"], refused["error"], refused["link"]) == ("refused", "the service answers 422: No.", "")
    table.write_text(table.read_text().replace("room 4,", "room 4b,") + "room 21,\n")
    assert dispatch(table) == 0
    assert sorted(run["body"]["executor_ref"] for run in service.runs.values()) == sorted(
        [f"room {number}" for number in range(1, 22) if number != 4] + ["room 4b"]
    )


def test_a_wrong_key_ends_the_job_at_once(service: Service, table: Path, capsys: Capture) -> None:
    service.answers = lambda number, body: refusal(401, "unauthorized")
    assert dispatch(table) == 2
    assert len(service.requests) <= 4 and "401: No." in capsys.readouterr().err


def test_a_service_that_is_away_for_ten_minutes_ends_the_job_which_goes_on_later(
    service: Service, table: Path, capsys: Capture
) -> None:
    service.answers = lambda number, body: httpx.ConnectError("away") if number > 6 else None
    assert dispatch(table) == 2
    assert 600 < sum(service.pauses) < 3_000 and "repeat the same command" in capsys.readouterr().err
    assert result_of(table)[0]["status"] == "running"
    service.answers = lambda number, body: None
    assert dispatch(table) == 0
    assert len(service.runs) == 20


def test_a_job_with_unknown_outcomes_is_not_continued_after_its_keys_have_expired(
    service: Service, table: Path, capsys: Capture
) -> None:
    service.answers = lambda number, body: httpx.ConnectError("away") if number > 6 else None
    assert dispatch(table) == 2
    service.now += timedelta(hours=23, minutes=1)
    sent = len(service.requests)
    assert dispatch(table) == 2
    assert "--resume-late" in capsys.readouterr().err and len(service.requests) == sent
    service.answers = lambda number, body: None
    assert dispatch(table, "--resume-late") == 0
    assert {row["status"] for row in result_of(table)} == {"dispatched"}


@pytest.mark.parametrize("torn", [1, 40, 200, 330])
def test_a_result_whose_last_record_was_not_written_as_a_whole_is_continued(
    service: Service, table: Path, torn: int
) -> None:
    table.write_text('reference,name\na,"x\r\ny"\nb,"x\r\n;y"\n')
    service.answers = lambda number, body: httpx.ConnectError("away") if number > 2 else None
    assert dispatch(table) == 0
    path = table.with_name("rooms.runs.csv")
    marked = path.read_bytes().replace(
        b"\r\n2,", b"\r\n0,running,,,,,,," + NOW.isoformat().encode() + b",JOB,\r\n2,", 1
    )
    job = result_of(table)[0]["job"].encode()
    path.write_bytes(marked.replace(b"JOB", job)[:-torn])
    service.answers = lambda number, body: None
    assert dispatch(table) == 0
    assert [row["status"] for row in result_of(table)] == ["dispatched", "dispatched"]
    assert len(service.runs) == 2


def test_dispatched_rows_must_not_change(service: Service, table: Path, capsys: Capture) -> None:
    assert dispatch(table) == 0
    table.write_text(table.read_text().replace("room 7,", "room 70,").replace("=cmd 3", "other name"))
    assert dispatch(table) == 2
    assert "row 8: already dispatched with another template or other cells" in capsys.readouterr().err
    assert len(service.requests) == 20


def test_nothing_is_dispatched_of_a_table_with_problems(service: Service, table: Path, capsys: Capture) -> None:
    table.write_text("reference,expires\na,4h\nb,tomorrow\nc,5\x1b\n")
    assert dispatch(table) == 2
    errors = capsys.readouterr().err.splitlines()
    assert errors[0] == f"{table}: row 3, column expires: must be a positive duration, as 90s, 30m, 4h or 2d"
    assert errors[-1] == "checklist-dispatch dispatch: nothing is dispatched"
    assert service.requests == [] and not table.with_name("rooms.runs.csv").exists()
    table.write_text("reference\na\na\n")
    assert dispatch(table, "--check") == 0
    printed = capsys.readouterr()
    assert printed.out == "2 rows are valid\n" and "rows 2, 3 have the same reference 'a'" in printed.err
    assert service.requests == [] and not table.with_name("rooms.runs.csv").exists()


def test_the_webhooks_of_rows_share_a_secret_which_is_not_in_the_result(
    service: Service, table: Path, tmp_path: Path
) -> None:
    (tmp_path / "secret").write_text("a secret of the test\n")
    table.write_text("reference,webhook_url\na,https://hooks.example.com/a\nb,\n")
    assert dispatch(table, "--secret-file", str(tmp_path / "secret"), "--events", "run.completed") == 0
    first, second = (run["body"] for run in service.runs.values())
    secret, url = "a secret of the test", "https://hooks.example.com/a"
    assert first["webhook"] == {"url": url, "events": ["run.completed"], "secret": secret}
    assert "webhook" not in second
    assert secret not in table.with_name("rooms.runs.csv").read_text()


def test_files_of_others_and_options_of_one_run_are_refused(service: Service, table: Path, capsys: Capture) -> None:
    other = table.with_name("other.csv")
    other.write_text("reference\nx\n")
    for options, why in (
        (("--result", str(other)), "is not the result of a dispatch"),
        (("--result", str(table)), "must be another file"),
        (("--ref", "x"), "--ref does not go together with --csv"),
        (("--wait",), "--wait does not go together"),
        (("--events", "run.finished", "--secret", "a secret of the test"), "--events must name events"),
        (("--events", "run.expired"), "need --webhook"),
    ):
        assert dispatch(table, *options) == 2
        assert why in capsys.readouterr().err
    assert main(["dispatch", TEMPLATE, "--check"]) == 2
    assert "need --csv" in capsys.readouterr().err
    assert main(["dispatch", TEMPLATE, "--csv", str(table.with_name("none.csv"))]) == 2
    assert other.read_text() == "reference\nx\n" and service.requests == []


def test_two_processes_do_not_work_on_one_result(service: Service, table: Path, capsys: Capture) -> None:
    path = table.with_name("rooms.runs.csv")

    def second(number: int, body: dict[str, Any]) -> Answer:
        if number == 1:
            from checklist_cli.bulk.result_file import ResultFile
            from checklist_cli.console.command import CommandFailed

            with pytest.raises(CommandFailed, match="another process"):
                ResultFile.locked(path)
        return None

    service.answers = second
    assert dispatch(table) == 0
    assert dispatch(table) == 0  # the lock is gone with the first
