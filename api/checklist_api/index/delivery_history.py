"""Merges the history of a delivery from its sources in the cluster. Pure functions.

An event has a line in its run's records once its first attempt is recorded; until then it is only in the outbox. The
line has the last attempt only. A WebhookDelivery exists if the first attempt failed or the event was replayed, and has
all attempts.
"""

from typing import Final, NamedTuple

from checklist_crds.resources.outcome import OutcomeClass
from checklist_crds.runs.replay_rules import FINAL_EVENTS, ReplayRefusal

PENDING: Final = "pending"
IN_FLIGHT: Final = "in_flight"
DELIVERED: Final = "delivered"
FAILED: Final = "failed"
STATUSES: Final = (PENDING, IN_FLIGHT, DELIVERED, FAILED)
OUTCOMES: Final = tuple(outcome.value for outcome in OutcomeClass)


class Attempt(NamedTuple):
    """One attempt. Times in milliseconds since 1970; `outcome` is None for records without it (older releases)."""

    number: int
    started_at: int
    duration_ms: int
    outcome: str | None
    http_status: int | None
    manual: bool = False
    next_attempt_at: int | None = None
    detail: str | None = None

    @property
    def ok(self) -> bool:
        return self.outcome == OutcomeClass.SUCCESS.value


class Replay(NamedTuple):
    """The last finished replay. Times in milliseconds since 1970."""

    requested_at: int
    requested_by: str | None = None
    attempted_at: int | None = None
    outcome: str | None = None
    http_status: int | None = None


class FromRun(NamedTuple):
    """An event as its run has it; `status` is None while it is in the outbox."""

    status: str | None
    happened_at: int | None
    attempts_made: int = 0
    last: Attempt | None = None


class FromDelivery(NamedTuple):
    """A delivery as its WebhookDelivery has it. `replaying`: a requested replay has not ended."""

    status: str
    happened_at: int
    attempts_made: int
    attempts: tuple[Attempt, ...]
    next_attempt_at: int | None = None
    finished_at: int | None = None
    settled: bool = False
    replaying: bool = False
    last_replay: Replay | None = None


class Event(NamedTuple):
    """Identifies an event."""

    event_id: str
    run_id: str
    namespace: str
    organization: str
    event: str
    seq: int
    host: str


class Delivery(NamedTuple):
    """The merged delivery of one event."""

    event: Event
    status: str
    happened_at: int | None
    attempts_made: int
    attempts: tuple[Attempt, ...]
    next_attempt_at: int | None
    finished_at: int | None
    refusal: ReplayRefusal | None
    """Why it cannot be replayed; None if it can."""
    last_replay: Replay | None = None

    @property
    def last(self) -> Attempt | None:
        return self.attempts[-1] if self.attempts else None

    @property
    def listed_at(self) -> int:
        """Sort key of lists: time of the event, else of its last attempt."""
        if self.happened_at is not None:
            return self.happened_at
        return self.last.started_at if self.last is not None else 0


def merged(event: Event, run: FromRun | None, kept: FromDelivery | None) -> Delivery:
    """Merge the sources of a delivery, of which at least one is not None.

    A WebhookDelivery has precedence, unless it was just created and has no attempts while the event is in the outbox.
    """
    if kept is None or (run is not None and kept.attempts_made == 0 and kept.status == PENDING):
        return _from_run(event, run or FromRun(None, None), kept)
    return Delivery(
        event=event,
        status=kept.status,
        happened_at=kept.happened_at,
        attempts_made=kept.attempts_made,
        attempts=kept.attempts,
        next_attempt_at=kept.next_attempt_at,
        finished_at=kept.finished_at,
        refusal=_refusal_of(kept),
        last_replay=kept.last_replay,
    )


def _from_run(event: Event, run: FromRun, kept: FromDelivery | None) -> Delivery:
    status = run.status or PENDING
    ended = run.last is not None and status in {DELIVERED, FAILED}
    refusal = None
    if status not in {DELIVERED, FAILED}:
        refusal = ReplayRefusal.RETRY_PENDING
    elif kept is not None and kept.replaying:
        refusal = ReplayRefusal.REPLAY_UNDER_WAY
    elif event.event not in FINAL_EVENTS:
        refusal = ReplayRefusal.PAYLOAD_NOT_KEPT
    return Delivery(
        event=event,
        status=status,
        happened_at=kept.happened_at if run.happened_at is None and kept is not None else run.happened_at,
        attempts_made=run.attempts_made,
        attempts=(run.last,) if run.last is not None else (),
        next_attempt_at=None,
        finished_at=run.last.started_at + run.last.duration_ms if run.last is not None and ended else None,
        refusal=refusal,
    )


def _refusal_of(kept: FromDelivery) -> ReplayRefusal | None:
    """Same decision as `runs.replay_rules.refusal_of`."""
    if kept.replaying:
        return ReplayRefusal.REPLAY_UNDER_WAY
    if kept.status not in {DELIVERED, FAILED} or not kept.settled:
        return ReplayRefusal.RETRY_PENDING
    return None if kept.attempts_made else ReplayRefusal.RUN_DELETED
