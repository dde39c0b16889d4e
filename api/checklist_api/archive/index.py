"""Keeps the index of archived runs current: at start, every 30 seconds, and when a run leaves the cluster.

A look lists the manifests, and reads those that are new: from then on each run in them can be read. Their rows, which
lists need, are read after that in the background, part by part. Nothing of this hinders live runs, nor readiness.
"""

import asyncio
import logging
import random
import sqlite3
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeVar

from checklist_crds.archive import Damaged, PartPlace
from checklist_crds.ids import object_id
from checklist_crds.kube.informer import Key
from checklist_crds.platform.object_store import StoreUnavailable
from checklist_crds.runs.row import RUN_COLUMNS

from ..index.archive_table import ArchivedRow, KnownPart, PartState
from ..index.runs import RunIndex
from ..metrics import ArchiveFailure, Metrics
from .incomplete import Incomplete
from .parts import ArchiveParts
from .single_flight import REFRESH_EVERY_S, SingleFlight

logger = logging.getLogger(__name__)

_T = TypeVar("_T")
_LOOK_ANYWAY_S: Final = 30.0
_LONGEST_PAUSE_S: Final = 5.0
_MANIFESTS_AT_ONCE: Final = 16
_ROWS_AT_ONCE: Final = 25
"""Put into the table in one go: a few milliseconds, in which nothing else is served."""
_PROGRESS_EVERY_S: Final = 5.0
_EVERYTHING: Final = ""
_ORGANIZATION: Final = RUN_COLUMNS.index("organization")


