"""Reads everything in an archive and verifies each part against its manifest."""

from collections.abc import AsyncIterator

from checklist_crds.archive import ArchiveReader, ArchiveStore, Record


async def records_in(store: ArchiveStore) -> AsyncIterator[Record]:
    """The runs of all parts. Raises Damaged for a damaged part."""
    reader = ArchiveReader(store)
    async for place, _ in store.manifests():
        manifest = await store.manifest(place)
        if manifest is not None:
            for line in await reader.records(manifest):
                if isinstance(line, Record):
                    yield line
