"""Reads snapshots, and verifies all content against the manifest's digests."""

import hashlib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection
from dataclasses import dataclass, field

from checklist_crds.resources.kinds import Kind
from checklist_crds.values.json_text import JsonObject

from .copying import Copied
from .format import BackupManifest, DamagedBackup, PartEntry, decode, from_line
from .objects import KINDS
from .parallel import for_each
from .store import BackupStore


async def lines_of(store: BackupStore, entry: PartEntry) -> list[bytes]:
    """Raises DamagedBackup and StoreUnavailable."""
    return decode(await store.get(entry.key), entry)


async def objects_of(
    store: BackupStore, manifest: BackupManifest, kind: Kind, folders: Collection[str] | None
) -> AsyncIterator[JsonObject]:
    """All objects of a kind in `folders` (None: in all). Raises DamagedBackup and StoreUnavailable."""
    for entry in manifest.parts:
        if entry.plural == kind.plural and (folders is None or entry.folder in folders):
            for line in await lines_of(store, entry):
                body = from_line(line, entry.key)
                if body.get("kind") != kind.kind:
                    raise DamagedBackup(f"{entry.key}: a line is not a {kind.kind}")
                yield body


async def copies_of(store: BackupStore, manifest: BackupManifest) -> list[Copied]:
    """Raises DamagedBackup and StoreUnavailable."""
    found = []
    for entry in manifest.parts:
        if entry.plural == "copies":
            for line in await lines_of(store, entry):
                document = from_line(line, entry.key)
                key, size, digest = (document.get(name) for name in ("key", "size", "sha256"))
                if not isinstance(key, str) or not isinstance(size, int) or not isinstance(digest, str):
                    raise DamagedBackup(f"{entry.key}: a line is not a copy")
                found.append(Copied(key, size, digest))
    return found


@dataclass(slots=True)
class Verdict:
    """The result of verifying a snapshot."""

    manifest: BackupManifest
    objects: int = 0
    copies: int = 0
    damages: list[str] = field(default_factory=list)


async def verify(
    store: BackupStore,
    manifest: BackupManifest,
    *,
    with_copies: bool,
    report: Callable[[Verdict], None] = lambda _: None,
) -> Verdict:
    """Read every part and compare digests; with `with_copies` also every photo and archive part."""
    verdict = Verdict(manifest)
    counts: Counter[str] = Counter()
    plurals = {kind.plural: kind for kind in KINDS}
    copies: list[Copied] = []
    for entry in manifest.parts:
        try:
            lines = await lines_of(store, entry)
            for line in lines:
                document = from_line(line, entry.key)
                kind = plurals.get(entry.plural)
                if kind is not None and document.get("kind") != kind.kind:
                    raise DamagedBackup(f"{entry.key}: a line is not a {kind.kind}")
        except DamagedBackup as error:
            verdict.damages.append(str(error))
            continue
        if entry.plural in plurals:
            counts[entry.plural] += len(lines)
            verdict.objects += len(lines)
        report(verdict)
    if not verdict.damages:
        for plural, count in manifest.counts.items():
            if counts[plural] != count:
                verdict.damages.append(f"{manifest.name}: has {counts[plural]} {plural}, not {count}")
        copies = await copies_of(store, manifest)

    there: dict[str, int] = {}
    if not with_copies:
        for prefix in sorted({copied.key.partition("/")[0] for copied in copies}):
            there |= {found.key: found.size async for found in store.listed(prefix)}

    async def one(copied: Copied) -> None:
        verdict.copies += 1
        if not with_copies:
            if there.get(copied.key) != copied.size:
                verdict.damages.append(f"{copied.key}: missing or truncated")
            return
        content = await store.get(copied.key)
        if content is None:
            verdict.damages.append(f"{copied.key}: missing")
        elif hashlib.sha256(content).hexdigest() != copied.sha256:
            verdict.damages.append(f"{copied.key}: the digest does not match that of the copy")
        report(verdict)

    await for_each(copies, one, parallel=8)
    verdict.damages.sort()
    return verdict
