"""The history of one delivery, merged from what the cluster has of it. Pure.

An event is in its run's outbox until its first attempt has ended, and in the run's records from then on. A
WebhookDelivery exists for an event whose first attempt failed (or that was replayed), and knows every attempt; a record
alone knows the last one.
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
    """One attempt. Instants are milliseconds since 1970; `outcome` is None where an old record does not tell it."""

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
    """The replay that ended last. Instants are milliseconds since 1970."""

    requested_at: int
    requested_by: str | None = None
    attempted_at: int | None = None
    outcome: str | None = None
    http_status: int | None = None


class FromRun(NamedTuple):
    """What the run says of one of its events: `status` is None while it is in the outbox."""

    status: str | None
    happened_at: int | None
    attempts_made: int = 0
    last: Attempt | None = None


class Kept(NamedTuple):
    """What a WebhookDelivery says. `replaying`: somebody asked for a replay that has not ended yet."""

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
    """Which event it is."""

    event_id: str
    run_id: str
    namespace: str
    organization: str
    event: str
    seq: int
    host: str


class Delivery(NamedTuple):
    """The delivery of one event, as everybody is shown it."""

    event: Event
    status: str
    happened_at: int | None
    attempts_made: int
    attempts: tuple[Attempt, ...]
    next_attempt_at: int | None
    finished_at: int | None
    refusal: ReplayRefusal | None
    """Why it cannot be replayed now; None when it can."""
    last_replay: Replay | None = None

    @property
    def last(self) -> Attempt | None:
        return self.attempts[-1] if self.attempts else None

    @property
    def listed_at(self) -> int:
        """Where lists put it: when the event happened, or else when it was last tried."""
        if self.happened_at is not None:
            return self.happened_at
        return self.last.started_at if self.last is not None else 0


def merged(event: Event, run: FromRun | None, kept: Kept | None) -> Delivery:
    """The delivery of `event`. At least one of `run` and `kept` is there.

    A WebhookDelivery knows more than the run. One without any attempt is just being made while the event still waits in
    the outbox.
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
        refusal=_refusal_of_kept(kept),
        last_replay=kept.last_replay,
    )


def _from_run(event: Event, run: FromRun, kept: Kept | None) -> Delivery:
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


def _refusal_of_kept(kept: Kept) -> ReplayRefusal | None:
    """As `runs.replay_rules.refusal_of` decides it of the whole object."""
    if kept.replaying:
        return ReplayRefusal.REPLAY_UNDER_WAY
    if kept.status not in {DELIVERED, FAILED} or not kept.settled:
        return ReplayRefusal.RETRY_PENDING
    return None if kept.attempts_made else ReplayRefusal.RUN_DELETED
