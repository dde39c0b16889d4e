"""The object store of a backup: that of the archive, with listings of any folder."""

from collections.abc import AsyncIterator

from checklist_crds.archive.store import ArchiveStore
from checklist_crds.platform.object_store import StoredObject

from . import layout
from .format import BackupManifest, DamagedBackup


class BackupStore(ArchiveStore):
    """Methods raise StoreUnavailable. What `put` has stored survives a power loss."""

    async def listed(self, prefix: str) -> AsyncIterator[StoredObject]:
        """Everything under `prefix`, given without a trailing slash."""
        async for found in self._listed(prefix):
            yield found

    async def names(self) -> list[str]:
        """Names of all snapshots, the unfinished ones included, the oldest first."""
        return [name for name in await self._folders(layout.PREFIX) if layout.is_name(name)]

    async def newest(self) -> BackupManifest | None:
        """The newest complete snapshot. Raises DamagedBackup, too."""
        for name in reversed(await self.names()):
            text = await self.get(layout.manifest_key(name))
            if text is not None:
                return BackupManifest.parse(text, name)
        return None

    async def snapshot(self, name: str | None) -> BackupManifest:
        """The snapshot `name`, or the newest complete one. Raises DamagedBackup if there is none."""
        if name is None:
            newest = await self.newest()
            if newest is None:
                raise DamagedBackup("there is no complete snapshot (none has a manifest)")
            return newest
        text = await self.get(layout.manifest_key(name)) if layout.is_name(name) else None
        if text is None:
            raise DamagedBackup(f"there is no snapshot {name}, or it is unfinished: it has no manifest")
        return BackupManifest.parse(text, name)
