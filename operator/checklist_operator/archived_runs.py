"""Which runs the archive has, for whoever must not take a run for gone that only left the cluster."""

import logging
from collections.abc import Callable, Iterable

from checklist_crds.archive import ArchiveStore, Damaged, PartKind
from checklist_crds.kube.informer import Key

logger = logging.getLogger(__name__)


class ArchivedRuns:
    """Looks at the manifests; keeps nothing."""

    def __init__(self, store: ArchiveStore, has_archived: Callable[[Key], bool]) -> None:
        """`has_archived`: whether this process archived the run a moment ago."""
        self._store = store
        self._has_archived = has_archived

    def just_now(self, key: Key) -> bool:
        """Whether the run was archived a moment ago."""
        return self._has_archived(key)

    async def missing(self, run_ids: Iterable[str]) -> set[str]:
        """Those that the archive does not have. Raises StoreUnavailable, also when a manifest cannot be read: it may
        speak of any of them."""
        unknown = set(run_ids)
        if not unknown:
            return unknown
        async for place, _ in self._store.manifests():
            if not place.has_runs:
                continue
            try:
                manifest = await self._store.manifest(place)
            except Damaged as error:
                logger.error("the archive is damaged, so nothing is taken for gone: %s", error)
                return set()
            if manifest is not None and manifest.kind is PartKind.RUNS:
                unknown -= set(manifest.run_ids)
            if not unknown:
                break
        return unknown
