"""Moves settled runs past their retention from the cluster to the archive.

Due runs are collected by organization and month until they fill a part, which is written, read back, compared, and only
then deleted from the cluster. If the store is unavailable, nothing is deleted, and the next sweep tries again. Parts
left unfinished by an earlier operator are completed first; a run may be in both places at once, but never in neither.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import Final

from checklist_crds.archive import (
    ArchiveStore,
    Damaged,
    Folder,
    Manifest,
    PartPlace,
    Record,
    RemovedDeliveries,
    month_of,
)
from checklist_crds.archive.part import MAX_BYTES, MAX_RUNS
from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.errors import KubeNotFound
from checklist_crds.limits.retention import Keep, is_marked_settled, organization_of
from checklist_crds.platform.object_store import StoreUnavailable
from checklist_crds.platform.ttl_cache import TTLCache
from checklist_crds.resources.kinds import ORGANIZATION, RUN, TEMPLATE_REVISION, WEBHOOK_DELIVERY, Key
from checklist_crds.resources.legal_hold import is_held
from checklist_crds.resources.run_id import is_of_run, resolved_of, run_id_of, run_id_of_delivery
from checklist_crds.times import Clock, parse_timestamp
from checklist_crds.values.json_text import JsonObject, to_json
from checklist_operator.archive.removal import ArchivedObjects, gather_or_cancel
from checklist_operator.archive.writer import ArchiveWriter, ErasureFilter, Line, NotAllowed
from checklist_operator.runtime.json_logging import about
from checklist_operator.runtime.metrics import Metrics

logger = logging.getLogger(__name__)

_DELETE_WITHIN_S: Final = 240.0
"""Limit since the start of a part. Later another operator may continue it."""
_ABANDONED_AFTER: Final = timedelta(minutes=10)
"""A part without a manifest that cannot be completed is deleted after this: no one can still be writing it."""
_HELD_BYTES: Final = 64 * 1024 * 1024
"""Limit for all runs that wait for a full part."""
_READS_AT_ONCE: Final = 16
_REVISIONS: Final = 64
_REMEMBERED: Final = 20_000


@dataclass(frozen=True, slots=True)
class _Due:
    """A run that is due for archiving."""

    body: JsonObject
    size: int
    at: datetime
    deliveries: frozenset[str]
    """Names of its deliveries; some may not exist."""


class Archiver:
    """Used by one sweep at a time: `begin`, `add` for each due run, `end`. Methods raise KubeError. An unavailable
    store is counted and logged, and the next sweep tries again."""

    def __init__(
        self,
        client: KubeClient,
        store: ArchiveStore,
        *,
        clock: Clock,
        writer: str,
        leads: Callable[[], bool],
        metrics: Metrics,
        on_removed: Callable[[str], None],
        is_on: bool = True,
    ) -> None:
        """`leads`: whether this operator certainly holds its lease. `is_on`: whether archiving is enabled."""
        self._client = client
        self._clock = clock
        self._leads = leads
        self._metrics = metrics
        self._writer = ArchiveWriter(store, clock=clock, writer=writer, leads=leads)
        self._erased = ErasureFilter(store, self._writer, clock=clock)
        self._objects = ArchivedObjects(client, on_removed=on_removed)
        self._revisions: TTLCache[Key, JsonObject] = TTLCache(_REVISIONS)
        self._keeps: dict[str, Keep] = {}
        self._keeps_by_name: Mapping[str, Keep] = {}
        self._gathered: dict[Folder, list[_Due]] = {}
        self._sizes: dict[Folder, int] = {}
        self._is_on = is_on
        self._away = False
        self._left: list[datetime] = []
        self._archived: TTLCache[Key, bool] = TTLCache(_REMEMBERED)

    def has_archived(self, run: Key) -> bool:
        """Whether this process has recently archived the run, given by namespace and id."""
        return self._archived.get(run) is not None

    def _is_archived(self, run: JsonObject) -> bool:
        return self.has_archived((str(run["metadata"]["namespace"]), run_id_of(run) or ""))

    @property
    def is_unavailable(self) -> bool:
        """Whether archiving is disabled, or the store failed in this sweep."""
        return self._away or not self._is_on

    async def begin(self, keeps: Mapping[str, Keep]) -> int:
        """Completes unfinished parts; returns the number of deleted objects. `keeps`: by name of organization."""
        deleted = 0
        self._keeps_by_name = keeps
        self._keeps = {keep.organization: keep for keep in keeps.values()}
        self._gathered, self._sizes, self._left, self._away = {}, {}, [], False
        if not self._is_on:
            return 0
        try:
            for place in await self._writer.unfinished():
                try:
                    deleted += await self._resume(place)
                except Damaged as error:
                    self._failed("damaged", "an unfinished part of the archive could not be completed", error)
        except NotAllowed:
            pass  # `_remove` has logged it and retries
        except StoreUnavailable as error:
            self._record_outage(error)
        return deleted

    async def add(self, keep: Keep, run: JsonObject, at: datetime, deliveries: frozenset[str]) -> int:
        """Adds a run that has been due since `at`; returns the number of deleted objects, of any run."""
        if self.is_unavailable:
            self.leave(at)
            return 0
        created_at = parse_timestamp(run["spec"].get("createdAt") or run["metadata"]["creationTimestamp"])
        folder = Folder(keep.organization, month_of(created_at))
        size = len(to_json(run))
        self._gathered.setdefault(folder, []).append(_Due(run, size, at, deliveries))
        self._sizes[folder] = self._sizes.get(folder, 0) + size
        if len(self._gathered[folder]) >= MAX_RUNS or self._sizes[folder] >= MAX_BYTES // 2:
            return await self._archive_gathered(folder)
        if sum(self._sizes.values()) > _HELD_BYTES:
            return await self._archive_gathered(max(self._sizes, key=self._sizes.__getitem__))
        return 0

    def leave(self, at: datetime) -> None:
        """Counts a run that has been due since `at` but is not archived."""
        self._left.append(at)

    async def end(self) -> int:
        """Archives collected runs that have waited long enough; returns the number of deleted objects."""
        deleted, now = 0, self._clock()
        for folder in sorted(self._gathered):
            oldest = min(due.at for due in self._gathered[folder])
            if now - oldest >= self._keeps[folder.organization].batch_delay and not self._away:
                deleted += await self._archive_gathered(folder)
            else:
                self._left += [due.at for due in self._gathered[folder]]
        self._gathered, self._sizes = {}, {}
        self._metrics.archive_backlog.set(len(self._left))
        # Without archiving there is no backlog to alert about.
        late = self._left if self._is_on else []
        self._metrics.archive_backlog_age.set(max((now - at).total_seconds() for at in late) if late else 0)
        self._metrics.archive_available.set(not self._away)
        return deleted

    async def archive_deliveries(self, keep: Keep, bodies: Sequence[JsonObject]) -> int:
        """Archives deliveries that are due before their runs; returns the number of deleted objects."""
        if not await self.is_current(keep):
            return 0
        by_run: dict[Key, list[JsonObject]] = {}
        for body in bodies:
            by_run.setdefault((body["metadata"]["namespace"], run_id_of_delivery(body)), []).append(body)
        by_folder: dict[Folder, list[Line]] = {}
        for of_run in by_run.values():
            try:
                removed = RemovedDeliveries.of(of_run)
            except (KeyError, TypeError, ValueError) as error:
                self._refuse(run_id_of_delivery(of_run[0]), error)
                continue
            by_folder.setdefault(Folder(keep.organization, month_of(removed.created_at)), []).append(removed)
        deleted = 0
        for folder, lines in by_folder.items():
            deleted += await self._archive(folder, lines)
        return deleted

    async def is_current(self, keep: Keep) -> bool:
        """Reads the organization again: a legal hold takes effect at once, and a sweep may take long."""
        try:
            now = Keep.of(await self._client.get(ORGANIZATION, keep.name))
        except KubeNotFound:
            return False
        return now == keep

    # -- collecting -----------------------------------------------------------------------------------------------

    async def _archive_gathered(self, folder: Folder) -> int:
        gathered = self._gathered.pop(folder)
        del self._sizes[folder]
        if not await self.is_current(self._keeps[folder.organization]):
            return 0
        records = await self._records(gathered)
        deleted = await self._archive(folder, records)
        self._left += [due.at for due in gathered if not self._is_archived(due.body)]
        return deleted

    async def _records(self, gathered: Sequence[_Due]) -> list[Line]:
        """Returns the runs whose deliveries are all settled, with all objects that belong to them."""
        found: list[Line] = []
        gate = asyncio.Semaphore(_READS_AT_ONCE)

        async def one(due: _Due) -> None:
            async with gate:
                deliveries = [await self._delivery(due.body, name) for name in sorted(due.deliveries)]
                revision = await self._revision(due.body)
            there = [body for body in deliveries if body is not None]
            if not all(map(is_marked_settled, there)):
                return  # one is being replayed
            try:
                found.append(Record.of(due.body, revision, there))
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                self._refuse(run_id_of(due.body), error)

        await gather_or_cancel([one(due) for due in gathered])
        return found

    def _refuse(self, run_id: str | None, error: Exception) -> None:
        """Leaves a run, or deliveries of it, that cannot be read."""
        self._metrics.archive_failures.labels("unreadable").inc()
        logger.error("archive.run_refused", extra=about(run_id=run_id, reason=repr(error)))

    async def _delivery(self, run: JsonObject, name: str) -> JsonObject | None:
        try:
            body = await self._client.get(WEBHOOK_DELIVERY, name, run["metadata"]["namespace"])
        except KubeNotFound:
            return None
        return body if is_of_run(body, run) else None

    async def _revision(self, run: JsonObject) -> JsonObject | None:
        resolved = resolved_of(run) or {}
        key = (str(run["metadata"]["namespace"]), str((resolved.get("revisionRef") or {}).get("name") or ""))
        known = self._revisions.get(key)
        if known is not None or not key[1]:
            return known
        try:
            body = await self._client.get(TEMPLATE_REVISION, key[1], key[0])
        except KubeNotFound:
            return None
        self._revisions.put(key, body)
        return body

    # -- parts ----------------------------------------------------------------------------------------------------

    async def _archive(self, folder: Folder, lines: Sequence[Line]) -> int:
        """Writes parts and deletes what was read back; stops when the store fails. Returns the number of deleted
        objects."""
        deleted = 0
        try:
            for part in _parts(lines):
                begun = time.monotonic()
                manifest = await self._writer.write(folder, part)
                self._count(manifest)
                deleted += await self._remove(manifest.place, part, begun)
        except NotAllowed:
            logger.warning("archive.lease_uncertain")
        except StoreUnavailable as error:
            self._record_outage(error)
        except Damaged as error:
            self._failed("damaged", "the archive's store returned wrong data; nothing is deleted", error)
        return deleted

    async def _remove(self, place: PartPlace, lines: Sequence[Line], begun: float) -> int:
        """Deletes the content of a complete part from the cluster, and removes its mark."""
        place_of_rest, lines, erased = await self._erased.remove_erased(place, lines)
        for line in lines:  # first, because a client that no longer finds the run may ask at once
            if isinstance(line, Record):
                self._archived.put((line.namespace, line.run_id), True)
        try:
            removal = await self._objects.remove(
                [*lines, *erased], lambda: self._leads() and time.monotonic() - begun < _DELETE_WITHIN_S
            )
        except NotAllowed:
            logger.warning("archive.part_postponed", extra=about(part=place.key))
            return 0
        self._metrics.archived_runs.inc(removal.runs)
        deleted = removal.objects
        if removal.outdated:
            # Replayed while it was archived: the run is archived again with the current delivery.
            begun = time.monotonic()
            manifest = await self._writer.write(place.folder, removal.outdated)
            deleted += await self._remove(manifest.place, removal.outdated, begun)
        if not removal.pending and place_of_rest is not None:
            await self._writer.finish(place_of_rest)
        return deleted

    async def _resume(self, place: PartPlace) -> int:
        """Continues a part that an earlier operator or sweep left unfinished; returns the number of deleted objects."""
        begun = time.monotonic()
        try:
            found = await self._writer.look(place)
        except Damaged as error:
            self._failed("damaged", "an unfinished part of the archive cannot be read; nothing is deleted", error)
            if not await self._writer.counts(place):
                await self._writer.discard(place)
            return 0
        if found.manifest is None:
            await self._writer.finish(place)
            return 0
        states = [await self._state(line) for line in found.lines]
        if not found.counts:
            if any(state is not _State.DUE for state in states):
                # Something changed since. Nothing was deleted for this part, so it can be discarded.
                if self._clock() - found.since >= _ABANDONED_AFTER and not await self._writer.counts(place):
                    await self._writer.discard(place)
                return 0
            await self._writer.commit(found.manifest)
            self._count(found.manifest)
        logger.info("archive.part_finished", extra=about(part=place.key, runs=len(found.lines)))
        # A deleted run may have left deliveries.
        lines = [line for line, state in zip(found.lines, states, strict=True) if state is not _State.STAYS]
        return await self._remove(place, lines, begun)

    async def _state(self, line: Line) -> "_State":
        """Returns what happens to a line that was archived before."""
        try:
            run = await self._client.get(RUN, line.name, line.namespace)
        except KubeNotFound:
            run = None
        if run is None or run_id_of(run) != line.run_id:
            return _State.GONE if isinstance(line, Record) else _State.DUE
        keep = self._keeps_by_name.get(organization_of(run))
        if keep is None or not keep.archive or keep.held or is_held(run):
            return _State.STAYS
        if isinstance(line, RemovedDeliveries):
            return _State.DUE if keep.deliveries is not None else _State.STAYS
        due_at = keep.due_at(run)
        same = run["metadata"]["resourceVersion"] == line.run["metadata"]["resourceVersion"]
        return _State.DUE if same and due_at is not None and due_at <= self._clock() else _State.STAYS

    # -- metrics --------------------------------------------------------------------------------------------------

    def _count(self, manifest: Manifest) -> None:
        self._metrics.archived_parts.inc()
        self._metrics.archived_bytes.inc(manifest.size)
        logger.info(
            "archive.part_written",
            extra=about(part=manifest.place.key, runs=manifest.runs, bytes=manifest.size),
        )

    def _record_outage(self, error: StoreUnavailable) -> None:
        self._away = True
        self._metrics.archive_available.set(0)
        self._failed("store", "the archive's store does not answer; nothing is deleted until it does", error)

    def _failed(self, reason: str, text: str, error: Exception) -> None:
        self._metrics.archive_failures.labels(reason).inc()
        level = logging.WARNING if isinstance(error, StoreUnavailable) else logging.ERROR
        logger.log(level, "archive.failed", extra=about(what=text, reason=str(error)))


class _State(Enum):
    DUE = "due"
    STAYS = "stays"
    GONE = "gone"


def _parts(lines: Sequence[Line]) -> Iterator[list[Line]]:
    """Splits the lines into as few parts as the limits allow, in order of creation."""
    part: list[Line] = []
    size = 0
    for line in sorted(lines, key=lambda one: (one.created_at, one.run_id)):
        own = len(line.line())
        if part and (len(part) >= MAX_RUNS or size + own > MAX_BYTES):
            yield part
            part, size = [], 0
        part.append(line)
        size += own
    if part:
        yield part
