"""State machine of a WebhookDelivery, as pure functions: the next action, and the status after it.

`Pending` with a due time, `InFlight` under a claim, `Delivered` or `Failed`. A claim, with holder and expiry, is
written before the first byte is sent, so after a crash the same attempt is repeated under its number. The end takes two
writes: first the phase, then, after the run has recorded it, `settled`; a crash in between is recovered.

A replay starts from a settled delivery: see `replay_state`.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from checklist_crds.resources.base import with_condition
from checklist_crds.resources.delivery import (
    MAX_ATTEMPTS,
    MAX_RECORDED,
    Claim,
    DeliveryAttempt,
    OutcomeClass,
    WebhookDeliverySpec,
    WebhookDeliveryStatus,
)
from checklist_crds.resources.delivery_records import DeliveryPhase, DeliveryRecord
from checklist_crds.times import format_timestamp
from checklist_operator.transport.outcome import Outcome

CLAIM_S: Final = 30.0
"""Validity of a claim: longer than any attempt, since the permit is acquired first."""
ORPHAN_S: Final = 60.0
"""Age from which a delivery without any attempt no longer counts as being created."""
_LONGEST_DETAIL: Final = 200
DELIVERED: Final = "Delivered"
"""Condition for the state of the delivery."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing is due before `until`."""

    until: datetime


@dataclass(frozen=True, slots=True)
class Send:
    """The attempt is due."""

    attempt: int
    is_replay: bool = False


@dataclass(frozen=True, slots=True)
class Conclude:
    """Delivered or failed; record it on the run, then settle."""


@dataclass(frozen=True, slots=True)
class Nothing:
    """Settled."""


NextAction = Wait | Send | Conclude | Nothing


def next_action(
    status: WebhookDeliveryStatus, *, now: datetime, holder: str, created_at: datetime, led_for_s: float = 0.0
) -> NextAction:
    """Returns the next action for `holder`, which has no other action of this delivery in progress.

    `led_for_s`: how long it has been the leader. Claims of other holders are at least that old, which limits their
    validity even if clocks differ.
    """
    if status.settled:
        return Nothing()
    if status.claim is not None:
        holds_for_s = min((status.claim.until - now).total_seconds(), CLAIM_S - led_for_s)
        if status.claim.holder == holder or holds_for_s <= 0:
            return Send(status.claim.attempt, is_replay=status.claim.manual)
        return Wait(now + timedelta(seconds=holds_for_s))
    if status.replay is not None:
        return Send(status.attempt, is_replay=True)
    if status.phase.is_final or status.attempt >= MAX_ATTEMPTS:
        return Conclude()
    if status.attempt == 0:
        # Not by the creation time alone, as clocks may differ: a new leader's outbox checks first.
        orphaned_in_s = max((created_at - now).total_seconds() + ORPHAN_S, ORPHAN_S - led_for_s)
        return Send(1) if orphaned_in_s <= 0 else Wait(now + timedelta(seconds=orphaned_in_s))
    if status.next_attempt_at is not None and now < status.next_attempt_at:
        return Wait(status.next_attempt_at)
    return Send(status.attempt + 1)


def claimed(status: WebhookDeliveryStatus, action: Send, *, holder: str, now: datetime) -> WebhookDeliveryStatus:
    """Returns the status with a claim. A replay does not change the phase: a delivered event stays delivered."""
    claim = Claim(
        attempt=action.attempt, holder=holder, until=now + timedelta(seconds=CLAIM_S), manual=action.is_replay
    )
    phase = status.phase if action.is_replay else DeliveryPhase.IN_FLIGHT
    return status.model_copy(update={"phase": phase, "claim": claim})


def after_attempt(
    status: WebhookDeliveryStatus, attempt: DeliveryAttempt, *, ok: bool, now: datetime, generation: int | None
) -> WebhookDeliveryStatus:
    """Returns the status after an attempt. `attempt.next_attempt_at` is None after a success and the fifth failure."""
    recorded = status.model_copy(
        update={
            "attempt": max(status.attempt, attempt.number),
            "attempts": with_attempt(status.attempts, attempt),
            "claim": None,
            "next_attempt_at": attempt.next_attempt_at,
        }
    )
    if ok:
        message = f"Attempt {attempt.number} was answered with {attempt.http_status}."
        return finished(recorded, DeliveryPhase.DELIVERED, "Delivered", message, now=now, generation=generation)
    if attempt.next_attempt_at is None:
        message = f"All {MAX_ATTEMPTS} attempts failed, the last one with {cause_of(attempt)}."
        return finished(recorded, DeliveryPhase.FAILED, "AttemptsExhausted", message, now=now, generation=generation)
    due = format_timestamp(attempt.next_attempt_at)
    message = f"Attempt {attempt.number} failed with {cause_of(attempt)}; the next one is due at {due}."
    conditions = with_condition(
        recorded.conditions, DELIVERED, False, "Retrying", message, now=now, generation=generation
    )
    return recorded.model_copy(update={"phase": DeliveryPhase.PENDING, "conditions": conditions})


