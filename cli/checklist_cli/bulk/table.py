"""Checks a table of runs to dispatch as a whole, and turns its rows into requests (docs/dispatching-many.md).

The dashboard reads the same tables (`api/web/dashboard/pages/many/table.ts`). Both run the cases of
`tests/vectors/dispatch_tables.json`.
"""

import re
from argparse import ArgumentTypeError
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from checklist_crds.resources.event_names import ALL_EVENTS, event_name_problem
from checklist_crds.resources.run import MAX_EXECUTOR_REF, MAX_EXPIRY_HOURS
from checklist_crds.resources.webhook_url import InvalidTarget, canonical_url
from checklist_crds.values.json_types import text_fault

from ..console.values import duration
from .cells import MalformedFile, read_cells

COLUMNS: Final = ("reference", "name", "contact", "expires", "webhook_url", "webhook_events")
ALIASES: Final = {"executor_ref": "reference", "ref": "reference", "expiry": "expires"}
COPIED: Final = ("reference", "name", "contact")
"""Columns that the result repeats. Of them only the reference is sent to the service."""
ADDED: Final = ("row", "status", "run_id", "link", "expires_at", "error", "at", "job", "content")
"""Columns that the result adds."""
MAX_ROWS: Final = 100_000
_HOUR_S: Final = 3_600
_EVENT_SEPARATORS: Final = re.compile(r"[,\s]+")


@dataclass(frozen=True, slots=True)
class Problem:
    """`row` counts from 1, the header, as in a spreadsheet; 0: the table as a whole. `column` is its header."""

    row: int
    column: str | None
    code: str
    message: str

    def __str__(self) -> str:
        place = f"row {self.row}" if self.row else "the table"
        return f"{place}{f', column {self.column}' if self.column is not None else ''}: {self.message}"


class TableInvalid(Exception):
    """The table has problems, in the order of rows; nothing of it may be dispatched."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__(f"{len(problems)} problems")
        self.problems = tuple(problems)


@dataclass(frozen=True, slots=True)
class Defaults:
    """Values of empty cells. `secret`: of all webhooks, None without one."""

    expires_in_hours: float | None = None
    webhook_url: str | None = None
    webhook_events: tuple[str, ...] = (ALL_EVENTS,)
    secret: str | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One run. `number` is that of the table; `copied` are the cells that the result repeats."""

    number: int
    copied: tuple[str, ...]
    reference: str
    expires_in_hours: float | None
    webhook_url: str | None
    webhook_events: tuple[str, ...]

    def body(self, template_id: str, secret: str | None) -> dict[str, Any]:
        """The body of `POST /v1/runs`."""
        body: dict[str, Any] = {"template_id": template_id}
        if self.reference:
            body["executor_ref"] = self.reference
        if self.expires_in_hours is not None:
            body["expires_in_hours"] = self.expires_in_hours
        if self.webhook_url is not None:
            body["webhook"] = {"url": self.webhook_url, "events": list(self.webhook_events)}
            if secret is not None:
                body["webhook"]["secret"] = secret
        return body


@dataclass(frozen=True, slots=True)
class Table:
    """`copied`: headers of the cells that the result repeats. `repeated`: references of several rows, with them."""

    rows: list[Row]
    copied: tuple[str, ...]
    delimiter: str
    has_bom: bool
    repeated: Mapping[str, tuple[int, ...]] = field(default_factory=dict)


def read_table(content: bytes, defaults: Defaults, *, copy_others: bool = False) -> Table:
    """Read and check a table. `copy_others`: the result repeats unknown columns, instead of refusing them.

    Raises TableInvalid.
    """
    try:
        cells = read_cells(content)
    except MalformedFile as error:
        raise TableInvalid([Problem(error.row, None, "malformed", error.message)]) from None
    if not cells.records:
        raise TableInvalid([Problem(0, None, "empty", "the file is empty; row 1 has the names of the columns")])
    header = _header(cells.records[0], copy_others=copy_others)
    problems: list[Problem] = []
    rows: list[Row] = []
    for number, record in enumerate(cells.records[1:], start=2):
        if not any(cell.strip() for cell in record):
            continue
        found = list(_width(number, record, header))
        if not found:
            row, found = _row(number, record, header, defaults)
            rows.append(row)
        problems += found
    if not rows and not problems:
        problems.append(Problem(0, None, "empty", "there is no row below the names of the columns"))
    if len(rows) > MAX_ROWS:
        problems.append(Problem(0, None, "too_many", f"there are {len(rows)} rows; at most {MAX_ROWS} are possible"))
    if problems:
        raise TableInvalid(problems)
    return Table(rows, _copied_headers(header), cells.delimiter, cells.has_bom, _repeated(rows))


