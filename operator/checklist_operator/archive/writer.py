"""A part of the archive, from records in hand to a manifest that makes it count.

In this order: a mark that says that the part is unfinished; the part; the part read back and compared; the manifest,
read back. Only what `write` returned may be deleted from the cluster, and only when that is done is the mark taken
away. So whoever comes after a crash finds by the marks what to go on with, and needs to look at nothing else.
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
    """We may not go on: the lease is not certain, or so much time went by that somebody else may have taken over."""


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A part as it was left."""

    place: PartPlace
    since: datetime
    manifest: Manifest | None
    """What it says, or would say; None of a part that was not written at all."""
    counts: bool
    """Whether the manifest is in the store."""
    lines: tuple[Line, ...]


class ArchiveWriter:
    """Methods raise StoreUnavailable; Damaged when the store does not give back what it was given."""

    def __init__(self, store: ArchiveStore, *, clock: Clock, writer: str, leads: Callable[[], bool]) -> None:
        """`leads`: whether this operator is certain to hold its lease."""
        self._store = store
        self._clock = clock
        self._writer = writer
        self._leads = leads

    async def write(self, folder: Folder, lines: Sequence[Line]) -> Manifest:
        """All of `folder`, at least one. The part counts, and is the same in the store as in our hands."""
        part = await asyncio.to_thread(encode_part, folder, lines, written_at=self._clock(), written_by=self._writer)
        await self._store.put(part.place.mark_key, self._mark(part.place))
        await self._store.put(part.place.key, part.content)
        await self._compare(part, lines)
        await self.commit(part.manifest)
        return part.manifest

    async def commit(self, manifest: Manifest) -> None:
        """From now on the part counts. Raises NotAllowed: whoever slept must not vouch for a part that others may have
        discarded."""
        if not self._leads():
            raise NotAllowed()
        text = manifest.encoded()
        await self._store.put(manifest.place.manifest_key, text)
        if await self._store.get(manifest.place.manifest_key) != text:
            raise Damaged(f"{manifest.place.manifest_key}: was not given back as it was written")

    async def finish(self, place: PartPlace) -> None:
        """Nothing that the part holds is left to be deleted."""
        await self._store.delete([place.mark_key])

    async def discard(self, place: PartPlace) -> None:
        """A part that never counted goes."""
        await self._store.delete([place.key, place.mark_key])

    async def withdraw(self, place: PartPlace) -> None:
        """A part whose lines are in another one by now, or shall be nowhere, counts no more, and goes."""
        await self._store.delete([place.manifest_key, place.key, place.mark_key])

    async def unfinished(self) -> list[PartPlace]:
        """Parts with a mark, as operators before this one left them."""
        return [place async for place, _ in self._store.unfinished()]

    async def look(self, place: PartPlace) -> Unfinished:
        """How far it got. Raises Damaged for a part that cannot be read; without a manifest it is of no use."""
        manifest = await self._store.manifest(place)
        content = await self._store.get(place.key)
        since = await self._marked_at(place)
        if content is None:
            if manifest is not None:
                raise Damaged(f"{place.key}: is not there, but its manifest is")
            return Unfinished(place, since, None, False, ())
        said = manifest
        if said is None:
            said = await asyncio.to_thread(
                manifest_of, content, place, written_at=self._clock(), written_by=self._writer
            )
        lines = await asyncio.to_thread(_records, content, said)
        return Unfinished(place, since, said, manifest is not None, lines)

    async def counts(self, place: PartPlace) -> bool:
        """Whether there is a manifest, be it damaged."""
        return await self._store.get(place.manifest_key) is not None

    async def _compare(self, part: EncodedPart, lines: Sequence[Line]) -> None:
        content = await self._store.get(part.place.key)
        if content is None:
            raise Damaged(f"{part.place.key}: was written and is not there")
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
    """The digest of all bytes; then line by line what the store gave against what we hold."""
    ours = {line.run_id: line.line() for line in lines}
    for record in verified_records(content, manifest):
        if ours.pop(record.run_id, None) != record.line():
            raise Damaged(f"{manifest.place.key}: run {record.run_id} was not given back as it was written")
    if ours:
        raise Damaged(f"{manifest.place.key}: {len(ours)} runs were not given back")


def _records(content: bytes, manifest: Manifest) -> tuple[Line, ...]:
    return tuple(verified_records(content, manifest))


class ErasedMeanwhile:
    """Takes out of the archive again what somebody erased while we had it in hand.

    Methods raise StoreUnavailable, Damaged and NotAllowed.
    """

    def __init__(self, store: ArchiveStore, writer: ArchiveWriter, *, clock: Clock) -> None:
        self._erasures = Erasures(store)
        self._writer = writer
        self._clock = clock

    async def sift(self, place: PartPlace, lines: Sequence[Line]) -> tuple[PartPlace | None, list[Line], list[Line]]:
        """Of a part that counts: where the lines are that stay (None: there are none), those, and the erased ones.

        To be asked after the part counts and before anything is deleted upon it: whoever erases notes first what they
        erase and looks at the archive then, so either they have seen our part, or we see their note.
        """
        erased = await self._erasures.among(place.folder.organization, lines, now=self._clock())
        if not erased:
            return place, list(lines), []
        rest = [line for line in lines if line.run_id not in erased]
        instead = (await self._writer.write(place.folder, rest)).place if rest else None
        await self._writer.withdraw(place)
        return instead, rest, [line for line in lines if line.run_id in erased]
