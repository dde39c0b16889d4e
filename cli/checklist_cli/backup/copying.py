"""Copies photos and archive parts from one store to another.

Objects are immutable: a photo's key is derived from its content, an archive part's from its entries. An object already
present at its full size is therefore not copied again, and an interrupted copy can be resumed. An archive part can be
written twice with different bytes for the same lines; if the target has one with its manifest, both are kept.
"""

import hashlib
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

from checklist_crds.archive.layout import PREFIX as ARCHIVE
from checklist_crds.archive.layout import PartPlace
from checklist_crds.photos.keys import PREFIX as PHOTOS
from checklist_crds.platform.object_store import StoredObject

from ..console.command import CommandFailed
from .format import DamagedBackup
from .parallel import for_each
from .store import BackupStore

__all__ = [
    "ARCHIVE",
    "PHOTOS",
    "Copied",
    "CopyingResult",
    "copy_all",
    "copy_archive",
    "copy_these",
    "is_photo_of",
    "run_of_photo",
]

_PARALLEL: Final = 8
_LISTINGS: Final = 5


@dataclass(frozen=True, slots=True)
class Copied:
    """An object present at the target."""

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
    """Already at the target."""
    bytes: int = 0
    """Copied and present."""
    vanished: int = 0
    """Listed, but deleted before they could be copied."""
    objects: list[Copied] = field(default_factory=list)

    @property
    def seen(self) -> int:
        return self.copied + self.present


def run_of_photo(key: str) -> str:
    """The id of the run that the photo at `key` belongs to; empty if it is not a photo of a run."""
    parts = key.split("/")
    return parts[-2] if len(parts) >= 3 else ""


def is_photo_of(key: str, runs: Collection[str], organizations: Collection[str]) -> bool:
    """Whether `key` is a photo of one of `runs` in `organizations` (public ids)."""
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
    """Copy everything under `prefix` whose key is wanted. `known`: digests of objects known to be at the target.

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


async def copy_archive(
    source: BackupStore,
    target: BackupStore,
    *,
    known: Mapping[str, Copied],
    wants: Callable[[str], bool] = lambda _: True,
    report: Callable[[CopyingResult], None] = lambda _: None,
) -> CopyingResult:
    """Copy the archive until nothing goes from it between two listings.

    A listing that takes a while can miss both a part and its replacement, if the part is rewritten in the meantime.
    Raises StoreUnavailable and CommandFailed.
    """
    before: set[str] | None = None
    for _ in range(_LISTINGS):
        result = await copy_all(source, target, ARCHIVE, known=known, wants=wants, report=report)
        there = {one.key: one for one in result.objects}
        if before is not None and before <= there.keys() and not result.vanished:
            return result
        before, known = set(there), {**known, **there}
    raise CommandFailed(
        f"parts of the archive were rewritten during each of {_LISTINGS} attempts to copy it: take the backup again "
        "when no erasure runs"
    )


async def copy_these(
    source: BackupStore,
    target: BackupStore,
    objects: Collection[Copied],
    *,
    report: Callable[[CopyingResult], None] = lambda _: None,
) -> CopyingResult:
    """Copy exactly `objects`, verifying each digest. Raises StoreUnavailable and DamagedBackup."""
    there: dict[str, int] = {}
    for prefix in sorted({copied.key.partition("/")[0] for copied in objects}):
        there |= {found.key: found.size async for found in target.listed(prefix)}
    result = CopyingResult()

    async def one(copied: Copied) -> None:
        if _has(there, copied.key, copied.size):
            result.present += 1
        else:
            content = await source.get(copied.key)
            if content is None or hashlib.sha256(content).hexdigest() != copied.sha256:
                what = "missing" if content is None else "changed since it was copied"
                raise DamagedBackup(f"{copied.key}: {what}")
            await target.put(copied.key, content)
            result.copied += 1
        result.bytes += copied.size
        report(result)

    await for_each(objects, one, parallel=_PARALLEL)
    return result


def _has(there: Mapping[str, int], key: str, size: int) -> bool:
    if key not in there:
        return False
    place = PartPlace.of_key(key)
    return there[key] == size or (place is not None and place.key in there and place.manifest_key in there)
