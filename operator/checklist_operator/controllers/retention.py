"""Retention: deletes settled runs, finished deliveries and audit entries past their organization's retention period.

Runs and deliveries are archived first, unless their organization wants them deleted; without an archive they stay. A
run's deliveries are removed with it, since they cannot be attributed without it. Deletions are conditional on the
version that was read. Nothing relies on owner references, which need a controller manager.
"""

import logging
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Final

from attrs import define, field

from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.errors import KubeConflict, KubeGone, KubeNotFound
from checklist_crds.limits.retention import (
    Keep,
    expected_deliveries,
    is_admitted,
    is_terminating,
    last_finished_at,
    organization_of,
)
from checklist_crds.resources.base import ORGANIZATION_LABEL
from checklist_crds.resources.kinds import AUDIT_ENTRY, ORGANIZATION, RUN, WEBHOOK_DELIVERY, Key, Kind, key_of
from checklist_crds.resources.legal_hold import is_held
from checklist_crds.resources.run_id import is_of_run, run_id_of, run_id_of_delivery
from checklist_crds.times import Clock, parse_timestamp
from checklist_crds.values.json_text import JsonObject
from checklist_operator.archive.archiver import Archiver
from checklist_operator.runtime.json_logging import about
from checklist_operator.runtime.metrics import Metrics
from checklist_operator.runtime.paging import pages

logger = logging.getLogger(__name__)

_SETTLED: Final = "status.settled=true"
_ORPHANS_STAY: Final = timedelta(minutes=10)
_CHECK_RUN_AGAIN: Final = timedelta(hours=1)
_AT_ONCE: Final = 500


