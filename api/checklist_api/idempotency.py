"""Idempotency-Key: for 24 hours a key creates nothing twice (contract sections 5 and 11; architecture section 3).

The name of the object that a request makes is a MAC of organization, route, key and day; so a second request meets the
object of the first. Today's name and yesterday's are looked up, which covers 24 hours. An annotation keeps a MAC of
the payload, since a plain hash would let its reader try out webhook secrets.

An IdempotencyRecord of the same name outlives the object. It is written after the object and before the first answer,
not at deletion: nothing has to notice that kubectl, retention, an erasure or the archiver removes the object, no
finalizer holds a deletion up while the operator is down, and a deletion can never precede it for a caller who got an
answer. Written before the object, it would turn a crash between the two into a deletion that never was. A process that
dies between the two leaves the object, and the next request with the key writes the record. So the cost is one small
write for each object made with a key, and there are at most as many records as were made with keys in 24 hours; the
operator removes them then. How many that may be is bounded: of runs by the quota, which counts those that are deleted,
too; of templates and replays, which somebody may make and delete without end, by a cap on keys (`require_room`).
"""

import asyncio
import hashlib
import hmac
import json
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from aiohttp import web

from checklist_crds.errors import IdempotencyInProgress, IdempotencyKeyReused, ResourceDeleted
from checklist_crds.ids import keyed_id
from checklist_crds.kube.client import JsonObject, KubeClient
from checklist_crds.kube.errors import KubeAlreadyExists, KubeNotFound
from checklist_crds.kube.limit_ledger import LimitLedger
from checklist_crds.resources.base import (
    CREATED_AT_ANNOTATION,
    FINGERPRINT_ANNOTATION,
    OrganizationRef,
)
from checklist_crds.resources.idempotency_record import IdempotencyRecordSpec
from checklist_crds.resources.kinds import IDEMPOTENCY_RECORD, Kind
from checklist_crds.secrets.sealing import ServerKeys
from checklist_crds.times import Clock, parse_timestamp

from .http.pagination import invalid_parameter
from .organizations.directory import Organization

HEADER: Final = "Idempotency-Key"
REPLAYED: Final = {"Idempotency-Replayed": "true"}
_FORM: Final = re.compile(r"[\x21-\x7e]{1,255}")
_LIFETIME: Final = timedelta(hours=24)

Archived = Callable[[str], Awaitable[JsonObject | None]]
"""Finds an object by its name that the cluster has no longer."""


async def _never_archived(_: str) -> None:
    return None


@dataclass(frozen=True, slots=True)
class Claim:
    """What a request with an Idempotency-Key makes or finds: `name` today; one of `earlier` if it was made yesterday,
    or under a server key that has been replaced since then."""

    name: str
    earlier: tuple[str, ...]
    fingerprints: tuple[str, ...]
    """Of the payload, under each server key, the current one first."""

    @property
    def fingerprint(self) -> str:
        return self.fingerprints[0]


def requested_key(request: web.Request) -> str | None:
    """The Idempotency-Key. Raises InvalidParameter."""
    keys = request.headers.getall(HEADER, [])
    if not keys:
        return None
    if len(keys) > 1 or not _FORM.fullmatch(keys[0]):
        raise invalid_parameter(HEADER, "must be 1 to 255 visible ASCII characters")
    return keys[0]


