"""Reads single deliveries from the cluster and requests their replay, which the operator performs.

A replay of a WebhookDelivery is an annotation on it; without one (or with an Idempotency-Key) it is a DeliveryReplay of
the event.
"""

import asyncio
import logging
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from attrs import define

from checklist_crds.errors import DeliveryNotFound, PayloadNotKept, ReplayRefused, ServiceError
from checklist_crds.ids import is_id, new_id
from checklist_crds.kube.client import KubeClient, retry_conflicts
from checklist_crds.kube.errors import KubeNotFound
from checklist_crds.resources.audit_entry import AuditTarget
from checklist_crds.resources.base import OrganizationRef
from checklist_crds.resources.delivery import REPLAY_ANNOTATION, REPLAY_BY_ANNOTATION
from checklist_crds.resources.kinds import DELIVERY_REPLAY, RUN, WEBHOOK_DELIVERY
from checklist_crds.resources.replay import DeliveryReplaySpec, ReplayFilter
from checklist_crds.resources.run import ObjectNameRef
from checklist_crds.resources.run_id import run_id_of
from checklist_crds.runs.replay_rules import ReplayRefusal
from checklist_crds.times import Clock, format_timestamp
from checklist_crds.values.json_text import JsonObject

from ..archive.reading import ArchivedRuns
from ..audit.trail import Act
from ..auth.gate import Caller
from ..auth.member_names import MemberNames
from ..idempotency import Idempotency, IdempotencyClaim
from ..index.deliveries import DeliveryIndex
from ..index.delivery_history import Delivery, Event, merged
from ..index.delivery_sources import events_of_run, parse_delivery
from ..index.runs import RunIndex
from ..organizations.directory import Organization
from .models import ReplayFilterShown, ReplayRequest
from .replays import ReplayDirectory, RequestedReplay

logger = logging.getLogger(__name__)

REPLAY_PREFIX: Final = "rpl"
"""Prefix of names of DeliveryReplays."""


@dataclass(frozen=True, slots=True)
class Found:
    """A delivery with its WebhookDelivery (`kept`), if any."""

    delivery: Delivery
    kept: JsonObject | None