def failed(
    status: WebhookDeliveryStatus, reason: str, message: str, *, now: datetime, generation: int | None
) -> WebhookDeliveryStatus:
    """Returns the status of a delivery without further retries."""
    ended = status.model_copy(update={"claim": None, "next_attempt_at": None})
    return finished(ended, DeliveryPhase.FAILED, reason, message, now=now, generation=generation)


def found_delivered(status: WebhookDeliveryStatus, *, now: datetime, generation: int | None) -> WebhookDeliveryStatus:
    """Returns the status after the run was found to have a success of the event on record."""
    ended = status.model_copy(update={"claim": None, "next_attempt_at": None})
    message = "The run has a success of this event on record, from another operator."
    return finished(ended, DeliveryPhase.DELIVERED, "DeliveredBefore", message, now=now, generation=generation)


def settled(status: WebhookDeliveryStatus) -> WebhookDeliveryStatus:
    return status.model_copy(update={"settled": True})


def record_of(spec: WebhookDeliverySpec, status: WebhookDeliveryStatus) -> DeliveryRecord:
    """Returns the run's record of this delivery: the attempt that delivered the event, else the last one."""
    made = [one for one in reversed(status.attempts) if one.outcome is OutcomeClass.SUCCESS] or status.attempts[::-1]
    last = made[0] if made else None
    phase = status.phase if status.phase.is_final else DeliveryPhase.PENDING
    return DeliveryRecord(
        seq=spec.seq,
        event=spec.event,
        event_id=spec.event_id,
        ts=spec.ts,
        phase=phase,
        attempts=status.attempt,
        started_at=last.started_at if last else None,
        duration_ms=last.duration_ms if last else None,
        outcome=last.outcome if last else None,
        http_status=last.http_status if last else None,
    )


def finished(
    status: WebhookDeliveryStatus,
    phase: DeliveryPhase,
    reason: str,
    message: str,
    *,
    now: datetime,
    generation: int | None,
) -> WebhookDeliveryStatus:
    """Returns the status of a delivered or failed delivery, with the reason as a condition."""
    holds = phase is DeliveryPhase.DELIVERED
    conditions = with_condition(status.conditions, DELIVERED, holds, reason, message, now=now, generation=generation)
    return status.model_copy(update={"phase": phase, "finished_at": now, "conditions": conditions})


def attempt_record(
    number: int, outcome: Outcome, next_attempt_at: datetime | None, *, manual: bool = False
) -> DeliveryAttempt:
    """Returns the attempt for the history, with a detail where the HTTP status is not enough."""
    detail = "" if outcome.detail == f"HTTP {outcome.http_status}" else outcome.detail[:_LONGEST_DETAIL]
    return DeliveryAttempt(
        number=number,
        started_at=outcome.started_at,
        duration_ms=outcome.duration_ms,
        outcome=outcome.outcome_class,
        http_status=outcome.http_status,
        manual=manual,
        next_attempt_at=next_attempt_at,
        detail=None if outcome.ok else detail or None,
    )


def with_attempt(attempts: list[DeliveryAttempt], attempt: DeliveryAttempt) -> list[DeliveryAttempt]:
    """Appends an attempt; when the history is full, drops the oldest replay."""
    history = [*attempts, attempt]
    excess = len(history) - MAX_RECORDED
    kept = []
    for one in history:
        if excess > 0 and one.manual:
            excess -= 1
        else:
            kept.append(one)
    return kept


def cause_of(attempt: DeliveryAttempt) -> str:
    """Why the attempt failed: `HTTP 500`, or `timeout (no answer in time)`."""
    if attempt.http_status is not None:
        return f"HTTP {attempt.http_status}"
    return f"{attempt.outcome.value} ({attempt.detail})" if attempt.detail else attempt.outcome.value
