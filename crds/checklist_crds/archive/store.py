"""Stores the objects of the archive. All methods raise StoreUnavailable."""

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
    """The store at the URL of CHECKLISTS_ARCHIVE_STORE."""

    def __init__(self, store: ObjectStore, folder: Path | None = None) -> None:
        """`folder`: location of a local store."""
        self._store = store
        self._folder = folder

    @classmethod
    def open(cls, url: str, keys: S3Keys | None = None) -> Self:
        """Raises InvalidStore."""
        return cls(*open_store(url, keys))

    async def put(self, key: str, content: bytes) -> None:
        """Stores the bytes at `key` atomically; they survive a loss of power."""
        try:
            await obstore.put_async(self._store, key, content)
            if self._folder is not None:
                # A local store does not flush, and objects in the cluster are deleted after this returns.
                await asyncio.to_thread(_sync, self._folder, key)
        except (BaseError, OSError) as error:
            raise StoreUnavailable(reason_of(error)) from error

    async def get(self, key: str) -> bytes | None:
        """Returns the object, or None."""
        try:
            result = await obstore.get_async(self._store, key)
            return bytes(await result.bytes_async())
        except FileNotFoundError:
            return None
        except (BaseError, OSError) as error:
            raise StoreUnavailable(reason_of(error)) from error

    async def delete(self, keys: Sequence[str]) -> None:
        """Deletes the objects; missing ones are ignored."""
        for key in keys:
            try:
                await obstore.delete_async(self._store, key)
            except FileNotFoundError:
                continue
            except (BaseError, OSError) as error:
                raise StoreUnavailable(reason_of(error)) from error

    async def manifest(self, place: PartPlace) -> Manifest | None:
        """Returns the manifest of a part, or None. Also raises Damaged."""
        text = await self.get(place.manifest_key)
        return None if text is None else Manifest.parse(text, place)

    async def organizations(self) -> list[str]:
        """Returns the public ids of all organizations with a folder."""
        return [name for name in await self._folders(PREFIX) if is_id("org", name)]

    async def months(self, organization: str) -> list[str]:
        """Returns `YYYY-MM` of an organization's folders, oldest first."""
        return await self._folders(f"{PREFIX}/{organization}")

    async def objects(self, within: Folder | str | None = None) -> AsyncIterator[StoredObject]:
        """Yields the objects of a folder, of an organization (by its public id), or all."""
        prefix = within.key if isinstance(within, Folder) else f"{PREFIX}/{within}" if within else PREFIX
        async for found in self._listed(prefix):
            yield found

    async def manifests(self, within: Folder | str | None = None) -> AsyncIterator[tuple[PartPlace, StoredObject]]:
        """Yields the parts that have a manifest, without reading it."""
        async for found in self.objects(within):
            place = PartPlace.of_key(found.key) if found.key.endswith(MANIFEST) else None
            if place is not None:
                yield place, found

    async def unfinished(self) -> AsyncIterator[tuple[PartPlace, StoredObject]]:
        """Yields the parts that are marked as unfinished."""
        async for found in self._listed(UNFINISHED):
            place = PartPlace.of_key(found.key)
            if place is not None:
                yield place, found

    async def erasures(self, organization: str) -> AsyncIterator[StoredObject]:
        """Yields the notes of erased runs (`erasures.py`), by the organization's public id."""
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
    """Flushes the file, and the folders above it, which may be new."""
    file = root / key
    for path in (file, *file.parents):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        if path == root:
            return