def _header(record: Sequence[str], *, copy_others: bool) -> list[str]:
    """The names of the columns; empty for an unnamed one. Raises TableInvalid."""
    names, problems = [], []
    for cell in record:
        given = cell.strip()
        plain = re.sub(r"[\s-]+", "_", given.lower())
        name = ALIASES.get(plain, plain)
        if given and name not in COLUMNS:
            if copy_others and plain in ADDED:
                problems.append(Problem(1, given, "reserved_column", "the result has a column of this name"))
            elif copy_others:
                name = given
            else:
                message = f"not a column; the first row names the columns, out of {', '.join(COLUMNS)}"
                problems.append(Problem(1, given, "unknown_column", message))
        names.append(name)
    for name, times in Counter(name for name in names if name).items():
        if times > 1:
            problems.append(Problem(1, name, "repeated_column", "there are several of this name"))
    if not any(names):
        problems.append(Problem(1, None, "no_columns", f"the columns have no names; they are {', '.join(COLUMNS)}"))
    if problems:
        raise TableInvalid(problems)
    return names


def _width(number: int, record: Sequence[str], header: Sequence[str]) -> Iterator[Problem]:
    if len(record) < len(header):
        yield Problem(number, None, "width", f"has {len(record)} of {len(header)} cells")
    elif any(cell.strip() for cell in record[len(header) :]):
        message = f"has {len(record)} cells instead of {len(header)}; quote a cell that contains the delimiter"
        yield Problem(number, None, "width", message)
    for name, cell in zip(header, record, strict=False):
        if not name and cell.strip():
            yield Problem(number, None, "unnamed_column", "a cell is in a column without a name")


def _row(number: int, record: Sequence[str], header: Sequence[str], defaults: Defaults) -> tuple[Row, list[Problem]]:
    cells = {name: cell.strip() for name, cell in zip(header, record, strict=False) if name}
    problems = [(column, "text", fault) for column, cell in cells.items() if (fault := text_fault(cell))]
    reference = cells.get("reference", "")
    if len(reference) > MAX_EXECUTOR_REF:
        message = f"{len(reference)} characters; at most {MAX_EXECUTOR_REF} are possible"
        problems.append(("reference", "too_long", message))
    hours = defaults.expires_in_hours
    if expires := cells.get("expires", ""):
        try:
            hours = _hours(expires)
        except ArgumentTypeError as error:
            problems.append(("expires", "duration", str(error)))
    url = cells.get("webhook_url") or defaults.webhook_url
    events = defaults.webhook_events
    if named := cells.get("webhook_events"):
        events = tuple(_EVENT_SEPARATORS.split(named.strip(", \t\r\n")))
        if problem := event_name_problem(list(events)):
            problems.append(("webhook_events", "events", problem))
        if url is None:
            problems.append(("webhook_events", "no_url", "events need a webhook_url"))
    if written := cells.get("webhook_url"):
        problems += _url_problems(written, defaults)
    copied = tuple(cells.get(name, "") for name in _copied_headers(header))
    row = Row(number, copied, reference, hours, url, events)
    return row, [Problem(number, *problem) for problem in problems]


def _hours(expires: str) -> float:
    """Raises ArgumentTypeError."""
    hours = duration(expires.replace(" ", "")) / _HOUR_S
    if hours > MAX_EXPIRY_HOURS:
        raise ArgumentTypeError(f"must be at most {MAX_EXPIRY_HOURS} hours")
    return hours


def _url_problems(url: str, defaults: Defaults) -> Iterator[tuple[str, str, str]]:
    try:
        # The service decides about http and internal hosts.
        canonical_url(url, allow_insecure=True)
    except InvalidTarget as error:
        yield "webhook_url", "url", error.message
    if defaults.secret is None:
        yield "webhook_url", "no_secret", "a webhook needs a secret"


def _copied_headers(header: Sequence[str]) -> tuple[str, ...]:
    return tuple(name for name in header if name and (name in COPIED or name not in COLUMNS))


def _repeated(rows: Sequence[Row]) -> dict[str, tuple[int, ...]]:
    numbers: dict[str, list[int]] = {}
    for row in rows:
        if row.reference:
            numbers.setdefault(row.reference, []).append(row.number)
    return {reference: tuple(found) for reference, found in numbers.items() if len(found) > 1}
