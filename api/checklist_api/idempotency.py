"""Idempotency-Key: for 24 hours a key creates at most one object (contract sections 5 and 11; architecture section 3).

An object's name is a MAC of organization, route, key and day, so that a repeated request conflicts with the object of
the first. Today's and yesterday's names are looked up, which covers 24 hours. An annotation has a MAC of the payload (a
plain hash would allow guessing webhook secrets).

An IdempotencyRecord with the same name stays when the object is deleted. It is written

- not at the deletion of the object: that would need a finalizer, or an eye on each deletion by kubectl, retention,
  erasure and archiver;
- after the object: before it, a crash between the two would look like a deletion. After a crash between object and
  record, the next request with the key writes the record;
- before the response: a caller with a response can rely on the record.

Of two requests at the same time, one on each side of midnight (UTC), the later is refused in the same process; in
different processes neither sees the other, and both create an object.

The cost is one small write per object with a key. The operator deletes records after 24 hours. Their number is limited:
for runs by the quota, which counts deleted ones; for templates and replays by a limit of keys (`require_room`).
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
from checklist_crds.kube.client import KubeClient
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
from checklist_crds.values.json_text import JsonObject

from .http.pagination import invalid_parameter
from .organizations.directory import Organization

HEADER: Final = "Idempotency-Key"
REPEATED: Final = {"Idempotency-Replayed": "true"}
_FORM: Final = re.compile(r"[\x21-\x7e]{1,255}")
_LIFETIME: Final = timedelta(hours=24)

Archived = Callable[[str], Awaitable[JsonObject | None]]
"""Finds an archived object by name."""


async def _never_archived(_: str) -> None:
    return None


@dataclass(frozen=True, slots=True)
class IdempotencyClaim:
    """Names of a request with an Idempotency-Key: `name` for today, `earlier` for yesterday and for former server
    keys."""

    name: str
    earlier: tuple[str, ...]
    fingerprints: tuple[str, ...]
    """MACs of the payload under each server key, the current one first."""

    @property
    def fingerprint(self) -> str:
        return self.fingerprints[0]


def requested_key(request: web.Request) -> str | None:
    """Return the Idempotency-Key. Raises InvalidParameter."""
    keys = request.headers.getall(HEADER, [])
    if not keys:
        return None
    if len(keys) > 1 or not _FORM.fullmatch(keys[0]):
        raise invalid_parameter(HEADER, "must be 1 to 255 visible ASCII characters")
    return keys[0]


class Idempotency:
    """Creates claims from keys and serializes requests with the same key within the process."""

    def __init__(self, client: KubeClient, server_keys: ServerKeys, limits: LimitLedger, clock: Clock) -> None:
        self._client = client
        self._limits = limits
        self._clock = clock
        self._keys = server_keys
        self._under_way: set[str] = set()

    @contextmanager
    def claim(
        self, key: str | None, organization: str, prefix: str, payload: Mapping[str, Any]
    ) -> Iterator[IdempotencyClaim | None]:
        """Hold the claim of a request; None without a key. Raises IdempotencyInProgress."""
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
        claim = IdempotencyClaim(name, tuple(earlier), self._fingerprints(payload))
        if not self._under_way.isdisjoint((name, *earlier)):
            raise IdempotencyInProgress()
        self._under_way.add(claim.name)
        try:
            yield claim
        finally:
            self._under_way.discard(claim.name)

    async def first(
        self, kind: Kind, claim: IdempotencyClaim, organization: Organization, archived: Archived = _never_archived
    ) -> JsonObject | None:
        """Return the object that the first request with this key created, if any.

        Raises IdempotencyKeyReused for a different payload, ResourceDeleted, KubeError, and the errors of `archived`.
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
                # It may have been created and recorded since the lookup.
                return await self.get_existing(kind, place, archived)
        return None

    async def get_existing(
        self, kind: Kind, place: tuple[str, str], archived: Archived = _never_archived
    ) -> JsonObject:
        """Return an existing object by (name, namespace). Raises ResourceDeleted, KubeError, errors of `archived`."""
        body = await self._find(kind, *place) or await archived(place[0])
        if body is None:
            raise ResourceDeleted()
        return body

    async def require_room(self, claim: IdempotencyClaim | None, organization: Organization) -> None:
        """Count the key of a new template or replay. Raises LimitReached, KubeError."""
        if claim is not None:
            await self._limits.count_key(organization.name, organization.namespace)

    async def remember(
        self, place: tuple[str, str], made_at: datetime, claim: IdempotencyClaim | None, organization: Organization
    ) -> None:
        """Record the object (name, namespace) of a request with a key, before the response. Raises KubeError."""
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


def require_same_payload(body: JsonObject, claim: IdempotencyClaim) -> None:
    annotations = body["metadata"].get("annotations") or {}
    kept = str(annotations.get(FINGERPRINT_ANNOTATION, ""))
    if not any(hmac.compare_digest(kept, fingerprint) for fingerprint in claim.fingerprints):
        raise IdempotencyKeyReused()


def _made_at(body: JsonObject) -> datetime:
    metadata = body["metadata"]
    annotations = metadata.get("annotations") or {}
    written = (body.get("spec") or {}).get("createdAt") or annotations.get(CREATED_AT_ANNOTATION)
    return parse_timestamp(written or metadata["creationTimestamp"])