@define(kw_only=True, eq=False, repr=False, slots=False)
class DeliveryAccess:
    """Reads and replays deliveries of organizations. All methods raise KubeError."""

    _client: KubeClient
    _index: DeliveryIndex
    _runs: RunIndex
    _archived: ArchivedRuns
    _replays: ReplayDirectory
    _idempotency: Idempotency
    _members: MemberNames
    _clock: Clock

    async def of_organization(self, event_id: str, organization: Organization) -> Found:
        """Read a delivery. Raises DeliveryNotFound, also for one of another organization."""
        if not is_id("evt", event_id):
            raise DeliveryNotFound()
        found = await self._in_cluster(event_id, organization) or await self._in_archive(event_id, organization)
        if found is None:
            raise DeliveryNotFound()
        return found

    async def _in_archive(self, event_id: str, organization: Organization) -> Found | None:
        run = await self._archived.of_event(event_id, organization)
        deliveries = run.deliveries() if run is not None else ()
        return next((Found(delivery, None) for delivery in deliveries if delivery.event.event_id == event_id), None)

    async def _in_cluster(self, event_id: str, organization: Organization) -> Found | None:
        known = self._index.find(event_id, organization.namespaces, organization.name)
        if known is None:
            return await self._find(event_id, organization)
        event = known.event
        kept, run = await asyncio.gather(self._get(WEBHOOK_DELIVERY, event_id, event.namespace), self._get_run(event))
        entry = events_of_run(run).get(event_id) if run is not None else None
        _, from_run = entry.read() if entry is not None else (None, None)
        _, history = parse_delivery(kept) if kept is not None else (None, None)
        if run is None and self._archived.has(event.run_id):
            return None  # being deleted; the archive has the complete record
        if from_run is None and history is None:
            return None
        delivery = merged(event, from_run, history)
        return Found(self._with_refusal(delivery, organization, run_is_gone=run is None), kept)

    def listed(self, delivery: Delivery, organization: Organization) -> Delivery:
        """Complete a delivery of the index with the state of its run and replays."""
        event = delivery.event
        run_is_gone = not self._runs.has(event.run_id, event.namespace)
        return self._with_refusal(delivery, organization, run_is_gone=run_is_gone)

    def _with_refusal(self, delivery: Delivery, organization: Organization, *, run_is_gone: bool) -> Delivery:
        """Add the refusal of replays. A WebhookDelivery outlives its run for a while, its signing secret does not."""
        if delivery.refusal is not None:
            return delivery
        if run_is_gone:
            archived = self._archived.has(delivery.event.run_id)
            return delivery._replace(refusal=ReplayRefusal.RUN_ARCHIVED if archived else ReplayRefusal.RUN_DELETED)
        if self._replays.is_under_way(delivery.event.event_id, organization):
            return delivery._replace(refusal=ReplayRefusal.REPLAY_UNDER_WAY)
        return delivery

    async def replay(
        self, event_id: str, caller: Caller, claim: IdempotencyClaim | None, act: Act
    ) -> tuple[Delivery, bool]:
        """Request a replay; returns the delivery, and whether it was requested before with the same Idempotency-Key.

        Raises DeliveryNotFound, ReplayRefused, PayloadNotKept, IdempotencyKeyReused, LimitReached, ResourceDeleted.
        """
        organization = caller.organization
        if claim is not None and await self._idempotency.first(DELIVERY_REPLAY, claim, organization):
            return (await self.of_organization(event_id, organization)).delivery, True
        requested_by = await self._members.sender(caller)

        async def attempt() -> tuple[Delivery, bool]:
            found = await self.of_organization(event_id, organization)
            delivery = found.delivery
            if delivery.refusal is not None:
                raise _refused(delivery.refusal)
            repeated, event = False, delivery.event
            target = AuditTarget(kind="delivery", id=event_id, name=event.event)
            await self._idempotency.require_room(claim, organization)
            await act.announce("delivery.replayed", target, run_id=event.run_id)
            if found.kept is not None and claim is None:
                await self._annotate(found.kept, requested_by)
            else:
                repeated = await self._request_replay(delivery, organization, requested_by, claim)
            if repeated:
                await act.failed("requested_before")
            logger.info("delivery.replay_requested", extra={"event_id": event_id, "organization": organization.name})
            return delivery._replace(refusal=ReplayRefusal.REPLAY_UNDER_WAY), repeated

        answer: tuple[Delivery, bool] = await retry_conflicts(attempt)
        return answer

    async def replay_many(
        self, wanted: ReplayRequest, caller: Caller, claim: IdempotencyClaim | None, act: Act
    ) -> tuple[RequestedReplay, bool]:
        """Create a DeliveryReplay; returns it, and whether it was created before with the same Idempotency-Key.

        Raises IdempotencyKeyReused, LimitReached, ResourceDeleted.
        """
        organization = caller.organization
        if claim is not None:
            first = await self._idempotency.first(DELIVERY_REPLAY, claim, organization)
            if first is not None:
                return RequestedReplay.parse(first), True
        requested_by, filter_ = (
            await self._members.sender(caller),
            wanted.filter.to_resource(partial(self._name_of, organization)),
        )
        spec = _spec(organization, filter_, requested_by, dry_run=bool(wanted.dry_run))
        name = _name(claim)
        await self._idempotency.require_room(claim, organization)
        if not wanted.dry_run:  # a dry run changes nothing
            shown = ReplayFilterShown.of(filter_, wanted.filter.run_id).model_dump()
            chosen = {key: str(value) for key, value in shown.items() if value}
            await act.announce("replay.created", AuditTarget(kind="replay", id=name), **chosen)
        made, repeated = await self._replays.create(
            spec, name=name, namespace=organization.namespace, claim=claim, now=self._clock()
        )
        await self._remember(made, claim, organization)
        if repeated:
            await act.failed("requested_before")
        logger.info("deliveries.replay_requested", extra={"replay": made.name, "organization": organization.name})
        return made, repeated

    def _name_of(self, organization: Organization, run_id: str) -> str:
        places = self._runs.places_of(run_id)
        return next((name for namespace, name in places if organization.has(namespace)), run_id)

    async def _annotate(self, kept: JsonObject, requested_by: str) -> None:
        """Request a replay by annotation. Raises KubeConflict if the delivery has changed since it was read."""
        metadata = kept["metadata"]
        annotations = {
            REPLAY_ANNOTATION: format_timestamp(self._clock()),
            REPLAY_BY_ANNOTATION: requested_by,
        }
        body = await self._client.patch(
            WEBHOOK_DELIVERY,
            metadata["name"],
            {"metadata": {"annotations": annotations}},
            metadata["namespace"],
            resource_version=metadata["resourceVersion"],
        )
        self._index.informer.observe(body)

    async def _request_replay(
        self, delivery: Delivery, organization: Organization, requested_by: str, claim: IdempotencyClaim | None
    ) -> bool:
        event = delivery.event
        name = self._runs.names.name_of(event.run_id, event.namespace)
        only_this = ReplayFilter(
            run_ref=ObjectNameRef(name=name),
            run_id=None if name == event.run_id else event.run_id,
            event_ids=[event.event_id],
        )
        spec = _spec(organization, only_this, requested_by)
        made, repeated = await self._replays.create(
            spec, name=_name(claim), namespace=event.namespace, claim=claim, now=self._clock()
        )
        await self._remember(made, claim, organization)
        return repeated

    async def _remember(
        self, made: RequestedReplay, claim: IdempotencyClaim | None, organization: Organization
    ) -> None:
        await self._idempotency.remember((made.name, made.namespace), made.requested_at, claim, organization)

    async def _find(self, event_id: str, organization: Organization) -> Found | None:
        """Look up a delivery that is not indexed yet."""
        for namespace in organization.namespaces:
            body = await self._get(WEBHOOK_DELIVERY, event_id, namespace)
            if body is None:
                continue
            event, kept = parse_delivery(body)
            if event.organization == organization.name:
                run = await self._get_run(event, body["spec"]["runRef"]["name"])
                if run is None and self._archived.has(event.run_id):
                    return None
                delivery = merged(event, None, kept)
                return Found(self._with_refusal(delivery, organization, run_is_gone=run is None), body)
        return None

    async def _get_run(self, event: Event, name: str | None = None) -> JsonObject | None:
        """Read the event's run, never another one of the same name."""
        run = await self._get(RUN, name or self._runs.names.name_of(event.run_id, event.namespace), event.namespace)
        return run if run is not None and run_id_of(run) == event.run_id else None

    async def _get(self, kind: Any, name: str, namespace: str) -> JsonObject | None:
        try:
            return await self._client.get(kind, name, namespace)
        except KubeNotFound:
            return None


def _spec(
    organization: Organization, wanted: ReplayFilter, requested_by: str, *, dry_run: bool = False
) -> DeliveryReplaySpec:
    return DeliveryReplaySpec(
        organization_ref=OrganizationRef(name=organization.name),
        filter=wanted,
        dry_run=dry_run,
        requested_by=requested_by,
    )


def _name(claim: IdempotencyClaim | None) -> str:
    return claim.name if claim is not None else new_id(REPLAY_PREFIX)


def _refused(refusal: ReplayRefusal) -> ServiceError:
    if refusal is ReplayRefusal.PAYLOAD_NOT_KEPT:
        return PayloadNotKept(refusal.message)
    return ReplayRefused(refusal.message)
