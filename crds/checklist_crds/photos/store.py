"""Stores photos in a local folder, S3, Google Cloud Storage or Azure, by one URL (obstore).

Credentials come from the standard sources of each cloud: the environment, or the machine's identity. The API (puts,
gets) and the operator (thumbnails for events, deletion of unused photos) use the same store.
"""

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Self

import obstore
from obstore.exceptions import BaseError
from obstore.store import ObjectStore

from ..ids import is_id
from ..platform.object_store import (
    InvalidStore,
    S3Keys,
    StoredObject,
    StoreUnavailable,
    default_url,
    open_store,
    reason_of,
)
from .keys import PREFIX, PhotoFolder

__all__ = ["InvalidStore", "PhotoStore", "StoreUnavailable", "StoredObject", "StoredPhoto", "default_url"]

_CHUNK_BYTES: Final = 256 * 1024
_PART_BYTES: Final = 5 * 1024 * 1024
_HALF_WRITTEN: Final = re.compile(r".+#[0-9]+")
"""Name of an incomplete file in a local store. A killed process leaves it behind, and the store neither lists nor
deletes it."""


@dataclass(frozen=True, slots=True)
class StoredPhoto:
    """An object that is read chunk by chunk. Iterating raises StoreUnavailable."""

    size: int
    head: bytes
    """The first chunk."""
    _rest: AsyncIterator[bytes]

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yields the whole object, once."""
        if self.head:
            yield self.head
        try:
            async for chunk in self._rest:
                yield bytes(chunk)
        except (BaseError, OSError) as error:
            raise StoreUnavailable(reason_of(error)) from error


class PhotoStore:
    """All methods raise StoreUnavailable."""

    def __init__(self, store: ObjectStore, folder: Path | None = None) -> None:
        """`folder`: location of a local store."""
        self._store = store
        self._folder = folder
        # The local store has no attributes; nothing depends on them, they are for people who browse a bucket.
        self._keeps_attributes = folder is None

    @classmethod
    def open(cls, url: str, keys: S3Keys | None = None) -> Self:
        """Opens `file:///folder`, `s3://bucket/prefix`, `gs://...` or `az://...`. Raises InvalidStore."""
        return cls(*open_store(url, keys))

    async def put(self, key: str, file: Path, content_type: str) -> None:
        """Stores the file's bytes at `key` atomically."""
        attributes = {"Content-Type": content_type} if self._keeps_attributes else None
        try:
            await obstore.put_async(
                self._store, key, file, attributes=attributes, chunk_size=_PART_BYTES, max_concurrency=2
            )
        except (BaseError, OSError) as error:
            raise StoreUnavailable(reason_of(error)) from error

    async def get(self, key: str) -> StoredPhoto | None:
        """Opens the object and reads its first chunk; None if it does not exist."""
        try:
            result = await obstore.get_async(self._store, key)
            rest = aiter(result.stream(min_chunk_size=_CHUNK_BYTES))
            head = bytes(await anext(rest, b""))
        except FileNotFoundError:
            return None
        except (BaseError, OSError) as error:
            raise StoreUnavailable(reason_of(error)) from error
        return StoredPhoto(result.meta["size"], head, rest)

    async def read(self, key: str, *, at_most: int) -> bytes | None:
        """Reads a small object; None if it does not exist or is larger."""
        photo = await self.get(key)
        if photo is None or photo.size > at_most:
            return None
        return b"".join([chunk async for chunk in photo.chunks()])

    async def delete(self, keys: Sequence[str]) -> None:
        """Deletes the objects; missing ones are ignored."""
        for key in keys:
            try:
                if self._folder is not None and _HALF_WRITTEN.fullmatch(key):
                    await asyncio.to_thread(_remove, self._folder / key)
                else:
                    await obstore.delete_async(self._store, key)
            except FileNotFoundError:
                continue
            except (BaseError, OSError) as error:
                raise StoreUnavailable(reason_of(error)) from error

    async def folders(self) -> list[PhotoFolder]:
        """Returns the folders of all runs with objects."""
        found = []
        for name in await self._names_in(PREFIX):
            if is_id("org", name):
                found += [PhotoFolder(name, run_id) for run_id in await self._names_in(f"{PREFIX}/{name}")]
            else:
                found.append(PhotoFolder("", name))
        return sorted(one for one in found if is_id("r", one.run_id))

    async def _names_in(self, folder: str) -> list[str]:
        try:
            listing = await obstore.list_with_delimiter_async(self._store, folder + "/")
        except (BaseError, OSError) as error:
            raise StoreUnavailable(reason_of(error)) from error
        return [prefix.rstrip("/").rpartition("/")[2] for prefix in listing["common_prefixes"]]

    async def objects_of_run(self, organization: str, run_id: str) -> list[StoredObject]:
        """Returns the objects of a run of the organization (by public id), in the folders of all versions."""
        folders = (PhotoFolder(organization, run_id), PhotoFolder("", run_id))
        return [found for folder in folders for found in await self.objects_of(folder)]

    async def objects_of(self, folder: PhotoFolder) -> list[StoredObject]:
        """Returns the folder's objects, with thumbnails and incomplete files of killed processes."""
        found: list[StoredObject] = []
        try:
            if self._folder is not None:
                found += await asyncio.to_thread(_half_written, self._folder, folder.path)
            async for page in obstore.list(self._store, folder.path + "/"):
                found += [StoredObject(meta["path"], meta["size"], meta["last_modified"]) for meta in page]
        except (BaseError, OSError) as error:
            raise StoreUnavailable(reason_of(error)) from error
        return found


def _half_written(root: Path, folder: str) -> list[StoredObject]:
    """Returns the incomplete files of the folder: none if another process has just deleted it with its last photo."""
    try:
        files = [file for file in (root / folder).iterdir() if "#" in file.name]
    except FileNotFoundError:
        return []
    found = []
    for file in files:
        with contextlib.suppress(FileNotFoundError):  # completed meanwhile
            stat = file.stat()
            written_at = datetime.fromtimestamp(stat.st_mtime, UTC)
            found.append(StoredObject(f"{folder}/{file.name}", stat.st_size, written_at))
    return found


def _remove(file: Path) -> None:
    """Deletes the file, and its folder if that is empty."""
    file.unlink()
    with contextlib.suppress(OSError):
        file.parent.rmdir()
