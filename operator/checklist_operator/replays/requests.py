"""Requests for a replay: an annotation with a timestamp on a WebhookDelivery is judged, recorded and cleared.

An accepted request goes into the delivery's status, which makes the delivery unsettled; `deliveries` then sends it. A
refused one is told as a condition and as an Event. Either is written before the annotation is cleared, so a crash in
between loses nothing, and the timestamp tells that the request is known already.

An event that was delivered at its first attempt has no WebhookDelivery. If its run is final and tells of itself, one is
made, with the history that the run recorded; `request` does that too.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from checklist_crds.delivery_records import DeliveryRecord
from checklist_crds.delivery_types import REPLAY_ANNOTATION, REPLAY_BY_ANNOTATION, ReplayRequest
from checklist_crds.kube.client import JsonObject, KubeClient
from checklist_crds.kube.errors import KubeAlreadyExists, KubeConflict, KubeNotFound
from checklist_crds.kube.informer import Key, key_of
from checklist_crds.kube.kinds import RUN, WEBHOOK_DELIVERY
from checklist_crds.replay_rules import ReplayRefusal, refusal_of_record
from checklist_crds.run_types import Run
from checklist_crds.times import Clock, format_timestamp
from checklist_crds.webhook_url import Openness
from checklist_operator.attempts.delivery_objects import Delivery, DeliveryObjects
from checklist_operator.attempts.replay_progress import (
    Accept,
    Known,
    Refuse,
    accepted,
    is_half_made,
    is_requested,
    judge,
    refused,
    requested,
    with_history,
)
from checklist_operator.attempts.run_deliveries import delivery_from_run
from checklist_operator.runtime.json_logging import about
from checklist_operator.runtime.kube_events import EventRecorder, ObjectReference
from checklist_operator.runtime.metrics import Metrics
from checklist_operator.runtime.work_queue import WorkQueue

logger = logging.getLogger(__name__)

_SOON_S: Final = 0.05
_CLEARED: Final = {"metadata": {"annotations": {REPLAY_ANNOTATION: None, REPLAY_BY_ANNOTATION: None}}}


class ReplayRequests:
    """Shown deliveries, settled or not, whole or as metadata alone; acts on those with the annotation."""

    def __init__(
        self,
        client: KubeClient,
        *,
        objects: DeliveryObjects,
        events: EventRecorder,
        metrics: Metrics,
        clock: Clock,
        allow_insecure: Openness,
        on_accepted: Callable[[JsonObject], None],
        on_bug: Callable[[str], None],
        workers: int = 16,
    ) -> None:
        """`on_accepted` is called with a delivery that has something to send now."""
        self._client = client
        self._objects = objects
        self._events = events
        self._metrics = metrics
        self._clock = clock
        self._allow_insecure = allow_insecure
        self._on_accepted = on_accepted
        self.queue: WorkQueue[Key] = WorkQueue("replay_requests", self._reconcile, workers=workers, on_bug=on_bug)

    def observe(self, type_: str | None, body: JsonObject) -> None:
        # DELETED, from one of the two watches, may only mean that it is up to the other one now: nothing is forgotten.
        if type_ != "DELETED" and is_requested(body):
            self.queue.add(key_of(body))

    # -- by annotation --------------------------------------------------------------------------------------------

    async def _reconcile(self, key: Key) -> float | None:
        try:
            body = await self._client.get(WEBHOOK_DELIVERY, key[1], key[0])
            if not is_requested(body):
                return None
            body = await self._judged(body)
            metadata = body["metadata"]
            await self._client.patch(
                WEBHOOK_DELIVERY, key[1], _CLEARED, key[0], resource_version=metadata["resourceVersion"]
            )
        except KubeNotFound:
            return None
        except KubeConflict:
            return _SOON_S  # somebody wrote in between, perhaps the next request
        return None

    async def _judged(self, body: JsonObject) -> JsonObject:
        """The delivery after its request was accepted or refused."""
        delivery, request = Delivery.parse(body), requested(body["metadata"])
        if request is not None and is_half_made(body, delivery.status):
            return await self._completed(delivery, request)
        match judge(request, delivery.status):
            case Known():
                return body
            case Refuse(refusal=refusal):
                return await self._refuse(delivery, refusal)
            case Accept(request=request):
                return await self._accept(delivery, request)

    async def _completed(self, delivery: Delivery, request: ReplayRequest) -> JsonObject:
        """A delivery that was made for a replay gets the history that its run has; its maker died before that."""
        try:
            run = Run.parse(await self._client.get(RUN, delivery.spec.run_ref.name, delivery.namespace))
        except KubeNotFound:
            return await self._refuse(delivery, ReplayRefusal.RUN_DELETED)
        record = next((one for one in run.status.deliveries if one.event_id == delivery.spec.event_id), None)
        if record is None or not record.phase.is_final:
            return await self._refuse(delivery, ReplayRefusal.RETRY_PENDING)
        return await self._accept(delivery, request, record)

    async def _accept(
        self, delivery: Delivery, request: ReplayRequest, record: DeliveryRecord | None = None
    ) -> JsonObject:
        now, generation = self._clock(), delivery.generation
        status = delivery.status if record is None else with_history(record, now=now, generation=generation)
        body = await self._objects.write_body(delivery, accepted(status, request, now=now, generation=generation))
        logger.info(
            "replay accepted",
            extra=about(
                event_id=delivery.name,
                run_id=delivery.spec.run_ref.name,
                requested_at=format_timestamp(request.requested_at),
            ),
        )
        self._on_accepted(body)
        return body

    async def _refuse(self, delivery: Delivery, refusal: ReplayRefusal) -> JsonObject:
        status = refused(delivery.status, refusal, now=self._clock(), generation=delivery.generation)
        body = await self._objects.write_body(delivery, status)
        self._events.warn(ObjectReference.of(WEBHOOK_DELIVERY, body), "ReplayRefused", refusal.message)
        self._metrics.replays.labels("refused").inc()
        logger.info("replay refused", extra=about(event_id=delivery.name, reason=refusal.value))
        return body

    # -- by the operator itself, for many -------------------------------------------------------------------------

    async def request(self, key: Key, request: ReplayRequest) -> ReplayRefusal | None:
        """Asks for a replay of a delivery; None when it was accepted, now or before. Raises KubeError."""
        while True:
            try:
                delivery = await self._objects.get(*key)
                match judge(request, delivery.status):
                    case Refuse(refusal=refusal):
                        return refusal
                    case Accept():
                        await self._accept(delivery, request)
                return None
            except KubeNotFound:
                return ReplayRefusal.RUN_DELETED
            except KubeConflict:
                await asyncio.sleep(_SOON_S)

    async def request_from_run(
        self, namespace: str, run_id: str, event_id: str, request: ReplayRequest
    ) -> ReplayRefusal | None:
        """The same for an event that has no WebhookDelivery: one is made from what its run says. Raises KubeError."""
        try:
            run = Run.parse(await self._client.get(RUN, run_id, namespace))
        except KubeNotFound:
            return ReplayRefusal.RUN_DELETED
        record = next((one for one in run.status.deliveries if one.event_id == event_id), None)
        if record is None:
            return ReplayRefusal.PAYLOAD_NOT_KEPT
        refusal = refusal_of_record(run, record)
        if refusal is not None:
            return refusal
        body = delivery_from_run(run, record, allow_insecure=self._allow_insecure)
        # With the annotation, so that whoever finds it half-made knows what it was made for.
        body["metadata"]["annotations"] = {REPLAY_ANNOTATION: format_timestamp(request.requested_at)} | (
            {REPLAY_BY_ANNOTATION: request.requested_by} if request.requested_by else {}
        )
        try:
            made = Delivery.parse(await self._client.create(WEBHOOK_DELIVERY, body, namespace))
            await self._accept(made, request, record)
        except KubeAlreadyExists:
            return await self._complete_or_request((namespace, event_id), record, request)
        except (KubeConflict, KubeNotFound):
            pass  # the annotation was seen at once, and somebody has completed it
        self.queue.add((namespace, event_id))  # which clears the annotation
        return None

    async def _complete_or_request(
        self, key: Key, record: DeliveryRecord, request: ReplayRequest
    ) -> ReplayRefusal | None:
        """For an event that has a delivery after all; it may be empty, since its maker died over it."""
        try:
            body = await self._client.get(WEBHOOK_DELIVERY, key[1], key[0])
            delivery = Delivery.parse(body)
            if is_half_made(body, delivery.status):
                await self._accept(delivery, request, record)
                self.queue.add(key)
                return None
        except (KubeConflict, KubeNotFound):
            pass  # somebody was faster: what is there now decides
        return await self.request(key, request)