class ArchiveIndex:
    """Feeds the table of `runs.archive`. `run` until cancelled."""

    def __init__(self, parts: ArchiveParts, runs: RunIndex, metrics: Metrics) -> None:
        self._parts = parts
        self._runs = runs
        self._table = runs.archive
        self._metrics = metrics
        self._refreshes = SingleFlight(self._look)
        self._failed: dict[str, StoreUnavailable] = {}
        self._leaving: defaultdict[str, set[Key]] = defaultdict(set)
        self._somebody_leaves, self._parts_wait = asyncio.Event(), asyncio.Event()
        self._first_look, self._all_loaded = asyncio.Event(), asyncio.Event()
        self._loading = asyncio.Lock()
        self._told: set[KnownPart] = set()
        self._good_at = time.monotonic()
        runs.on_leaving(self._leaves)
        metrics.archived_runs.set_function(self._table.known_runs)
        metrics.archive_look_age.set_function(lambda: time.monotonic() - self._good_at)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(_for_ever(self._keep_looking), name="look for parts of the archive")
            group.create_task(_for_ever(self._keep_loading), name="load parts of the archive")
            group.create_task(_for_ever(self._keep_seeing_off), name="see off runs that leave the cluster")

    # -- what is asked of it ----------------------------------------------------------------------------------------

    def incomplete(self, organization_id: str) -> Incomplete | None:
        """Why lists of the organization may lack runs; None when they lack none."""
        if self._failed.keys() & {_EVERYTHING, organization_id}:
            return Incomplete.UNAVAILABLE
        states = self._table.states(organization_id)
        if PartState.WAITING in states or not self._first_look.is_set():
            return Incomplete.LOADING
        return Incomplete.DAMAGED if PartState.DAMAGED in states else None

    @property
    def note(self) -> str | None:
        """What whoever runs the service should know."""
        reason = self._failed.get(_EVERYTHING)
        return (
            None if reason is None else f"archived runs cannot be read, the archive's store does not answer: {reason}"
        )

    async def wait_for_first_look(self, seconds: float) -> bool:
        """Whether it is known by then which runs are archived."""
        try:
            await asyncio.wait_for(self._first_look.wait(), seconds)
        except TimeoutError:
            return False
        return True

    async def wait_until_loaded(self) -> None:
        """Until all rows are there that were found so far. For tests and measurements."""
        await self._first_look.wait()
        await self._all_loaded.wait()

    def looked_lately(self, organization_id: str) -> bool:
        """Whether a look at the organization's archive began within the last second."""
        since = min(map(self._refreshes.seconds_since, (_EVERYTHING, organization_id)))
        return since < REFRESH_EVERY_S

    async def look(self, organization_id: str) -> None:
        """A look that begins now, or as soon as the rate allows. Raises StoreUnavailable."""
        await self._refreshes.fresh(organization_id)

    # -- looking ----------------------------------------------------------------------------------------------------

    async def _look(self, organization: str) -> None:
        """At the parts of an organization, or at everything. Raises StoreUnavailable."""
        began = time.monotonic()
        try:
            await self._compare(organization or None)
        except sqlite3.Error as error:
            self._metrics.count_archive_failure(ArchiveFailure.DISK)
            logger.exception("archive.table_failed")
            raise self._store_failed(
                organization, StoreUnavailable(f"no room to note what is in it: {error}")
            ) from error
        except StoreUnavailable as error:
            self._metrics.count_archive_failure(ArchiveFailure.STORE)
            raise self._store_failed(organization, error) from None
        if organization == _EVERYTHING:
            if self._failed:
                logger.info("archive.available_again")
            self._failed.clear()
            self._good_at = began
            self._table.retry_damaged()
            self._parts_wait.set()
            self._first_look.set()
        else:
            self._failed.pop(organization, None)

    async def _compare(self, organization: str | None) -> None:
        known = self._table.parts(organization)
        listed = await self._parts.listed(organization)
        new = [key for key, tag in listed.items() if key not in known or known[key].tag != tag]
        for some in _slices(new, _MANIFESTS_AT_ONCE):
            await asyncio.gather(*(self._learn(key, listed[key]) for key in some))
        # After those that may have come in their place: a run that is in both can be read at every moment.
        for key in known.keys() - listed.keys():
            part = self._table.part(key)
            if part is not None and part.number == known[key].number:
                logger.info("archive.part_gone", extra={"part": key})
                self._table.forget(key)
                self._parts_wait.set()
                await asyncio.sleep(0)

    async def _learn(self, key: str, tag: str) -> None:
        """A part that was not known like that."""
        part = self._table.part(key)
        if part is not None and part.tag == tag:
            return  # another look was faster
        try:
            manifest = await self._parts.manifest(key)
        except Damaged as error:
            place = PartPlace.of_key(key)
            self._table.learn(key, tag, place.folder.organization if place is not None else "", {})
            self._damaged(self._table.part(key), error)
            return
        if manifest is not None:
            versions = dict(zip(manifest.run_ids, manifest.versions, strict=True))
            self._table.learn(key, tag, manifest.organization, versions)
            self._all_loaded.clear()
            self._parts_wait.set()

    def _store_failed(self, organization: str, error: StoreUnavailable) -> StoreUnavailable:
        if not self._failed:
            logger.warning("archive.unavailable", extra={"reason": str(error)})
        self._failed[organization] = error
        return error

    async def _keep_looking(self) -> None:
        pause = REFRESH_EVERY_S
        while True:
            try:
                await self._refreshes.fresh(_EVERYTHING)
                pause = REFRESH_EVERY_S
                await asyncio.sleep(_LOOK_ANYWAY_S * random.uniform(0.9, 1.0))
            except StoreUnavailable:
                await asyncio.sleep(pause)
                pause = min(pause * 2, _LONGEST_PAUSE_S)

    # -- loading ----------------------------------------------------------------------------------------------------

    async def _keep_loading(self) -> None:
        pause, told_at = REFRESH_EVERY_S, time.monotonic()
        while True:
            part = self._table.unread()
            if part is None:
                if not self._all_loaded.is_set() and self._first_look.is_set():
                    self._all_loaded.set()
                    logger.info("archive.loaded", extra={"runs": self._table.known_runs()})
                await self._parts_wait.wait()
                self._parts_wait.clear()
                told_at = time.monotonic()
                continue
            try:
                await self._load(part)
                pause = REFRESH_EVERY_S
            except (StoreUnavailable, sqlite3.Error) as error:
                full = isinstance(error, sqlite3.Error)
                self._metrics.count_archive_failure(ArchiveFailure.DISK if full else ArchiveFailure.STORE)
                logger.warning("archive.part_not_loaded", extra={"part": part.key, "reason": str(error)})
                await asyncio.sleep(pause)
                pause = min(pause * 2, _LONGEST_PAUSE_S)
            if time.monotonic() - told_at >= _PROGRESS_EVERY_S:
                told_at = time.monotonic()
                left = self._table.states().get(PartState.WAITING, 0)
                logger.info("archive.loading", extra={"runs": self._table.known_runs(), "parts_left": left})

    async def _load(self, part: KnownPart) -> None:
        """Put the rows of the part into the table, if they are not there. Raises StoreUnavailable, sqlite3.Error."""
        async with self._loading:
            if self._table.part(part.key) != part:
                return  # it was loaded, or changed, meanwhile
            try:
                rows = await self._parts.rows(part)
            except Damaged as error:
                self._damaged(part, error)
                return
            own = [row for row in rows if self._belongs(row, part)]
            for some in _slices(own, _ROWS_AT_ONCE):
                if self._table.part(part.key) != part:
                    return
                self._table.put(part, some)
                await asyncio.sleep(0)
            if self._table.part(part.key) == part:
                self._table.mark(part, PartState.LOADED)
                self._told.discard(part)

    def _belongs(self, row: ArchivedRow, part: KnownPart) -> bool:
        """A run in the folder of another organization than its own is nobody's."""
        belongs = object_id("org", str(row.row[_ORGANIZATION])) == part.organization
        if not belongs:
            logger.error("archive.run_misplaced", extra={"run_id": row.row[0], "part": part.key})
        return belongs

    def _damaged(self, part: KnownPart | None, error: Damaged) -> None:
        if part is None:
            return
        self._table.mark(part, PartState.DAMAGED)
        self.tell_of_damage(part, error)

    def tell_of_damage(self, part: KnownPart, error: Damaged) -> None:
        """Count it; and log it once, as long as the part stays as it is."""
        self._metrics.count_archive_failure(ArchiveFailure.DAMAGED)
        if part not in self._told:
            self._told.add(part)
            logger.error("archive.part_damaged", extra={"part": part.key, "reason": str(error)})

    # -- runs that leave the cluster --------------------------------------------------------------------------------

    def _leaves(self, organization: str, key: Key) -> None:
        """The object of a run that is over is gone: archived, or just deleted."""
        self._leaving[organization].add(key)
        self._somebody_leaves.set()

    async def _keep_seeing_off(self) -> None:
        pause = REFRESH_EVERY_S
        while True:
            await self._somebody_leaves.wait()
            self._somebody_leaves.clear()
            leaving, self._leaving = self._leaving, defaultdict(set)
            done = await asyncio.gather(*(self._see_off(owner, keys) for owner, keys in leaving.items()))
            if all(done):
                pause = REFRESH_EVERY_S
            else:
                await asyncio.sleep(pause)
                pause = min(pause * 2, _LONGEST_PAUSE_S)

    async def _see_off(self, organization: str, keys: set[Key]) -> bool:
        """Whether lists now show these runs as archived, or no more; those for which nobody can tell yet stay."""
        organization_id = object_id("org", organization)
        try:
            await self._refreshes.fresh(organization_id)
            for namespace, run_id in keys:
                parts = self._table.parts_of(run_id, organization_id)
                for part in parts:
                    if part.state.is_unread:
                        await self._load(part)
                if not parts or self._table.has(run_id, namespace):
                    self._runs.left((namespace, run_id))
        except (StoreUnavailable, sqlite3.Error) as error:
            logger.debug("archive.not_asked", extra={"organization": organization, "reason": str(error)})
        except Exception:
            logger.exception("archive.unexpected")
        undecided = {key for key in keys if self._runs.is_leaving(key)}
        if undecided:
            self._leaving[organization] |= undecided
            self._somebody_leaves.set()
        return not undecided


async def _for_ever(work: Callable[[], Awaitable[None]]) -> None:
    """Whatever nobody foresaw ends neither the service nor the following of its archive."""
    while True:
        try:
            await work()
        except Exception:
            logger.exception("archive.unexpected")
            await asyncio.sleep(_LONGEST_PAUSE_S)


def _slices(values: Sequence[_T], length: int) -> list[Sequence[_T]]:
    return [values[start : start + length] for start in range(0, len(values), length)]
