"""An archiver in the test's own process, on the real cluster and a store in a folder; runs that are ready for it."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from tests.cluster.operator_lab import Lab
from tests.cluster.replay_lab import made_failed

from checklist_crds.archive import ArchiveReader, ArchiveStore, Manifest, Record, RemovedDeliveries
from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.errors import KubeNotFound
from checklist_crds.resources.kinds import RUN, WEBHOOK_DELIVERY, key_of
from checklist_crds.times import Clock, format_timestamp, utc_now
from checklist_crds.values.json_text import JsonObject
from checklist_operator.archive.archiver import Archiver
from checklist_operator.controllers.retention import Retention
from checklist_operator.runtime.metrics import Metrics

DAY = timedelta(days=1)
URL = "https://receiver.test/hook"


@dataclass
class Archiving:
    """One operator's retention, without the operator."""

    retention: Retention
    archiver: Archiver
    metrics: Metrics
    gone: list[tuple[str, str]]
    """Runs that were deleted for good."""

    @classmethod
    def over(
        cls,
        client: KubeClient,
        store: ArchiveStore,
        namespace: str,
        *,
        clock: Clock = utc_now,
        leads: Callable[[], bool] = lambda: True,
        is_on: bool = True,
    ) -> "Archiving":
        metrics = Metrics()
        archiver = Archiver(
            client,
            store,
            clock=clock,
            writer="operator-0",
            leads=leads,
            metrics=metrics,
            on_removed=lambda kind: metrics.removals.labels(kind).inc(),
            is_on=is_on,
        )
        gone: list[tuple[str, str]] = []
        retention = Retention(
            client=client,
            archiver=archiver,
            clock=clock,
            audit_entries=100_000,
            namespaces=(namespace,),
            metrics=metrics,
            on_removed=lambda kind: metrics.removals.labels(kind).inc(),
            on_run_removed=lambda body: gone.append(key_of(body)),
        )
        return cls(retention, archiver, metrics, gone)

    def value(self, name: str, **labels: str) -> float:
        return self.metrics.registry.get_sample_value(name, labels) or 0.0


async def keep(lab: Lab, **retention: Any) -> None:
    await lab.configure(retention=retention or None)


async def settled_run(lab: Lab, *, days_ago: float = 0, deliveries: int = 0) -> str:
    """A cancelled run with nothing left to send, which ended so long ago; and its failed deliveries."""
    run = await lab.dispatch(URL)
    await lab.cancel(run)
    ended = format_timestamp(utc_now() - timedelta(days=days_ago))
    condition = {"type": "Completed", "status": "False", "reason": "Cancelled", "lastTransitionTime": ended}
    status = {"outbox": None, "settled": True, "conditions": [condition]}
    await lab.client.patch_status(RUN, run, status, lab.namespace)
    if deliveries:
        await made_failed(lab, run, URL, deliveries)
    return run


async def in_cluster(lab: Lab, run: str) -> JsonObject | None:
    try:
        return await lab.client.get(RUN, run, lab.namespace)
    except KubeNotFound:
        return None


async def manifests(store: ArchiveStore) -> list[Manifest]:
    found = [await store.manifest(place) async for place, _ in store.manifests()]
    return [manifest for manifest in found if manifest is not None]


async def in_archive(store: ArchiveStore, run: str) -> Record | None:
    return await ArchiveReader(store).newest(await manifests(store), run)


async def removed_deliveries(store: ArchiveStore) -> list[RemovedDeliveries]:
    reader = ArchiveReader(store)
    lines = [line for manifest in await manifests(store) for line in await reader.records(manifest)]
    return [line for line in lines if isinstance(line, RemovedDeliveries)]


async def delivery_names(lab: Lab) -> set[str]:
    items, _ = await lab.client.list_all(WEBHOOK_DELIVERY, lab.namespace)
    return {str(body["metadata"]["name"]) for body in items}


def files_in(folder: Path) -> set[str]:
    """What is in a store's folder, by keys."""
    return {str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()}