@define(kw_only=True, eq=False, repr=False, slots=False)
class Retention:
    """Sweeps all settled objects.

    `audit_entries`: the limit of an organization without one of its own. `on_run_removed` is called with runs that are
    deleted, not with archived ones.
    """

    _client: KubeClient
    _archiver: Archiver
    _clock: Clock
    _audit_entries: int
    _namespaces: tuple[str, ...]
    _metrics: Metrics
    _on_removed: Callable[[str], None]
    _on_run_removed: Callable[[JsonObject], None]
    _run_seen: dict[Key, datetime] = field(factory=dict, init=False)
    _deliveries: Mapping[Key, frozenset[str]] | None = field(default=None, init=False)
    """Names of deliveries by namespace and id of their run, listed once in a sweep."""

    @property
    def runs_remembered(self) -> int:
        """Number of existing runs of settled deliveries that are not read again for a while."""
        return len(self._run_seen)

    async def sweep(self) -> int:
        """Returns the number of deleted objects. Raises KubeError; the next sweep continues."""
        keeps = await self._keeps()
        deleted = await self._archiver.begin(keeps)
        if any(keep.runs is not None for keep in keeps.values()):
            deleted += await self._sweep_runs(keeps)
        deleted += await self._archiver.end()
        audits = {name: keep.audit for name, keep in keeps.items() if keep.audit is not None}
        deleted += await self._sweep_audit(audits)
        deleted += await self._sweep_surplus_audit(keeps)
        return deleted + await self._sweep_deliveries(keeps)

    async def _keeps(self) -> dict[str, Keep]:
        keeps = {}
        async for page in pages(self._client, ORGANIZATION):
            for body in page:
                keep = Keep.of(body)
                keeps[keep.name] = keep
        return keeps

    # -- runs -----------------------------------------------------------------------------------------------------

    async def _sweep_runs(self, keeps: Mapping[str, Keep]) -> int:
        deleted = 0
        while True:
            before = deleted
            held = 0
            try:
                async for page in self._pages(RUN):
                    for body in page:
                        keep = keeps.get(organization_of(body))
                        if keep is None or keep.runs is None or is_terminating(body):
                            continue
                        held += keep.held or is_held(body)
                        with _skipped_if_malformed(RUN, body):
                            deleted += await self._sweep_run(keep, body)
                self._metrics.held_runs.set(held)
                return deleted
            except KubeGone:
                # The continue token has expired. List again for the rest.
                deleted += await self._archiver.end()
                if deleted == before:
                    raise
                deleted += await self._archiver.begin(keeps)
            finally:
                self._deliveries = None  # may be many

    async def _sweep_run(self, keep: Keep, body: JsonObject) -> int:
        at = keep.due_at(body)
        if at is None or at > self._clock():
            return 0
        if not is_admitted(body):
            return await self._delete_unarchived(keep, RUN, body)
        if keep.archive and self._archiver.is_unavailable:
            self._archiver.leave(at)
            return 0
        if self._deliveries is None:  # listed only when a run is due, which is rare
            self._deliveries = await self._deliveries_of_runs()
        run = (str(body["metadata"]["namespace"]), run_id_of(body) or "")
        return await self._remove_run(keep, body, at, self._deliveries.get(run, frozenset()))

    async def _remove_run(self, keep: Keep, run: JsonObject, at: datetime, deliveries: frozenset[str]) -> int:
        if keep.archive:
            return await self._archiver.add(keep, run, at, deliveries | expected_deliveries(run))
        return await self._delete_run(keep, run)

    async def _deliveries_of_runs(self) -> dict[Key, frozenset[str]]:
        """Returns names of deliveries by namespace and id of their run, from one list instead of one per run."""
        found: dict[Key, set[str]] = {}
        async for page in self._pages(WEBHOOK_DELIVERY, settled=False):
            for body in page:
                run = (str(body["metadata"]["namespace"]), run_id_of_delivery(body))
                found.setdefault(run, set()).add(str(body["metadata"]["name"]))
        return {run: frozenset(names) for run, names in found.items()}

    async def _delete_run(self, keep: Keep, body: JsonObject) -> int:
        """Deletes a run, unless it has changed, and then its deliveries, without archiving them."""
        deleted = await self._delete_unarchived(keep, RUN, body)
        if not deleted:
            return 0
        self._on_run_removed(body)
        namespace, name = key_of(body)
        deliveries, _ = await self._client.list_all(
            WEBHOOK_DELIVERY, namespace, field_selector=f"spec.runRef.name={name}"
        )
        for delivery in deliveries:
            if is_of_run(delivery, body):
                deleted += await self._delete_unarchived(keep, WEBHOOK_DELIVERY, delivery)
        return deleted

    # -- deliveries -----------------------------------------------------------------------------------------------

    async def _sweep_deliveries(self, keeps: Mapping[str, Keep]) -> int:
        deleted, now = 0, self._clock()
        # Drop entries that are due for another check: most of these runs are gone with their deliveries.
        self._run_seen = {key: at for key, at in self._run_seen.items() if now - at < _CHECK_RUN_AGAIN}
        leaving: dict[str, list[tuple[datetime, JsonObject]]] = {}
        async for page in self._pages(WEBHOOK_DELIVERY):
            for body in page:
                keep = keeps.get(str(body["spec"]["organizationRef"]["name"]))
                if is_terminating(body) or (keep is not None and keep.archive and self._archiver.is_unavailable):
                    continue
                at = None
                with _skipped_if_malformed(WEBHOOK_DELIVERY, body):
                    at = await self._removal_due_at(body, keep, now)
                if at is None:
                    continue
                if keep is None or not keep.archive:
                    deleted += await self._delete_unarchived(keep, WEBHOOK_DELIVERY, body)
                    continue
                waiting = leaving.setdefault(keep.name, [])
                waiting.append((at, body))
                if len(waiting) >= _AT_ONCE:
                    deleted += await self._archive_deliveries(keep, leaving.pop(keep.name))
        for name, waiting in leaving.items():
            if now - min(at for at, _ in waiting) >= keeps[name].delivery_batch_delay:
                deleted += await self._archive_deliveries(keeps[name], waiting)
        return deleted

    async def _archive_deliveries(self, keep: Keep, leaving: list[tuple[datetime, JsonObject]]) -> int:
        if self._archiver.is_unavailable:
            return 0
        return await self._archiver.archive_deliveries(keep, [body for _, body in leaving])

    async def _removal_due_at(self, delivery: JsonObject, keep: Keep | None, now: datetime) -> datetime | None:
        """Returns since when a settled delivery is due for removal (too old, or its run is gone); None: it stays."""
        if keep is not None and keep.held:
            return None
        finished_at = last_finished_at(delivery)
        if keep is not None and keep.deliveries is not None and now - finished_at >= keep.deliveries:
            return None if await self._run_is_held(delivery) else finished_at + keep.deliveries
        if now - finished_at >= _ORPHANS_STAY and await self._is_orphan(delivery, now):
            return finished_at + _ORPHANS_STAY
        return None

    async def _run_is_held(self, delivery: JsonObject) -> bool:
        run = await self._run_of(delivery)
        return run is not None and is_held(run)

    async def _is_orphan(self, delivery: JsonObject, now: datetime) -> bool:
        """Whether its run is gone; an existing run is not read again for a while."""
        key = str(delivery["metadata"]["namespace"]), run_id_of_delivery(delivery)
        seen_at = self._run_seen.get(key)
        if seen_at is not None and now - seen_at < _CHECK_RUN_AGAIN:
            return False
        if await self._run_of(delivery) is None:
            self._run_seen.pop(key, None)
            return True
        self._run_seen[key] = now
        return False

    async def _run_of(self, delivery: JsonObject) -> JsonObject | None:
        """Returns the delivery's run, never another one of the same name."""
        name, namespace = delivery["spec"]["runRef"]["name"], delivery["metadata"]["namespace"]
        try:
            run = await self._client.get(RUN, name, namespace)
        except KubeNotFound:
            return None
        return run if is_of_run(delivery, run) else None

    # -- audit ----------------------------------------------------------------------------------------------------

    async def _sweep_audit(self, keeps: Mapping[str, timedelta]) -> int:
        if not keeps:
            return 0
        deleted, now, shortest = 0, self._clock(), min(keeps.values())
        for namespace in self._namespaces or (None,):
            async for bodies, _ in self._client.pages(AUDIT_ENTRY, namespace):
                for body in bodies:
                    keep = keeps.get(str(body["spec"]["organizationRef"]["name"]))
                    if keep is not None and now - parse_timestamp(body["spec"]["at"]) >= keep:
                        deleted += await self._delete(AUDIT_ENTRY, body)
                # Names sort by time, so the rest of the namespace is younger.
                last = bodies[-1] if bodies and namespace is not None else None
                if last is not None and now - parse_timestamp(last["spec"]["at"]) < shortest:
                    break
        return deleted

    async def _sweep_surplus_audit(self, keeps: Mapping[str, Keep]) -> int:
        """Deletes the oldest entries of organizations above their limit."""
        surplus: Counter[str] = Counter()
        async for body in self._audit_metadata():
            surplus[_labelled_organization(body)] += 1
        for name, keep in keeps.items():
            surplus[name] -= self._audit_entries if keep.audit_entries is None else keep.audit_entries
        surplus = Counter({name: surplus[name] for name in keeps if surplus[name] > 0})
        deleted = 0
        if surplus:
            async for body in self._audit_metadata():  # oldest first: names sort by time
                organization = _labelled_organization(body)
                if surplus[organization] > 0:
                    surplus[organization] -= 1
                    deleted += await self._delete(AUDIT_ENTRY, body)
        return deleted

    async def _audit_metadata(self) -> AsyncIterator[JsonObject]:
        for namespace in self._namespaces or (None,):
            async for bodies, _ in self._client.pages(AUDIT_ENTRY, namespace, metadata_only=True):
                for body in bodies:
                    yield body

    async def _delete_unarchived(self, keep: Keep | None, kind: Kind, body: JsonObject) -> int:
        """Deletes a run or delivery, unless its organization has changed since the sweep began."""
        return await self._delete(kind, body) if keep is None or await self._archiver.is_current(keep) else 0

    async def _delete(self, kind: Kind, body: JsonObject) -> int:
        metadata = body["metadata"]
        try:
            await self._client.delete(
                kind, metadata["name"], metadata["namespace"], resource_version=metadata["resourceVersion"]
            )
        except (KubeNotFound, KubeConflict):
            return 0
        self._on_removed(kind.kind)
        logger.info("retention.removed", extra=about(kind=kind.kind, name=metadata["name"]))
        return 1

    def _pages(self, kind: Kind, *, settled: bool = True) -> AsyncIterator[list[JsonObject]]:
        return pages(self._client, kind, self._namespaces, field_selector=_SETTLED if settled else None)


@contextmanager
def _skipped_if_malformed(kind: Kind, body: JsonObject) -> Iterator[None]:
    """Leaves an object that cannot be read, for example one written by hand: it must not keep all others."""
    try:
        yield
    except (AttributeError, LookupError, TypeError, ValueError):
        logger.exception("retention.skipped", extra=about(kind=kind.kind, name=body["metadata"]["name"]))


def _labelled_organization(body: JsonObject) -> str:
    return str((body["metadata"].get("labels") or {}).get(ORGANIZATION_LABEL, ""))
