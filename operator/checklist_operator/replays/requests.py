"""Requests for a replay of one delivery: decides on each, and records it in the delivery by one conditional write.

An accepted request makes the delivery unsettled; `controllers.deliveries` then sends it. People request a replay by an
annotation with a timestamp, which is cleared afterwards; its refusal shows as a condition and an Event. A
DeliveryReplay calls `request`. The timestamp identifies known requests, so a crash at any point loses nothing.

An event that was delivered at its first attempt has no WebhookDelivery. If it can be derived from its final run, a
delivery is created with the request's annotation, and then gets its history from the run.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from attrs import Factory, define, field

from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.errors import KubeAlreadyExists, KubeConflict, KubeNotFound
from checklist_crds.resources.delivery import REPLAY_ANNOTATION, REPLAY_BY_ANNOTATION, ReplayRequest
from checklist_crds.resources.delivery_records import DeliveryRecord
from checklist_crds.resources.kinds import RUN, WEBHOOK_DELIVERY, Key, key_of
from checklist_crds.resources.run import Run
from checklist_crds.resources.webhook_url import InsecureTargets
from checklist_crds.runs.replay_rules import ReplayRefusal, refusal_of_record
from checklist_crds.times import Clock, format_timestamp
from checklist_crds.values.json_text import JsonObject
from checklist_operator.attempts.delivery_objects import Delivery, DeliveryObjects, delivery_from_run
from checklist_operator.attempts.replay_state import (
    Accept,
    Known,
    Refuse,
    accepted,
    is_incomplete,
    is_requested,
    judge,
    refused,
    requested,
    with_history,
)
from checklist_operator.runtime.json_logging import about
from checklist_operator.runtime.kube_events import EventRecorder, ObjectReference
from checklist_operator.runtime.metrics import Metrics
from checklist_operator.runtime.work_queue import WorkQueue

logger = logging.getLogger(__name__)

_CONFLICT_RETRY_S: Final = 0.05
_CLEARED: Final = {"metadata": {"annotations": {REPLAY_ANNOTATION: None, REPLAY_BY_ANNOTATION: None}}}

Judged = tuple[JsonObject, ReplayRefusal | None]
"""The updated delivery, and why the request was refused; None when it was accepted, now or before."""


@define(kw_only=True, eq=False, repr=False, slots=False)
class ReplayRequests:
    """Observes deliveries, settled or not, whole or metadata only; handles those with the annotation.

    `on_accepted` is called with a delivery that is due now.
    """

    _client: KubeClient
    _objects: DeliveryObjects
    _kube_events: EventRecorder
    _metrics: Metrics
    _clock: Clock
    _allow_insecure: InsecureTargets
    _on_accepted: Callable[[JsonObject], None]
    _on_bug: Callable[[str], None]
    _workers: int = 16
    queue: WorkQueue[Key] = field(
        default=Factory(
            lambda self: WorkQueue("replay_requests", self._reconcile, workers=self._workers, on_bug=self._on_bug),
            takes_self=True,
        ),
        init=False,
    )

    def observe(self, type_: str | None, body: JsonObject) -> None:
        # DELETED from one of the two watches may only mean that the other one now shows the object.
        if type_ != "DELETED" and is_requested(body):
            self.queue.add(key_of(body))

    async def request(self, key: Key, request: ReplayRequest, *, from_run: str | None = None) -> ReplayRefusal | None:
        """Requests a replay; None when it was accepted, now or before. Raises KubeError.

        `from_run`: name of the run of an event that may have no WebhookDelivery, which is then created.
        """
        while True:
            try:
                record = None if from_run is None else await self._replayable(key, from_run)
                if isinstance(record, ReplayRefusal):
                    return record
                if record is None:
                    body = await self._objects.get_body(*key)
                else:
                    body = await self._get_or_create(key, *record, request)
                body, refusal = await self._judge(body, request, record=None if record is None else record[1])
                if is_requested(body):
                    self.queue.add(key)  # clears the annotation
                return refusal
            except KubeNotFound:
                return ReplayRefusal.RUN_DELETED
            except KubeConflict:
                await asyncio.sleep(_CONFLICT_RETRY_S)

    async def _reconcile(self, key: Key) -> float | None:
        """Clears the annotation last: until then, the request is found again after a crash."""
        try:
            body = await self._client.get(WEBHOOK_DELIVERY, key[1], key[0])
            if not is_requested(body):
                return None
            body, refusal = await self._judge(body, requested(body["metadata"]))
            if refusal is not None:
                body = await self._show_refusal(Delivery.parse(body), refusal)
            version = body["metadata"]["resourceVersion"]
            await self._client.patch(WEBHOOK_DELIVERY, key[1], _CLEARED, key[0], resource_version=version)
        except KubeNotFound:
            return None
        except KubeConflict:
            return _CONFLICT_RETRY_S  # a concurrent write, perhaps the next request
        return None

    async def _judge(
        self, body: JsonObject, request: ReplayRequest | None, *, record: DeliveryRecord | None = None
    ) -> Judged:
        """Accepts a valid request by one write. None stands for a request that cannot be parsed; `record` is the run's
        record of the event, if known."""
        delivery, now = Delivery.parse(body), self._clock()
        status = delivery.status
        if request is not None and is_incomplete(body, status):
            known = record or await self._recorded(delivery)
            if isinstance(known, ReplayRefusal):
                return body, known
            status = with_history(known, now=now, generation=delivery.generation)
        match judge(request, status):
            case Known():
                return body, None
            case Refuse(refusal=refusal):
                return body, refusal
            case Accept(request=request):
                after = accepted(status, request, now=now, generation=delivery.generation)
        body = await self._objects.write_body(delivery, after)
        logger.info(
            "replay.accepted",
            extra=about(
                event_id=delivery.name,
                run_id=delivery.spec.public_run_id,
                requested_at=format_timestamp(request.requested_at),
            ),
        )
        self._on_accepted(body)
        return body, None

    async def _show_refusal(self, delivery: Delivery, refusal: ReplayRefusal) -> JsonObject:
        status = refused(delivery.status, refusal, now=self._clock(), generation=delivery.generation)
        body = await self._objects.write_body(delivery, status)
        self._kube_events.warn(ObjectReference.of(WEBHOOK_DELIVERY, body), "ReplayRefused", refusal.message)
        self._metrics.replays.labels("refused").inc()
        logger.info("replay.refused", extra=about(event_id=delivery.name, reason=refusal.value))
        return body

    # -- deliveries created from runs -----------------------------------------------------------------------------

    async def _recorded(self, delivery: Delivery) -> DeliveryRecord | ReplayRefusal:
        """Returns the run's record for a delivery that was created for a replay and lacks its history."""
        try:
            run = Run.parse(await self._client.get(RUN, delivery.spec.run_ref.name, delivery.namespace), answers=False)
        except KubeNotFound:
            return ReplayRefusal.RUN_DELETED
        if run.public_id != delivery.spec.public_run_id:
            return ReplayRefusal.RUN_DELETED  # another run of the same name
        record = _record_in(run, delivery.spec.event_id)
        return record if record is not None and record.phase.is_final else ReplayRefusal.RETRY_PENDING

    async def _replayable(self, key: Key, name: str) -> tuple[Run, DeliveryRecord] | ReplayRefusal:
        """Raises KubeNotFound when the run is gone."""
        run = Run.parse(await self._client.get(RUN, name, key[0]))
        record = _record_in(run, key[1])
        if record is None:
            return ReplayRefusal.PAYLOAD_NOT_KEPT
        return refusal_of_record(run, record) or (run, record)

    async def _get_or_create(self, key: Key, run: Run, record: DeliveryRecord, request: ReplayRequest) -> JsonObject:
        body = delivery_from_run(run, record, allow_insecure=self._allow_insecure)
        # With the annotation, so that after a crash the incomplete delivery shows its purpose.
        body["metadata"]["annotations"] = {REPLAY_ANNOTATION: format_timestamp(request.requested_at)} | (
            {REPLAY_BY_ANNOTATION: request.requested_by} if request.requested_by else {}
        )
        try:
            return await self._client.create(WEBHOOK_DELIVERY, body, key[0])
        except KubeAlreadyExists:
            return await self._objects.get_body(*key)


def _record_in(run: Run, event_id: str) -> DeliveryRecord | None:
    return next((one for one in run.status.delivery_records if one.event_id == event_id), None)
