"""Which runs are in the archive, to distinguish archived runs from deleted ones."""

import logging
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable
from typing import Final

from checklist_crds.archive import ArchiveStore, Damaged, PartKind
from checklist_crds.archive.layout import PartPlace
from checklist_crds.platform.object_store import StoredObject, StoreUnavailable
from checklist_crds.resources.kinds import Key
from checklist_operator.runtime.json_logging import about

logger = logging.getLogger(__name__)

_LISTINGS: Final = 5


class ArchiveMembership:
    """Reads the manifests. Caches eight bytes per run while a manifest is unchanged."""

    def __init__(self, store: ArchiveStore, has_archived: Callable[[Key], bool]) -> None:
        """`has_archived`: whether this process has just archived the run, given by namespace and id."""
        self._store = store
        self._has_archived = has_archived
        self._remembered: dict[str, tuple[StoredObject, array[int]]] = {}
        self._listed: set[str] | None = None
        """Keys of the manifests in the last listing."""

    def was_just_archived(self, key: Key) -> bool:
        """Whether the run, given by namespace and id, has just been archived."""
        return self._has_archived(key)

    async def missing(self, run_ids: Iterable[str]) -> set[str]:
        """Returns the ids that are not in the archive; none when a manifest is damaged, because it may list any of
        them. Raises StoreUnavailable, also when parts are rewritten all the time."""
        wanted = {hash(run_id): run_id for run_id in run_ids}
        if not wanted:
            return set()
        for _ in range(_LISTINGS):
            before, unknown, there, gone = self._listed, wanted, set[str](), False
            async for place, stored in self._store.manifests():
                if not place.has_runs:
                    continue
                there.add(stored.key)
                try:
                    hashes = await self._hashes(place, stored)
                except Damaged as error:
                    none = "no run counts as missing"
                    logger.error("archive.damaged", extra=about(reason=str(error), consequence=none))
                    return set()
                if hashes is None:
                    gone = True
                    continue
                unknown = {number: run_id for number, run_id in unknown.items() if not _has(hashes, number)}
            self._listed = there
            self._remembered = {key: known for key, known in self._remembered.items() if key in there}
            # While a part is rewritten, a listing can have the old part only, or miss both.
            if not unknown or (before is not None and before <= there and not gone):
                return set(unknown.values())
        raise StoreUnavailable("parts of the archive are being rewritten")

    async def _hashes(self, place: PartPlace, stored: StoredObject) -> "array[int] | None":
        """Returns hashes of the part's run ids, sorted; None if the part is gone. Raises Damaged and
        StoreUnavailable."""
        known = self._remembered.get(stored.key)
        if known is not None and known[0] == stored:
            return known[1]
        manifest = await self._store.manifest(place)
        if manifest is None:
            return None
        run_ids = manifest.run_ids if manifest.kind is PartKind.RUNS else ()
        hashes = array("q", sorted(map(hash, run_ids)))
        self._remembered[stored.key] = stored, hashes
        return hashes


def _has(hashes: "array[int]", number: int) -> bool:
    place = bisect_left(hashes, number)
    return place < len(hashes) and hashes[place] == number
