"""Photos and archive parts from one store to another.

What lies at a key never changes: the key of a photo is made of its content, that of a part of what it holds. So what is
there already, in its full length, is not copied again, and a copying that was stopped goes on. A part of the archive
may be written twice (with other bytes, of the same lines): where the target has one with its manifest, it keeps both,
since they belong together.
"""

import hashlib
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

from checklist_crds.archive.layout import PREFIX as ARCHIVE
from checklist_crds.archive.layout import PartPlace
from checklist_crds.photos.keys import PREFIX as PHOTOS
from checklist_crds.platform.object_store import StoredObject

from .format import DamagedBackup
from .parallel import for_each
from .store import BackupStore

__all__ = ["ARCHIVE", "PHOTOS", "Copied", "CopyingResult", "copy_all", "copy_these", "is_photo_of", "run_of_photo"]

_PARALLEL: Final = 8


@dataclass(frozen=True, slots=True)
class Copied:
    """An object that is at the target now."""

    key: str
    size: int
    sha256: str

    @property
    def is_photo(self) -> bool:
        return self.key.startswith(PHOTOS + "/")


@dataclass(slots=True)
class CopyingResult:
    copied: int = 0
    present: int = 0
    """Were there already."""
    bytes: int = 0
    """Of all of them."""
    vanished: int = 0
    """Listed, and deleted before they could be copied."""
    objects: list[Copied] = field(default_factory=list)

    @property
    def seen(self) -> int:
        return self.copied + self.present


def run_of_photo(key: str) -> str:
    """The id of the run that the photo at `key` belongs to; empty for what is no photo of a run."""
    parts = key.split("/")
    return parts[-2] if len(parts) >= 3 else ""


def is_photo_of(key: str, runs: Collection[str], organizations: Collection[str]) -> bool:
    """Whether it is one of these runs (of organizations, by their public ids)."""
    parts = key.split("/")
    is_theirs = len(parts) == 3 or (len(parts) == 4 and parts[1] in organizations)
    return is_theirs and run_of_photo(key) in runs


async def copy_all(
    source: BackupStore,
    target: BackupStore,
    prefix: str,
    *,
    known: Mapping[str, Copied],
    wants: Callable[[str], bool] = lambda _: True,
    report: Callable[[CopyingResult], None] = lambda _: None,
) -> CopyingResult:
    """Everything under `prefix` whose key is wanted. `known`: digests of what the target is known to have.

    Raises StoreUnavailable.
    """
    there = {found.key: found.size async for found in target.listed(prefix)}
    result = CopyingResult()

    async def wanted() -> AsyncIterator[StoredObject]:
        async for found in source.listed(prefix):
            if wants(found.key):
                yield found

    async def one(found: StoredObject) -> None:
        key = found.key
        has = _has(there, key, found.size)
        known_as = known.get(key)
        if has and known_as is not None and known_as.size == there[key]:
            result.present += 1
            result.objects.append(known_as)
        else:
            content = await (target if has else source).get(key)
            if content is None:
                result.vanished += 1
                return
            if has:
                result.present += 1
            else:
                await target.put(key, content)
                result.copied += 1
            result.objects.append(Copied(key, len(content), hashlib.sha256(content).hexdigest()))
        result.bytes += found.size
        report(result)

    await for_each(wanted(), one, parallel=_PARALLEL)
    return result


async def copy_these(
    source: BackupStore,
    target: BackupStore,
    objects: Collection[Copied],
    *,
    report: Callable[[CopyingResult], None] = lambda _: None,
) -> CopyingResult:
    """Exactly `objects`, each verified against its digest. Raises StoreUnavailable and DamagedBackup."""
    there: dict[str, int] = {}
    for prefix in sorted({copied.key.partition("/")[0] for copied in objects}):
        there |= {found.key: found.size async for found in target.listed(prefix)}
    result = CopyingResult()

    async def each() -> AsyncIterator[Copied]:
        for copied in objects:
            yield copied

    async def one(copied: Copied) -> None:
        if _has(there, copied.key, copied.size):
            result.present += 1
        else:
            content = await source.get(copied.key)
            if content is None or hashlib.sha256(content).hexdigest() != copied.sha256:
                what = "is not there" if content is None else "is not what it was when it was copied"
                raise DamagedBackup(f"{copied.key}: {what}")
            await target.put(copied.key, content)
            result.copied += 1
        result.bytes += copied.size
        report(result)

    await for_each(each(), one, parallel=_PARALLEL)
    return result


def _has(there: Mapping[str, int], key: str, size: int) -> bool:
    if key not in there:
        return False
    place = PartPlace.of_key(key)
    return there[key] == size or (place is not None and place.key in there and place.manifest_key in there)
