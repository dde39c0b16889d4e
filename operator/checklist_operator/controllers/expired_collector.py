"""Deletes objects past their spec.expiresAt: dashboard sessions and records of Idempotency-Keys.

The API ignores expired objects, so this only frees space.
"""

import logging
from collections.abc import Callable, Sequence
from datetime import datetime

from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.errors import KubeConflict, KubeNotFound
from checklist_crds.resources.kinds import Kind
from checklist_crds.times import Clock, parse_timestamp
from checklist_crds.values.json_text import JsonObject
from checklist_operator.runtime.json_logging import about
from checklist_operator.runtime.paging import pages

logger = logging.getLogger(__name__)


class ExpiredCollector:
    """Deletes expired objects of one kind."""

    def __init__(
        self,
        client: KubeClient,
        kind: Kind,
        *,
        namespaces: Sequence[str],
        clock: Clock,
        on_removed: Callable[[str], None],
    ) -> None:
        """`namespaces`: where to look; empty for all."""
        self._client = client
        self._kind = kind
        self._namespaces = tuple(namespaces)
        self._clock = clock
        self._on_removed = on_removed

    async def sweep(self) -> int:
        """Returns the number of deleted objects. Raises KubeError; the next sweep continues."""
        now, deleted = self._clock(), 0
        async for page in pages(self._client, self._kind, self._namespaces):
            for body in page:
                if now >= _expires_at(body):
                    deleted += await self._delete(body)
        if deleted:
            logger.info("objects.expired_removed", extra=about(kind=self._kind.kind, count=deleted))
        return deleted

    async def _delete(self, body: JsonObject) -> int:
        metadata = body["metadata"]
        try:
            await self._client.delete(
                self._kind, metadata["name"], metadata["namespace"], resource_version=metadata["resourceVersion"]
            )
        except (KubeNotFound, KubeConflict):
            return 0
        self._on_removed(self._kind.kind)
        return 1


def _expires_at(body: JsonObject) -> datetime:
    return parse_timestamp(body["spec"]["expiresAt"])
