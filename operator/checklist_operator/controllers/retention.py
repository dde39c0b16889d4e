"""Retention: settled runs and finished deliveries go when they are older than their organization wants to keep them.

A run takes its deliveries with it, since without the run nobody can tell whose they were. Deletions are conditional on
what was read. Without a controller manager nothing else would collect them, so nothing is left to owner references.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from checklist_crds.kube.client import JsonObject, KubeClient
from checklist_crds.kube.errors import KubeConflict, KubeNotFound
from checklist_crds.kube.informer import Key
from checklist_crds.kube.kinds import ORGANIZATION, RUN, WEBHOOK_DELIVERY, Kind
from checklist_crds.organization_types import OrganizationSpec
from checklist_crds.times import Clock, parse_timestamp
from checklist_operator.json_logging import about
from checklist_operator.paging import pages

logger = logging.getLogger(__name__)

_SETTLED: Final = "status.settled=true"
_ORPHANS_STAY: Final = timedelta(minutes=10)
_CHECK_RUN_AGAIN: Final = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class _Keep:
    """How long an organization keeps things; None is for ever."""

    runs: timedelta | None
    deliveries: timedelta | None


class Retention:
    """`sweep` looks at everything that is settled."""

    def __init__(
        self,
        client: KubeClient,
        *,
        clock: Clock,
        namespaces: tuple[str, ...],
        on_removed: Callable[[str], None],
        on_run_removed: Callable[[Key], None],
    ) -> None:
        self._client = client
        self._clock = clock
        self._namespaces = namespaces
        self._on_removed = on_removed
        self._on_run_removed = on_run_removed
        self._run_seen: dict[tuple[str, str], datetime] = {}

    async def sweep(self) -> int:
        """How many objects were deleted. Raises KubeError; then the next sweep goes on."""
        keeps = await self._keeps()
        deleted = 0
        if any(keep.runs is not None for keep in keeps.values()):
            deleted += await self._sweep_runs(keeps)
        return deleted + await self._sweep_deliveries(keeps)

    async def _keeps(self) -> dict[str, _Keep]:
        keeps = {}
        async for page in pages(self._client, ORGANIZATION):
            for body in page:
                retention = OrganizationSpec.model_validate(body["spec"]).retention
                if retention is not None:
                    keeps[str(body["metadata"]["name"])] = _Keep(
                        _days(retention.finished_runs_days), _days(retention.deliveries_days)
                    )
        return keeps

    async def _sweep_runs(self, keeps: Mapping[str, _Keep]) -> int:
        deleted, now = 0, self._clock()
        async for page in pages(self._client, RUN, self._namespaces, field_selector=_SETTLED):
            for body in page:
                keep = keeps.get(_organization_of(body))
                if keep is not None and keep.runs is not None and now - _ended_at(body) >= keep.runs:
                    deleted += await self._delete_run(body)
        return deleted

    async def _delete_run(self, body: JsonObject) -> int:
        namespace, name = body["metadata"]["namespace"], body["metadata"]["name"]
        deliveries, _ = await self._client.list_all(
            WEBHOOK_DELIVERY, namespace, field_selector=f"spec.runRef.name={name}"
        )
        deleted = 0
        for delivery in deliveries:
            deleted += await self._delete(WEBHOOK_DELIVERY, delivery)
        removed = await self._delete(RUN, body)
        if removed:
            self._on_run_removed((namespace, name))
        return deleted + removed

    async def _sweep_deliveries(self, keeps: Mapping[str, _Keep]) -> int:
        deleted, now = 0, self._clock()
        async for page in pages(self._client, WEBHOOK_DELIVERY, self._namespaces, field_selector=_SETTLED):
            for body in page:
                finished_at = parse_timestamp(body["status"].get("finishedAt") or _created(body))
                keep = keeps.get(str(body["spec"]["organizationRef"]["name"]))
                is_old = keep is not None and keep.deliveries is not None and now - finished_at >= keep.deliveries
                if is_old or (now - finished_at >= _ORPHANS_STAY and await self._is_orphan(body, now)):
                    deleted += await self._delete(WEBHOOK_DELIVERY, body)
        return deleted

    async def _is_orphan(self, delivery: JsonObject, now: datetime) -> bool:
        """Whether its run is gone; a run that was there is not looked for again too soon."""
        key = (str(delivery["metadata"]["namespace"]), str(delivery["spec"]["runRef"]["name"]))
        seen_at = self._run_seen.get(key)
        if seen_at is not None and now - seen_at < _CHECK_RUN_AGAIN:
            return False
        try:
            await self._client.get(RUN, key[1], key[0])
        except KubeNotFound:
            self._run_seen.pop(key, None)
            return True
        self._run_seen[key] = now
        return False

    async def _delete(self, kind: Kind, body: JsonObject) -> int:
        metadata = body["metadata"]
        try:
            await self._client.delete(
                kind, metadata["name"], metadata["namespace"], resource_version=metadata["resourceVersion"]
            )
        except (KubeNotFound, KubeConflict):
            return 0
        self._on_removed(kind.kind)
        logger.info("removed after its retention", extra=about(kind=kind.kind, name=metadata["name"]))
        return 1


def _days(days: float | None) -> timedelta | None:
    return None if days is None else timedelta(days=days)


def _created(body: JsonObject) -> str:
    return str(body["metadata"]["creationTimestamp"])


def _organization_of(run: JsonObject) -> str:
    spec = run["spec"]
    resolved = spec.get("resolved") or (run.get("status") or {}).get("resolved") or {}
    return str(resolved.get("organization") or (spec.get("organizationRef") or {}).get("name") or "")


def _ended_at(run: JsonObject) -> datetime:
    """When the run became final: the moment of its condition Completed, true or false."""
    for condition in run["status"].get("conditions") or ():
        if condition["type"] == "Completed":
            return parse_timestamp(condition["lastTransitionTime"])
    return parse_timestamp(_created(run))
