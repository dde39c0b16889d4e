"""Replays of a WebhookDelivery, as pure functions: accepting a request, and the status after a replay.

A request is an annotation with a timestamp. One conditional write accepts it: it copies the request to the status and
removes `settled`. From then on the delivery is due, survives every crash, and goes through the same pipeline as other
attempts. The timestamp identifies the request: one that was accepted or finished is not accepted again, so the
annotation can be cleared later, in a separate write.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from checklist_crds.resources.base import with_condition
from checklist_crds.resources.delivery import (
    REPLAY_ANNOTATION,
    REPLAY_BY_ANNOTATION,
    DeliveryAttempt,
    LastReplay,
    OutcomeClass,
    ReplayRequest,
    WebhookDeliveryStatus,
)
from checklist_crds.resources.delivery_records import DeliveryPhase, DeliveryRecord
from checklist_crds.runs.replay_rules import ReplayRefusal, refusal_of
from checklist_crds.times import readable_timestamp
from checklist_operator.attempts.delivery_state import cause_of, finished, settled, with_attempt

REPLAYED: Final = "Replayed"
"""Condition for the last request: True when the receiver accepted the replay."""

_RFC_3339: Final = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)", re.ASCII)
_LONGEST_NAME: Final = 200
_UNDER_WAY: Final = "UnderWay"


@dataclass(frozen=True, slots=True)
class Accept:
    """The delivery is sent once more."""

    request: ReplayRequest


@dataclass(frozen=True, slots=True)
class Refuse:
    """The delivery is not sent; the condition shows why."""

    refusal: ReplayRefusal


@dataclass(frozen=True, slots=True)
class Known:
    """The request was accepted before; only its annotation is left."""


def is_requested(body: Mapping[str, Any]) -> bool:
    """Whether the object, whole or metadata only, has a replay request."""
    return REPLAY_ANNOTATION in (body["metadata"].get("annotations") or {})


def is_incomplete(body: Mapping[str, Any], status: WebhookDeliveryStatus) -> bool:
    """Whether the delivery was created for a replay and lacks its run's history: its creator may have crashed."""
    return not status.attempt and status.claim is None and is_requested(body)


