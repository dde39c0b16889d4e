"""Where the bytes of photos are: a local folder, S3, Google Cloud Storage or Azure, by one URL (obstore).

Credentials come from where each cloud's own tools look for them: the environment, or the machine's identity. Both the
API (puts, gets) and the operator (thumbnails for events, collection) use the same store.
"""

import os
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final, Self
from urllib.parse import unquote, urlsplit

import obstore
from obstore.exceptions import BaseError
from obstore.store import LocalStore, ObjectStore, from_url

from .photo_keys import PREFIX, run_folder

SCHEMES: Final = ("file", "s3", "gs", "az")
_CHUNK_BYTES: Final = 256 * 1024
_PART_BYTES: Final = 5 * 1024 * 1024
_ANSWER_WITHIN: Final = timedelta(seconds=30)
_CONNECT_WITHIN: Final = timedelta(seconds=5)
_TRY_FOR: Final = timedelta(seconds=20)


def default_url(environment: Mapping[str, str]) -> str:
    """A folder of the user's, for a service that was told of no store: API and operator of one machine agree on it."""
    home = environment.get("HOME")
    data = environment.get("XDG_DATA_HOME") or (f"{home}/.local/share" if home else "/var/lib")
    return (Path(data).absolute() / "checklist-dispatch" / "photos").as_uri()


class InvalidStore(ValueError):
    """The URL names no store that can be used; the text says why and repeats no secret."""


class StoreUnavailable(Exception):
    """The store does not answer, or not as it should. What was asked for may be tried again."""


@dataclass(frozen=True, slots=True)
class StoredObject:
    """A line of a listing."""

    key: str
    size: int
    modified_at: datetime


@dataclass(frozen=True, slots=True)
class StoredPhoto:
    """An object that is being read, chunk by chunk. Iterating raises StoreUnavailable."""

    size: int
    head: bytes
    """The first chunk."""
    _rest: AsyncIterator[bytes]

    async def chunks(self) -> AsyncIterator[bytes]:
        """All of it, once."""
        if self.head:
            yield self.head
        try:
            async for chunk in self._rest:
                yield bytes(chunk)
        except (BaseError, OSError) as error:
            raise StoreUnavailable(_reason(error)) from error


class PhotoStore:
    """All methods raise StoreUnavailable."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store
        # The local store keeps no attributes; nothing depends on them, they only help whoever looks into a bucket.
        self._keeps_attributes = not isinstance(store, LocalStore)

    @classmethod
    def open(cls, url: str) -> Self:
        """From `file:///folder`, `s3://bucket/prefix`, `gs://...` or `az://...`. Raises InvalidStore."""
        parts = urlsplit(url)
        if parts.scheme not in SCHEMES:
            raise InvalidStore(f"must begin with one of {', '.join(f'{scheme}://' for scheme in SCHEMES)}")
        if parts.username or parts.password or parts.query or parts.fragment:
            raise InvalidStore("must have no user, password, query or fragment; credentials come from the environment")
        try:
            if parts.scheme == "file":
                return cls(_folder_store(parts.netloc, unquote(parts.path)))
            return cls(
                from_url(
                    url,
                    client_options={
                        "timeout": _ANSWER_WITHIN,
                        "connect_timeout": _CONNECT_WITHIN,
                        # Options given here hide this one of the environment.
                        "allow_http": os.environ.get("AWS_ALLOW_HTTP", "").lower() in ("1", "true"),
                    },
                    retry_config={"max_retries": 4, "retry_timeout": _TRY_FOR},
                )
            )
        except (BaseError, OSError) as error:
            raise InvalidStore(_reason(error)) from None

    async def put(self, key: str, file: Path, content_type: str) -> None:
        """Keep the file's bytes at `key`: whole, or not at all."""
        attributes = {"Content-Type": content_type} if self._keeps_attributes else None
        try:
            await obstore.put_async(
                self._store, key, file, attributes=attributes, chunk_size=_PART_BYTES, max_concurrency=2
            )
        except (BaseError, OSError) as error:
            raise StoreUnavailable(_reason(error)) from error

    async def get(self, key: str) -> StoredPhoto | None:
        """The object, of which only the first chunk was read; None when there is none."""
        try:
            result = await obstore.get_async(self._store, key)
            rest = aiter(result.stream(min_chunk_size=_CHUNK_BYTES))
            head = bytes(await anext(rest, b""))
        except FileNotFoundError:
            return None
        except (BaseError, OSError) as error:
            raise StoreUnavailable(_reason(error)) from error
        return StoredPhoto(result.meta["size"], head, rest)

    async def read(self, key: str, *, at_most: int) -> bytes | None:
        """A small object; None when there is none, or when it is larger."""
        photo = await self.get(key)
        if photo is None or photo.size > at_most:
            return None
        return b"".join([chunk async for chunk in photo.chunks()])

    async def delete(self, keys: Sequence[str]) -> None:
        """Remove them; what is not there is removed already."""
        for key in keys:
            try:
                await obstore.delete_async(self._store, key)
            except FileNotFoundError:
                continue
            except (BaseError, OSError) as error:
                raise StoreUnavailable(_reason(error)) from error

    async def runs(self) -> list[str]:
        """The ids of all runs that have objects."""
        try:
            listing = await obstore.list_with_delimiter_async(self._store, PREFIX + "/")
        except (BaseError, OSError) as error:
            raise StoreUnavailable(_reason(error)) from error
        return sorted(prefix.rstrip("/").rpartition("/")[2] for prefix in listing["common_prefixes"])

    async def objects_of(self, run_id: str) -> list[StoredObject]:
        """What is kept of one run, thumbnails included."""
        found: list[StoredObject] = []
        try:
            async for page in obstore.list(self._store, run_folder(run_id) + "/"):
                found += [StoredObject(meta["path"], meta["size"], meta["last_modified"]) for meta in page]
        except (BaseError, OSError) as error:
            raise StoreUnavailable(_reason(error)) from error
        return found


def _folder_store(host: str, path: str) -> LocalStore:
    if host not in ("", "localhost") or not path.startswith("/"):
        raise InvalidStore("must name a folder of this machine, as file:///var/lib/photos does")
    return LocalStore(path, automatic_cleanup=True, mkdir=True)


def _reason(error: Exception) -> str:
    """The first line, without the request that clouds' errors repeat."""
    return str(error).partition("\n")[0][:300]
