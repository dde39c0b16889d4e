"""Searches the whole archive of an organization for runs of one person, verifying each part's digest."""

import asyncio
from datetime import datetime, timedelta
from typing import Final

from checklist_crds.archive import ArchiveStore, Damaged, Manifest, PartPlace, Record, RemovedDeliveries
from checklist_crds.archive.layout import MANIFEST
from checklist_crds.archive.part import lines_of, unvouched_lines
from checklist_crds.resources.legal_hold import is_held
from checklist_crds.times import Clock

from ..backup.parallel import for_each
from ..console.progress import Progress
from .journal import Journal
from .person import Person
from .search_result import FoundPart, FoundRun, Known, SearchResult, host_of

_PARALLEL: Final = 4
_ABANDONED_AFTER: Final = timedelta(minutes=10)
"""Age from which a part without manifest and mark is not being written any more."""


class ArchiveSearch:
    """Methods raise StoreUnavailable."""

    def __init__(self, store: ArchiveStore, person: Person, *, clock: Clock, progress: Progress) -> None:
        self._store = store
        self._person = person
        self._clock = clock
        self._progress = progress

    async def run(self, result: SearchResult, known: Known, journal: Journal) -> None:
        """Add the found runs to `result`. `journal`: parts that an earlier attempt has written or was deleting."""
        for has_runs in (True, False):  # runs first: deliveries without runs are matched by run id
            await self._parts(result, known, has_runs=has_runs)
        await self._unvouched(result, known, journal)
        result.parts.sort(key=lambda part: part.place)

    async def _parts(self, result: SearchResult, known: Known, *, has_runs: bool) -> None:
        seen = set[PartPlace]()
        while True:
            # Parts are added and removed meanwhile: read new ones as well, until there are none.
            listed = {place async for place, _ in self._store.manifests(result.organization.id)}
            unseen = sorted(place for place in listed - seen if place.has_runs == has_runs)
            if not unseen:
                return
            await for_each(unseen, lambda place: self._part(place, result, known), parallel=_PARALLEL)
            seen.update(unseen)

    async def _part(self, place: PartPlace, result: SearchResult, known: Known) -> None:
        try:
            manifest, content = await asyncio.gather(self._store.manifest(place), self._store.get(place.key))
            if manifest is None:
                return  # deleted since it was listed
            if content is None:
                if await self._store.get(place.manifest_key) is None:
                    return
                raise Damaged(f"{place.key}: missing, but its manifest exists")
            targets = frozenset(result.targets) if not place.has_runs else frozenset[str]()
            runs, others = await asyncio.to_thread(_found, content, manifest, self._person, known, targets)
        except Damaged as damage:
            result.unreadable.append(str(damage))
            return
        result.looked_at["archive_parts"] += 1
        result.strangers |= others
        result.looked_at["archived_runs"] += manifest.runs if place.has_runs else 0
        if runs:
            result.parts.append(FoundPart(manifest, runs))
            result.targets |= runs.keys()
        self._progress.now_and_then(
            lambda: (
                f"{result.looked_at['archive_parts']:,} parts, {result.looked_at['archived_runs']:,} archived runs "
                f"searched, {len(result.targets):,} runs found"
            )
        )

    async def _unvouched(self, result: SearchResult, known: Known, journal: Journal) -> None:
        parts, manifests = dict[PartPlace, datetime](), set[PartPlace]()
        async for stored in self._store.objects(result.organization.id):
            place = PartPlace.of_key(stored.key)
            if place is None:
                continue
            if stored.key.endswith(MANIFEST):
                manifests.add(place)
            else:
                parts[place] = stored.modified_at
        marked = {place async for place, _ in self._store.unfinished()}
        for place in sorted(parts.keys() - manifests):
            content = await self._store.get(place.key)
            if content is None or await self._store.get(place.manifest_key) is not None:
                continue  # finished or deleted meanwhile
            try:
                lines = unvouched_lines(content, place)
                targets = frozenset(result.targets)
                runs, _ = await asyncio.to_thread(_in_lines, lines, place, self._person, known, targets)
            except Damaged as damage:
                result.unreadable.append(str(damage))
                continue
            abandoned = place not in marked and self._clock() - parts[place] >= _ABANDONED_AFTER
            if not runs:
                if abandoned and place in journal.written:
                    result.garbage.append(place)
                continue
            result.targets |= runs.keys()
            ours = place in journal.replaced and place not in marked
            (result.unvouched if abandoned or ours else result.in_work)[place] = runs


def _found(
    content: bytes, manifest: Manifest, person: Person, known: Known, targets: frozenset[str]
) -> tuple[dict[str, FoundRun], set[str]]:
    lines = lines_of(content, manifest)
    wanted = person.runs | known.keys() | targets
    named = [run_id in wanted for run_id in manifest.run_ids]
    some = [line for line, is_named in zip(lines, named, strict=True) if is_named or person.may_be_in(line)]
    return _in_lines(some, manifest.place, person, known, targets)


def _in_lines(
    lines: list[bytes], place: PartPlace, person: Person, known: Known, targets: frozenset[str]
) -> tuple[dict[str, FoundRun], set[str]]:
    """The person's entries, and known ids that other runs have by now. Raises Damaged."""
    found, strangers = dict[str, FoundRun](), set[str]()
    for line in lines:
        if place.has_runs:
            run, run_id = _run_of(line, person, known)
            if run is None and run_id in known:
                strangers.add(run_id)
        else:
            run = _deliveries_of(line, person, known, targets)
        if run is not None:
            found[run.run_id] = run
    return found, strangers


def _run_of(line: bytes, person: Person, known: Known) -> tuple[FoundRun | None, str]:
    record = Record.parse(line)
    uid = str(record.run["metadata"].get("uid") or "")
    why = person.why(record.run)
    for delivery in record.deliveries:
        why |= person.why_delivered(delivery)
    if not why and uid not in known.get(record.run_id, ()):
        return None, record.run_id
    found = FoundRun(
        run_id=record.run_id,
        namespace=record.namespace,
        uid=uid,
        why=why,
        held=is_held(record.run),
        host=host_of((record.run["spec"].get("webhook") or {}).get("url")),
        deliveries=tuple(str(one["metadata"]["name"]) for one in record.deliveries),
    )
    return found, record.run_id


def _deliveries_of(line: bytes, person: Person, known: Known, targets: frozenset[str]) -> FoundRun | None:
    removed = RemovedDeliveries.parse(line)
    why = frozenset(reason for one in removed.deliveries for reason in person.why_delivered(one))
    if not why and removed.run_id not in targets and removed.run_id not in known:
        return None
    return FoundRun(
        run_id=removed.run_id,
        namespace=removed.namespace,
        uid="",
        why=why,
        held=False,
        host=host_of(removed.deliveries[0]["spec"].get("url")),
        deliveries=tuple(str(one["metadata"]["name"]) for one in removed.deliveries),
    )
