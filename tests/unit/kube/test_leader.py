"""The lease under clocks that jump, and over a line of its own: who is well keeps it, and a wait is bounded by it."""

import asyncio
import copy
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

import pytest
from aiohttp import web
from kubernetes.aio.leaderelection import leaderelection
from tests.unit.kube.memory_cluster import played_cluster
from tests.waiting import eventually

from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.errors import KubeAlreadyExists, KubeConflict, KubeNotFound, KubeUnavailable
from checklist_crds.resources.kinds import RUN
from checklist_crds.values import merge_patch
from checklist_operator import __main__ as operator_main
from checklist_operator.runtime import leader as leader_module
from checklist_operator.runtime.handover import HANDOVER_ANNOTATION, NO_HANDOVER, AttemptMade, Handover, read_note
from checklist_operator.runtime.leader import Leadership
from checklist_operator.settings import LeaseTimes, Settings

START = datetime(2026, 11, 21, 12, tzinfo=UTC)
pytestmark = pytest.mark.looptime
TIMES = LeaseTimes(duration=15, renew_deadline=10, retry_period=2)


class OneLease:
    """The cluster, as far as leases go."""

    def __init__(self) -> None:
        self.body: dict[str, Any] | None = None
        self.version = 0
        self.answers = True

    async def get(self, *_: Any) -> dict[str, Any]:
        self._answer()
        if self.body is None:
            raise KubeNotFound("none", status=404)
        return copy.deepcopy(self.body)

    async def create(self, _: Any, body: Mapping[str, Any], __: str) -> dict[str, Any]:
        self._answer()
        if self.body is not None:
            raise KubeAlreadyExists("there", status=409)
        return self._store(body)

    async def replace(self, _: Any, body: Mapping[str, Any]) -> dict[str, Any]:
        self._answer()
        if body["metadata"]["resourceVersion"] != str(self.version):
            raise KubeConflict("stale", status=409)
        return self._store(body)

    async def patch(
        self, _: Any, __: str, patch: Mapping[str, Any], ___: str, *, resource_version: str
    ) -> dict[str, Any]:
        assert self.body is not None and resource_version == str(self.version)
        return self._store(merge_patch.apply(self.body, patch))

    @property
    def holder(self) -> str | None:
        return self.body["spec"].get("holderIdentity") if self.body else None

    def _answer(self) -> None:
        if not self.answers:
            raise KubeUnavailable("down")

    def _store(self, body: Mapping[str, Any]) -> dict[str, Any]:
        self.version += 1
        self.body = copy.deepcopy(dict(body))
        self.body["metadata"]["resourceVersion"] = str(self.version)
        return copy.deepcopy(self.body)


class Scene:
    """The wall clock of the machine, which the election itself looks at, too; and candidates for one lease."""

    def __init__(self) -> None:
        self.lease = OneLease()
        self.offset = timedelta()
        self.slept = 0.0

    def __call__(self) -> datetime:
        return START + timedelta(seconds=asyncio.get_running_loop().time()) + self.offset

    def time(self) -> float:
        return self().timestamp()

    def candidate(self, name: str) -> Leadership:
        client: Any = self.lease
        loop = asyncio.get_running_loop()
        return Leadership(client, "checklists", name, TIMES, clock=self, steady=lambda: loop.time() + self.slept)


@pytest.fixture
def scene(monkeypatch: pytest.MonkeyPatch) -> Scene:
    made = Scene()
    monkeypatch.setattr(leaderelection, "time", made)
    return made


async def holds(leader: Leadership) -> asyncio.Task[None]:
    await leader.acquire()
    return asyncio.create_task(leader.hold())


async def waits(candidacy: Leadership) -> asyncio.Task[Handover]:
    task = asyncio.create_task(candidacy.acquire())
    await asyncio.sleep(5)
    assert not task.done()
    return task


async def seconds_until(task: asyncio.Task[Any]) -> float:
    began = asyncio.get_running_loop().time()
    await task
    return asyncio.get_running_loop().time() - began


@pytest.mark.parametrize("hours", [2, -2], ids=["ahead", "back"])
async def test_a_leader_that_is_well_keeps_the_lease_while_all_clocks_jump(scene: Scene, hours: int) -> None:
    holding = await holds(scene.candidate("leader"))
    waiting = await waits(scene.candidate("standby"))
    for _ in range(4):
        scene.offset += timedelta(hours=hours)
        await asyncio.sleep(20)
    assert (scene.lease.holder, holding.done(), waiting.done()) == ("leader", False, False)
    holding.cancel()
    waiting.cancel()


