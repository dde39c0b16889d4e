"""Reads archived runs, verified by the part's digest."""

import asyncio
from collections.abc import Iterable

from .damage import Damaged
from .manifest import Manifest, PartKind
from .part import lines_of, verified_records
from .record import Record, RemovedDeliveries
from .store import ArchiveStore


class ArchiveReader:
    """Reads single runs and whole parts. Methods raise StoreUnavailable and Damaged."""

    def __init__(self, store: ArchiveStore) -> None:
        self._store = store

    async def run(self, manifest: Manifest, run_id: str) -> Record | None:
        """Returns the run from this part, or None. Reads the whole part."""
        if manifest.kind is not PartKind.RUNS or run_id not in manifest.run_ids:
            return None
        content = await self._content(manifest)
        return await asyncio.to_thread(_one, content, manifest, run_id)

    async def newest(self, manifests: Iterable[Manifest], run_id: str) -> Record | None:
        """Returns the latest state of the run from all `manifests` that list it: it may be archived twice."""
        best: Manifest | None = None
        highest = -1
        for manifest in manifests:
            if manifest.kind is PartKind.RUNS and run_id in manifest.run_ids:
                version = manifest.versions[manifest.run_ids.index(run_id)]
                if version > highest:
                    best, highest = manifest, version
        return None if best is None else await self.run(best, run_id)

    async def records(self, manifest: Manifest) -> list[Record | RemovedDeliveries]:
        """Returns all lines of a part, verified."""
        content = await self._content(manifest)
        return await asyncio.to_thread(lambda: list(verified_records(content, manifest)))

    async def _content(self, manifest: Manifest) -> bytes:
        content = await self._store.get(manifest.place.key)
        if content is None:
            raise Damaged(f"{manifest.place.key}: is missing, but its manifest exists")
        return content


def _one(content: bytes, manifest: Manifest, run_id: str) -> Record:
    record = Record.parse(lines_of(content, manifest)[manifest.run_ids.index(run_id)])
    if record.run_id != run_id:
        raise Damaged(f"{manifest.place.key}: its lines are not in the order of its manifest")
    return record
