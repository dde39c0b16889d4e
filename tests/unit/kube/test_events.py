"""Events for people: which the controllers ask for, each change once, and never more than the cluster can bear."""

import asyncio
import copy
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any, cast

import pytest
from tests.unit.kube.memory_cluster import CREATED, MemoryCluster
from tests.waiting import eventually

from checklist_crds.kube.errors import KubeAlreadyExists, KubeForbidden, KubeUnavailable
from checklist_crds.kube.limit_ledger import LimitLedger
from checklist_crds.limits.organization_limits import Limits
from checklist_crds.resources.kinds import (
    API_KEY,
    MEMBER,
    NAMESPACE,
    ORGANIZATION,
    RUN,
    TEMPLATE,
    WEBHOOK_DELIVERY,
    Kind,
)
from checklist_crds.resources.pause import PAUSED_ANNOTATION
from checklist_operator.attempts.pauses import Paused, Pauses
from checklist_operator.controllers.members import Members
from checklist_operator.controllers.organizations import Organizations
from checklist_operator.controllers.run_expiry import RunExpiry
from checklist_operator.controllers.run_pauses import RunPauses
from checklist_operator.controllers.templates import Templates
from checklist_operator.controllers.tenancy import Tenancy
from checklist_operator.runtime import kube_events
from checklist_operator.runtime.kube_events import EventRecorder, ObjectReference
from checklist_operator.runtime.metrics import Metrics
from checklist_operator.runtime.timers import Timers

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
        recorder.record(delivery(), "Replayed", "at last")
        await asyncio.sleep(1)
    fields = ("reason", "count", "message", "type")
    assert [(one["involvedObject"]["uid"], *(one[field] for field in fields)) for one in cluster.events.values()] == [
        ("uid-1", "ReplayFailed", 3, "third", "Warning"),
        ("uid-2", "ReplayFailed", 1, "another", "Warning"),
        ("uid-1", "Replayed", 1, "at last", "Normal"),
    ]


async def test_a_flood_of_events_is_written_at_a_bounded_rate_and_the_rest_dropped() -> None:
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
async def test_failed_events_stop_nothing(fault: Exception, caplog: pytest.LogCaptureFixture) -> None:
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


HOME = "checklists"


def clock() -> datetime:
    return datetime(2026, 11, 22, 12, tzinfo=UTC)


class Recorder(list[tuple[str, str]]):
    """In place of the recorder of Events: ("<type> <reason>", message) of what it was given."""

    def record(self, this: ObjectReference, reason: str, message: str) -> None:
        self.append((f"Normal {reason}", message))

    def warn(self, this: ObjectReference, reason: str, message: str) -> None:
        self.append((f"Warning {reason}", message))

    @property
    def reasons(self) -> list[str]:
        """Since the last look."""
        found = [reason for reason, _ in self]
        self.clear()
        return found


@pytest.fixture
def cluster() -> MemoryCluster:
    made = MemoryCluster()
    made.put(NAMESPACE, HOME, {})
    made.put(ORGANIZATION, "globex", {"displayName": "Globex"})
    return made


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


def never(_: str) -> None:
    raise AssertionError("a bug was met")


@pytest.fixture
async def acme(cluster: Any, recorder: Any) -> AsyncIterator[Organizations]:
    tenancy = Tenancy(cluster, HOME, [HOME, "served"])
    made = Organizations(
        *(cluster, None, tenancy, Timers(clock)), kube_events=recorder, clock=clock, installation_namespace=HOME,
        pending_after_s=30, is_admitting=lambda _: False, on_change=lambda _: None,
        on_read=lambda _: None, on_bug=never,
    )  # fmt: skip
    yield made
    await made.queue.close()


async def test_exceeded_quotas_emit_one_event(acme: Organizations, cluster: MemoryCluster, recorder: Recorder) -> None:
    def see(used: int, period: str, limit: int | None = 5, event: str | None = "MODIFIED") -> list[str]:
        body = cluster.put(ORGANIZATION, "acme", {"displayName": "Acme", "plan": {"runsPerMonth": limit}})
        body["status"] = {**body["status"], "quota": {"period": period, "used": used, "pending": {}}}
        acme.observe(event, body)
        return [reason for reason, _ in recorder]

    assert see(5, "2026-10", event=None) == [], "used up before the operator started"
    assert see(5, "2026-10") == see(4, "2026-11") == []
    for _ in range(3):
        assert see(5, "2026-11") == ["Warning QuotaExceeded"]
    assert "All 5 runs of 2026-11 are used up" in recorder[0][1]
    assert len(see(5, "2026-11", limit=8)) == len(see(5, "2026-11", limit=None)) == 1
    assert len(see(8, "2026-11", limit=8)) == 2
    assert len(see(1, "2026-12")) == 2
    assert see(5, "2026-12") == ["Warning QuotaExceeded"] * 3


async def test_missing_namespaces_emit_events(acme: Organizations, cluster: MemoryCluster, recorder: Recorder) -> None:
    async def see(namespace: str | None, **annotations: str) -> list[str]:
        spec = {"displayName": "A", "namespace": namespace}
        acme.observe("MODIFIED", cluster.put(ORGANIZATION, "acme", spec, **annotations))
        await eventually(lambda: acme.queue.is_idle)
        return recorder.reasons

    assert await see(HOME) == []
    assert await see("elsewhere") == ["Warning NamespaceNotFound"]
    assert await see("elsewhere") == []
    for namespace in ("elsewhere", "served"):
        cluster.put(NAMESPACE, namespace, {})
    assert await see("served") == ["Normal Ready"]
    assert await see("elsewhere") == ["Warning NamespaceNotWatched"]
    assert await see(HOME) == ["Normal Ready"]
    assert await see(HOME, **{PAUSED_ANNOTATION: "true"}) == ["Normal Paused"]
    assert await see(HOME) == ["Normal Resumed"]