@pytest.mark.parametrize("hours", [2, 0, -2], ids=["ahead", "as it was", "back"])
async def test_the_lease_of_a_leader_that_is_gone_is_taken_when_it_has_run_out(scene: Scene, hours: int) -> None:
    await scene.candidate("leader").acquire()
    waiting = await waits(scene.candidate("standby"))
    scene.offset = timedelta(hours=hours)
    assert 15 <= 5 + await seconds_until(waiting) <= 15 + 2 * TIMES.retry_period
    assert scene.lease.holder == "standby"


@pytest.mark.parametrize("hours", [2, 0, -2], ids=["ahead", "as it was", "back"])
async def test_a_leader_without_its_cluster_ends_before_another_one_can_begin(scene: Scene, hours: int) -> None:
    holding = await holds(scene.candidate("leader"))
    await asyncio.sleep(2.5)
    scene.lease.answers = False
    scene.offset = timedelta(hours=hours)
    assert 7 <= await seconds_until(holding) <= 10.5


async def test_a_leader_that_slept_through_its_lease_ends_as_soon_as_it_wakes(scene: Scene) -> None:
    holding = await holds(scene.candidate("leader"))
    await asyncio.sleep(1)
    scene.lease.answers = False
    scene.slept = 60.0  # the machine was suspended: its steady clock went on
    assert await seconds_until(holding) <= 0.5


async def test_a_lease_that_was_uncertain_once_is_lost_although_it_is_renewed(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leader_module, "_POLL_S", 30.0)  # a busy event loop looks late
    leader = scene.candidate("leader")
    holding = await holds(leader)
    await asyncio.sleep(3)
    scene.slept = 10.0
    assert not leader.is_certain()  # an attempt that starts now is left to the next leader
    renewed = scene.lease.version
    await asyncio.sleep(2)
    assert scene.lease.version > renewed
    assert not leader.is_certain()
    assert await seconds_until(holding) <= 30.0


async def test_a_note_of_a_leader_goes_to_those_who_follow_while_it_holds(scene: Scene) -> None:
    lease, left = scene.lease, {"evt-1": AttemptMade(1, 10.0), "evt-2": AttemptMade(4, 2.5)}
    first = scene.candidate("first")
    assert await first.acquire() == NO_HANDOVER
    waiting = await waits(scene.candidate("standby"))
    await first.release()
    assert await seconds_until(waiting) <= TIMES.retry_period, "given back, it is taken at the next look"
    lease.body = None
    assert await first.acquire() == NO_HANDOVER
    assert lease.body is not None
    lease.body["metadata"]["annotations"] = {"of-others": "kept"}
    await first.release(left)
    second = scene.candidate("second")
    assert await second.acquire() == left
    holding = asyncio.create_task(second.hold())
    await asyncio.sleep(10.0 - TIMES.retry_period)
    assert set(lease.body["metadata"]["annotations"]) == {"of-others", HANDOVER_ANNOTATION}  # a third one needs it
    await asyncio.sleep(2 * TIMES.retry_period + 0.1)
    assert lease.body["metadata"]["annotations"] == {"of-others": "kept"}
    holding.cancel()
    await second.release()
    assert await scene.candidate("third").acquire() == NO_HANDOVER


async def test_a_note_to_a_leader_that_died_grows_old_and_a_release_without_a_note_takes_it_away(scene: Scene) -> None:
    first, second, third = (scene.candidate(name) for name in ("first", "second", "third"))
    await first.acquire()
    await first.release({"evt-1": AttemptMade(1, 10.0), "evt-2": AttemptMade(1, TIMES.duration + 3.0)})
    assert len(await second.acquire()) == 2
    assert await third.acquire() == {"evt-2": AttemptMade(1, pytest.approx(3.0))}
    await third.release()
    assert await scene.candidate("fourth").acquire() == NO_HANDOVER


