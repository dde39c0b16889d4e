"""A run's records of the deliveries of its events: one line of text each, encoded and decoded here.

Kubernetes validates a text once, but each field of a structured record at every write of the run: in a run of 40 steps,
the structured records of earlier versions cost twice as much as everything else. A line has ten columns:

    seq event phase attempts outcome status duration happened started event_id
    3 step.completed Delivered 1 success 204 17ms 2026-11-24T09:30:00.000Z 2026-11-24T09:30:00.021Z evt-...

`-` stands for an unknown value. Runs of earlier versions have a list of objects in `status.deliveries` instead; all
readers here accept both, and the operator's next write converts the list to text.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import lru_cache
from typing import Any, Final

from pydantic import Field

from ..times import Timestamp, format_timestamp
from .base import KubeModel
from .event_names import EventName
from .outcome import OutcomeClass

NOT_KNOWN: Final = "-"
_COLUMNS: Final = (
    "seq", "event", "phase", "attempts", "outcome", "httpStatus", "durationMs", "ts", "startedAt", "eventId"
)  # fmt: skip


class DeliveryPhase(StrEnum):
    """State of one event's delivery."""

    PENDING = "Pending"
    IN_FLIGHT = "InFlight"
    DELIVERED = "Delivered"
    FAILED = "Failed"

    @property
    def is_final(self) -> bool:
        return self in {DeliveryPhase.DELIVERED, DeliveryPhase.FAILED}


class DeliveryRecord(KubeModel):
    """Delivery of one event of the run. Pending: a WebhookDelivery retries it."""

    seq: int = Field(ge=1, description="Number of the event in the run.")
    event: EventName = Field(description="Kind of the event.")
    event_id: str = Field(max_length=64, description="Id of the event, evt-<uuid>.")
    ts: Timestamp | None = Field(default=None, description="When the event happened.")
    phase: DeliveryPhase = Field(description="Delivered, Failed, or Pending while it is retried.")
    attempts: int = Field(ge=0, le=5, description="Attempts made so far.")
    started_at: Timestamp | None = Field(default=None, description="Start of the last attempt.")
    duration_ms: int | None = Field(default=None, ge=0, description="Duration of the last attempt, in milliseconds.")
    outcome: OutcomeClass | None = Field(default=None, description="Outcome of the last attempt.")
    http_status: int | None = Field(default=None, ge=0, le=999, description="Status of the last answer.")


def line_of(record: DeliveryRecord) -> str:
    """Encodes the line of one event, without a line break."""
    columns = (
        record.seq,
        record.event.value,
        record.phase.value,
        record.attempts,
        None if record.outcome is None else record.outcome.value,
        record.http_status,
        None if record.duration_ms is None else f"{record.duration_ms}ms",
        None if record.ts is None else format_timestamp(record.ts),
        None if record.started_at is None else format_timestamp(record.started_at),
        record.event_id,
    )
    return " ".join(NOT_KNOWN if column is None else str(column) for column in columns)


def text_of(records: Iterable[DeliveryRecord]) -> str:
    """Encodes `status.records`, in the order of `records`."""
    return "\n".join(map(line_of, records))


def fields_of(line: str) -> dict[str, Any]:
    """Decodes one line into the JSON object that earlier versions stored. Raises ValueError if it is invalid.

    Words are not checked. Of those that only a later release knows, `DeliveryRecord` refuses all, and the API's index
    refuses an event and ignores an outcome.
    """
    columns = line.split(" ")
    if len(columns) != len(_COLUMNS):
        raise ValueError("a delivery record has ten columns")
    found: dict[str, Any] = {
        name: column for name, column in zip(_COLUMNS, columns, strict=True) if column != NOT_KNOWN
    }
    for name in ("seq", "attempts", "httpStatus"):
        if name in found:
            found[name] = int(found[name])
    if "durationMs" in found:
        found["durationMs"] = int(found["durationMs"].removesuffix("ms"))
    return found


@lru_cache(maxsize=4096)
def _parsed(line: str) -> DeliveryRecord:
    return DeliveryRecord.model_validate(fields_of(line))


def parse_records(text: str) -> tuple[DeliveryRecord, ...]:
    """Decodes `status.records`. Raises ValueError (including pydantic.ValidationError)."""
    return tuple(map(_parsed, text.splitlines()))


def merge(known: Iterable[DeliveryRecord], later: Iterable[DeliveryRecord]) -> tuple[DeliveryRecord, ...]:
    """Merges records by number, each event once: a recorded end stays, and a success replaces a failure."""
    found = {record.event_id: record for record in known}
    for record in later:
        before = found.get(record.event_id)
        if before is None or not before.phase.is_final or _is_late_success(before, record):
            found[record.event_id] = record
    return tuple(sorted(found.values(), key=lambda record: record.seq))


def _is_late_success(before: DeliveryRecord, record: DeliveryRecord) -> bool:
    return before.phase is DeliveryPhase.FAILED and record.phase is DeliveryPhase.DELIVERED


# -- reading a run's status without models, for speed -----------------------------------------------------------------


def raw_records(status: Mapping[str, Any], *, recorded_from: int = 0) -> dict[str, str | Mapping[str, Any]]:
    """Returns recorded events by id: the line, or an earlier version's object.

    `recorded_from`: offset in the text of the first line to read.
    """
    structured = {str(record["eventId"]): record for record in status.get("deliveries") or ()}
    text = str(status.get("records") or "")[recorded_from:]
    return structured | {line[line.rfind(" ") + 1 :]: line for line in text.splitlines()}


def recorded_events(status: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Returns recorded events by id, as objects. Raises ValueError."""
    return {
        event_id: fields_of(record) if isinstance(record, str) else record
        for event_id, record in raw_records(status).items()
    }


def waiting_events(status: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Returns the entries of `status.outbox` without a record, whose first attempt is due.

    The API appends to the outbox and the operator writes records, each only its own field, so an event may be in both
    until the next write of the run.
    """
    outbox = status.get("outbox") or ()
    if not outbox:
        return []
    recorded = _recorded_numbers(str(status.get("records") or ""))
    recorded = recorded.union(record["seq"] for record in status.get("deliveries") or ())
    return [entry for entry in outbox if entry["seq"] not in recorded]


@lru_cache(maxsize=256)
def _recorded_numbers(text: str) -> frozenset[int]:
    return frozenset(int(line[: line.find(" ")]) for line in text.splitlines())


def has_unfinished(status: Mapping[str, Any]) -> bool:
    """Whether a recorded event is still being retried."""
    for record in raw_records(status).values():
        phase = record.split(" ", 3)[2] if isinstance(record, str) else record["phase"]
        if phase in (DeliveryPhase.PENDING, DeliveryPhase.IN_FLIGHT):
            return True
    return False
