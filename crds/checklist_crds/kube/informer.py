"""A local copy of one kind, kept current by list and watch: the source of the API's caches and its list index.

It survives broken watches, 410 Gone and restarts of the API server: it continues from the last version it saw, or lists
again and reports the differences. Handlers see every object's newest state at least once, and never an older one after
it.
"""

import asyncio
import logging
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from ..platform.ttl_cache import TTLCache
from ..resources.kinds import Key, Kind, key_of, version_of
from ..values.json_text import JsonObject
from .client import KubeClient
from .errors import KubeError, KubeGone, KubeUnavailable

logger = logging.getLogger(__name__)

SILENCE_S: Final = 10.0
"""For kinds that grant access: a revocation takes effect after this time even if the watch is silently dead."""
_FIRST_DELAY_S: Final = 0.05
_LONGEST_DELAY_S: Final = 3.0
_FIRST_LIST_WITHIN_S: Final = 1.0
_LATE_ANSWERS: Final = 1_000
_LATE_ANSWERS_S: Final = 300.0
"""How many deletions are remembered, and for how long: far longer than an answer from before a deletion takes."""


@dataclass(slots=True)
class _Place:
    """A namespace that is listed and watched separately; None for all at once."""

    namespace: str | None
    resume_from: str = ""
    listed: bool = False
    connected: bool = False
    """The server has accepted the watch, and it works."""
    heard_at: float = 0.0
    """Time of the loop's clock."""

    def heard(self) -> None:
        self.connected, self.heard_at = True, asyncio.get_running_loop().time()


Handler = Callable[[str, JsonObject], None]
"""Called with "UPSERT" or "DELETE" and the object; must not block. If it raises, the object counts as deleted."""


class Informer:
    """Passes one kind to `handler`. `synced` is set after the first list, `connected` while a watch runs."""

    def __init__(
        self,
        client: KubeClient,
        kind: Kind,
        handler: Handler,
        *,
        namespace: str | None = None,
        page: int | None = None,
        silence_s: float | None = None,
    ) -> None:
        """`page`: objects per page of a list, if not the default of the kind.

        `silence_s`: a watch without data for so long counts as broken; the server is asked to end it earlier.
        """
        self._client = client
        self._kind = kind
        self._handlers = [handler]
        self._places = [_Place(name) for name in client.places(kind, namespace)]
        self._page = page
        self._silence_s = silence_s
        self._versions: dict[Key, int] = {}
        self._deleted: TTLCache[Key, int] = TTLCache(_LATE_ANSWERS, ttl_s=_LATE_ANSWERS_S)
        """Versions of reported deletions: an answer that is older and arrives later brings no object back."""
        self.synced = asyncio.Event()

    @property
    def connected(self) -> bool:
        if self._silence_s is None:
            return all(place.connected for place in self._places)
        earliest = asyncio.get_running_loop().time() - self._silence_s
        return all(place.connected and place.heard_at > earliest for place in self._places)

    async def run(self) -> None:
        """Runs until cancelled."""
        async with asyncio.TaskGroup() as group:
            for place in self._places:
                group.create_task(
                    self._follow(place), name=f"watch {self._kind.plural} {place.namespace or ''}".strip()
                )

    async def _follow(self, place: "_Place") -> None:
        delay = _FIRST_DELAY_S
        while True:
            try:
                if not place.resume_from:
                    await self._list(place)
                await self._watch(place)
                delay = _FIRST_DELAY_S
                continue
            except KubeGone:
                logger.info("watch of %s is too old, listing again", self._kind.plural)
                place.resume_from = ""
            except KubeError as error:
                logger.warning("watch of %s: %s", self._kind.plural, error.message)
            except BaseException:
                place.connected = False
                raise
            place.connected = False
            await asyncio.sleep(delay * (0.5 + random.random()))
            delay = min(delay * 2, _LONGEST_DELAY_S)

    async def wait_for_first_list(self) -> None:
        """Raises KubeUnavailable after a timeout."""
        try:
            await asyncio.wait_for(self.synced.wait(), _FIRST_LIST_WITHIN_S)
        except TimeoutError:
            raise KubeUnavailable(f"the {self._kind.plural} are not read yet") from None

    async def _list(self, place: "_Place") -> None:
        seen: set[Key] = set()
        version = "0"
        async for items, listed_at in self._client.pages(self._kind, place.namespace, page=self._page):
            version = listed_at
            for item in items:
                seen.add(key_of(item))
                self._upsert(item)
        # Own writes that were observed after the list was taken are newer and stay.
        missing = [
            key
            for key, known in self._versions.items()
            if key not in seen and known <= int(version) and place.namespace in (None, key[0])
        ]
        for namespace, name in missing:
            del self._versions[namespace, name]
            self._deleted.put((namespace, name), int(version))
            self._notify("DELETE", {"metadata": {"namespace": namespace, "name": name}})
        place.resume_from = version
        place.listed = True
        if all(other.listed for other in self._places):
            self.synced.set()

    async def _watch(self, place: "_Place") -> None:
        events = self._client.watch(
            self._kind,
            place.namespace,
            resource_version=place.resume_from,
            on_answer=place.heard,
            silence_s=self._silence_s,
        )
        async for event in events:
            place.heard()
            if event.type == "DELETED":
                key = key_of(event.object)
                self._versions.pop(key, None)
                self._deleted.put(key, version_of(event.object))
                self._notify("DELETE", event.object)
            elif event.type != "BOOKMARK":
                self._upsert(event.object)
            place.resume_from = event.object["metadata"]["resourceVersion"]
        place.heard()  # ended by the server, as happens regularly

    def _upsert(self, body: JsonObject) -> None:
        key, version = key_of(body), version_of(body)
        if max(self._versions.get(key, -1), self._deleted.get(key) or -1) < version:
            self._versions[key] = version
            self._notify("UPSERT", body)

    def add_handler(self, handler: Handler) -> None:
        """Adds a handler, called after the earlier ones."""
        self._handlers.append(handler)

    def observe(self, body: JsonObject) -> None:
        """Applies an own write without waiting for the watch."""
        self._upsert(body)

    def release(self, key: Key) -> None:
        """Forgets an object that its handler drops: a later list reports it again, only a watch its deletion."""
        self._versions.pop(key, None)

    def forget(self, body: JsonObject) -> None:
        """Applies an own deletion without waiting for the watch."""
        self._versions.pop(key_of(body), None)
        self._notify("DELETE", body)

    def _notify(self, change: str, body: JsonObject) -> None:
        for handler in self._handlers:
            try:
                handler(change, body)
            except Exception:
                if change == "DELETE":
                    raise
                # An unreadable object must not hide the others, which may be another tenant's.
                logger.exception("unreadable object", extra={"kind": self._kind.kind, "object": key_of(body)})
                handler("DELETE", body)
