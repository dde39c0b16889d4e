"""The life of a WebhookDelivery, as pure functions: what is to be done now, and what its status becomes then.

`Pending` with a due time, `InFlight` under a claim, `Delivered` or `Failed`. A claim says who sends which attempt until
when; it is written before the first byte leaves, so after a crash the same attempt is made again under its number. The
end is written in two steps: first the phase, then, when the run knows, `settled` (so a crash in between is healed).
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from checklist_crds.delivery_types import MAX_ATTEMPTS, Attempt, Claim, WebhookDeliverySpec, WebhookDeliveryStatus
from checklist_crds.resource_types import with_condition
from checklist_crds.run_types import DeliveryPhase, DeliveryRecord

CLAIM_S: Final = 30.0
"""How long a claim holds: longer than any attempt, since the permit is taken first."""
ORPHAN_S: Final = 60.0
"""After this, a delivery without any attempt is no longer taken for one that is just being made."""
_DELIVERED: Final = "Delivered"


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing to do before `until`."""

    until: datetime


@dataclass(frozen=True, slots=True)
class Send:
    """This attempt is due."""

    attempt: int


@dataclass(frozen=True, slots=True)
class Conclude:
    """Delivered or given up; the run must be told, then nothing is left to do."""


@dataclass(frozen=True, slots=True)
class Nothing:
    """Settled."""


Step = Wait | Send | Conclude | Nothing


def next_step(status: WebhookDeliveryStatus, *, now: datetime, holder: str, created_at: datetime) -> Step:
    """What `holder`, who does nothing else with this delivery at the moment, is to do."""
    if status.settled:
        return Nothing()
    if status.phase.is_final:
        return Conclude()
    if status.claim is not None:
        if status.claim.holder == holder or now >= status.claim.until:
            return Send(status.claim.attempt)
        return Wait(status.claim.until)
    if status.attempt >= MAX_ATTEMPTS:
        return Conclude()
    if status.attempt == 0:
        orphaned_at = created_at + timedelta(seconds=ORPHAN_S)
        return Send(1) if now >= orphaned_at else Wait(orphaned_at)
    if status.next_attempt_at is not None and now < status.next_attempt_at:
        return Wait(status.next_attempt_at)
    return Send(status.attempt + 1)


def claimed(status: WebhookDeliveryStatus, attempt: int, *, holder: str, now: datetime) -> WebhookDeliveryStatus:
    """`holder` is about to send `attempt`."""
    claim = Claim(attempt=attempt, holder=holder, until=now + timedelta(seconds=CLAIM_S))
    return status.model_copy(update={"phase": DeliveryPhase.IN_FLIGHT, "claim": claim})


def after_attempt(
    status: WebhookDeliveryStatus, attempt: Attempt, *, ok: bool, now: datetime, generation: int | None
) -> WebhookDeliveryStatus:
    """The attempt ended. `attempt.next_attempt_at` is None after a success and after the fifth failure."""
    recorded = status.model_copy(
        update={
            "attempt": max(status.attempt, attempt.number),
            "attempts": [*status.attempts, attempt],
            "claim": None,
            "next_attempt_at": attempt.next_attempt_at,
        }
    )
    if ok:
        message = f"Attempt {attempt.number} was answered with {attempt.http_status}."
        return _finished(recorded, DeliveryPhase.DELIVERED, "Delivered", message, now=now, generation=generation)
    if attempt.next_attempt_at is None:
        message = f"All {MAX_ATTEMPTS} attempts failed, the last one with {_cause(attempt)}."
        return _finished(recorded, DeliveryPhase.FAILED, "AttemptsExhausted", message, now=now, generation=generation)
    message = f"Attempt {attempt.number} failed with {_cause(attempt)}."
    conditions = with_condition(
        recorded.conditions, _DELIVERED, False, "Retrying", message, now=now, generation=generation
    )
    return recorded.model_copy(update={"phase": DeliveryPhase.PENDING, "conditions": conditions})


def given_up(
    status: WebhookDeliveryStatus, reason: str, message: str, *, now: datetime, generation: int | None
) -> WebhookDeliveryStatus:
    """Nobody will ever send it again."""
    ended = status.model_copy(update={"claim": None, "next_attempt_at": None})
    return _finished(ended, DeliveryPhase.FAILED, reason, message, now=now, generation=generation)


def settled(status: WebhookDeliveryStatus) -> WebhookDeliveryStatus:
    return status.model_copy(update={"settled": True})


def record_of(spec: WebhookDeliverySpec, status: WebhookDeliveryStatus) -> DeliveryRecord:
    """How the run shows this delivery."""
    last = status.attempts[-1] if status.attempts else None
    phase = status.phase if status.phase.is_final else DeliveryPhase.PENDING
    return DeliveryRecord(
        seq=spec.seq,
        event=spec.event,
        event_id=spec.event_id,
        phase=phase,
        attempts=status.attempt,
        started_at=last.started_at if last else None,
        duration_ms=last.duration_ms if last else None,
        http_status=last.http_status if last else None,
    )


def _finished(
    status: WebhookDeliveryStatus,
    phase: DeliveryPhase,
    reason: str,
    message: str,
    *,
    now: datetime,
    generation: int | None,
) -> WebhookDeliveryStatus:
    holds = phase is DeliveryPhase.DELIVERED
    conditions = with_condition(status.conditions, _DELIVERED, holds, reason, message, now=now, generation=generation)
    return status.model_copy(update={"phase": phase, "finished_at": now, "conditions": conditions})


def _cause(attempt: Attempt) -> str:
    return f"HTTP {attempt.http_status}" if attempt.http_status is not None else attempt.outcome.value