@pytest.mark.parametrize("kind", [ORGANIZATION, RUN], ids=lambda kind: kind.kind)
async def test_pause_events_are_immediate(cluster: MemoryCluster, recorder: Recorder, kind: Kind) -> None:
    resumed: list[None] = []
    client, pauses = cast(Any, cluster), Pauses(cast(Any, cluster), on_resume=lambda: resumed.append(None))
    events, see = cast(Any, recorder), pauses.observe_organization if kind is ORGANIZATION else pauses.observe_run
    shared = {"kube_events": events, "clock": clock, "on_read": lambda body: see(None, body), "on_bug": never}
    made = {
        ORGANIZATION: lambda: Organizations(
            *(client, cast(Any, None), Tenancy(client, HOME), Timers(clock)), **shared,
            installation_namespace=HOME, pending_after_s=30, is_admitting=lambda _: False, on_change=lambda _: None,
        ),
        RUN: lambda: RunPauses(client, **shared),
    }[kind]()  # fmt: skip
    spec = {"displayName": "A", "namespace": HOME} if kind is ORGANIZATION else {"organizationRef": {"name": "acme"}}
    pause = {PAUSED_ANNOTATION: "true"}
    for annotations in (pause, {}):
        shown = copy.deepcopy(cluster.put(kind, "acme", spec, **annotations))
        see("MODIFIED", shown)
        made.observe("MODIFIED", shown)
    pauses.check_known((HOME, "acme"), "acme")
    cluster.put(kind, "acme", spec, **pause)
    await eventually(lambda: made.queue.is_idle)
    assert recorder.reasons == ["Normal Paused"]
    see("MODIFIED", shown)  # the watch is late
    with pytest.raises(Paused):
        pauses.check_known((HOME, "acme"), "acme")
    see("MODIFIED", cluster.put(kind, "acme", spec))
    pauses.check_known((HOME, "acme"), "acme")
    assert len(resumed) == 2
    await made.queue.close()


async def test_a_run_that_cannot_be_read_is_no_bug(
    cluster: Any, recorder: Any, caplog: pytest.LogCaptureFixture
) -> None:
    timers = Timers(clock)
    task = asyncio.create_task(timers.run())
    shared = {"kube_events": recorder, "clock": clock, "on_bug": never}
    pauses = RunPauses(cluster, on_read=lambda _: None, **shared)
    expiry = RunExpiry(cluster, timers, Metrics(), on_unadmitted=never, **shared)
    spec = {"organizationRef": {"name": "acme"}, "createdAt": "no time", "expiresAt": CREATED}
    body = cluster.put(RUN, "r-1", spec, **{PAUSED_ANNOTATION: "true"})
    for controller in (pauses, expiry):
        controller.observe("MODIFIED", body)
        await asyncio.sleep(60)
        await controller.queue.close()
    task.cancel()
    assert [line.message for line in caplog.records] == ["run.unreadable"] * 2
    assert recorder == []


@pytest.mark.parametrize("kind", [MEMBER, API_KEY], ids=lambda kind: kind.kind)
async def test_unowned_and_revoked_objects_emit_one_event(cluster: Any, recorder: Any, kind: Kind) -> None:
    members = Members(cluster, Tenancy(cluster, HOME), kube_events=recorder, clock=clock, on_bug=never)

    async def see(organization: str, **spec: Any) -> list[str]:
        body = cluster.put(kind, "ada", {"organizationRef": {"name": organization}, **spec})
        members.observe(kind, "MODIFIED", body)
        await eventually(lambda: members.queue.is_idle)
        return recorder.reasons

    assert await see("globex") == []
    assert await see("unknown") == ["Warning OrganizationNotFound"]
    assert await see("unknown", name="the same") == []
    assert await see("globex") == ["Normal Ready"]
    assert await see("globex") == []
    if kind is API_KEY:
        assert await see("globex", revoked=True) == ["Warning Revoked"]
        assert await see("globex", revoked=True, name="another") == []


async def test_template_validity_emits_events(cluster: Any, recorder: Any) -> None:
    limits = LimitLedger(cluster, clock, limits=Limits(), installation_namespace="checklists")
    templates = Templates(
        *(cluster, Tenancy(cluster, HOME)),
        limits=limits,
        kube_events=recorder,
        clock=clock,
        on_change=lambda *_: None,
        on_bug=never,
    )
    step = {"id": "s-1", "type": "boolean", "label": "Done?"}
    valid = [{"id": "g-1", "title": "One", "steps": [step]}]
    invalid = [*valid, {"id": "g-2", "title": "Two", "steps": [step]}]

    async def see(sections: list[Any], **annotations: str) -> list[str]:
        spec = {"organizationRef": {"name": "globex"}, "name": "Round", "sections": sections}
        templates.observe("MODIFIED", cluster.put(TEMPLATE, "round", spec, **annotations))
        await eventually(lambda: templates.queue.is_idle)
        return recorder.reasons

    assert await see(valid) == []
    assert await see(invalid) == ["Warning Invalid"]
    assert await see(invalid) == []
    assert await see(valid) == ["Normal Valid"]
    assert await see(valid, **{PAUSED_ANNOTATION: "true"}) == ["Normal Paused"]
    assert await see(valid) == ["Normal Resumed"]
    await templates.queue.close()
