"""Finds runs that were archived while a backup was taken: they are in its snapshot and in its copy of the archive.

They are restored as archived; restoring them into the cluster too would archive them twice.
"""

from collections.abc import AsyncIterator, Collection

from checklist_crds.archive import Damaged, Manifest
from checklist_crds.archive.layout import MANIFEST, PartPlace
from checklist_crds.resources.kinds import RUN
from checklist_crds.resources.run_id import run_id_of

from .format import BackupManifest, DamagedBackup
from .reading import copies_of, objects_of
from .store import BackupStore


async def archived_and_live(
    store: BackupStore, manifest: BackupManifest, organizations: Collection[str]
) -> frozenset[str]:
    """Ids of the runs of `organizations` (public ids) that are in the snapshot and, in the same or a later state, in
    the archive. Raises DamagedBackup and StoreUnavailable."""
    parts = [part async for part in _parts(store, manifest, organizations)]
    if not parts:
        return frozenset()
    live: dict[str, int] = {}
    async for body in objects_of(store, manifest, RUN, organizations):
        run_id = run_id_of(body)
        if run_id is not None:
            live[run_id] = int(body["metadata"]["resourceVersion"])
    return frozenset(
        run
        for part in parts
        for run, version in zip(part.run_ids, part.versions, strict=True)
        if run in live and version >= live[run]
    )


async def archived_runs(store: BackupStore, manifest: BackupManifest, organizations: Collection[str]) -> frozenset[str]:
    """Ids of all runs of `organizations` that are in the archive. Raises DamagedBackup and StoreUnavailable."""
    return frozenset([run async for part in _parts(store, manifest, organizations) for run in part.run_ids])


async def _parts(
    store: BackupStore, manifest: BackupManifest, organizations: Collection[str]
) -> AsyncIterator[Manifest]:
    for copied in await copies_of(store, manifest):
        place = PartPlace.of_key(copied.key) if copied.key.endswith(MANIFEST) else None
        if place is None or not place.has_runs or place.folder.organization not in organizations:
            continue
        try:
            part = await store.manifest(place)
        except Damaged as error:
            raise DamagedBackup(str(error)) from None
        if part is None:
            raise DamagedBackup(f"{copied.key}: missing")
        yield part
