"""Settles deliveries: records each end on the run, then marks the delivery; updates Events and metrics."""

import logging
from collections.abc import Callable

from attrs import define

from checklist_crds.resources.delivery import (
    MAX_ATTEMPTS,
    LastReplay,
    OutcomeClass,
    WebhookDeliverySpec,
    WebhookDeliveryStatus,
)
from checklist_crds.resources.delivery_records import DeliveryPhase
from checklist_crds.resources.kinds import RUN, WEBHOOK_DELIVERY, Key
from checklist_crds.resources.webhook_url import host_of
from checklist_crds.runs.replay_rules import ReplayRefusal
from checklist_crds.times import Clock
from checklist_crds.values.json_text import JsonObject
from checklist_operator.attempts.delivery_objects import Delivery, DeliveryObjects
from checklist_operator.attempts.delivery_state import (
    DELIVERED,
    Send,
    failed,
    found_delivered,
    record_of,
    settled,
)
from checklist_operator.attempts.replay_state import REPLAYED, not_replayable
from checklist_operator.attempts.run_records import RunPlace, RunRecords
from checklist_operator.runtime.json_logging import about
from checklist_operator.runtime.kube_events import EventRecorder, ObjectReference
from checklist_operator.runtime.metrics import Metrics

logger = logging.getLogger(__name__)


@define(kw_only=True, eq=False, repr=False, slots=False)
class DeliverySettler:
    """Settles deliveries and replays. Methods that write raise KubeError."""

    _objects: DeliveryObjects
    _records: RunRecords
    _metrics: Metrics
    _kube_events: EventRecorder
    _clock: Clock
    _on_settled: Callable[[Key], None]

    async def conclude(self, delivery: Delivery) -> None:
        """Records the end on the run, then settles. After a KubeError, call it again."""
        if not delivery.status.phase.is_final:
            message = f"All {MAX_ATTEMPTS} attempts failed."
            status = failed(
                delivery.status, "AttemptsExhausted", message, now=self._clock(), generation=delivery.generation
            )
            delivery = await self._objects.write(delivery, status)
        await self.record_on_run(delivery, delivery.status)
        self.announce(await self._objects.write(delivery, settled(delivery.status)))

    async def record_on_run(
        self, delivery: Delivery, status: WebhookDeliveryStatus, known: JsonObject | None = None
    ) -> None:
        """Records how the delivery ended. `known` is the run as read before."""
        run = RunPlace(delivery.namespace, delivery.spec.run_ref.name, delivery.spec.public_run_id)
        body = await self._records.record(run, record_of(delivery.spec, status), known=known)
        if body is not None and status.phase is DeliveryPhase.FAILED:
            self._kube_events.warn(ObjectReference.of(RUN, body), "DeliveryFailed", _summary(delivery.spec, status))

    def announce(self, delivery: Delivery) -> None:
        """Reports a settled delivery: Event, log, metrics, callback."""
        status, this = delivery.status, _reference(delivery)
        if status.last_replay is not None:
            condition = next((one for one in status.conditions if one.type == REPLAYED), None)
            if condition is not None and status.last_replay.outcome is OutcomeClass.SUCCESS:
                self._kube_events.record(this, "Replayed", condition.message)
            elif condition is not None:
                self._kube_events.warn(this, condition.reason, condition.message)
            self._metrics.replays.labels(_result(status.last_replay)).inc()
        else:
            delivered = status.phase is DeliveryPhase.DELIVERED
            if not delivered:
                self._kube_events.warn(this, "DeliveryFailed", _summary(delivery.spec, status))
            self._metrics.deliveries.labels("delivered" if delivered else "failed").inc()
        logger.info(
            "delivery.settled",
            extra=about(
                event_id=delivery.name,
                run_id=delivery.spec.public_run_id,
                phase=status.phase.value,
                replayed=status.last_replay is not None,
            ),
        )
        self._on_settled((delivery.namespace, delivery.name))

    async def settle_delivered(self, delivery: Delivery) -> None:
        """Settles the delivery of an event that another operator has delivered.

        Two operators made the first attempt, for example after one was suspended past its lease, and the one whose
        attempt failed created this delivery.
        """
        status = found_delivered(delivery.status, now=self._clock(), generation=delivery.generation)
        self.announce(await self._objects.write(delivery, settled(status)))

    async def give_up(self, delivery: Delivery, action: Send, why: ReplayRefusal) -> None:
        """Settles a delivery that is not sent, whatever its schedule."""
        now, generation = self._clock(), delivery.generation
        if action.is_replay:
            status = not_replayable(delivery.status, why, now=now, generation=generation)
        else:
            status = settled(failed(delivery.status, why.reason, why.message, now=now, generation=generation))
        self.announce(await self._objects.write(delivery, status))


def _reference(delivery: Delivery) -> ObjectReference:
    return ObjectReference(WEBHOOK_DELIVERY, delivery.namespace, delivery.name, delivery.uid)


def _summary(spec: WebhookDeliverySpec, status: WebhookDeliveryStatus) -> str:
    """Describes why and where the delivery failed, from its condition."""
    message = next((one.message for one in status.conditions if one.type == DELIVERED), "")
    return f"{spec.event.value} (seq {spec.seq}) to {host_of(spec.url)}: {message}"


def _result(replay: LastReplay) -> str:
    """Returns the replay's result as a metric label."""
    if replay.outcome is None:
        return "refused"
    return "delivered" if replay.outcome is OutcomeClass.SUCCESS else "failed"
