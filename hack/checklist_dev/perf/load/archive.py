"""Everything in an archive, each part compared with its manifest."""

from collections.abc import AsyncIterator

from checklist_crds.archive import ArchiveReader, ArchiveStore, Record


async def records_in(store: ArchiveStore) -> AsyncIterator[Record]:
    """The runs of all parts. Raises Damaged for a part that is not what it should be."""
    reader = ArchiveReader(store)
    async for place, _ in store.manifests():
        manifest = await store.manifest(place)
        if manifest is not None:
            for record in await reader.runs(manifest):
                yield record