class Idempotency:
    """Turns keys into claims, and keeps two requests of this process with one key apart."""

    def __init__(self, client: KubeClient, server_keys: ServerKeys, limits: LimitLedger, clock: Clock) -> None:
        self._client = client
        self._limits = limits
        self._clock = clock
        self._keys = server_keys
        self._under_way: set[str] = set()

    @contextmanager
    def claim(
        self, key: str | None, organization: str, prefix: str, payload: Mapping[str, Any]
    ) -> Iterator[Claim | None]:
        """The claim of a request with `key`, None without one. Raises IdempotencyInProgress."""
        if key is None:
            yield None
            return
        now = self._clock()
        days = [day.strftime("%Y-%m-%d") for day in (now, now - timedelta(days=1))]
        name, *earlier = (
            keyed_id(prefix, name_key, organization, prefix, key, day)
            for name_key in self._keys.derived("idempotent-name")
            for day in days
        )
        claim = Claim(name, tuple(earlier), self._fingerprints(payload))
        if claim.name in self._under_way:
            raise IdempotencyInProgress()
        self._under_way.add(claim.name)
        try:
            yield claim
        finally:
            self._under_way.discard(claim.name)

    async def first(
        self, kind: Kind, claim: Claim, organization: Organization, archived: Archived = _never_archived
    ) -> JsonObject | None:
        """What the first request with this key made.

        Raises IdempotencyKeyReused when its payload was another, ResourceDeleted, KubeError, and what `archived` does.
        """
        places = [(name, namespace) for name in (claim.name, *claim.earlier) for namespace in organization.namespaces]
        bodies = await asyncio.gather(
            *(self._find(kind, *place) for place in places),
            *(self._find(IDEMPOTENCY_RECORD, *place) for place in places),
        )
        found = list(zip(places, bodies[: len(places)], bodies[len(places) :], strict=True))
        for place, body, record in found:
            if body is not None and self._clock() < _made_at(body) + _LIFETIME:
                require_same_payload(body, claim)
                if record is None:
                    await self.remember(place, _made_at(body), claim, organization)
                return body
        for place, _, record in found:
            if record is not None and self._clock() < parse_timestamp(record["spec"]["expiresAt"]):
                require_same_payload(record, claim)
                # It may have been made, and recorded, since it was looked for.
                return await self.made_before(kind, place, archived)
        return None

    async def made_before(self, kind: Kind, place: tuple[str, str], archived: Archived = _never_archived) -> JsonObject:
        """What was certainly made: name and namespace. Raises ResourceDeleted, KubeError, and what `archived` does."""
        body = await self._find(kind, *place) or await archived(place[0])
        if body is None:
            raise ResourceDeleted()
        return body

    async def require_room(self, claim: Claim | None, organization: Organization) -> None:
        """Count the key of a request that is about to make a template or a replay. Raises LimitReached, KubeError."""
        if claim is not None:
            await self._limits.count_key(organization.name, organization.home)

    async def remember(
        self, place: tuple[str, str], made_at: datetime, claim: Claim | None, organization: Organization
    ) -> None:
        """Record what a request with a key has made, before it is answered: name and namespace. Raises KubeError."""
        if claim is None:
            return
        name, namespace = place
        owner = OrganizationRef(name=organization.name)
        spec = IdempotencyRecordSpec(organization_ref=owner, expires_at=made_at + _LIFETIME)
        made_by = {FINGERPRINT_ANNOTATION: claim.fingerprint}
        record = IDEMPOTENCY_RECORD.manifest(
            name, namespace, spec.to_kube(), organization=organization.name, annotations=made_by
        )
        with suppress(KubeAlreadyExists):
            await self._client.create(IDEMPOTENCY_RECORD, record, namespace)

    async def _find(self, kind: Kind, name: str, namespace: str) -> JsonObject | None:
        try:
            return await self._client.get(kind, name, namespace)
        except KubeNotFound:
            return None

    def _fingerprints(self, payload: Mapping[str, Any]) -> tuple[str, ...]:
        canonical = json.dumps(payload, sort_keys=True, separators=(",", ":")).encode()
        keys = self._keys.derived("idempotent-payload")
        return tuple(hmac.new(key, canonical, hashlib.sha256).hexdigest() for key in keys)


def require_same_payload(body: JsonObject, claim: Claim) -> None:
    annotations = body["metadata"].get("annotations") or {}
    kept = str(annotations.get(FINGERPRINT_ANNOTATION, ""))
    if not any(hmac.compare_digest(kept, fingerprint) for fingerprint in claim.fingerprints):
        raise IdempotencyKeyReused()


def _made_at(body: JsonObject) -> datetime:
    metadata = body["metadata"]
    annotations = metadata.get("annotations") or {}
    written = (body.get("spec") or {}).get("createdAt") or annotations.get(CREATED_AT_ANNOTATION)
    return parse_timestamp(written or metadata["creationTimestamp"])
