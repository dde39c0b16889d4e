"""The object store that a backup is kept in: that of the archive, with listings of any folder."""

from collections.abc import AsyncIterator

from checklist_crds.archive.store import ArchiveStore
from checklist_crds.platform.object_store import StoredObject

from . import layout
from .format import BackupManifest, DamagedBackup


class BackupStore(ArchiveStore):
    """Methods raise StoreUnavailable. What `put` has kept survives a loss of power."""

    async def listed(self, prefix: str) -> AsyncIterator[StoredObject]:
        """Everything under `prefix`, which has no slash at its end."""
        async for found in self._listed(prefix):
            yield found

    async def names(self) -> list[str]:
        """Of all snapshots that were begun, the oldest first."""
        return [name for name in await self._folders(layout.PREFIX) if layout.is_name(name)]

    async def newest(self) -> BackupManifest | None:
        """Of the snapshots that are whole. Raises DamagedBackup, too."""
        for name in reversed(await self.names()):
            text = await self.get(layout.manifest_key(name))
            if text is not None:
                return BackupManifest.parse(text, name)
        return None

    async def snapshot(self, name: str | None) -> BackupManifest:
        """By its name, or the newest that is whole. Raises DamagedBackup when there is none."""
        if name is None:
            newest = await self.newest()
            if newest is None:
                raise DamagedBackup("there is no whole snapshot (none has a manifest)")
            return newest
        text = await self.get(layout.manifest_key(name)) if layout.is_name(name) else None
        if text is None:
            raise DamagedBackup(f"there is no snapshot {name}, or it was never finished: it has no manifest")
        return BackupManifest.parse(text, name)
