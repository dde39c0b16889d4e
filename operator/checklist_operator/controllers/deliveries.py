"""Retries: a WebhookDelivery is sent again when it is due, until it is delivered or has failed five times.

Only due times are kept in memory. When one comes up: permit, read, claim (compare and swap), send with a fresh
signature, record. What the cluster holds decides, so two leaders that overlap can at worst send one attempt twice,
under the same number.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from typing import Final

from checklist_crds.delivery_types import MAX_ATTEMPTS, WebhookDeliveryStatus
from checklist_crds.kube.client import JsonObject, KubeClient
from checklist_crds.kube.errors import KubeConflict, KubeError, KubeNotFound
from checklist_crds.kube.informer import Key, key_of
from checklist_crds.kube.kinds import RUN
from checklist_crds.run_types import DeliveryPhase, Run, Webhook
from checklist_crds.times import Clock, parse_timestamp
from checklist_operator.delivery.outcome import Outcome
from checklist_operator.delivery_objects import Delivery, DeliveryObjects
from checklist_operator.delivery_progress import (
    Conclude,
    Send,
    Step,
    Wait,
    after_attempt,
    claimed,
    given_up,
    next_step,
    record_of,
    settled,
)
from checklist_operator.envelopes import body_of, kept_message
from checklist_operator.event_photos import EventPhotos
from checklist_operator.faults import OurFault
from checklist_operator.json_logging import about
from checklist_operator.metrics import Metrics
from checklist_operator.run_status import change_run_status, with_delivering, with_records
from checklist_operator.signing_secrets import SigningSecrets
from checklist_operator.timers import Timers
from checklist_operator.transmission import Transmitter, attempt_record
from checklist_operator.work_queue import Backoff, WorkQueue

logger = logging.getLogger(__name__)

_OUR_FAULT_PAUSE_S: Final = 10.0
_BACKOFF: Final = Backoff(first=0.1, longest=10.0)
_Made = tuple[Delivery, int, Outcome]


class Deliveries:
    """Shown every unsettled WebhookDelivery."""

    def __init__(
        self,
        client: KubeClient,
        *,
        objects: DeliveryObjects,
        secrets: SigningSecrets,
        transmitter: Transmitter,
        photos: EventPhotos,
        timers: Timers,
        metrics: Metrics,
        clock: Clock,
        holder: str,
        on_bug: Callable[[str], None],
        workers: int = 4096,
    ) -> None:
        self._client = client
        self._objects = objects
        self._secrets = secrets
        self._transmitter = transmitter
        self._photos = photos
        self._metrics = metrics
        self._clock = clock
        self._holder = holder
        self._targets: dict[Key, tuple[str, str]] = {}
        self._sending = 0
        self._stopping = False
        # A worker here mostly waits for a permit; what bounds the load are the permits.
        self.queue: WorkQueue[Key] = WorkQueue("deliveries", self._reconcile, workers=workers, on_bug=on_bug)
        self._due = timers.topic(self.queue.add)

    @property
    def in_flight(self) -> int:
        return self._sending

    def observe(self, type_: str | None, body: JsonObject) -> None:
        key = key_of(body)
        if type_ == "DELETED":
            self._targets.pop(key, None)
            self._due.cancel(key)
            self.queue.forget(key)
            return
        spec = body["spec"]
        self._targets[key] = (spec["url"], spec["organizationRef"]["name"])
        status = WebhookDeliveryStatus.model_validate(body.get("status") or {})
        created_at = parse_timestamp(body["metadata"]["creationTimestamp"])
        match next_step(status, now=self._clock(), holder=self._holder, created_at=created_at):
            case Wait(until=until):
                self._due.set(key, until)
            case Send() | Conclude():
                self.queue.add(key)

    async def drain(self, within_s: float) -> None:
        """Starts nothing new; waits for what is in flight and for its outcome to be recorded."""
        self._stopping = True
        deadline = asyncio.get_running_loop().time() + within_s
        while self._sending and asyncio.get_running_loop().time() < deadline:  # noqa: ASYNC110 - rare and short
            await asyncio.sleep(0.02)

    async def close(self) -> None:
        """Cancels everything; claimed attempts are made again by the next leader."""
        self._stopping = True
        await self.queue.close()

    async def _reconcile(self, key: Key) -> float | None:
        target = self._targets.get(key)
        if target is None or self._stopping:
            return None
        try:
            if not await self._is_due(key):
                return None
            url, organization = target
            async with self._transmitter.permit(url, organization, first=False):
                made = None if self._stopping else await self._attempt(key)
            if made is not None:
                await self._record(*made)
        except KubeNotFound:
            self._targets.pop(key, None)
        except KubeConflict:
            return 0.05  # somebody else was faster: look again
        except OurFault:
            return _OUR_FAULT_PAUSE_S
        return None

    async def _is_due(self, key: Key) -> bool:
        """Whether an attempt is to be made now; does all else that is to be done. Keeps nothing of the object, since
        the permit may be long in coming."""
        delivery = await self._objects.get(*key)
        match self._step(delivery):
            case Send():
                return True
            case Conclude():
                await self._conclude(delivery)
            case Wait(until=until):
                self._due.set(key, until)
        return False

    def _step(self, delivery: Delivery) -> Step:
        return next_step(delivery.status, now=self._clock(), holder=self._holder, created_at=delivery.created_at)

    # -- an attempt -----------------------------------------------------------------------------------------------

    async def _attempt(self, key: Key) -> _Made | None:
        """One attempt, if it is still due: claimed by compare and swap, then sent.

        Raises KubeConflict when somebody else was faster, and OurFault, which leaves the number to be used again.
        """
        delivery = await self._objects.get(*key)
        step = self._step(delivery)
        if not isinstance(step, Send):
            self.queue.add(key)
            return None
        run_id = delivery.spec.run_ref.name
        webhook = await self._webhook(delivery)
        if webhook is None:
            await self._give_up(delivery)
            return None
        try:
            secret = await self._secrets.of(delivery.namespace, run_id, webhook)
            body = body_of(await self._photos.dressed(kept_message(delivery.spec.payload)), step.attempt)
            delivery = await self._objects.write(
                delivery, claimed(delivery.status, step.attempt, holder=self._holder, now=self._clock())
            )
            self._sending += 1
            try:
                outcome = await self._transmitter.send(delivery.spec.url, body, secret, run_id, attempt=step.attempt)
            except BaseException:
                self._sending -= 1
                raise
        except OurFault as fault:
            await self._tell_fault(delivery, fault)
            raise
        return delivery, step.attempt, outcome

    async def _webhook(self, delivery: Delivery) -> Webhook | None:
        try:
            body = await self._client.get(RUN, delivery.spec.run_ref.name, delivery.namespace)
        except KubeNotFound:
            return None
        return Run.parse(body).spec.webhook

    async def _record(self, delivery: Delivery, number: int, outcome: Outcome) -> None:
        try:
            recorded = await self._record_attempt(delivery, number, outcome)
        finally:
            self._sending -= 1
        if recorded is None:
            return
        if recorded.status.phase.is_final:
            await self._conclude(recorded)
        elif recorded.status.next_attempt_at is not None:
            self._due.set((recorded.namespace, recorded.name), recorded.status.next_attempt_at)

    async def _record_attempt(self, delivery: Delivery, number: int, outcome: Outcome) -> Delivery | None:
        """Goes on until the cluster has it, since the outcome exists nowhere else; None when it is no longer ours."""
        attempt = attempt_record(number, outcome, self._objects.next_attempt_at(outcome, number))
        self._log(delivery, number, outcome)
        failures = 0
        while True:
            status = after_attempt(
                delivery.status, attempt, ok=outcome.ok, now=self._clock(), generation=delivery.generation
            )
            try:
                return await self._objects.write(delivery, status)
            except KubeNotFound:
                return None
            except KubeError as error:
                failures += 1
                if not isinstance(error, KubeConflict):
                    logger.warning("attempt not recorded: %s", error.message, extra=about(delivery=delivery.name))
                await asyncio.sleep(_BACKOFF.after(failures))
                refreshed = await self._reread(delivery)
                claim = refreshed.status.claim if refreshed is not None else None
                if refreshed is None or claim is None or (claim.holder, claim.attempt) != (self._holder, number):
                    return None  # recorded after all, or no longer ours to record
                delivery = refreshed

    async def _reread(self, delivery: Delivery) -> Delivery | None:
        failures = 0
        while True:
            try:
                return await self._objects.get(delivery.namespace, delivery.name)
            except KubeNotFound:
                return None
            except KubeError:
                failures += 1
                await asyncio.sleep(_BACKOFF.after(failures))

    # -- the end --------------------------------------------------------------------------------------------------

    async def _conclude(self, delivery: Delivery) -> None:
        """Tells the run, then settles the delivery. Raises KubeError; then it is done again from the start."""
        if not delivery.status.phase.is_final:
            message = f"All {MAX_ATTEMPTS} attempts failed."
            status = given_up(
                delivery.status, "AttemptsExhausted", message, now=self._clock(), generation=delivery.generation
            )
            delivery = await self._objects.write(delivery, status)
        record = record_of(delivery.spec, delivery.status)
        with contextlib.suppress(KubeNotFound):  # deleted meanwhile: there is nobody to tell
            await change_run_status(
                self._client,
                delivery.namespace,
                delivery.spec.run_ref.name,
                lambda run: with_delivering(run, with_records(run.status, [record]), None, now=self._clock()),
            )
        await self._objects.write(delivery, settled(delivery.status))
        self._metrics.deliveries.labels(
            "delivered" if delivery.status.phase is DeliveryPhase.DELIVERED else "failed"
        ).inc()
        logger.info(
            "delivery finished",
            extra=about(delivery=delivery.name, run=delivery.spec.run_ref.name, phase=delivery.status.phase.value),
        )

    async def _give_up(self, delivery: Delivery) -> None:
        message = "The run was deleted, and with it the secret to sign with."
        status = given_up(delivery.status, "RunDeleted", message, now=self._clock(), generation=delivery.generation)
        await self._objects.write(delivery, settled(status))
        self._metrics.deliveries.labels("failed").inc()
        logger.info("delivery given up: its run is gone", extra=about(delivery=delivery.name))

    async def _tell_fault(self, delivery: Delivery, fault: OurFault) -> None:
        logger.warning(
            "retry cannot be sent: %s", fault.message, extra=about(delivery=delivery.name, reason=fault.reason)
        )
        self._metrics.own_faults.labels(fault.reason).inc()
        with contextlib.suppress(KubeNotFound):  # deleted meanwhile: the next look will find out
            await change_run_status(
                self._client,
                delivery.namespace,
                delivery.spec.run_ref.name,
                lambda run: with_delivering(run, run.status, fault.as_condition, now=self._clock()),
            )

    def _log(self, delivery: Delivery, number: int, outcome: Outcome) -> None:
        logger.info(
            "event delivered" if outcome.ok else "attempt failed",
            extra=about(
                delivery=delivery.name,
                run=delivery.spec.run_ref.name,
                attempt=number,
                outcome=outcome.outcome_class.value,
                status=outcome.http_status,
                duration_ms=outcome.duration_ms,
            ),
        )
