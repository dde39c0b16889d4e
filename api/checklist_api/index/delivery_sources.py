"""Parses deliveries from Run and WebhookDelivery objects, without models for speed.

Functions raise one of UNREADABLE for malformed objects.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import orjson

from checklist_crds.resources.base import ORGANIZATION_LABEL
from checklist_crds.resources.delivery import REPLAY_ANNOTATION
from checklist_crds.resources.delivery_records import DeliveryPhase, fields_of, raw_records, waiting_events
from checklist_crds.resources.event_names import EventName
from checklist_crds.resources.outcome import OutcomeClass
from checklist_crds.resources.run_expiry import expires_at_of
from checklist_crds.resources.run_id import resolved_of, run_id_of, run_id_of_delivery
from checklist_crds.resources.webhook_url import host_of
from checklist_crds.times import parse_timestamp

from .delivery_history import (
    DELIVERED,
    FAILED,
    IN_FLIGHT,
    OUTCOMES,
    PENDING,
    Attempt,
    Event,
    FromDelivery,
    FromRun,
    Replay,
)

UNREADABLE: Final = (KeyError, TypeError, ValueError, AttributeError)
_STATUS_OF: Final = {
    DeliveryPhase.PENDING.value: PENDING,
    DeliveryPhase.IN_FLIGHT.value: IN_FLIGHT,
    DeliveryPhase.DELIVERED.value: DELIVERED,
    DeliveryPhase.FAILED.value: FAILED,
}
_ENDED_AT: Final = {
    EventName.RUN_COMPLETED.value: "completedAt",
    EventName.RUN_CANCELLED.value: "cancelledAt",
}


@dataclass(frozen=True, slots=True)
class RunEntry:
    """An unparsed event of a run; parsed only when it has changed."""

    run: Mapping[str, Any]
    entry: Mapping[str, Any] | str
    recorded: bool

    @property
    def digest(self) -> int:
        """A hash of the record, to detect a change; 0 for an entry of the outbox, which never changes."""
        if not self.recorded:
            return 0
        serialized = self.entry if isinstance(self.entry, str) else orjson.dumps(self.entry)
        return hash(serialized) & 0xFFFF_FFFF_FFFF or 1

    def read(self) -> tuple[Event, FromRun]:
        metadata, spec = self.run["metadata"], self.run["spec"]
        resolved = resolved_of(self.run) or {}
        entry = fields_of(self.entry) if isinstance(self.entry, str) else self.entry
        event = Event(
            event_id=entry["eventId"],
            run_id=run_id_of(self.run) or "",
            namespace=metadata["namespace"],
            organization=resolved.get("organization") or (metadata.get("labels") or {}).get(ORGANIZATION_LABEL) or "",
            event=EventName(entry["event"]).value,
            seq=entry["seq"],
            host=host_of(spec["webhook"]["url"]),
        )
        if self.recorded:
            return event, _recorded(entry, self.run)
        return event, FromRun(None, milliseconds(entry["ts"]))


def events_of_run(body: Mapping[str, Any], *, recorded_from: int = 0) -> dict[str, RunEntry]:
    """Return all pending and recorded events of a run by id; empty if it is not admitted.

    `recorded_from`: offset in `status.records` before which recorded events are skipped. Raises UNREADABLE.
    """
    spec, status = body["spec"], body.get("status") or {}
    if spec.get("webhook") is None or resolved_of(body) is None:
        return {}
    found = {entry["eventId"]: RunEntry(body, entry, False) for entry in waiting_events(status)}
    records = raw_records(status, recorded_from=recorded_from)
    return found | {event_id: RunEntry(body, record, True) for event_id, record in records.items()}


def parse_delivery(body: Mapping[str, Any]) -> tuple[Event, FromDelivery]:
    """Parse a WebhookDelivery."""
    metadata, spec, status = body["metadata"], body["spec"], body.get("status") or {}
    event = Event(
        event_id=spec["eventId"],
        run_id=run_id_of_delivery(body),
        namespace=metadata["namespace"],
        organization=spec["organizationRef"]["name"],
        event=EventName(spec["event"]).value,
        seq=spec["seq"],
        host=host_of(spec["url"]),
    )
    kept = FromDelivery(
        status=_STATUS_OF[status.get("phase") or DeliveryPhase.PENDING.value],
        happened_at=milliseconds(spec["ts"]),
        attempts_made=status.get("attempt") or 0,
        attempts=tuple(_attempt(attempt) for attempt in status.get("attempts") or ()),
        next_attempt_at=_optional(status.get("nextAttemptAt")),
        finished_at=_optional(status.get("finishedAt")),
        settled=bool(status.get("settled")),
        replaying=status.get("replay") is not None or REPLAY_ANNOTATION in (metadata.get("annotations") or {}),
        last_replay=_replay(status.get("lastReplay")),
    )
    return event, kept


def milliseconds(moment: str | datetime) -> int:
    """Convert to milliseconds since 1970."""
    parsed = parse_timestamp(moment) if isinstance(moment, str) else moment
    return round(parsed.timestamp() * 1000)


def _recorded(record: Mapping[str, Any], run: Mapping[str, Any]) -> FromRun:
    phase = _STATUS_OF[record["phase"]]
    last = None
    if record.get("startedAt"):
        last = Attempt(
            number=record["attempts"] or 1,
            started_at=milliseconds(record["startedAt"]),
            duration_ms=record.get("durationMs") or 0,
            outcome=_outcome(record.get("outcome")) or _guessed_outcome(phase, record.get("httpStatus")),
            http_status=record.get("httpStatus"),
        )
    happened_at = record.get("ts") or run["status"].get(_ENDED_AT.get(record["event"], ""))
    if happened_at is None and record["event"] == EventName.RUN_EXPIRED.value:
        happened_at = expires_at_of(run)
    return FromRun(phase, _optional(happened_at), record["attempts"], last)


def _guessed_outcome(status: str, http_status: int | None) -> str | None:
    """Derive the outcome for records of older releases, which lack it."""
    if status == DELIVERED:
        return OutcomeClass.SUCCESS.value
    return {3: "http_3xx", 4: "http_4xx", 5: "http_5xx"}.get((http_status or 0) // 100)


def _outcome(text: str | None) -> str | None:
    """Map outcomes of later releases to None, so that they do not break the watch."""
    return text if text in OUTCOMES else None


def _attempt(attempt: Mapping[str, Any]) -> Attempt:
    return Attempt(
        number=attempt["number"],
        started_at=milliseconds(attempt["startedAt"]),
        duration_ms=attempt["durationMs"],
        outcome=_outcome(attempt["outcome"]),
        http_status=attempt.get("httpStatus"),
        manual=bool(attempt.get("manual")),
        next_attempt_at=_optional(attempt.get("nextAttemptAt")),
        detail=attempt.get("detail"),
    )


def _replay(replay: Mapping[str, Any] | None) -> Replay | None:
    if replay is None:
        return None
    return Replay(
        requested_at=milliseconds(replay["requestedAt"]),
        requested_by=replay.get("requestedBy"),
        attempted_at=_optional(replay.get("attemptedAt")),
        outcome=_outcome(replay.get("outcome")),
        http_status=replay.get("httpStatus"),
    )


def _optional(moment: str | datetime | None) -> int | None:
    return None if moment is None else milliseconds(moment)
