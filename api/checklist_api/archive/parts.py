"""Reads parts of the archive for the index and for single runs.

A bounded cache keeps the parts read last: a run's page reads its part several times, and clients that read runs in
order find hundreds of them in one part.
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
    """A part in memory, as one buffer: many small ones, freed in another order, would fragment the heap."""

    manifest: Manifest
    content: bytes
    ends: "array[int]"

    @classmethod
    def of(cls, content: bytes, manifest: Manifest) -> "_Lines":
        """Parse a part. Blocking. Raises Damaged."""
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
        """List the manifests of all parts with runs, each with a tag that changes when the part is rewritten."""
        found = {}
        async for place, stored in self._store.manifests(organization):
            if place.has_runs:
                found[place.manifest_key] = f"{stored.size} {stored.modified_at.isoformat()}"
        return found

    async def manifest(self, key: str) -> Manifest | None:
        """None if it does not exist."""
        return await self._store.manifest(_place(key))

    async def rows(self, part: KnownPart) -> list[ArchivedRow]:
        """Read the list rows of a part; unreadable runs are logged and skipped."""
        manifest, content = await self._content(part)
        try:
            return await asyncio.to_thread(_rows, content, manifest)
        except UNREADABLE as error:
            raise Damaged(f"{manifest.place.key}: a line is not a run: {error!r}") from None

    async def record(self, part: KnownPart, run_id: str) -> Record | None:
        """Read a run; None if the part does not have it."""
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
            raise Damaged(f"{read.manifest.place.key}: the order of lines differs from its manifest")
        return record

    async def _lines(self, part: KnownPart) -> _Lines:
        manifest, content = await self._content(part)
        return await asyncio.to_thread(_Lines.of, content, manifest)

    async def _content(self, part: KnownPart) -> tuple[Manifest, bytes]:
        place = _place(part.key)
        manifest, content = await asyncio.gather(self._store.manifest(place), self._store.get(place.key))
        if manifest is None or content is None:
            raise Damaged(f"{place.key}: the part or its manifest is missing")
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
    """Parse record by record to limit memory. Raises Damaged."""
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
