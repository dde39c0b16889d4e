"""Events for people: one for each thing, and never more than the cluster can bear."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import pytest

from checklist_crds.kube.errors import KubeAlreadyExists, KubeForbidden, KubeUnavailable
from checklist_crds.kube.kinds import WEBHOOK_DELIVERY, Kind
from checklist_operator import kube_events
from checklist_operator.kube_events import EventRecorder, ObjectReference

pytestmark = pytest.mark.looptime


class Cluster:
    def __init__(self) -> None:
        self.events: dict[str, dict[str, Any]] = {}
        self.written_at: list[float] = []
        self.fails: Exception | None = None

    async def create(self, kind: Kind, body: Mapping[str, Any], namespace: str) -> None:
        self.written_at.append(asyncio.get_running_loop().time())
        if self.fails is not None:
            raise self.fails
        name = body["metadata"]["name"]
        if name in self.events:
            raise KubeAlreadyExists(name)
        self.events[name] = dict(body)

    async def get(self, kind: Kind, name: str, namespace: str) -> dict[str, Any]:
        return self.events[name]

    async def patch(self, kind: Kind, name: str, patch: Mapping[str, Any], namespace: str) -> None:
        self.events[name] |= patch


@asynccontextmanager
async def running(cluster: Cluster, **limits: Any) -> AsyncIterator[EventRecorder]:
    now = datetime(2026, 11, 21, 12, tzinfo=UTC)
    recorder = EventRecorder(cluster, instance="op-1", clock=lambda: now, **limits)  # type: ignore[arg-type]
    task = asyncio.create_task(recorder.run())
    yield recorder
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def delivery(number: int = 1) -> ObjectReference:
    return ObjectReference(WEBHOOK_DELIVERY, "n", f"evt-{number}", f"uid-{number}")


async def test_the_same_thing_about_the_same_object_is_one_event_that_counts() -> None:
    cluster = Cluster()
    async with running(cluster) as recorder:
        recorder.warn(delivery(), "ReplayFailed", "first")
        await asyncio.sleep(1)
        recorder.warn(delivery(), "ReplayFailed", "second")
        recorder.warn(delivery(), "ReplayFailed", "third")
        recorder.warn(delivery(2), "ReplayFailed", "another")
        recorder.tell(delivery(), "Replayed", "at last")
        await asyncio.sleep(1)
    fields = ("reason", "count", "message", "type")
    assert [(one["involvedObject"]["uid"], *(one[field] for field in fields)) for one in cluster.events.values()] == [
        ("uid-1", "ReplayFailed", 3, "third", "Warning"),
        ("uid-2", "ReplayFailed", 1, "another", "Warning"),
        ("uid-1", "Replayed", 1, "at last", "Normal"),
    ]


async def test_a_flood_is_told_at_a_bounded_rate_and_what_is_too_much_is_dropped() -> None:
    cluster = Cluster()
    async with running(cluster, burst=10, per_s=2.0) as recorder:
        for number in range(kube_events.MOST_WAITING + 100):
            recorder.warn(delivery(number), "DeliveryFailed", "gone")
        assert recorder.dropped == 100
        await asyncio.sleep(60)
    begin = cluster.written_at[0]
    for second in range(0, 60, 5):
        assert sum(at <= begin + second for at in cluster.written_at) <= 11 + 2 * second
    assert 110 <= len(cluster.written_at) <= 131


@pytest.mark.parametrize("fault", [KubeUnavailable("down"), KubeForbidden("events are not allowed", status=403)])
async def test_what_cannot_be_written_is_lost_and_stops_nothing(
    fault: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    cluster = Cluster()
    cluster.fails = fault
    async with running(cluster) as recorder:
        for number in range(5):
            recorder.warn(delivery(number), "DeliveryFailed", "gone")
        await asyncio.sleep(1)
        cluster.fails = None
        recorder.warn(delivery(9), "DeliveryFailed", "gone")
        await asyncio.sleep(1)
    assert [one["involvedObject"]["name"] for one in cluster.events.values()] == ["evt-9"]
    assert len([line for line in caplog.records if line.levelname == "WARNING"]) <= 1
