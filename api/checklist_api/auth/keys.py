"""API keys by digest. A watch keeps the cache current, so that a revoked key is refused within a second.

Before the first list, while the watch is broken, and on a cache miss, keys are read from the cluster. If several ApiKey
objects have the same digest, they must agree.
"""

import asyncio
import contextlib
import logging
import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.errors import KubeError, KubeNotFound
from checklist_crds.kube.informer import SILENCE_S, Informer
from checklist_crds.platform.ttl_cache import expiring_keys
from checklist_crds.resources.base import CREATED_AT_ANNOTATION
from checklist_crds.resources.kinds import API_KEY, Key, key_of
from checklist_crds.resources.organization import ApiKeySpec, ApiKeyStatus
from checklist_crds.secrets.api_keys import object_name
from checklist_crds.times import format_timestamp, parse_timestamp
from checklist_crds.values.json_text import JsonObject

from ..organizations.directory import Organization

logger = logging.getLogger(__name__)

_USE_WRITE_INTERVAL: Final = timedelta(hours=1)
_WRITE_RETRY_S: Final = 60.0
_LOOKUP_TTL_S: Final = 0.5


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A parsed ApiKey."""

    name: str
    namespace: str
    organization: str
    purpose: str
    """Its name, chosen by its creator."""
    sha256: str
    created_by: str | None
    revoked: bool
    last_used_at: datetime | None
    prefix: str
    last_four: str | None
    created_at: datetime

    @classmethod
    def parse(cls, body: JsonObject) -> "ApiKey":
        """Parse an object. Raises pydantic.ValidationError, ValueError."""
        namespace, name = key_of(body)
        metadata = body["metadata"]
        spec = ApiKeySpec.model_validate(body.get("spec") or {})
        status = ApiKeyStatus.model_validate(body.get("status") or {})
        written = (metadata.get("annotations") or {}).get(CREATED_AT_ANNOTATION)
        return cls(
            name=name,
            namespace=namespace,
            organization=spec.organization_ref.name,
            purpose=spec.name,
            sha256=spec.sha256,
            created_by=spec.created_by,
            revoked=spec.revoked,
            last_used_at=status.last_used_at,
            prefix=spec.prefix,
            last_four=spec.last_four,
            created_at=parse_timestamp(written or metadata["creationTimestamp"]),
        )


class KeyDirectory:
    """All keys of the cluster, by SHA-256."""

    def __init__(self, client: KubeClient, watcher: KubeClient, installation_namespace: str) -> None:
        self._client = client
        self._installation_namespace = installation_namespace
        self._keys: dict[Key, ApiKey] = {}
        self._by_digest: dict[str, set[Key]] = {}
        self._absences = expiring_keys()
        self._looked_up = expiring_keys(_LOOKUP_TTL_S)
        self._look_ups: dict[str, asyncio.Task[None]] = {}
        self._written: dict[Key, float] = {}
        self._writes: set[asyncio.Task[None]] = set()
        self.informer = Informer(watcher, API_KEY, self._apply, silence_s=SILENCE_S)

    def known(self, digest: str) -> ApiKey | None:
        """Return the key from the cache if the cache is fresh, without a call."""
        return self._agreed(digest) if self._is_fresh(digest) else None

    async def find(self, digest: str) -> ApiKey | None:
        """Return the valid key, or None. Raises KubeError."""
        known = self.known(digest)
        if known is not None or digest in self._absences:
            return known
        look_up = self._look_ups.get(digest)
        if look_up is None:
            look_up = asyncio.create_task(self._look_up(digest))
            self._look_ups[digest] = look_up
            look_up.add_done_callback(lambda _: self._look_ups.pop(digest, None))
        await asyncio.shield(look_up)
        return self._agreed(digest)

    def note_use(self, key: ApiKey, now: datetime) -> None:
        """Write `lastUsedAt` in the background, at most hourly."""
        if key.last_used_at is not None and now - key.last_used_at < _USE_WRITE_INTERVAL:
            return
        where = (key.namespace, key.name)
        if time.monotonic() - self._written.get(where, float("-inf")) < _WRITE_RETRY_S:
            return
        self._written[where] = time.monotonic()
        task = asyncio.create_task(self._write_use(key, now))
        self._writes.add(task)
        task.add_done_callback(self._writes.discard)

    async def of_organization(self, organization: Organization) -> list[ApiKey]:
        """Return the keys, newest first. Raises KubeUnavailable before the first list."""
        await self.informer.wait_for_first_list()
        found = [
            key
            for key in self._keys.values()
            if key.organization == organization.name and organization.has(key.namespace)
        ]
        return sorted(found, key=lambda key: (key.created_at, key.name), reverse=True)

    def _agreed(self, digest: str) -> ApiKey | None:
        keys = [self._keys[where] for where in sorted(self._by_digest.get(digest, ()))]
        if not keys or any(key.revoked or key.organization != keys[0].organization for key in keys):
            return None
        return keys[0]

    def _is_fresh(self, digest: str) -> bool:
        return self.informer.connected or digest in self._looked_up

    async def _look_up(self, digest: str) -> None:
        """Look up by generated name, then (for keys named with kubectl) by digest."""
        found: list[JsonObject] = []
        with contextlib.suppress(KubeNotFound):
            found = [await self._client.get(API_KEY, object_name(digest), self._installation_namespace)]
        if not found or found[0]["spec"].get("sha256") != digest:
            found, _ = await self._client.list_all(API_KEY, field_selector=f"spec.sha256={digest}")
            for namespace, name in self._by_digest.get(digest, set()) - {key_of(body) for body in found}:
                self.informer.forget({"metadata": {"namespace": namespace, "name": name}})
        for body in found:
            self.informer.observe(body)
        self._looked_up.add(digest)
        if not found:
            self._absences.add(digest)

    async def _write_use(self, key: ApiKey, now: datetime) -> None:
        status = {"lastUsedAt": format_timestamp(now)}
        try:
            self.informer.observe(await self._client.patch_status(API_KEY, key.name, status, key.namespace))
        except KubeError as error:
            logger.info("key.use_not_written", extra={"key": key.name, "reason": error.message})

    def _apply(self, change: str, body: JsonObject) -> None:
        where = key_of(body)
        before = self._keys.pop(where, None)
        if before is not None:
            self._by_digest[before.sha256].discard(where)
            if not self._by_digest[before.sha256]:
                del self._by_digest[before.sha256]
        if change == "DELETE":
            return
        try:
            key = ApiKey.parse(body)
        except ValueError as error:
            logger.warning("key.unreadable", extra={"key": where[1], "reason": str(error)})
            return
        self._absences.pop(key.sha256)
        self._keys[where] = key
        self._by_digest.setdefault(key.sha256, set()).add(where)
