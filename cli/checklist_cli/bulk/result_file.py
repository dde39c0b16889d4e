"""The result of a job as a CSV file: a row for each row of the table, with run id and link.

The file is also the job's state. Its `job` is a part of each Idempotency-Key, so the file is written before the first
request. While requests are under way, it begins with the row 0 and the status `running`, and results are appended in
the order in which they come: each is one write, so a killed process loses at most results whose requests it repeats
with the same key. When all outcomes are known, the file is replaced by one in the order of the table, without row 0.

Links let anyone answer: only the owner may read the file. A lock keeps a second process away.
"""

import csv
import fcntl
import io
import os
import tempfile
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final, Self

from checklist_crds.times import format_timestamp, parse_timestamp
from checklist_crds.values.csv_cells import BOM, escape_formulas

from ..console.command import CommandFailed
from .cells import MalformedFile, read_cells
from .table import ADDED, Table

DISPATCHED: Final = "dispatched"
REFUSED: Final = "refused"
WAITING: Final = "waiting"
RUNNING: Final = "running"
_RUNNING_ROW: Final = 0
_TORN_LINES: Final = 100
"""Most lines of a record of which a crash wrote only a part."""


@dataclass(frozen=True, slots=True)
class Result:
    """What became of a row. `at`: when; `content`: a digest of the request without its secret."""

    status: str
    content: str
    at: datetime | None
    run_id: str = ""
    link: str = ""
    expires_at: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True)
class State:
    """An earlier part of the job. `running_since`: requests since then may have an unknown outcome; else None."""

    job: str
    running_since: datetime | None
    results: Mapping[int, Result]


class ResultFile:
    """Holds the lock from `locked` to `close`. All methods raise CommandFailed if the file cannot be written."""

    def __init__(self, path: Path, handle: int) -> None:
        self._path = path
        self._handle = handle
        self._job = ""
        self._table = Table([], (), ",", False)
        self._copied: Mapping[int, tuple[str, ...]] = {}

    @classmethod
    def locked(cls, path: Path) -> Self:
        """Open or create the file. Raises CommandFailed if another process uses it."""
        try:
            while True:
                handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    # The former owner of the lock may have replaced the file meanwhile.
                    if path.exists() and path.stat().st_ino == os.fstat(handle).st_ino:
                        return cls(path, handle)
                    os.close(handle)
                except BaseException:
                    os.close(handle)
                    raise
        except BlockingIOError:
            raise CommandFailed(f"another process is dispatching with {path}") from None
        except OSError as error:
            raise CommandFailed(f"{path} cannot be written: {error.strerror}") from None

    def read(self) -> State | None:
        """The state of an earlier part; None for a new or empty file. Raises CommandFailed for a file of others."""
        content = self._path.read_bytes()
        if not content.removeprefix(BOM):
            return None
        try:
            return _state_of(_records_of(content))
        except (MalformedFile, ValueError):
            message = f"{self._path} is not the result of a dispatch; give another file with --result"
            raise CommandFailed(message) from None

    def begin(self, table: Table, state: State | None, running_since: datetime) -> str:
        """Write the file with what is known, and return the job's id."""
        self._table = table
        self._copied = {row.number: row.copied for row in table.rows}
        self._job = state.job if state is not None else f"job-{uuid.uuid4()}"
        self._replace(dict(state.results) if state is not None else {}, running_since=running_since)
        return self._job

    def append(self, number: int, result: Result) -> None:
        try:
            line = self._lines([(number, result)])
            if os.write(self._handle, line) != len(line):
                raise OSError(None, "the volume is full")
        except OSError as error:
            raise CommandFailed(f"{self._path} cannot be written: {error.strerror}") from None

    def finish(self, results: Mapping[int, Result], *, running_since: datetime | None) -> None:
        """Write all rows in the order of the table. `running_since`: outcomes are unknown, which the file notes."""
        rows = {row.number: results.get(row.number, Result(WAITING, "", None)) for row in self._table.rows}
        self._replace({**results, **rows}, running_since=running_since)

    def close(self) -> None:
        os.close(self._handle)

    def _replace(self, results: Mapping[int, Result], *, running_since: datetime | None) -> None:
        """Replace the file at once, or not at all."""
        records = sorted(results.items())
        if running_since is not None:
            records.insert(0, (_RUNNING_ROW, Result(RUNNING, "", running_since)))
        head = (BOM if self._table.has_bom else b"") + self._encoded(
            [["row", "status", *self._table.copied, *ADDED[2:]]]
        )
        try:
            handle, name = tempfile.mkstemp(prefix=f".{self._path.name[:100]}.", suffix=".part", dir=self._path.parent)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX)
                with os.fdopen(os.dup(handle), "wb") as part:
                    part.write(head + self._lines(records))
                    part.flush()
                    os.fsync(handle)
                Path(name).replace(self._path)
            except BaseException:
                Path(name).unlink(missing_ok=True)
                os.close(handle)
                raise
        except OSError as error:
            raise CommandFailed(f"{self._path} cannot be written: {error.strerror}") from None
        os.close(self._handle)
        self._handle = handle

    def _lines(self, records: Iterable[tuple[int, Result]]) -> bytes:
        return self._encoded(self._cells(number, result) for number, result in records)

    def _cells(self, number: int, result: Result) -> list[str]:
        copied = self._copied.get(number, ("",) * len(self._table.copied))
        at = "" if result.at is None else format_timestamp(result.at)
        texts = (*copied, result.run_id, result.link, result.expires_at, result.error, at, self._job, result.content)
        return [str(number), result.status, *(escape_formulas(text) for text in texts)]

    def _encoded(self, records: Iterable[Sequence[str]]) -> bytes:
        text = io.StringIO(newline="")
        csv.writer(text, delimiter=self._table.delimiter).writerows(records)
        return text.getvalue().encode("utf-8", "replace")


def _records_of(content: bytes) -> list[list[str]]:
    """The records without the end of one that was not written as a whole. Raises MalformedFile."""
    for _ in range(_TORN_LINES):
        try:
            return read_cells(content).whole_records
        except MalformedFile:
            content = content[: content.rfind(b"\r\n", 0, -1) + 2]
    return read_cells(content).whole_records


def _state_of(records: list[list[str]]) -> State | None:
    """Raises ValueError for a file that is no result."""
    header, *rows = records
    place = {name: header.index(name) for name in ADDED}
    if not rows or any(len(row) != len(header) for row in rows):
        raise ValueError("there is no job")
    results: dict[int, Result] = {}
    jobs: set[str] = set()
    running_since = None
    for row in rows:
        number, status = int(row[place["row"]]), row[place["status"]]
        if status not in (DISPATCHED, REFUSED, WAITING, RUNNING):
            raise ValueError("unknown status")
        jobs.add(row[place["job"]])
        at = parse_timestamp(text) if (text := row[place["at"]]) else None
        if status == RUNNING:
            running_since = at
        elif status != WAITING:
            texts = {name: row[place[name]] for name in ("content", "run_id", "link", "expires_at", "error")}
            results[number] = Result(status, at=at, **texts)
    (job,) = jobs
    if not job.startswith("job-"):
        raise ValueError("no job's id")
    return State(job, running_since, results)
