"""Creates, reads and writes WebhookDelivery objects, one for each event whose first attempt failed.

A delivery is named by its event_id, so an event never has two.

An event that is delivered at its first attempt leaves only a record in the run. A final run does not change, so the
event's envelope can be built again for a replay, identical except for signatures in photo URLs (delivery profile,
"Body").
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, TypeVar

from attrs import define, field

from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.errors import KubeAlreadyExists, KubeConflict, KubeError, KubeNotFound
from checklist_crds.platform.tracing import TRACEPARENT_ANNOTATION, traceparent_of
from checklist_crds.resources.base import OrganizationRef
from checklist_crds.resources.delivery import WebhookDeliverySpec, WebhookDeliveryStatus
from checklist_crds.resources.delivery_records import DeliveryRecord
from checklist_crds.resources.event_names import EventName
from checklist_crds.resources.kinds import WEBHOOK_DELIVERY
from checklist_crds.resources.run import ObjectNameRef, OutboxEntry, Run
from checklist_crds.resources.webhook_url import InsecureTargets, InvalidTarget, canonical_url
from checklist_crds.times import Clock, parse_timestamp
from checklist_crds.values import merge_patch
from checklist_crds.values.json_text import JsonObject
from checklist_operator.attempts.delivery_state import after_attempt, attempt_record, record_of
from checklist_operator.attempts.envelopes import final_envelope, payload_of
from checklist_operator.attempts.schedule import RetrySchedule
from checklist_operator.runtime.fresh_reads import FreshReads
from checklist_operator.runtime.json_logging import about
from checklist_operator.runtime.work_queue import Backoff
from checklist_operator.transport.outcome import Outcome

logger = logging.getLogger(__name__)

T = TypeVar("T")

_BACKOFF: Final = Backoff(first=0.1, longest=10.0)
_INEXACT: Final = timedelta(milliseconds=2)
"""Start and duration of an attempt are rounded to milliseconds; a retry delay must not begin before its end."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """A WebhookDelivery, as read."""

    name: str
    namespace: str
    uid: str
    resource_version: str
    generation: int | None
    created_at: datetime
    spec: WebhookDeliverySpec
    status: WebhookDeliveryStatus
    traceparent: str | None = None
    """Of the span of its first attempt, if that was traced."""

    @classmethod
    def parse(cls, body: Mapping[str, Any]) -> "Delivery":
        """Raises pydantic.ValidationError."""
        metadata = body["metadata"]
        return cls(
            name=metadata["name"],
            namespace=metadata["namespace"],
            uid=metadata.get("uid", ""),
            resource_version=metadata["resourceVersion"],
            generation=metadata.get("generation"),
            created_at=parse_timestamp(metadata["creationTimestamp"]),
            spec=WebhookDeliverySpec.model_validate(body["spec"]),
            status=WebhookDeliveryStatus.model_validate(body.get("status") or {}),
            traceparent=traceparent_of(body),
        )


@define(kw_only=True, eq=False, repr=False, slots=False)
class DeliveryObjects:
    """Reads and writes deliveries. Every write is conditional on the version that was read."""

    _client: KubeClient
    _reads: FreshReads
    _schedule: RetrySchedule
    _clock: Clock
    _rng: Callable[[], float] = random.random
    _in_hand: set[tuple[str, str]] = field(factory=set, init=False)

    def next_attempt_at(self, outcome: Outcome, attempt: int) -> datetime | None:
        """Returns when the next attempt is due; None after a success and after the fifth."""
        if outcome.ok:
            return None
        return self._schedule.next_attempt_at(outcome.finished_at + _INEXACT, attempt, self._rng)

    async def get(self, namespace: str, name: str) -> Delivery:
        """Raises KubeNotFound, and KubeConflict while the delivery is being created.

        Until its first attempt is recorded, a delivery looks like one whose creator has crashed, and its age depends
        on two clocks.
        """
        return Delivery.parse(await self.get_body(namespace, name))

    async def get_body(self, namespace: str, name: str) -> JsonObject:
        """As `get`, with metadata."""
        self._check_not_being_created(namespace, name)
        return await self._client.get(WEBHOOK_DELIVERY, name, namespace)

    async def get_recent(self, namespace: str, name: str) -> Delivery:
        """As `get` at less cost; may be slightly old, but includes our own writes and those of previous leaders."""
        self._check_not_being_created(namespace, name)
        return Delivery.parse(await self._reads.get(WEBHOOK_DELIVERY, name, namespace))

    def _check_not_being_created(self, namespace: str, name: str) -> None:
        if (namespace, name) in self._in_hand:
            raise KubeConflict("the delivery is just being made")

    async def _read(self, namespace: str, name: str) -> Delivery:
        return Delivery.parse(await self._client.get(WEBHOOK_DELIVERY, name, namespace))

    async def write(self, delivery: Delivery, status: WebhookDeliveryStatus) -> Delivery:
        """Raises KubeConflict when the delivery changed since it was read."""
        patch = merge_patch.diff(delivery.status.to_kube(), status.to_kube())
        return Delivery.parse(await self._patch(delivery, patch)) if patch else delivery

    async def write_body(self, delivery: Delivery, status: WebhookDeliveryStatus) -> JsonObject:
        """As `write`; returns the cluster's object, which is requested even without a change."""
        return await self._patch(delivery, merge_patch.diff(delivery.status.to_kube(), status.to_kube()))

    async def _patch(self, delivery: Delivery, patch: JsonObject) -> JsonObject:
        body = await self._client.patch_status(
            WEBHOOK_DELIVERY,
            delivery.name,
            patch,
            delivery.namespace,
            resource_version=delivery.resource_version,
        )
        self._reads.note(WEBHOOK_DELIVERY, body)
        return body

    async def record_of(self, namespace: str, event_id: str, *, in_outbox: bool) -> DeliveryRecord | None:
        """Returns the progress of an event's delivery; None when it has none.

        A delivery without any attempt was left by a crash during its creation. With `in_outbox` it is deleted, and the
        outbox makes the first attempt; otherwise both would make it, and a success of one would not stop the other's
        retries.
        """
        try:
            delivery = await self._read(namespace, event_id)
            if in_outbox and not delivery.status.attempt and delivery.status.claim is None:
                await self._client.delete(
                    WEBHOOK_DELIVERY, event_id, namespace, resource_version=delivery.resource_version
                )
                return None
        except KubeNotFound:
            return None
        except KubeConflict:  # it was claimed meanwhile
            delivery = await self._read(namespace, event_id)
        return record_of(delivery.spec, delivery.status)

    async def create_for_failed(
        self,
        run: Run,
        entry: OutboxEntry,
        message: Mapping[str, Any],
        outcome: Outcome,
        *,
        url: str,
        organization: str,
    ) -> DeliveryRecord | None:
        """Creates the delivery of an event whose first attempt ended with `outcome`; returns the record for the run.

        Retries until it is written, since the outcome exists nowhere else; None when the namespace is gone.
        """
        body = new_delivery(run, entry, message, url=url, organization=organization)
        if outcome.traceparent is not None:
            body["metadata"]["annotations"] = {TRACEPARENT_ANNOTATION: outcome.traceparent}
        key = run.namespace, entry.event_id
        self._in_hand.add(key)
        try:
            return await write_until_done(lambda: self._ensure(body, outcome), "delivery.not_created", entry.event_id)
        finally:
            self._in_hand.discard(key)

    async def _ensure(self, body: JsonObject, outcome: Outcome) -> DeliveryRecord:
        metadata = body["metadata"]
        try:
            made = await self._client.create(WEBHOOK_DELIVERY, body, metadata["namespace"])
            self._reads.note(WEBHOOK_DELIVERY, made)
            delivery = Delivery.parse(made)
        except KubeAlreadyExists:
            delivery = await self._read(metadata["namespace"], metadata["name"])
        # With a claim, another process repeats the first attempt and records its outcome.
        if not delivery.status.attempt and delivery.status.claim is None:
            attempt = attempt_record(1, outcome, self.next_attempt_at(outcome, 1))
            status = after_attempt(
                delivery.status, attempt, ok=outcome.ok, now=self._clock(), generation=delivery.generation
            )
            delivery = await self.write(delivery, status)
        return record_of(delivery.spec, delivery.status)


