"""Runs the steps of an attempt after its preparation: permit, claim, send, record. The controllers decide when.

The claim is written after the permit is granted: a claim is valid for 30 seconds, and the wait for a permit may be
longer. `make` calls `prepare` after that wait: the controllers then return the attempt that they prepared before it, or
a new one if that has become too old. No claim is written for a first attempt: only the leader sends first attempts, and
the outbox shows which are due.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable

from attrs import define, field

from checklist_crds.resources.webhook_url import host_of
from checklist_crds.times import Clock
from checklist_operator.attempts.attempt import Attempt, RecordedAttempt, SentAttempt
from checklist_operator.attempts.claim import Claims
from checklist_operator.attempts.envelopes import EventPhotos, body_of
from checklist_operator.attempts.pauses import Pauses
from checklist_operator.attempts.record import AttemptRecorder
from checklist_operator.attempts.send import Origin, Transmitter
from checklist_operator.faults import LocalFault
from checklist_operator.runtime.deadlines import ShutdownDeadlines
from checklist_operator.runtime.json_logging import about
from checklist_operator.runtime.metrics import Metrics
from checklist_operator.transport.fairness import Permits, Place
from checklist_operator.transport.outcome import Outcome

logger = logging.getLogger(__name__)


@define(kw_only=True, eq=False, repr=False, slots=False)
class AttemptPipeline:
    """Makes attempts and tracks those in flight."""

    _permits: Permits
    _claims: Claims
    _transmitter: Transmitter
    _recorder: AttemptRecorder
    _photos: EventPhotos
    _pauses: Pauses
    _metrics: Metrics
    _clock: Clock
    _sending: Counter[bool] = field(factory=Counter, init=False)
    """Attempts between permit and outcome: how many are first attempts (True), and how many are not (False)."""
    _unrecorded: dict[tuple[str, int], bool] = field(factory=dict, init=False)
    _stopping: bool = field(default=False, init=False)

    @property
    def in_flight(self) -> int:
        return self._sending.total() + len(self._unrecorded)

    @property
    def retries_in_flight(self) -> int:
        return self._sending[False] + sum(not first for first in self._unrecorded.values())

    @property
    def unrecorded(self) -> dict[str, int]:
        """Numbers by event id of attempts that have ended but are not recorded in the cluster."""
        return dict(sorted(self._unrecorded))

    async def make(
        self,
        url: str,
        organization: str,
        prepare: Callable[[], Awaitable[Attempt | None]],
        *,
        first: bool,
        starts: Callable[[], None] = lambda: None,
        place: Place | None = None,
    ) -> SentAttempt | None:
        """Waits for a permit, in `place` if the caller has one, which is used up; makes the attempt that `prepare` then
        returns; None without one.

        `starts` is called right before sending. Raises what `prepare` raises, Paused, LocalFault (result unknown), and
        KubeConflict when another process was faster.
        """
        delayed_by_receiver = self._permits.delays_attempts(host_of(url))
        place = place or self._permits.apply(host=host_of(url), organization=organization, first=first)
        async with self._permits.held(place):
            attempt = None if self._stopping else await prepare()
            if attempt is None or self._stopping:
                return None  # shutdown: attempts in flight are already being counted
            self._pauses.check_known(attempt.run_key, attempt.organization)
            # Counted before the claim is written: shutdown waits for claimed attempts, which otherwise could not be
            # sent until the claim expires.
            self._sending[first] += 1
            try:
                sent = await self._claim_and_send(attempt, starts, delayed_by_receiver=delayed_by_receiver)
                if sent is not None:
                    self._unrecorded[attempt.event_id, attempt.number] = first
            except LocalFault as fault:
                if attempt.delivery is not None:
                    await self._recorder.postpone(attempt.delivery, attempt.action, fault)
                raise
            finally:
                self._sending[first] -= 1
        return sent

    async def record(self, sent: SentAttempt) -> RecordedAttempt | None:
        """Retries until the outcome is written; None when it is no longer ours to record."""
        try:
            return await self._recorder.record(sent)
        finally:
            self._unrecorded.pop((sent.attempt.event_id, sent.attempt.number), None)

    def abandon(self, sent: SentAttempt) -> None:
        """Drops an attempt whose outcome is not needed."""
        self._unrecorded.pop((sent.attempt.event_id, sent.attempt.number), None)

    def stop(self) -> None:
        """Starts no more attempts."""
        self._stopping = True

    async def drain_responses(self, deadlines: ShutdownDeadlines) -> None:
        """Waits, after `stop`, for answers to attempts in flight."""
        while self._sending.total() and deadlines.allows_responses():  # noqa: ASYNC110 - rare and short
            await asyncio.sleep(0.02)

    async def _claim_and_send(
        self, attempt: Attempt, starts: Callable[[], None], *, delayed_by_receiver: bool
    ) -> SentAttempt | None:
        message = await self._photos.with_photo_urls(attempt.message(), attempt.photo_folders)
        body = body_of(message, attempt.number)
        if self._stopping:
            return None
        delivery, is_claimed = attempt.delivery, False
        if delivery is not None:
            taken = await self._claims.take(delivery, attempt.action)
            delivery, is_claimed = taken.delivery, taken.is_claimed
        starts()
        self._count_start(
            attempt, delayed_by_receiver=delayed_by_receiver or self._permits.delays_attempts(host_of(attempt.url))
        )
        outcome = await self._transmitter.send(
            attempt.url, body, attempt.secret, attempt.run.id, attempt=attempt.number, origin=_origin(attempt)
        )
        _log(attempt, outcome)
        return SentAttempt(attempt, outcome, delivery, is_claimed)

    def _count_start(self, attempt: Attempt, *, delayed_by_receiver: bool) -> None:
        if attempt.due_at is None:
            return
        lag_s = (self._clock() - attempt.due_at).total_seconds()
        if attempt.is_first:
            self._metrics.first_attempt_started(lag_s, delayed_by_receiver=delayed_by_receiver)
        else:
            self._metrics.retry_lag.observe(max(0.0, lag_s))


def _origin(attempt: Attempt) -> Origin:
    name = attempt.event.event.value
    if attempt.delivery is None:
        return Origin(attempt.run_body, attempt.event_id, name, waiting_since=attempt.due_at)
    return Origin(attempt.run_body, attempt.event_id, name, first_attempt=attempt.delivery.traceparent)


def _log(attempt: Attempt, outcome: Outcome) -> None:
    logger.info(
        "attempt.succeeded" if outcome.ok else "attempt.failed",
        extra=about(
            run_id=attempt.run.id,
            event_id=attempt.event_id,
            event_name=attempt.event.event.value,
            seq=attempt.event.seq,
            attempt=attempt.number,
            manual=attempt.action.is_replay,
            outcome=outcome.outcome_class.value,
            status=outcome.http_status,
            duration_ms=outcome.duration_ms,
        ),
    )
