"""The objects of the archive in their store. Everything here raises StoreUnavailable."""

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Self

import obstore
from obstore.exceptions import BaseError
from obstore.store import ObjectStore

from ..ids import is_id
from ..platform.object_store import S3Keys, StoredObject, StoreUnavailable, open_store, reason_of
from .layout import ERASURES, MANIFEST, PREFIX, UNFINISHED, Folder, PartPlace
from .manifest import Manifest


class ArchiveStore:
    """By the URL of CHECKLISTS_ARCHIVE_STORE."""

    def __init__(self, store: ObjectStore, folder: Path | None = None) -> None:
        """`folder`: where a local store is."""
        self._store = store
        self._folder = folder

    @classmethod
    def open(cls, url: str, keys: S3Keys | None = None) -> Self:
        """Raises InvalidStore."""
        return cls(*open_store(url, keys))

    async def put(self, key: str, content: bytes) -> None:
        """Keep the bytes at `key`: whole, or not at all; and when this returns, also after a loss of power."""
        try:
            await obstore.put_async(self._store, key, content)
            if self._folder is not None:
                # The local store leaves that to the system, and the objects in the cluster are deleted upon our word.
                await asyncio.to_thread(_sync, self._folder, key)
        except (BaseError, OSError) as error:
            raise StoreUnavailable(reason_of(error)) from error

    async def get(self, key: str) -> bytes | None:
        """The object; None when there is none."""
        try:
            result = await obstore.get_async(self._store, key)
            return bytes(await result.bytes_async())
        except FileNotFoundError:
            return None
        except (BaseError, OSError) as error:
            raise StoreUnavailable(reason_of(error)) from error

    async def delete(self, keys: Sequence[str]) -> None:
        """Remove them; what is not there is removed already."""
        for key in keys:
            try:
                await obstore.delete_async(self._store, key)
            except FileNotFoundError:
                continue
            except (BaseError, OSError) as error:
                raise StoreUnavailable(reason_of(error)) from error

    async def manifest(self, place: PartPlace) -> Manifest | None:
        """The manifest of a part; None when there is none. Raises Damaged, too."""
        text = await self.get(place.manifest_key)
        return None if text is None else Manifest.parse(text, place)

    async def organizations(self) -> list[str]:
        """The public ids of all organizations that have a folder."""
        return [name for name in await self._folders(PREFIX) if is_id("org", name)]

    async def months(self, organization: str) -> list[str]:
        """`YYYY-MM` of all folders of an organization, the oldest first."""
        return await self._folders(f"{PREFIX}/{organization}")

    async def objects(self, within: Folder | str | None = None) -> AsyncIterator[StoredObject]:
        """What is there, page by page: of a folder, of an organization (by its public id), or all of it."""
        prefix = within.key if isinstance(within, Folder) else f"{PREFIX}/{within}" if within else PREFIX
        async for found in self._listed(prefix):
            yield found

    async def manifests(self, within: Folder | str | None = None) -> AsyncIterator[tuple[PartPlace, StoredObject]]:
        """Which parts there are, without reading their manifests."""
        async for found in self.objects(within):
            place = PartPlace.of_key(found.key) if found.key.endswith(MANIFEST) else None
            if place is not None:
                yield place, found

    async def unfinished(self) -> AsyncIterator[tuple[PartPlace, StoredObject]]:
        """Parts that somebody began, and has not deleted all of from the cluster."""
        async for found in self._listed(UNFINISHED):
            place = PartPlace.of_key(found.key)
            if place is not None:
                yield place, found

    async def erasures(self, organization: str) -> AsyncIterator[StoredObject]:
        """What was noted of people whose data were erased (`erasures.py`), by the organization's public id."""
        async for found in self._listed(f"{ERASURES}/{organization}"):
            yield found

    async def _listed(self, prefix: str) -> AsyncIterator[StoredObject]:
        try:
            async for page in obstore.list(self._store, prefix + "/"):
                for meta in page:
                    yield StoredObject(meta["path"], meta["size"], meta["last_modified"])
        except (BaseError, OSError) as error:
            raise StoreUnavailable(reason_of(error)) from error

    async def _folders(self, prefix: str) -> list[str]:
        try:
            listing = await obstore.list_with_delimiter_async(self._store, prefix + "/")
        except (BaseError, OSError) as error:
            raise StoreUnavailable(reason_of(error)) from error
        return sorted(found.rstrip("/").rpartition("/")[2] for found in listing["common_prefixes"])


def _sync(root: Path, key: str) -> None:
    """The file, and the folders that lead to it, which may be new."""
    file = root / key
    for path in (file, *file.parents):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        if path == root:
            return
