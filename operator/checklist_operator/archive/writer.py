"""Writes a part of the archive, up to the manifest that makes it valid.

Order: a mark (the part is unfinished); the part; reading it back and comparing; the manifest, read back. Only what
`write` returned may be deleted from the cluster, and the mark is removed after that. So after a crash, the marks list
all parts to continue with.
"""

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from checklist_crds.archive import ArchiveStore, Damaged, EncodedPart, Folder, Manifest, PartPlace, encode_part
from checklist_crds.archive.erasures import Erasures
from checklist_crds.archive.part import manifest_of, verified_records
from checklist_crds.archive.record import Record, RemovedDeliveries
from checklist_crds.times import Clock, format_timestamp
from checklist_operator.runtime.leader import LEASE_NAME

Line = Record | RemovedDeliveries


class NotAllowed(Exception):
    """The lease is not certain, or another operator may have continued the part in the meantime."""


@dataclass(frozen=True, slots=True)
class Unfinished:
    """State of an unfinished part."""

    place: PartPlace
    since: datetime
    manifest: Manifest | None
    """The manifest, stored or not; None if the part was not written."""
    counts: bool
    """Whether the manifest is stored."""
    lines: tuple[Line, ...]


class ArchiveWriter:
    """Writes parts. Methods raise StoreUnavailable, and Damaged when the store returns other data than was written."""

    def __init__(self, store: ArchiveStore, *, clock: Clock, writer: str, leads: Callable[[], bool]) -> None:
        """`leads`: whether this operator certainly holds its lease."""
        self._store = store
        self._clock = clock
        self._writer = writer
        self._leads = leads

    async def write(self, folder: Folder, lines: Sequence[Line]) -> Manifest:
        """Writes `lines`, at least one, all of `folder`. The part is then valid and verified."""
        part = await asyncio.to_thread(encode_part, folder, lines, written_at=self._clock(), written_by=self._writer)
        await self._store.put(part.place.mark_key, self._mark(part.place))
        await self._store.put(part.place.key, part.content)
        await self._compare(part, lines)
        await self.commit(part.manifest)
        return part.manifest

    async def commit(self, manifest: Manifest) -> None:
        """Makes the part valid. Raises NotAllowed when others may have discarded the part meanwhile."""
        if not self._leads():
            raise NotAllowed()
        text = manifest.encoded()
        await self._store.put(manifest.place.manifest_key, text)
        if await self._store.get(manifest.place.manifest_key) != text:
            raise Damaged(f"{manifest.place.manifest_key}: was not given back as it was written")

    async def finish(self, place: PartPlace) -> None:
        """Removes the mark, after the part's content is deleted from the cluster."""
        await self._store.delete([place.mark_key])

    async def discard(self, place: PartPlace) -> None:
        """Deletes a part that never was valid."""
        await self._store.delete([place.key, place.mark_key])

    async def withdraw(self, place: PartPlace) -> None:
        """Invalidates and deletes a part whose lines are in another part now, or must not be archived."""
        await self._store.delete([place.manifest_key, place.key, place.mark_key])

    async def unfinished(self) -> list[PartPlace]:
        """Returns parts with a mark, left by earlier operators."""
        return [place async for place, _ in self._store.unfinished()]

    async def look(self, place: PartPlace) -> Unfinished:
        """Returns the state of a part. Raises Damaged if it cannot be read."""
        manifest = await self._store.manifest(place)
        content = await self._store.get(place.key)
        since = await self._marked_at(place)
        if content is None:
            if manifest is not None:
                raise Damaged(f"{place.key}: is missing, but its manifest exists")
            return Unfinished(place, since, None, False, ())
        said = manifest
        if said is None:
            said = await asyncio.to_thread(
                manifest_of, content, place, written_at=self._clock(), written_by=self._writer
            )
        lines = await asyncio.to_thread(_records, content, said)
        return Unfinished(place, since, said, manifest is not None, lines)

    async def counts(self, place: PartPlace) -> bool:
        """Whether there is a manifest, damaged or not."""
        return await self._store.get(place.manifest_key) is not None

    async def _compare(self, part: EncodedPart, lines: Sequence[Line]) -> None:
        content = await self._store.get(part.place.key)
        if content is None:
            raise Damaged(f"{part.place.key}: was written but is missing")
        await asyncio.to_thread(_compare, content, part.manifest, lines)

    async def _marked_at(self, place: PartPlace) -> datetime:
        text = await self._store.get(place.mark_key)
        return datetime.fromisoformat(json.loads(text)["since"]) if text is not None else self._clock()

    def _mark(self, place: PartPlace) -> bytes:
        return json.dumps(
            {
                "format": 1,
                "part": place.key,
                "lease": LEASE_NAME,
                "written_by": self._writer,
                "since": format_timestamp(self._clock()),
            }
        ).encode()


def _compare(content: bytes, manifest: Manifest, lines: Sequence[Line]) -> None:
    """Compares the digest of all bytes, then each line with the one that was to be written."""
    ours = {line.run_id: line.line() for line in lines}
    for record in verified_records(content, manifest):
        if ours.pop(record.run_id, None) != record.line():
            raise Damaged(f"{manifest.place.key}: run {record.run_id} was not given back as it was written")
    if ours:
        raise Damaged(f"{manifest.place.key}: {len(ours)} runs were not given back")


def _records(content: bytes, manifest: Manifest) -> tuple[Line, ...]:
    return tuple(verified_records(content, manifest))


class ErasureFilter:
    """Removes runs from the archive that were erased while the archiver held them.

    Methods raise StoreUnavailable, Damaged and NotAllowed.
    """

    def __init__(self, store: ArchiveStore, writer: ArchiveWriter, *, clock: Clock) -> None:
        self._erasures = Erasures(store)
        self._writer = writer
        self._clock = clock

    async def remove_erased(
        self, place: PartPlace, lines: Sequence[Line]
    ) -> tuple[PartPlace | None, list[Line], list[Line]]:
        """Returns the place of a valid part's remaining lines (None: there are none), these lines, and the erased ones.

        Call it after the part is valid and before its content is deleted from the cluster. An erasure is noted before
        the archive is searched, so either the erasure finds our part, or we find its note.
        """
        rest, erased = list(lines), list[Line]()
        # Again after each writing: another erasure may have searched the archive before the new part was valid.
        while gone := await self._erasures.among(place.folder.organization, rest, now=self._clock()):
            erased += [line for line in rest if line.run_id in gone]
            rest = [line for line in rest if line.run_id not in gone]
            instead = (await self._writer.write(place.folder, rest)).place if rest else None
            await self._writer.withdraw(place)
            if instead is None:
                return None, [], erased
            place = instead
        return place, rest, erased
