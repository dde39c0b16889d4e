"""Records the outcomes of attempts, and the faults that prevent them.

An outcome exists nowhere else, so writing it is retried until it succeeds or is not needed any more.
"""

import asyncio
import contextlib
import logging
from typing import Final

from attrs import define, field

from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.errors import KubeConflict, KubeError, KubeNotFound
from checklist_crds.kube.run_writes import change_run_status
from checklist_crds.resources.delivery import DeliveryAttempt
from checklist_crds.resources.delivery_records import DeliveryPhase, DeliveryRecord
from checklist_crds.resources.kinds import RUN, Key
from checklist_crds.resources.run_id import run_id_of
from checklist_crds.times import Clock
from checklist_crds.values.json_text import JsonObject
from checklist_operator.attempts.attempt import Attempt, RecordedAttempt, SentAttempt
from checklist_operator.attempts.claim import Claims
from checklist_operator.attempts.delivery_objects import Delivery, DeliveryObjects, write_until_done
from checklist_operator.attempts.delivery_state import Send, after_attempt, attempt_record, settled
from checklist_operator.attempts.pauses import Paused
from checklist_operator.attempts.replay_state import replayed, with_fault
from checklist_operator.attempts.run_records import with_delivering
from checklist_operator.attempts.settle import DeliverySettler
from checklist_operator.faults import LocalFault
from checklist_operator.runtime.json_logging import about
from checklist_operator.runtime.kube_events import EventRecorder, ObjectReference
from checklist_operator.runtime.metrics import Metrics
from checklist_operator.transport.outcome import Outcome

logger = logging.getLogger(__name__)

_AT_ONCE: Final = 8
"""Concurrent writes of retries' outcomes. They compete with time-critical starts for the cluster."""


