"""Which runs are in the archive, to distinguish archived runs from deleted ones."""

import logging
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable

from checklist_crds.archive import ArchiveStore, Damaged, PartKind
from checklist_crds.archive.layout import PartPlace
from checklist_crds.platform.object_store import StoredObject
from checklist_crds.resources.kinds import Key
from checklist_operator.runtime.json_logging import about

logger = logging.getLogger(__name__)


class ArchiveMembership:
    """Reads the manifests. Caches eight bytes per run while a manifest is unchanged."""

    def __init__(self, store: ArchiveStore, has_archived: Callable[[Key], bool]) -> None:
        """`has_archived`: whether this process has just archived the run, given by namespace and id."""
        self._store = store
        self._has_archived = has_archived
        self._remembered: dict[str, tuple[StoredObject, array[int]]] = {}

    def was_just_archived(self, key: Key) -> bool:
        """Whether the run, given by namespace and id, has just been archived."""
        return self._has_archived(key)

    async def missing(self, run_ids: Iterable[str]) -> set[str]:
        """Returns the ids that are not in the archive. Raises StoreUnavailable, also when a manifest is damaged,
        because it may list any of them."""
        unknown = {hash(run_id): run_id for run_id in run_ids}
        if not unknown:
            return set()
        there = set()
        async for place, stored in self._store.manifests():
            if not place.has_runs:
                continue
            there.add(stored.key)
            try:
                hashes = await self._hashes(place, stored)
            except Damaged as error:
                logger.error("archive.damaged", extra=about(reason=str(error), consequence="no run counts as missing"))
                return set()
            unknown = {number: run_id for number, run_id in unknown.items() if not _has(hashes, number)}
        self._remembered = {key: known for key, known in self._remembered.items() if key in there}
        return set(unknown.values())

    async def _hashes(self, place: PartPlace, stored: StoredObject) -> "array[int]":
        """Returns hashes of the part's run ids, sorted. Raises Damaged and StoreUnavailable."""
        known = self._remembered.get(stored.key)
        if known is not None and known[0] == stored:
            return known[1]
        manifest = await self._store.manifest(place)
        run_ids = manifest.run_ids if manifest is not None and manifest.kind is PartKind.RUNS else ()
        hashes = array("q", sorted(map(hash, run_ids)))
        self._remembered[stored.key] = stored, hashes
        return hashes


def _has(hashes: "array[int]", number: int) -> bool:
    place = bisect_left(hashes, number)
    return place < len(hashes) and hashes[place] == number