async def test_the_lease_is_confirmed_only_while_the_cluster_says_that_it_is_ours(scene: Scene) -> None:
    lease, leader = scene.lease, scene.candidate("leader")
    with pytest.raises(KubeConflict):  # and not KubeNotFound, which would be said of the delivery
        await leader.confirm()
    await leader.acquire()
    holding = asyncio.create_task(leader.hold())
    await leader.confirm()
    await asyncio.sleep(20)
    await leader.confirm()
    assert lease.body is not None
    for change in ({"holderIdentity": "another"}, {"renewTime": "2026-11-21T12:00:00.000001Z"}):
        kept = dict(lease.body["spec"])
        lease.body["spec"] |= change  # by hand, or by a process of the same name
        with pytest.raises(KubeConflict):
            await leader.confirm()
        lease.body["spec"] = kept
    holding.cancel()


LEFT = {"evt-0b0f6f5e-8d5c-4d0c-9a55-2f4f0d1c9a11": AttemptMade(2, 10.0)}


class _ClusterThatOnlyKnowsLeases:
    """Leases are answered at once, everything else never."""

    def __init__(self) -> None:
        self.lease: dict[str, Any] | None = None
        self.renewals = self.hanging = 0
        self.application = web.Application()
        self.application.router.add_route("*", "/{path:.*}", self._serve)

    async def _serve(self, request: web.Request) -> web.Response:
        if "/leases" not in request.path:
            self.hanging += 1
            await asyncio.sleep(60)
            raise web.HTTPGatewayTimeout
        if request.method in {"POST", "PUT"}:
            self.renewals += 1
            self.lease = merge_patch.apply(await request.json(), {"metadata": {"resourceVersion": str(self.renewals)}})
        if request.method == "PATCH":
            self.lease = merge_patch.apply(self.lease, await request.json())
        if request.path.endswith("/leases") and request.method == "GET":
            return web.json_response({"items": [self.lease] if self.lease else [], "metadata": {}})
        missing = {"code": 404, "message": "none"}
        return web.json_response(self.lease or missing, status=200 if self.lease else 404)

    @property
    def holder(self) -> str | None:
        return None if self.lease is None else self.lease["spec"].get("holderIdentity")


class _BusyTerm:
    """A term whose work takes every connection that it can get. `on_end` is called before and after it steps down."""

    begun = 0
    is_ready = True
    on_end: ClassVar[Callable[[], None]] = staticmethod(lambda: None)

    def __init__(self, _: Settings, client: KubeClient, *args: Any, **kwargs: Any) -> None:
        type(self).begun += 1
        self._client = client
        self._calls: list[asyncio.Task[Any]] = []

    async def run(self) -> None:
        self._calls = [asyncio.create_task(self._client.get(RUN, f"r-{n}", "checklists")) for n in range(200)]
        await asyncio.Event().wait()

    async def stop(self, *, gracefully: bool, step_down: Callable[[Handover], Awaitable[None]]) -> None:
        for call in self._calls:
            call.cancel()
        await asyncio.gather(*self._calls, return_exceptions=True)
        self.on_end()
        await step_down(LEFT)
        self.on_end()


@pytest.mark.looptime
async def test_the_lease_is_renewed_and_released(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster = _ClusterThatOnlyKnowsLeases()
    monkeypatch.setattr(operator_main, "Term", _BusyTerm)
    holders: list[str | None] = []
    monkeypatch.setattr(_BusyTerm, "on_end", staticmethod(lambda: holders.append(cluster.holder)))
    key = "A" * 43 + "="
    keys = {"CHECKLISTS_SERVER_KEY": key, "CHECKLISTS_SEALING_KEYS": f"k1:{key}"}
    settings = Settings.from_environment({**keys, "CHECKLISTS_OPERATOR_ID": "test"})
    lease = LeaseTimes(duration=4, renew_deadline=3, retry_period=1)
    operator = operator_main.Operator(settings.model_copy(update={"health_port": 0, "lease": lease}))
    async with played_cluster(cluster.application, monkeypatch):
        serving = asyncio.create_task(operator.run())
        await eventually(lambda: cluster.hanging >= 64)
        # The work has taken all connections: the lease is renewed nevertheless, past the deadline of its holder.
        before = cluster.renewals
        await eventually(lambda: cluster.renewals >= before + 4)
        assert _BusyTerm.begun == 1
        operator.stop()
        await serving
    assert holders == ["test", None]
    assert cluster.lease is not None
    note = cluster.lease["metadata"]["annotations"][HANDOVER_ANNOTATION]
    assert read_note(note) == LEFT
