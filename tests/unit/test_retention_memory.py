"""What retention remembers of runs does not grow with all the runs that there ever were."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

from checklist_crds.archive import ArchiveStore
from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.kinds import ORGANIZATION, WEBHOOK_DELIVERY, Kind
from checklist_crds.times import format_timestamp
from checklist_operator.controllers.archiver import Archiver
from checklist_operator.controllers.retention import Retention
from checklist_operator.metrics import Metrics
from checklist_operator.sharding import Shard

NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)


class Cluster:
    """One organization that keeps everything, a run for every question, and the deliveries that are put into it."""

    def __init__(self) -> None:
        self.deliveries: list[dict[str, Any]] = []
        self.runs_read = 0

    async def pages(self, kind: Kind, *_: Any, **__: Any) -> AsyncIterator[tuple[list[dict[str, Any]], str]]:
        organization = {"metadata": {"name": "acme"}, "spec": {"displayName": "Acme"}}
        yield {ORGANIZATION: [organization], WEBHOOK_DELIVERY: self.deliveries}.get(kind, []), "1"

    async def get(self, *_: Any) -> dict[str, Any]:
        self.runs_read += 1
        return {}


def delivery(number: int, finished_at: datetime) -> dict[str, Any]:
    return {
        "metadata": {"name": f"evt-{number}", "namespace": "checklists", "resourceVersion": "1"},
        "spec": {"organizationRef": {"name": "acme"}, "runRef": {"name": f"r-{number}"}},
        "status": {"settled": True, "finishedAt": format_timestamp(finished_at)},
    }


async def test_runs_of_deliveries_that_have_left_are_forgotten(tmp_path: Path) -> None:
    cluster, now = Cluster(), NOW
    client, metrics = cast(KubeClient, cluster), Metrics()
    both: dict[str, Any] = {"clock": lambda: now, "shard": Shard(), "metrics": metrics, "on_removed": lambda _: None}
    archiver = Archiver(client, ArchiveStore.open(tmp_path.as_uri()), writer="operator", leads=lambda: True, **both)
    retention = Retention(
        client, archiver, audit_entries=9, namespaces=("checklists",), on_run_removed=lambda _: None, **both
    )
    most = 0
    for sweep in range(100):  # every five minutes, ten new deliveries in each; the older ones have left
        cluster.deliveries = [delivery(10 * sweep + each, now - timedelta(minutes=20)) for each in range(10)]
        await retention.sweep()
        await retention.sweep()
        most = max(most, retention.runs_remembered)
        now += timedelta(minutes=5)
    assert cluster.runs_read == 1000  # each run once: what was seen just now is not read again
    assert most <= 130
