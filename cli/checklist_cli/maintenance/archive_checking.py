"""Verifies the whole archive: each part against its manifest, and objects without a manifest."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

from checklist_crds.archive import ArchiveReader, ArchiveStore, Damaged, Folder, PartPlace, Record, month_of
from checklist_crds.archive.layout import MANIFEST, PART
from checklist_crds.times import Clock

_YOUNG: Final = timedelta(hours=1)
"""A younger part may still be being written."""


@dataclass(slots=True)
class Findings:
    """Counts and problems."""

    organizations: set[str] = field(default_factory=set)
    parts: int = 0
    runs: int = 0
    deliveries: int = 0
    size: int = 0
    """Bytes of parts, compressed."""
    twice: int = 0
    """Runs in more than one part, of which readers take the last state. Not a problem."""
    unfinished: int = 0
    """Parts that the operator is writing or will complete."""
    problems: list[str] = field(default_factory=list)
    """Each with the key of the object in the store."""

    def as_json(self) -> dict[str, Any]:
        return {
            "organizations": len(self.organizations),
            "parts": self.parts,
            "runs": self.runs,
            "deliveries": self.deliveries,
            "bytes": self.size,
            "runs_in_several_parts": self.twice,
            "unfinished_parts": self.unfinished,
            "problems": self.problems,
        }


class ArchiveCheck:
    """`run` raises StoreUnavailable."""

    def __init__(self, store: ArchiveStore, *, clock: Clock, report: Callable[[Findings], None]) -> None:
        """`report` is called after each part."""
        self._store = store
        self._reader = ArchiveReader(store)
        self._clock = clock
        self._report = report

    async def run(self, organization: str | None = None) -> Findings:
        """Verify one organization, by public id, or all."""
        found = Findings()
        marked = {place async for place, _ in self._store.unfinished()}
        for one in [organization] if organization else await self._store.organizations():
            for month in await self._store.months(one):
                found.organizations.add(one)
                await self._folder(Folder(one, month), marked, found)
        return found

    async def _folder(self, folder: Folder, marked: set[PartPlace], found: Findings) -> None:
        parts, manifests, young = set[PartPlace](), set[PartPlace](), set[PartPlace]()
        async for one in self._store.objects(folder):
            place = PartPlace.of_key(one.key)
            if place is None:
                found.problems.append(f"{one.key}: not an object of the archive")
                continue
            (manifests if one.key.endswith(MANIFEST) else parts).add(place)
            if self._clock() - one.modified_at < _YOUNG:
                young.add(place)
        seen: dict[str, int] = {}
        for place in sorted(manifests):
            await self._part(place, seen, found)
            self._report(found)
        found.twice += sum(times > 1 for times in seen.values())
        for place in sorted(parts | manifests):
            if place in marked or (place in young and place not in manifests):
                found.unfinished += 1
            elif place not in manifests:
                found.problems.append(f"{place.folder.key}/{place.name}{PART}: has no manifest, so it is not read")

    async def _part(self, place: PartPlace, seen: dict[str, int], found: Findings) -> None:
        try:
            manifest = await self._store.manifest(place)
            if manifest is None:  # removed since it was listed
                return
            records = await self._reader.records(manifest)
        except Damaged as damage:
            found.problems.append(str(damage))
            return
        found.parts += 1
        found.size += manifest.size
        wrong = await asyncio.to_thread(lambda: [one.run_id for one in records if _month(one) != place.folder.month])
        found.problems += [f"{place.key}: run {run_id} is of another month" for run_id in wrong]
        for record in records:
            found.deliveries += len(record.deliveries)
            if isinstance(record, Record):
                seen[record.run_id] = seen.get(record.run_id, 0) + 1
                found.runs += seen[record.run_id] == 1


def _month(record: Any) -> str:
    return month_of(record.created_at)
