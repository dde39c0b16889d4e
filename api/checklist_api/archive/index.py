"""Keeps the index of archived runs current: at start, every 30 seconds, and when a run leaves the cluster.

A refresh lists the manifests and reads new ones, which makes their runs readable. Their list rows are loaded afterwards
in the background, part by part. Live runs and readiness do not depend on it.
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
from checklist_crds.platform.object_store import StoreUnavailable
from checklist_crds.resources.kinds import Key
from checklist_crds.runs.row import RUN_COLUMNS

from ..index.archive_table import ArchivedRow, KnownPart, PartState
from ..index.runs import RunIndex
from ..metrics import ArchiveFailure, Metrics
from .incomplete import Incomplete
from .parts import ArchiveParts
from .single_flight import REFRESH_EVERY_S, SingleFlight

logger = logging.getLogger(__name__)

_T = TypeVar("_T")
_REFRESH_INTERVAL_S: Final = 30.0
_MAX_BACKOFF_S: Final = 5.0
_MANIFEST_BATCH: Final = 16
_ROW_BATCH: Final = 25
"""Rows per transaction: a few milliseconds, during which the event loop is blocked."""
_PROGRESS_INTERVAL_S: Final = 5.0
_ALL: Final = ""
_ORGANIZATION: Final = RUN_COLUMNS.index("organization")


class ArchiveIndex:
    """Updates the table `runs.archive`. `run` until cancelled."""

    def __init__(self, parts: ArchiveParts, runs: RunIndex, metrics: Metrics) -> None:
        self._parts = parts
        self._runs = runs
        self._table = runs.archive
        self._metrics = metrics
        self._refreshes = SingleFlight(self._refresh)
        self._failed: dict[str, StoreUnavailable] = {}
        self._leaving: defaultdict[str, set[Key]] = defaultdict(set)
        self._has_leaving, self._has_unread_parts = asyncio.Event(), asyncio.Event()
        self._first_refresh, self._all_loaded = asyncio.Event(), asyncio.Event()
        self._loading = asyncio.Lock()
        self._reported: set[KnownPart] = set()
        self._refreshed_at = time.monotonic()
        runs.on_leaving(self._leaves)
        metrics.archived_runs.set_function(self._table.known_runs)
        metrics.archive_look_age.set_function(lambda: time.monotonic() - self._refreshed_at)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(_restart_on_error(self._refresh_loop), name="refresh the archive index")
            group.create_task(_restart_on_error(self._load_loop), name="load parts of the archive")
            group.create_task(_restart_on_error(self._leaving_loop), name="resolve runs that left the cluster")

    def incomplete(self, organization_id: str) -> Incomplete | None:
        """Return why the organization's lists may lack runs; None if they are complete."""
        if self._failed.keys() & {_ALL, organization_id}:
            return Incomplete.UNAVAILABLE
        states = self._table.states(organization_id)
        if PartState.WAITING in states or not self._first_refresh.is_set():
            return Incomplete.LOADING
        return Incomplete.DAMAGED if PartState.DAMAGED in states else None

    @property
    def note(self) -> str | None:
        """A message for the operator of the service."""
        reason = self._failed.get(_ALL)
        return None if reason is None else f"archived runs cannot be read, the object store is unavailable: {reason}"

    async def wait_for_first_refresh(self, seconds: float) -> bool:
        """Wait for the first refresh; False after a timeout."""
        try:
            await asyncio.wait_for(self._first_refresh.wait(), seconds)
        except TimeoutError:
            return False
        return True

    async def wait_until_loaded(self) -> None:
        """Wait until all rows found so far are loaded. For tests and measurements."""
        await self._first_refresh.wait()
        await self._all_loaded.wait()

    def refreshed_recently(self, organization_id: str) -> bool:
        """Whether a refresh of the organization began within the last second."""
        since = min(map(self._refreshes.seconds_since, (_ALL, organization_id)))
        return since < REFRESH_EVERY_S

    async def refresh(self, organization_id: str) -> None:
        """Refresh now, or as soon as the rate limit allows. Raises StoreUnavailable."""
        await self._refreshes.fresh(organization_id)

    async def _refresh(self, organization: str) -> None:
        """Refresh an organization, or all. Raises StoreUnavailable."""
        began = time.monotonic()
        try:
            await self._compare(organization or None)
        except sqlite3.Error as error:
            self._metrics.count_archive_failure(ArchiveFailure.DISK)
            logger.exception("archive.table_failed")
            raise self._store_failed(
                organization, StoreUnavailable(f"the local index cannot be written: {error}")
            ) from error
        except StoreUnavailable as error:
            self._metrics.count_archive_failure(ArchiveFailure.STORE)
            raise self._store_failed(organization, error) from None
        if organization == _ALL:
            if self._failed:
                logger.info("archive.available_again")
            self._failed.clear()
            self._refreshed_at = began
            self._table.retry_damaged()
            self._has_unread_parts.set()
            self._first_refresh.set()
        else:
            self._failed.pop(organization, None)

    async def _compare(self, organization: str | None) -> None:
        known = self._table.parts(organization)
        listed = await self._parts.listed(organization)
        new = [key for key, tag in listed.items() if key not in known or known[key].tag != tag]
        for some in _slices(new, _MANIFEST_BATCH):
            await asyncio.gather(*(self._add(key, listed[key]) for key in some))
        # Last, after the parts that may replace them, so that runs remain readable throughout.
        for key in known.keys() - listed.keys():
            part = self._table.part(key)
            if part is not None and part.number == known[key].number:
                logger.info("archive.part_gone", extra={"part": key})
                self._table.forget(key)
                self._has_unread_parts.set()
                await asyncio.sleep(0)

    async def _add(self, key: str, tag: str) -> None:
        """Add a part that is new or has changed."""
        part = self._table.part(key)
        if part is not None and part.tag == tag:
            return  # added by a concurrent refresh
        try:
            manifest = await self._parts.manifest(key)
        except Damaged as error:
            place = PartPlace.of_key(key)
            self._table.add_part(key, tag, place.folder.organization if place is not None else "", {})
            self._damaged(self._table.part(key), error)
            return
        if manifest is not None:
            versions = dict(zip(manifest.run_ids, manifest.versions, strict=True))
            self._table.add_part(key, tag, manifest.organization, versions)
            self._all_loaded.clear()
            self._has_unread_parts.set()

    def _store_failed(self, organization: str, error: StoreUnavailable) -> StoreUnavailable:
        if not self._failed:
            logger.warning("archive.unavailable", extra={"reason": str(error)})
        self._failed[organization] = error
        return error

    async def _refresh_loop(self) -> None:
        pause = REFRESH_EVERY_S
        while True:
            try:
                await self._refreshes.fresh(_ALL)
                pause = REFRESH_EVERY_S
                await asyncio.sleep(_REFRESH_INTERVAL_S * random.uniform(0.9, 1.0))
            except StoreUnavailable:
                await asyncio.sleep(pause)
                pause = min(pause * 2, _MAX_BACKOFF_S)

    async def _load_loop(self) -> None:
        pause, logged_at = REFRESH_EVERY_S, time.monotonic()
        while True:
            part = self._table.unread()
            if part is None:
                if not self._all_loaded.is_set() and self._first_refresh.is_set():
                    self._all_loaded.set()
                    logger.info("archive.loaded", extra={"runs": self._table.known_runs()})
                await self._has_unread_parts.wait()
                self._has_unread_parts.clear()
                logged_at = time.monotonic()
                continue
            try:
                await self._load(part)
                pause = REFRESH_EVERY_S
            except (StoreUnavailable, sqlite3.Error) as error:
                full = isinstance(error, sqlite3.Error)
                self._metrics.count_archive_failure(ArchiveFailure.DISK if full else ArchiveFailure.STORE)
                logger.warning("archive.part_not_loaded", extra={"part": part.key, "reason": str(error)})
                await asyncio.sleep(pause)
                pause = min(pause * 2, _MAX_BACKOFF_S)
            if time.monotonic() - logged_at >= _PROGRESS_INTERVAL_S:
                logged_at = time.monotonic()
                left = self._table.states().get(PartState.WAITING, 0)
                logger.info("archive.loading", extra={"runs": self._table.known_runs(), "parts_left": left})

    async def _load(self, part: KnownPart) -> None:
        """Load the rows of a part unless they are loaded. Raises StoreUnavailable, sqlite3.Error."""
        async with self._loading:
            if self._table.part(part.key) != part:
                return  # loaded or changed concurrently
            try:
                rows = await self._parts.rows(part)
            except Damaged as error:
                self._damaged(part, error)
                return
            own = [row for row in rows if self._belongs(row, part)]
            for some in _slices(own, _ROW_BATCH):
                if self._table.part(part.key) != part:
                    return
                self._table.put(part, some)
                await asyncio.sleep(0)
            if self._table.part(part.key) == part:
                self._table.mark(part, PartState.LOADED)
                self._reported.discard(part)

    def _belongs(self, row: ArchivedRow, part: KnownPart) -> bool:
        """Reject a run in the folder of another organization."""
        belongs = object_id("org", str(row.row[_ORGANIZATION])) == part.organization
        if not belongs:
            logger.error("archive.run_misplaced", extra={"run_id": row.row[0], "part": part.key})
        return belongs

    def _damaged(self, part: KnownPart | None, error: Damaged) -> None:
        if part is None:
            return
        self._table.mark(part, PartState.DAMAGED)
        self.report_damage(part, error)

    def report_damage(self, part: KnownPart, error: Damaged) -> None:
        """Count damage, and log it once for each version of the part."""
        self._metrics.count_archive_failure(ArchiveFailure.DAMAGED)
        if part not in self._reported:
            self._reported.add(part)
            logger.error("archive.part_damaged", extra={"part": part.key, "reason": str(error)})

    def _leaves(self, organization: str, key: Key) -> None:
        """Queue a finished run whose object is gone: archived or deleted."""
        self._leaving[organization].add(key)
        self._has_leaving.set()

    async def _leaving_loop(self) -> None:
        pause = REFRESH_EVERY_S
        while True:
            await self._has_leaving.wait()
            self._has_leaving.clear()
            leaving, self._leaving = self._leaving, defaultdict(set)
            done = await asyncio.gather(*(self._resolve_leaving(owner, keys) for owner, keys in leaving.items()))
            if all(done):
                pause = REFRESH_EVERY_S
            else:
                await asyncio.sleep(pause)
                pause = min(pause * 2, _MAX_BACKOFF_S)

    async def _resolve_leaving(self, organization: str, keys: set[Key]) -> bool:
        """Update lists with the state of runs that left the cluster; False while some are unresolved."""
        organization_id = object_id("org", organization)
        try:
            await self._refreshes.fresh(organization_id)
            for namespace, run_id in keys:
                parts = self._table.parts_of(run_id, organization_id)
                for part in parts:
                    if part.state.is_unread:
                        await self._load(part)
                if not parts or self._table.has(run_id, namespace):
                    self._runs.drop_leaving((namespace, run_id))
        except (StoreUnavailable, sqlite3.Error) as error:
            logger.debug("archive.not_asked", extra={"organization": organization, "reason": str(error)})
        except Exception:
            logger.exception("archive.unexpected")
        undecided = {key for key in keys if self._runs.is_leaving(key)}
        if undecided:
            self._leaving[organization] |= undecided
            self._has_leaving.set()
        return not undecided


async def _restart_on_error(work: Callable[[], Awaitable[None]]) -> None:
    """Restart `work` after unexpected errors, so that they stop neither the service nor the refreshes."""
    while True:
        try:
            await work()
        except Exception:
            logger.exception("archive.unexpected")
            await asyncio.sleep(_MAX_BACKOFF_S)


def _slices(values: Sequence[_T], length: int) -> list[Sequence[_T]]:
    return [values[start : start + length] for start in range(0, len(values), length)]
