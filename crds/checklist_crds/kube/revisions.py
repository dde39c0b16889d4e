"""Reads and creates template revisions, which are immutable and cached."""

import contextlib
import time
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Final

from ..platform.weighted_lru import WeightedLru, weight_of
from ..resources.kinds import TEMPLATE_REVISION
from ..resources.template_definition import Definition
from .client import KubeClient
from .errors import KubeAlreadyExists

_CACHED_S: Final = 60.0
_SEEN: Final = 10_000


class RevisionStore:
    """Keeps the most recently used definitions in memory."""

    def __init__(self, client: KubeClient) -> None:
        self._client = client
        self._definitions: WeightedLru[tuple[str, str], Definition] = WeightedLru()
        self._seen_at: OrderedDict[tuple[str, str], float] = OrderedDict()

    async def definition(self, namespace: str, name: str) -> Definition:
        """Returns the snapshot. Raises KubeNotFound if it was deleted by hand."""
        key = (namespace, name)
        known = self._definitions.get(key)
        if known is None:
            body = await self._client.get(TEMPLATE_REVISION, name, namespace)
            known = Definition.model_validate(body["spec"]["definition"])
            self._definitions.put(key, known, weight_of(body["spec"]["definition"]))
        return known

    async def ensure(self, revision: Mapping[str, Any], definition: Definition) -> None:
        """Creates the revision unless it exists.

        Its existence is cached for a minute only: a template may return to an earlier state, and the operator deletes
        revisions that have been unused for longer (`revision_grace_s`, ten minutes by default).
        """
        metadata = revision["metadata"]
        key = (metadata["namespace"], metadata["name"])
        if time.monotonic() - self._seen_at.get(key, float("-inf")) < _CACHED_S:
            return
        with contextlib.suppress(KubeAlreadyExists):
            await self._client.create(TEMPLATE_REVISION, revision, metadata["namespace"])
        self._definitions.put(key, definition, weight_of(revision["spec"]["definition"]))
        self._seen_at[key] = time.monotonic()
        self._seen_at.move_to_end(key)
        while len(self._seen_at) > _SEEN:
            self._seen_at.popitem(last=False)

    def forget(self, namespace: str, name: str) -> None:
        """Drops a deleted revision from the cache; the next dispatch creates it again."""
        self._definitions.discard((namespace, name))
        self._seen_at.pop((namespace, name), None)