@define(kw_only=True, eq=False, repr=False, slots=False)
class AttemptRecorder:
    """Writes outcomes and faults."""

    _client: KubeClient
    _objects: DeliveryObjects
    _claims: Claims
    _settler: DeliverySettler
    _metrics: Metrics
    _kube_events: EventRecorder
    _clock: Clock
    _room: asyncio.Semaphore = field(factory=lambda: asyncio.Semaphore(_AT_ONCE), init=False)

    async def record(self, sent: SentAttempt) -> RecordedAttempt | None:
        """Returns None when its run or namespace is gone, or another process continues the delivery."""
        if sent.attempt.is_first:
            return await self._record_first(sent.attempt, sent.outcome)
        delivery = await self._record_later(sent)
        return None if delivery is None else RecordedAttempt(delivery=delivery)

    async def postpone(self, delivery: Delivery, action: Send, fault: LocalFault) -> None:
        """Shows why a delivery is not sent: for a retry on its run, as for first attempts; for a replay, whose run may
        have ended long ago, on the delivery."""
        logger.warning(
            "attempt.postponed",
            extra=about(event_id=delivery.name, manual=action.is_replay, reason=fault.reason, detail=fault.message),
        )
        self._metrics.own_faults.labels(fault.reason).inc()
        with contextlib.suppress(KubeNotFound, KubeConflict):  # changed meanwhile; handled by the next reconciliation
            if not action.is_replay:
                await self._show_fault((delivery.namespace, delivery.spec.run_ref.name), fault)
                return
            await self._show_on_replay(delivery, fault)

    async def hold_replay(self, key: Key, pause: Paused) -> None:
        """Shows on a delivery that its replay waits for the end of a pause: bulk replays then set it aside."""
        with contextlib.suppress(KubeNotFound, KubeConflict):
            delivery = await self._objects.get_recent(*key)
            if delivery.status.replay is not None:
                await self._show_on_replay(delivery, pause)

    async def postpone_run(
        self, run: Key, body: JsonObject, fault: LocalFault, *, again_in_s: float, first: bool
    ) -> JsonObject | None:
        """Shows on a run, known as `body`, why its first attempts are not made. `first`: of several faults in a row.

        Returns the updated run; None when it is gone.
        """
        if isinstance(fault, Paused):
            logger.info("events.held", extra=about(run_id=run_id_of(body), reason=fault.message))
        else:
            facts = about(run_id=run_id_of(body), reason=fault.reason, detail=fault.message, again_in_s=again_in_s)
            logger.warning("events.postponed", extra=facts)
            self._metrics.own_faults.labels(fault.reason).inc()
            if first:
                self._kube_events.warn(ObjectReference.of(RUN, body), fault.reason, f"Events wait: {fault.message}.")
        try:
            return await self._show_fault(run, fault, known=body)
        except KubeNotFound:
            return None
        except KubeError as error:
            logger.warning("run.condition_not_written", extra=about(run_id=run_id_of(body), reason=error.message))
            return body

    async def _show_on_replay(self, delivery: Delivery, fault: LocalFault) -> None:
        status = with_fault(delivery.status, *fault.as_condition, now=self._clock(), generation=delivery.generation)
        await self._objects.write(delivery, status)

    async def _show_fault(self, run: Key, fault: LocalFault, *, known: JsonObject | None = None) -> JsonObject:
        return await change_run_status(
            self._client,
            *run,
            lambda run: with_delivering(run, run.status, fault.as_condition, now=self._clock()),
            known=known,
        )

    # -- first attempts: the outbox records a success on the run, a failure becomes a delivery ---------------------

    async def _record_first(self, attempt: Attempt, outcome: Outcome) -> RecordedAttempt | None:
        if outcome.ok:
            self._metrics.deliveries.labels("delivered").inc()
            return RecordedAttempt(_first_record(attempt, outcome))
        record = await self._objects.create_for_failed(
            attempt.run,
            attempt.event,
            attempt.message(),
            outcome,
            url=attempt.url,
            organization=attempt.organization,
        )
        return None if record is None else RecordedAttempt(record)

    # -- retries and replays: written to the delivery, the last one to its run first -------------------------------

    async def _record_later(self, sent: SentAttempt) -> Delivery | None:
        """Writes the last outcome to the run first: a success on record ends everything, even if this process ends
        before it updates the delivery."""
        attempt, outcome = sent.attempt, sent.outcome
        assert sent.delivery is not None  # noqa: S101 - only first attempts have none
        delivery, action = sent.delivery, attempt.action
        known: JsonObject | None = attempt.run_body
        next_attempt_at = None if action.is_replay else self._objects.next_attempt_at(outcome, action.attempt)
        entry = attempt_record(action.attempt, outcome, next_attempt_at, manual=action.is_replay)
        ended = replayed if action.is_replay else after_attempt
        is_repeated = False

        async def write() -> Delivery | None:
            nonlocal delivery, known, is_repeated
            if is_repeated:
                known = None
                delivery = await self._objects.get(delivery.namespace, delivery.name)
                if _has(delivery, entry):
                    return delivery  # written before; only the answer was lost
                if not self._claims.is_ours(delivery, action, was_claimed=sent.is_claimed):
                    return None  # no longer ours to record
            is_repeated = True
            status = ended(delivery.status, entry, ok=outcome.ok, now=self._clock(), generation=delivery.generation)
            if status.phase.is_final and not status.settled:
                await self._settler.record_on_run(delivery, status, known)
                status = settled(status)
            async with self._room:
                return await self._objects.write(delivery, status)

        return await write_until_done(write, "attempt.not_recorded", attempt.event_id)


def _first_record(attempt: Attempt, outcome: Outcome) -> DeliveryRecord:
    event = attempt.event
    return DeliveryRecord(
        seq=event.seq,
        event=event.event,
        event_id=event.event_id,
        ts=event.ts,
        phase=DeliveryPhase.DELIVERED,
        attempts=1,
        started_at=outcome.started_at,
        duration_ms=outcome.duration_ms,
        outcome=outcome.outcome_class,
        http_status=outcome.http_status,
    )


def _has(delivery: Delivery, entry: DeliveryAttempt) -> bool:
    return bool(delivery.status.attempts) and delivery.status.attempts[-1].to_kube() == entry.to_kube()
