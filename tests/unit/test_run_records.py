"""How deliveries ended, as it reaches their runs: together, and without conflicts that could be foreseen."""

import asyncio
import copy
from collections import Counter
from datetime import UTC, datetime
from typing import Any

import pytest

from checklist_crds import merge_patch
from checklist_crds.event_names import EventName
from checklist_crds.ids import new_id
from checklist_crds.kube.errors import KubeConflict, KubeNotFound
from checklist_crds.run_types import DeliveryPhase, DeliveryRecord
from checklist_operator.fresh_reads import FreshReads
from checklist_operator.run_records import RunRecords

pytestmark = pytest.mark.looptime

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


class Cluster:
    """Runs, written on condition of their version. Counts what it was asked."""

    def __init__(self, *names: str) -> None:
        self.runs: dict[str, dict[str, Any]] = {}
        self.asked: Counter[str] = Counter()
        self._version = 100
        for name in names:
            spec = {
                "templateId": "t",
                "webhook": {"url": "https://a.example/", "events": ["*"], "sealedSecret": "k1:a"},
            }
            self.runs[name] = {"metadata": {"name": name, "namespace": "n"}, "spec": spec, "status": {}}
            self._next(name)

    def read(self, name: str) -> dict[str, Any]:
        """A copy as somebody has it, without asking."""
        return copy.deepcopy(self.runs[name])

    async def get(self, _: Any, name: str, __: str) -> dict[str, Any]:
        self.asked["get"] += 1
        if name not in self.runs:
            raise KubeNotFound("gone")
        return self.read(name)

    async def patch_status(
        self, _: Any, name: str, patch: dict[str, Any], __: str, *, resource_version: str
    ) -> dict[str, Any]:
        self.asked["patch"] += 1
        await asyncio.sleep(0.01)
        if name not in self.runs:
            raise KubeNotFound("gone")
        if self.runs[name]["metadata"]["resourceVersion"] != resource_version:
            self.asked["conflict"] += 1
            raise KubeConflict("stale")
        self.runs[name]["status"] = merge_patch.apply(self.runs[name]["status"], patch)
        self._next(name)
        return self.read(name)

    def _next(self, name: str) -> None:
        self._version += 1
        self.runs[name]["metadata"]["resourceVersion"] = str(self._version)
        self.runs[name]["metadata"]["creationTimestamp"] = "2026-11-21T11:00:00Z"


def record(seq: int) -> DeliveryRecord:
    return DeliveryRecord(
        seq=seq,
        event=EventName.STEP_COMPLETED,
        event_id=new_id("evt"),
        ts=NOW,
        phase=DeliveryPhase.DELIVERED,
        attempts=2,
    )


def records_of(cluster: Cluster) -> RunRecords:
    client: Any = cluster
    return RunRecords(client, FreshReads(client), lambda: NOW)


def told(cluster: Cluster, name: str) -> list[int]:
    return [one["seq"] for one in cluster.runs[name]["status"]["deliveries"]]


async def test_a_hundred_that_end_together_are_few_writes_and_each_is_told() -> None:
    cluster = Cluster("r-1", "r-2")
    runs = records_of(cluster)
    known = {name: cluster.read(name) for name in cluster.runs}
    await asyncio.gather(
        *(runs.tell(("n", name), record(seq), known=known[name]) for seq in range(1, 51) for name in known)
    )
    assert told(cluster, "r-1") == told(cluster, "r-2") == list(range(1, 51))
    assert cluster.asked == {"patch": 2}


async def test_what_was_read_before_our_last_write_is_not_tried() -> None:
    cluster = Cluster("r-1")
    runs = records_of(cluster)
    before = cluster.read("r-1")
    for seq in range(1, 6):
        await runs.tell(("n", "r-1"), record(seq), known=before)
    assert told(cluster, "r-1") == [1, 2, 3, 4, 5]
    assert cluster.asked == {"patch": 5}


async def test_an_old_read_is_not_tried_when_only_the_version_of_the_run_is_remembered() -> None:
    names = [f"r-{number}" for number in range(300)]
    cluster = Cluster(*names)
    runs = records_of(cluster)
    before = cluster.read("r-0")
    for name in names:
        await runs.tell(("n", name), record(1), known=cluster.read(name))
    cluster.asked.clear()
    await runs.tell(("n", "r-0"), record(2), known=before)
    assert told(cluster, "r-0") == [1, 2]
    assert cluster.asked == {"get": 1, "patch": 1}


async def test_a_write_of_somebody_else_is_found_and_kept() -> None:
    cluster = Cluster("r-1")
    runs = records_of(cluster)
    await runs.tell(("n", "r-1"), record(1), known=cluster.read("r-1"))
    await cluster.patch_status(
        None, "r-1", {"phase": "InProgress"}, "n", resource_version=cluster.read("r-1")["metadata"]["resourceVersion"]
    )
    await runs.tell(("n", "r-1"), record(2))
    assert told(cluster, "r-1") == [1, 2]
    assert cluster.runs["r-1"]["status"]["phase"] == "InProgress"
    assert cluster.asked["conflict"] == 1


async def test_a_run_that_is_gone_is_none() -> None:
    cluster = Cluster("r-1")
    runs = records_of(cluster)
    known = cluster.read("r-1")
    del cluster.runs["r-1"]
    assert await runs.tell(("n", "r-1"), record(1), known=known) is None
