"""DeliveryReplay objects, which the operator processes. A watch keeps the cache current."""

import logging
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from pydantic import ValidationError

from checklist_crds.errors import RateLimited, ReplayNotFound
from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.errors import KubeAlreadyExists, KubeNotFound
from checklist_crds.kube.informer import Informer
from checklist_crds.resources.base import (
    CREATED_AT_ANNOTATION,
    FINGERPRINT_ANNOTATION,
    OBJECT_NAME_PATTERN,
)
from checklist_crds.resources.kinds import DELIVERY_REPLAY, Key, key_of
from checklist_crds.resources.replay import DeliveryReplaySpec, DeliveryReplayStatus
from checklist_crds.times import format_timestamp, parse_timestamp
from checklist_crds.values.json_text import JsonObject

from ..idempotency import IdempotencyClaim, require_same_payload
from ..organizations.directory import Organization

logger = logging.getLogger(__name__)

MAX_KEPT: Final = 10_000
"""Limit of DeliveryReplays per organization, including finished ones, which are deleted after a week."""
_FULL_RETRY_S: Final = 60.0
_NAME: Final = re.compile(rf"(?=.{{1,253}}$){OBJECT_NAME_PATTERN}")


@dataclass(frozen=True, slots=True)
class RequestedReplay:
    """A parsed DeliveryReplay."""

    name: str
    namespace: str
    requested_at: datetime
    spec: DeliveryReplaySpec
    status: DeliveryReplayStatus

    @classmethod
    def parse(cls, body: JsonObject) -> "RequestedReplay":
        """Parse an object. Raises pydantic.ValidationError, ValueError."""
        metadata = body["metadata"]
        written = (metadata.get("annotations") or {}).get(CREATED_AT_ANNOTATION)
        return cls(
            name=metadata["name"],
            namespace=metadata["namespace"],
            requested_at=parse_timestamp(written or metadata["creationTimestamp"]),
            spec=DeliveryReplaySpec.model_validate(body["spec"]),
            status=DeliveryReplayStatus.model_validate(body.get("status") or {}),
        )

    @property
    def pending_events(self) -> frozenset[str]:
        """Explicitly selected events of an unfinished replay."""
        if self.status.phase.is_final or self.spec.dry_run:
            return frozenset()
        return frozenset(self.spec.filter.event_ids)


class ReplayDirectory:
    """Caches and creates DeliveryReplays."""

    def __init__(self, client: KubeClient, watcher: KubeClient) -> None:
        self._client = client
        self._replays: dict[Key, RequestedReplay] = {}
        self._under_way: dict[str, set[Key]] = {}
        self._kept: Counter[tuple[str, str]] = Counter()
        """By organization and namespace: a replay of another namespace may name any organization."""
        self.informer = Informer(watcher, DELIVERY_REPLAY, self._apply)

    def of_organization(self, organization: Organization) -> list[RequestedReplay]:
        """Return the replays, newest first, ties by id."""
        found = [replay for replay in self._replays.values() if _belongs(replay, organization)]
        return sorted(found, key=lambda replay: (replay.requested_at, replay.name), reverse=True)

    def is_under_way(self, event_id: str, organization: Organization) -> bool:
        """Whether an unfinished replay selects this event by id."""
        return any(_belongs(self._replays[key], organization) for key in self._under_way.get(event_id, ()))

    async def get(self, name: str, organization: Organization) -> RequestedReplay:
        """Read a replay from the cluster. Raises ReplayNotFound, KubeError."""
        for namespace in _places(name, organization):
            try:
                body = await self._client.get(DELIVERY_REPLAY, name, namespace)
            except KubeNotFound:
                continue
            try:
                replay = RequestedReplay.parse(body)
            except (ValidationError, ValueError, KeyError):
                continue
            if _belongs(replay, organization):
                return replay
        raise ReplayNotFound()

    async def delete(self, name: str, organization: Organization) -> None:
        """Delete a replay, which stops it. Raises ReplayNotFound, KubeError."""
        replay = await self.get(name, organization)
        try:
            await self._client.delete(DELIVERY_REPLAY, replay.name, replay.namespace)
        except KubeNotFound:
            raise ReplayNotFound() from None
        self.informer.forget({"metadata": {"name": replay.name, "namespace": replay.namespace}})

    async def create(
        self, spec: DeliveryReplaySpec, *, name: str, namespace: str, claim: IdempotencyClaim | None, now: datetime
    ) -> tuple[RequestedReplay, bool]:
        """Create a replay; returns it, and whether it was created before with the same Idempotency-Key.

        Raises IdempotencyKeyReused, RateLimited, KubeError.
        """
        if self._kept[spec.organization_ref.name, namespace] >= MAX_KEPT:
            raise RateLimited(_FULL_RETRY_S)
        annotations = {
            CREATED_AT_ANNOTATION: format_timestamp(now),
            FINGERPRINT_ANNOTATION: None if claim is None else claim.fingerprint,
        }
        organization = spec.organization_ref.name
        body = DELIVERY_REPLAY.manifest(
            name, namespace, spec.to_kube(), organization=organization, annotations=annotations
        )
        repeated = False
        try:
            made = await self._client.create(DELIVERY_REPLAY, body, namespace)
        except KubeAlreadyExists:
            made, repeated = await self._client.get(DELIVERY_REPLAY, name, namespace), True
            if claim is not None:
                require_same_payload(made, claim)
        self.informer.observe(made)
        return RequestedReplay.parse(made), repeated

    def _apply(self, change: str, body: JsonObject) -> None:
        key = key_of(body)
        self._forget(key)
        if change == "DELETE":
            return
        try:
            replay = RequestedReplay.parse(body)
        except (ValidationError, ValueError, KeyError) as error:
            logger.warning("replay.unreadable", extra={"replay": key[1], "reason": type(error).__name__})
            return
        self._replays[key] = replay
        self._kept[replay.spec.organization_ref.name, replay.namespace] += 1
        for event_id in replay.pending_events:
            self._under_way.setdefault(event_id, set()).add(key)

    def _forget(self, key: Key) -> None:
        known = self._replays.pop(key, None)
        if known is None:
            return
        place = known.spec.organization_ref.name, known.namespace
        self._kept[place] -= 1
        if not self._kept[place]:
            del self._kept[place]
        for event_id in known.pending_events:
            others = self._under_way[event_id]
            others.discard(key)
            if not others:
                del self._under_way[event_id]


def _belongs(replay: RequestedReplay, organization: Organization) -> bool:
    return replay.spec.organization_ref.name == organization.name and organization.has(replay.namespace)


def _places(name: str, organization: Organization) -> Sequence[str]:
    """Return the namespaces to look up a name in; none for an invalid name."""
    return organization.namespaces if _NAME.fullmatch(name) else ()