def requested(metadata: Mapping[str, Any]) -> ReplayRequest | None:
    """Parses the request from the annotations; None for an invalid timestamp."""
    annotations = metadata.get("annotations") or {}
    text = str(annotations.get(REPLAY_ANNOTATION, "")).strip()
    moment = readable_timestamp(text) if _RFC_3339.fullmatch(text) else None
    if moment is None:
        return None
    # The status stores milliseconds, and a stored request must equal the one read again.
    moment = moment.replace(microsecond=moment.microsecond // 1000 * 1000)
    by = annotations.get(REPLAY_BY_ANNOTATION) or _manager_of(metadata.get("managedFields") or ())
    return ReplayRequest(requested_at=moment, requested_by=str(by)[:_LONGEST_NAME] if by else None)


def _manager_of(managed_fields: Iterable[Mapping[str, Any]]) -> str | None:
    """Returns the field manager that set the annotation, for example `kubectl-annotate`."""
    for entry in managed_fields:
        fields = (entry.get("fieldsV1") or {}).get("f:metadata") or {}
        if f"f:{REPLAY_ANNOTATION}" in (fields.get("f:annotations") or {}):
            return str(entry.get("manager") or "") or None
    return None


def judge(request: ReplayRequest | None, status: WebhookDeliveryStatus) -> Accept | Refuse | Known:
    """Decides on a request; None stands for one that cannot be parsed."""
    if request is None:
        return Refuse(ReplayRefusal.INVALID_TIMESTAMP)
    if any(known is not None and is_same(known, request) for known in (status.replay, status.last_replay)):
        return Known()
    refusal = refusal_of(status)
    return Accept(request) if refusal is None else Refuse(refusal)


def is_same(one: ReplayRequest, other: ReplayRequest) -> bool:
    """Whether both are one request: the annotation has only a timestamp, and bulk replays may share it."""
    if one.requested_at != other.requested_at:
        return False
    return one.replay_ref is None or other.replay_ref is None or one.replay_ref == other.replay_ref


def accepted(
    status: WebhookDeliveryStatus, request: ReplayRequest, *, now: datetime, generation: int | None
) -> WebhookDeliveryStatus:
    """Returns the status after a request was accepted."""
    by = f" by {request.requested_by}" if request.requested_by else ""
    unsettled = status.model_copy(update={"replay": request, "settled": None})
    return _with_replayed(unsettled, None, _UNDER_WAY, f"A replay was requested{by}.", now=now, generation=generation)


def with_history(record: DeliveryRecord, *, now: datetime, generation: int | None) -> WebhookDeliveryStatus:
    """Returns the status of a delivery created for a replay, from its run's record of the event."""
    ok = record.phase is DeliveryPhase.DELIVERED
    attempts = []
    if record.started_at is not None:
        last = DeliveryAttempt(
            number=max(1, record.attempts),
            started_at=record.started_at,
            duration_ms=record.duration_ms or 0,
            outcome=record.outcome or (OutcomeClass.SUCCESS if ok else OutcomeClass.PROTOCOL),
            http_status=record.http_status,
        )
        attempts.append(last)
    status = WebhookDeliveryStatus(attempt=max(1, record.attempts), attempts=attempts)
    number = status.attempt
    message = f"Attempt {number} was answered with {record.http_status}." if ok else f"All {number} attempts failed."
    reason = "Delivered" if ok else "AttemptsExhausted"
    ended = finished(status, record.phase, reason, message, now=now, generation=generation)
    return ended.model_copy(update={"finished_at": ended_at(record) or now, "settled": True})


def ended_at(record: DeliveryRecord) -> datetime | None:
    """Returns the end of the last attempt on the run's record."""
    if record.started_at is None:
        return None
    return record.started_at + timedelta(milliseconds=record.duration_ms or 0)


def with_fault(
    status: WebhookDeliveryStatus, reason: str, message: str, *, now: datetime, generation: int | None
) -> WebhookDeliveryStatus:
    """Returns the status of a replay that cannot be sent yet because of a local fault; it is retried."""
    return _with_replayed(status, None, reason, message, now=now, generation=generation)


def has_fault(status: WebhookDeliveryStatus) -> bool:
    """Whether the last try to send the current replay failed locally."""
    if status.replay is None:
        return False
    condition = next((one for one in status.conditions if one.type == REPLAYED), None)
    return condition is not None and condition.status == "Unknown" and condition.reason != _UNDER_WAY


def refused(
    status: WebhookDeliveryStatus, refusal: ReplayRefusal, *, now: datetime, generation: int | None
) -> WebhookDeliveryStatus:
    """Returns the status after a refusal. The condition of a replay in progress stays."""
    if status.replay is not None:
        return status
    return _with_replayed(status, False, refusal.reason, refusal.message, now=now, generation=generation)


def replayed(
    status: WebhookDeliveryStatus, attempt: DeliveryAttempt, *, ok: bool, now: datetime, generation: int | None
) -> WebhookDeliveryStatus:
    """Returns the status after a replay. A failed delivery that is now delivered must still be recorded on the run;
    otherwise the delivery is settled at once."""
    request = status.replay
    last = LastReplay(
        requested_at=request.requested_at if request is not None else attempt.started_at,
        requested_by=request.requested_by if request is not None else None,
        replay_ref=request.replay_ref if request is not None else None,
        attempted_at=attempt.started_at,
        outcome=attempt.outcome,
        http_status=attempt.http_status,
    )
    ended = status.model_copy(
        update={
            "attempts": with_attempt(status.attempts, attempt),
            "claim": None,
            "replay": None,
            "last_replay": last,
        }
    )
    if not ok:
        message = f"The replay failed with {cause_of(attempt)}."
        return settled(_with_replayed(ended, False, "ReplayFailed", message, now=now, generation=generation))
    message = f"The replay was answered with {attempt.http_status}."
    ended = _with_replayed(ended, True, "Delivered", message, now=now, generation=generation)
    if status.phase is DeliveryPhase.DELIVERED:
        return settled(ended)
    return finished(ended, DeliveryPhase.DELIVERED, "Replayed", message, now=now, generation=generation)


def not_replayable(
    status: WebhookDeliveryStatus, refusal: ReplayRefusal, *, now: datetime, generation: int | None
) -> WebhookDeliveryStatus:
    """Returns the status of an accepted replay that can never be sent."""
    request = status.replay
    last = None if request is None else LastReplay.model_validate(request.model_dump())
    ended = status.model_copy(update={"claim": None, "replay": None, "last_replay": last or status.last_replay})
    return settled(refused(ended, refusal, now=now, generation=generation))


def _with_replayed(
    status: WebhookDeliveryStatus,
    holds: bool | None,
    reason: str,
    message: str,
    *,
    now: datetime,
    generation: int | None,
) -> WebhookDeliveryStatus:
    conditions = with_condition(status.conditions, REPLAYED, holds, reason, message, now=now, generation=generation)
    return status.model_copy(update={"conditions": conditions})
