"""Rewrites archive parts without the runs of one person.

For each part: write the new one, read it back and compare; write its manifest, read it back; delete the old manifest,
then the old part; remove what other erasures have noted meanwhile. If interrupted, each other run is in one valid part,
or briefly in two with the same content, of which readers take one. A repetition uses the same names and completes it.
"""

import asyncio
import json
from collections.abc import Set
from dataclasses import dataclass

from checklist_crds.archive import ArchiveStore, Damaged, EncodedPart, Manifest, PartPlace
from checklist_crds.archive.erasures import Erasures
from checklist_crds.archive.part import lines_of, part_without, verified_records
from checklist_crds.times import Clock, format_timestamp

from .journal import RewrittenPart
from .search_result import FoundPart


@dataclass(frozen=True, slots=True)
class Plan:
    """The rewriting of a part. `new` is None if no line remains."""

    old: Manifest
    new: EncodedPart | None
    runs: tuple[str, ...]

    def noted(self) -> RewrittenPart:
        return RewrittenPart(
            sha256=self.old.sha256,
            runs=self.runs,
            lines=self.old.runs,
            instead=self.new.place.key if self.new is not None else None,
            sha256_instead=self.new.manifest.sha256 if self.new is not None else None,
            lines_instead=self.new.manifest.runs if self.new is not None else 0,
        )


class PartRewriting:
    """Methods raise StoreUnavailable and Damaged."""

    def __init__(self, store: ArchiveStore, *, clock: Clock, writer: str) -> None:
        self._store = store
        self._erasures = Erasures(store)
        self._clock = clock
        self._writer = writer

    async def plan(self, found: FoundPart, runs: frozenset[str]) -> Plan | None:
        """Plan the part without the lines of `runs`, without writing. None: the part was deleted since."""
        content = await self._store.get(found.place.key)
        if content is None:
            return None
        new = await self._without(content, found.manifest, runs)
        return Plan(found.manifest, new, tuple(sorted(runs & found.runs.keys())))

    async def carry_out(self, plan: Plan) -> None:
        old = plan.old.place
        mark = await self._store.get(old.mark_key)
        if plan.new is not None:
            if mark is not None:  # the operator is still deleting the part's runs, and resumes by the mark
                # With a new time: the operator discards a part without a manifest whose mark is old.
                since = format_timestamp(self._clock())
                moved = {**json.loads(mark), "part": plan.new.place.key, "since": since}
                await self._store.put(plan.new.place.mark_key, json.dumps(moved).encode())
            if not await self._is_present(plan.new):
                await self._write(plan.new)
        await self._store.delete([old.manifest_key])
        await self._store.delete([old.key])
        if mark is not None:
            await self._store.delete([old.mark_key])
        if plan.new is not None:
            await self.remove_erased(plan.new.place)

    async def remove_erased(self, place: PartPlace) -> None:
        """Remove the lines of erased runs from a valid part.

        Another erasure that has noted its runs and searched the archive before the part was valid did not find them.
        """
        manifest, content = await self._store.manifest(place), await self._store.get(place.key)
        if manifest is None or content is None:
            return
        lines = await asyncio.to_thread(lambda: tuple(verified_records(content, manifest)))
        erased = await self._erasures.among(place.folder.organization, lines, now=self._clock())
        if erased:
            new = await self._without(content, manifest, erased)
            await self.carry_out(Plan(manifest, new, tuple(sorted(erased))))

    async def remove_remains(self, place: PartPlace) -> None:
        """Delete a part without a manifest and mark."""
        if await self._store.get(place.manifest_key) is None and await self._store.get(place.mark_key) is None:
            await self._store.delete([place.key])

    async def _without(self, content: bytes, manifest: Manifest, runs: Set[str]) -> EncodedPart | None:
        return await asyncio.to_thread(
            part_without, content, manifest, runs, written_at=self._clock(), written_by=self._writer
        )

    async def _write(self, part: EncodedPart) -> None:
        await self._store.put(part.place.key, part.content)
        if await self._store.get(part.place.key) != part.content:
            raise Damaged(f"{part.place.key}: read back with other content")
        text = part.manifest.encoded()
        await self._store.put(part.place.manifest_key, text)
        if await self._store.get(part.place.manifest_key) != text:
            raise Damaged(f"{part.place.manifest_key}: read back with other content")
        if await self._store.get(part.place.key) is None:
            raise Damaged(f"{part.place.key}: deleted while it was written")

    async def _is_present(self, part: EncodedPart) -> bool:
        """Whether an earlier attempt or the operator has written these lines already."""
        try:
            manifest = await self._store.manifest(part.place)
            content = await self._store.get(part.place.key)
            if manifest is None or content is None:
                return False
            there, ours = await asyncio.to_thread(
                lambda: (lines_of(content, manifest), lines_of(part.content, part.manifest))
            )
        except Damaged:
            return False
        return there == ours
