"""How deliveries ended, as it reaches their runs: together, and without conflicts that could be foreseen."""

import asyncio
from datetime import UTC, datetime
from typing import Any

from tests.unit.memory_cluster import MemoryCluster

from checklist_crds.event_names import EventName
from checklist_crds.ids import new_id
from checklist_crds.kube.kinds import RUN
from checklist_crds.run_types import DeliveryPhase, DeliveryRecord
from checklist_operator.fresh_reads import FreshReads
from checklist_operator.run_records import RunRecords

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


def cluster_with(*names: str) -> MemoryCluster:
    cluster = MemoryCluster()
    for name in names:
        webhook = {"url": "https://a.example/", "events": ["*"], "sealedSecret": "k1:a"}
        cluster.put(RUN, name, {"templateId": "t", "webhook": webhook}, namespace="n")
    return cluster


def record(seq: int) -> DeliveryRecord:
    event = {"event": EventName.STEP_COMPLETED, "event_id": new_id("evt"), "ts": NOW}
    return DeliveryRecord(seq=seq, **event, phase=DeliveryPhase.DELIVERED, attempts=2)


def records_of(cluster: Any) -> RunRecords:
    return RunRecords(cluster, FreshReads(cluster), lambda: NOW)


def recorded(cluster: MemoryCluster, name: str) -> list[int]:
    return [one["seq"] for one in cluster.read(RUN, name)["status"]["deliveries"]]


async def test_a_hundred_that_end_together_are_few_writes_and_each_is_recorded() -> None:
    cluster = cluster_with("r-1", "r-2")
    runs = records_of(cluster)
    known = {name: cluster.read(RUN, name) for name in ("r-1", "r-2")}
    await asyncio.gather(
        *(runs.tell(("n", name), record(seq), known=known[name]) for seq in range(1, 51) for name in known)
    )
    assert recorded(cluster, "r-1") == recorded(cluster, "r-2") == list(range(1, 51))
    assert cluster.asked == {"patch": 2}


async def test_an_old_read_is_not_tried_when_only_the_version_of_the_run_is_remembered() -> None:
    names = [f"r-{number}" for number in range(300)]
    cluster = cluster_with(*names)
    runs = records_of(cluster)
    before = cluster.read(RUN, "r-0")
    for name in names:
        await runs.tell(("n", name), record(1), known=cluster.read(RUN, name))
    cluster.asked.clear()
    await runs.tell(("n", "r-0"), record(2), known=before)
    assert recorded(cluster, "r-0") == [1, 2]
    assert cluster.asked == {"get": 1, "patch": 1}
    for seq in (3, 4):
        await runs.tell(("n", "r-0"), record(seq), known=before)
    assert (recorded(cluster, "r-0"), cluster.asked) == ([1, 2, 3, 4], {"get": 1, "patch": 3})


async def test_a_foreign_write_is_found_and_kept_and_a_run_that_is_gone_is_none() -> None:
    cluster = cluster_with("r-1")
    runs = records_of(cluster)
    await runs.tell(("n", "r-1"), record(1), known=cluster.read(RUN, "r-1"))
    await cluster.patch_status(RUN, "r-1", {"phase": "InProgress"}, "n")
    await runs.tell(("n", "r-1"), record(2))
    assert recorded(cluster, "r-1") == [1, 2]
    assert cluster.read(RUN, "r-1")["status"]["phase"] == "InProgress"
    assert cluster.asked["conflict"] == 1
    del cluster.objects[RUN, "r-1"]
    assert await runs.tell(("n", "r-1"), record(3)) is None
