"""Reading parts for the index and for single runs. What was read last is kept for a moment, within bounds: the page of
a run reads it several times, and who reads many runs in order finds hundreds of them in one part.
"""

import asyncio
import logging
from array import array
from collections import OrderedDict
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from checklist_crds.archive import ArchiveStore, Damaged, Manifest, PartPlace, Record, lines_of
from checklist_crds.archive.part import verified_records
from checklist_crds.runs.row import row_of_run

from ..index.archive_table import ArchivedRow, KnownPart
from ..index.delivery_sources import events_of_run
from ..index.run_rows import UNREADABLE

logger = logging.getLogger(__name__)

_KEPT_BYTES: Final = 32 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class _Lines:
    """A part that was read. Its lines are kept in one piece: that goes back to the operating system as a whole, while
    hundreds of small ones, let go in another order than they came, leave holes that nothing else fits into."""

    manifest: Manifest
    content: bytes
    ends: "array[int]"

    @classmethod
    def of(cls, content: bytes, manifest: Manifest) -> "_Lines":
        """Raises Damaged. Plain computing, for a thread."""
        lines = lines_of(content, manifest)
        return cls(manifest, b"".join(lines), array("Q", accumulate(map(len, lines))))

    def line(self, number: int) -> bytes:
        return self.content[self.ends[number - 1] if number else 0 : self.ends[number]]


class ArchiveParts:
    """All methods raise StoreUnavailable and Damaged."""

    def __init__(self, store: ArchiveStore, kept_bytes: int = _KEPT_BYTES) -> None:
        self._store = store
        self._kept_bytes = kept_bytes
        self._kept: OrderedDict[tuple[str, str], _Lines] = OrderedDict()
        self._reading: dict[tuple[str, str], asyncio.Lock] = {}

    async def listed(self, organization: str | None) -> dict[str, str]:
        """The manifests of all parts with runs, each with what changes when it is written anew."""
        found = {}
        async for place, stored in self._store.manifests(organization):
            if place.has_runs:
                found[place.manifest_key] = f"{stored.size} {stored.modified_at.isoformat()}"
        return found

    async def manifest(self, key: str) -> Manifest | None:
        """None: it is gone."""
        return await self._store.manifest(_place(key))

    async def rows(self, part: KnownPart) -> list[ArchivedRow]:
        """What lists know of the runs of a part; what cannot be a run of its organization is left out, and said."""
        manifest, content = await self._content(part)
        try:
            return await asyncio.to_thread(_rows, content, manifest)
        except UNREADABLE as error:
            raise Damaged(f"{manifest.place.key}: a line of it is no run: {error!r}") from None

    async def record(self, part: KnownPart, run_id: str) -> Record | None:
        """The run as the part has it."""
        key = (part.key, part.tag)
        async with self._reading.setdefault(key, asyncio.Lock()):
            try:
                read = self._kept.get(key) or await self._lines(part)
                self._keep(key, read)
            finally:
                self._reading.pop(key, None)
        if run_id not in read.manifest.run_ids:
            return None
        record = Record.parse(read.line(read.manifest.run_ids.index(run_id)))
        if record.run_id != run_id:
            raise Damaged(f"{read.manifest.place.key}: its lines are not in the order of its manifest")
        return record

    async def _lines(self, part: KnownPart) -> _Lines:
        manifest, content = await self._content(part)
        return await asyncio.to_thread(_Lines.of, content, manifest)

    async def _content(self, part: KnownPart) -> tuple[Manifest, bytes]:
        place = _place(part.key)
        manifest, content = await asyncio.gather(self._store.manifest(place), self._store.get(place.key))
        if manifest is None or content is None:
            raise Damaged(f"{place.key}: the part or its manifest is gone")
        return manifest, content

    def _keep(self, key: tuple[str, str], read: _Lines) -> None:
        self._kept[key] = read
        self._kept.move_to_end(key)
        kept = sum(len(each.content) for each in self._kept.values())
        while kept > self._kept_bytes and len(self._kept) > 1:
            kept -= len(self._kept.popitem(last=False)[1].content)


def _place(key: str) -> PartPlace:
    place = PartPlace.of_key(key)
    if place is None:
        raise ValueError(f"{key} is no manifest of the archive")
    return place


def _rows(content: bytes, manifest: Manifest) -> list[ArchivedRow]:
    """Record by record, so that never all of a part is there at once. Raises Damaged."""
    found = []
    for record in verified_records(content, manifest):
        if not isinstance(record, Record):
            continue
        try:
            row = row_of_run(record.run)
            events = tuple(
                events_of_run(record.run).keys() | {str(one["metadata"]["name"]) for one in record.deliveries}
            )
        except UNREADABLE as error:
            logger.warning("archive.run_unreadable", extra={"run_id": record.run_id, "reason": repr(error)})
            continue
        if row is not None:
            found.append(ArchivedRow(row, record.version, events))
    return found