async def write_until_done(write: Callable[[], Awaitable[T]], failed: str, event_id: str) -> T | None:
    """Calls `write` until it succeeds; None when its object is gone. `failed` is the log event of an error."""
    failures = 0
    while True:
        try:
            return await write()
        except KubeNotFound:
            return None
        except KubeError as error:
            failures += 1
            pause = _BACKOFF.after(failures)
            if not isinstance(error, KubeConflict):
                logger.warning(failed, extra=about(event_id=event_id, reason=error.message, again_in_s=pause))
            await asyncio.sleep(pause)


def new_delivery(
    run: Run, entry: OutboxEntry, message: Mapping[str, Any], *, url: str, organization: str
) -> JsonObject:
    """Builds the object, without status, that keeps the envelope `message` for later attempts."""
    spec = WebhookDeliverySpec(
        organization_ref=OrganizationRef(name=organization),
        run_ref=ObjectNameRef(name=run.name),
        run_id=run.id,
        event_id=entry.event_id,
        event=entry.event,
        seq=entry.seq,
        ts=entry.ts,
        url=url,
        payload=payload_of(message),
    )
    return WEBHOOK_DELIVERY.manifest(entry.event_id, run.namespace, spec.to_kube(), organization=organization)


def delivery_from_run(run: Run, record: DeliveryRecord, *, allow_insecure: InsecureTargets) -> JsonObject:
    """Builds the object without status, for an event that `replay_rules.refusal_of_record` accepts.

    Raises ValueError for a run without webhook, and for an event that cannot be derived from a final run.
    """
    webhook = run.spec.webhook
    if webhook is None:
        raise ValueError(f"run {run.name} has no webhook")
    entry = OutboxEntry(seq=record.seq, event=record.event, event_id=record.event_id, ts=time_of(run, record))
    url = target_of(webhook.url, allow_insecure=allow_insecure)
    return new_delivery(run, entry, final_envelope(entry, run), url=url, organization=run.admitted_as.organization)


def target_of(url: str, *, allow_insecure: InsecureTargets) -> str:
    """Returns the canonical URL; an invalid URL is returned as is, and the sender refuses it."""
    try:
        return canonical_url(url, allow_insecure=allow_insecure)
    except InvalidTarget:
        return url


def time_of(run: Run, record: DeliveryRecord) -> datetime:
    """When the event happened; from the run for records of earlier versions, which lack it."""
    if record.ts is not None:
        return record.ts
    moment = {
        EventName.RUN_COMPLETED: run.status.completed_at,
        EventName.RUN_CANCELLED: run.status.cancelled_at,
        EventName.RUN_EXPIRED: run.expires_at,
    }.get(record.event)
    return moment or run.created_at
