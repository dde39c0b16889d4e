"""A job: a run for each row of a table, exactly once, however often the command is interrupted and repeated."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from checklist_crds.times import Clock, format_timestamp

from ..client.connection import Refused
from ..console.command import CommandFailed
from ..console.progress import Progress
from .dispatching import CONCURRENCY, Dispatching, Request
from .result_file import DISPATCHED, REFUSED, Result, ResultFile, State
from .table import Row, Table

if TYPE_CHECKING:
    import httpx

KEYS_LAST: Final = timedelta(hours=23)
"""One hour less than an Idempotency-Key protects a request, for clocks that differ and for the time to dispatch."""
_DIGEST_LENGTH: Final = 16
_SHOWN_ROWS: Final = 10


@dataclass(frozen=True, slots=True)
class Outcome:
    """Numbers of rows. `already`: of those dispatched, by earlier parts of the job. `stopped`: what ended it early."""

    rows: int
    dispatched: int
    already: int
    refused: int
    stopped: Refused | None

    @property
    def left(self) -> int:
        return self.rows - self.dispatched - self.refused


class Job:
    """`file` is locked. `secret` belongs to all webhooks of the table."""

    def __init__(
        self,
        table: Table,
        file: ResultFile,
        *,
        template_id: str,
        secret: str | None,
        progress: Progress,
        clock: Clock,
    ) -> None:
        self._table = table
        self._template_id = template_id
        self._secret = secret
        self._file = file
        self._progress = progress
        self._clock = clock
        self._results: dict[int, Result] = {}
        self._contents = {row.number: self._content(row) for row in table.rows}
        self._already = 0

    async def run(self, client: "httpx.AsyncClient", *, resume_late: bool = False) -> Outcome:
        """Dispatch the rows that have no run yet.

        Raises CommandFailed if the file or the table belongs to another job, the outcome of rows can no longer be
        found out, the file cannot be written, or the service does not answer.
        """
        state = self._file.read()
        if state is not None:
            self._take_over(state, resume_late=resume_late)
        waiting = [row for row in self._table.rows if row.number not in self._results]
        if not waiting and (state is None or state.running_since is None):
            return self._outcome(None)
        running_since = self._clock()
        if state is not None and state.running_since is not None and not resume_late:
            running_since = state.running_since
        job = self._file.begin(self._table, state, running_since)
        dispatching = Dispatching(client, self._record, say=self._progress.line)
        try:
            await dispatching.run(self._requests(job, waiting))
        finally:
            unknown = dispatching.sent.unknown
            self._file.finish(self._results, running_since=running_since if unknown else None)
        return self._outcome(dispatching.sent.stopped)

    def _take_over(self, state: State, *, resume_late: bool) -> None:
        """Take the results of dispatched rows. Refused rows are tried again. Raises CommandFailed."""
        self._results = {number: one for number, one in state.results.items() if one.status == DISPATCHED}
        self._already = sum(row.number in self._results for row in self._table.rows)
        changed = [
            row.number
            for row in self._table.rows
            if row.number in self._results and self._results[row.number].content != self._contents[row.number]
        ]
        if changed:
            shown = ", ".join(map(str, changed[:_SHOWN_ROWS])) + (", ..." if len(changed) > _SHOWN_ROWS else "")
            raise CommandFailed(
                f"row {shown}: already dispatched with another template or other cells; undo the change, or begin a "
                "new job with another --result"
            )
        since = state.running_since
        if since is not None and not resume_late and self._clock() - since > KEYS_LAST:
            raise CommandFailed(
                f"the job was killed and began more than 23 hours ago, so up to {CONCURRENCY} rows that it was "
                "dispatching could get a second run: look for runs that are not in the result "
                f"(GET /v1/runs?created_after={format_timestamp(since)}), then repeat with --resume-late"
            )

    def _requests(self, job: str, rows: list[Row]) -> Iterator[Request]:
        for row in rows:
            self._progress.now_and_then(self._so_far)
            yield Request(row.number, row.body(self._template_id, self._secret), f"{job}-{row.number}")

    def _record(self, number: int, answer: dict[str, Any] | Refused) -> None:
        content, at = self._contents[number], self._clock()
        if isinstance(answer, Refused):
            result = Result(REFUSED, content, at, error=str(answer))
        else:
            expires_at = answer.get("expires_at") or ""
            result = Result(DISPATCHED, content, at, answer["run_id"], answer["link"], str(expires_at))
        self._file.append(number, result)
        self._results[number] = result

    def _content(self, row: Row) -> str:
        """A digest of the request. The secret is not in it, because a short one could be guessed from it."""
        text = json.dumps(row.body(self._template_id, None), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:_DIGEST_LENGTH]

    def _so_far(self) -> str:
        return f"{len(self._results):,} of {len(self._table.rows):,} rows done"

    def _outcome(self, stopped: Refused | None) -> Outcome:
        of_table = [self._results[row.number].status for row in self._table.rows if row.number in self._results]
        dispatched = of_table.count(DISPATCHED)
        return Outcome(len(self._table.rows), dispatched, self._already, of_table.count(REFUSED), stopped)
