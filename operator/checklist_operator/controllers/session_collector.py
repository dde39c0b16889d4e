"""Removal of dashboard sessions that have ended by themselves. The API refuses them in any case; this only tidies."""

import logging
from collections.abc import Callable

from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.errors import KubeConflict, KubeNotFound
from checklist_crds.kube.kinds import DASHBOARD_SESSION
from checklist_crds.times import Clock, parse_timestamp
from checklist_operator.json_logging import about
from checklist_operator.paging import pages

logger = logging.getLogger(__name__)


class SessionCollector:
    """`sweep` looks at all sessions of the installation."""

    def __init__(self, client: KubeClient, *, namespace: str, clock: Clock, on_removed: Callable[[str], None]) -> None:
        self._client = client
        self._namespace = namespace
        self._clock = clock
        self._on_removed = on_removed

    async def sweep(self) -> int:
        """How many were deleted. Raises KubeError; then the next sweep does it."""
        now, deleted = self._clock(), 0
        async for page in pages(self._client, DASHBOARD_SESSION, (self._namespace,)):
            for body in page:
                metadata = body["metadata"]
                if now >= parse_timestamp(body["spec"]["expiresAt"]):
                    deleted += await self._delete(metadata["name"], metadata["resourceVersion"])
        if deleted:
            logger.info("ended sessions removed", extra=about(count=deleted))
        return deleted

    async def _delete(self, name: str, version: str) -> int:
        try:
            await self._client.delete(DASHBOARD_SESSION, name, self._namespace, resource_version=version)
        except (KubeNotFound, KubeConflict):
            return 0
        self._on_removed(DASHBOARD_SESSION.kind)
        return 1
