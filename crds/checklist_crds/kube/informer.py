"""A local copy of one kind, kept fresh by list and watch: what the API's caches and its list index stand on.

It survives a dropped watch, 410 Gone and a restart of the API server: it goes on from the last version it saw, or lists
anew and reports what was missed. Handlers see every object's newest state at least once, never an older one after it.
"""

import asyncio
import logging
import random
from collections.abc import Callable
from typing import Final

from .client import JsonObject, KubeClient
from .errors import KubeError, KubeGone
from .kinds import Kind

logger = logging.getLogger(__name__)

Key = tuple[str, str]
_FIRST_DELAY_S: Final = 0.05
_LONGEST_DELAY_S: Final = 3.0

Handler = Callable[[str, JsonObject], None]
"""Called with "UPSERT" or "DELETE" and the object; must not block."""


def key_of(body: JsonObject) -> Key:
    """(namespace, name); the namespace of a cluster-scoped object is empty."""
    metadata = body["metadata"]
    return str(metadata.get("namespace", "")), str(metadata["name"])


def version_of(body: JsonObject) -> int:
    """The resource version as a number: Kubernetes promises that they are comparable within a kind."""
    return int(body["metadata"].get("resourceVersion") or 0)


class Informer:
    """Feeds `handler` with one kind. `synced` is set after the first list, `connected` while a watch runs."""

    def __init__(self, client: KubeClient, kind: Kind, handler: Handler, *, namespace: str | None = None) -> None:
        self._client = client
        self._kind = kind
        self._handler = handler
        self._namespace = namespace
        self._versions: dict[Key, int] = {}
        self._resume_from = ""
        self.synced = asyncio.Event()
        self.connected = False

    async def run(self) -> None:
        """Until cancelled."""
        delay = _FIRST_DELAY_S
        while True:
            try:
                if not self._resume_from:
                    await self._list()
                await self._watch()
                delay = _FIRST_DELAY_S
                continue
            except KubeGone:
                logger.info("watch of %s is too old, listing again", self._kind.plural)
                self._resume_from = ""
            except KubeError as error:
                logger.warning("watch of %s: %s", self._kind.plural, error.message)
            finally:
                self.connected = False
            await asyncio.sleep(delay * (0.5 + random.random()))
            delay = min(delay * 2, _LONGEST_DELAY_S)

    async def _list(self) -> None:
        seen: set[Key] = set()
        version = "0"
        async for items, listed_at in self._client.pages(self._kind, self._namespace):
            version = listed_at
            for item in items:
                seen.add(key_of(item))
                self._upsert(item)
        # What an own write put here after the list was taken is newer than the list and stays.
        missing = [key for key, known in self._versions.items() if key not in seen and known <= int(version)]
        for namespace, name in missing:
            del self._versions[namespace, name]
            self._handler("DELETE", {"metadata": {"namespace": namespace, "name": name}})
        self._resume_from = version
        self.synced.set()

    async def _watch(self) -> None:
        self.connected = True
        async for event in self._client.watch(self._kind, self._namespace, resource_version=self._resume_from):
            if event.type == "DELETED":
                self._versions.pop(key_of(event.object), None)
                self._handler("DELETE", event.object)
            elif event.type != "BOOKMARK":
                self._upsert(event.object)
            self._resume_from = event.object["metadata"]["resourceVersion"]

    def _upsert(self, body: JsonObject) -> None:
        key, version = key_of(body), version_of(body)
        if self._versions.get(key, -1) < version:
            self._versions[key] = version
            self._handler("UPSERT", body)

    def observe(self, body: JsonObject) -> None:
        """Apply an own write at once, without waiting for the watch to bring it."""
        self._upsert(body)

    def forget(self, body: JsonObject) -> None:
        """Apply an own deletion at once."""
        self._versions.pop(key_of(body), None)
        self._handler("DELETE", body)
