"""The operator outlives its cluster's troubles, and there is only ever one that works."""

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from tests.cluster.operator_lab import Delivered, Lab, OperatorProcess, Receiver
from tests.cluster.severed_line import SeveredLine
from tests.waiting import eventually

from checklist_crds.kube.client import KubeClient, KubeConnection
from checklist_crds.kube.errors import KubeError
from checklist_crds.kube.kinds import RUN
from checklist_crds.run_types import RunPhase
from checklist_dev.controlplane import ControlPlane
from checklist_dev.crd_install import install_crds
from checklist_operator.leader import LEASE, LEASE_NAME


@pytest.fixture(scope="module")
def own_control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """One that these tests may break, since nobody else uses it."""
    with ControlPlane(tmp_path_factory.mktemp("fragile"), ephemeral=True) as cluster:
        install_crds(cluster.run_kubectl)
        yield cluster


@pytest_asyncio.fixture
async def lab(own_control_plane: ControlPlane) -> AsyncIterator[Lab]:
    namespace = f"test-{uuid.uuid4().hex[:12]}"
    await asyncio.to_thread(own_control_plane.run_kubectl, "create", "namespace", namespace)
    async with KubeClient(await KubeConnection.load(str(own_control_plane.kubeconfig))) as client:
        made = Lab(client, namespace)
        await made.prepare()
        yield made


@pytest_asyncio.fixture
async def operator(own_control_plane: ControlPlane, lab: Lab, tmp_path: Path) -> AsyncIterator[OperatorProcess]:
    made = OperatorProcess(tmp_path, own_control_plane.kubeconfig, lab.namespace)
    await made.start()
    yield made
    await made.stop()


async def until_answering(lab: Lab) -> None:
    async def answers() -> bool:
        try:
            await lab.client.list_all(RUN, lab.namespace)
        except KubeError:
            return False
        return True

    await eventually(answers)


async def test_an_api_server_that_dies_and_comes_back_loses_nothing(
    lab: Lab, receiver: Receiver, operator: OperatorProcess, own_control_plane: ControlPlane
) -> None:
    expiring = await lab.dispatch(receiver.url, expires_in_s=2)
    runs = [await lab.dispatch(receiver.url) for _ in range(5)]
    pid = operator.child.pid
    await asyncio.to_thread(own_control_plane.stop_apiserver, kill=True)
    await asyncio.sleep(3)
    await asyncio.to_thread(own_control_plane.start_apiserver)
    await until_answering(lab)
    # The new server remembers no history, so the watches meet 410 Gone; this run has gone unseen by them.
    await lab.client.delete(RUN, runs.pop(), lab.namespace)
    for run in runs:
        await lab.cancel(run)
    for run in [*runs, expiring]:
        await lab.until_settled(run)
    assert operator.child.pid == pid and operator.child.running
    assert sorted(one.envelope["run_id"] for one in receiver.received) == sorted([*runs, expiring])


async def test_an_outage_that_costs_the_lease_is_made_up_for(
    lab: Lab, receiver: Receiver, operator: OperatorProcess, own_control_plane: ControlPlane
) -> None:
    run = await lab.dispatch(receiver.url, expires_in_s=5)
    await asyncio.to_thread(own_control_plane.pause_apiserver)

    async def stands_by() -> bool:
        status, text = await operator.get("/readyz")
        return "standby" in text and status == 200

    began = time.monotonic()
    await eventually(stands_by)
    assert 7 < time.monotonic() - began < 15  # before anybody else could have the lease
    await asyncio.to_thread(own_control_plane.resume_apiserver)
    settled = await lab.until_settled(run)
    assert settled.status.phase is RunPhase.EXPIRED
    assert [event["event"] for event in receiver.events(run)] == ["run.expired"]


async def test_watches_that_break_again_and_again_lose_no_event(
    lab: Lab, receiver: Receiver, own_control_plane: ControlPlane, tmp_path: Path
) -> None:
    line = SeveredLine(int(own_control_plane.server.rsplit(":", 1)[1]))
    await line.start()
    kubeconfig = line.kubeconfig(own_control_plane.kubeconfig, tmp_path)
    operator = OperatorProcess(tmp_path, kubeconfig, lab.namespace, CHECKLISTS_RESYNC_SECONDS="5")
    await operator.start()
    runs = [await lab.dispatch(receiver.url) for _ in range(30)]
    for number, run in enumerate(runs):
        await lab.answer(run)
        if number % 3 == 0:
            line.cut()
        await lab.submit(run)
    for run in runs:
        await lab.until_settled(run)
    for run in runs:
        assert {event["seq"] for event in receiver.events(run)} == {1, 2}
        assert {event["delivery_attempt"] for event in receiver.events(run)} == {1}
    await operator.stop()
    await line.stop()


async def test_an_operator_that_starts_before_its_cluster_waits_for_it(
    lab: Lab, receiver: Receiver, own_control_plane: ControlPlane, tmp_path: Path
) -> None:
    line = SeveredLine(int(own_control_plane.server.rsplit(":", 1)[1]))
    line.down = True
    await line.start()
    kubeconfig = line.kubeconfig(own_control_plane.kubeconfig, tmp_path)
    operator = OperatorProcess(tmp_path, kubeconfig, lab.namespace)
    await operator.start(word="standby")
    run = await lab.dispatch(receiver.url, expires_in_s=0.1)
    await asyncio.sleep(1)
    line.down = False
    await operator.until_ready("leading")
    await lab.until_settled(run)
    await operator.stop()
    await line.stop()


async def test_a_slow_storage_delays_and_loses_nothing(
    lab: Lab, receiver: Receiver, operator: OperatorProcess, own_control_plane: ControlPlane
) -> None:
    run = await lab.dispatch(receiver.url, expires_in_s=1)
    own_control_plane.etcd.pause()
    await asyncio.sleep(4)
    own_control_plane.etcd.resume()
    await lab.until_settled(run)
    assert [event["event"] for event in receiver.events(run)] == ["run.expired"]


# -- leadership ---------------------------------------------------------------------------------------------------


async def test_a_standby_takes_over_at_once_when_the_leader_ends_cleanly(
    lab: Lab, receiver: Receiver, operator: OperatorProcess, own_control_plane: ControlPlane, tmp_path: Path
) -> None:
    standby = OperatorProcess(tmp_path, own_control_plane.kubeconfig, lab.namespace, name="standby")
    await standby.start(word="standby")
    first = await lab.dispatch(receiver.url)
    await lab.cancel(first)
    await lab.until_settled(first)
    assert await standby.metric("checklists_leader") == 0
    await operator.stop()
    await standby.until_ready("leading")
    second = await lab.dispatch(receiver.url)
    await lab.cancel(second)
    await lab.until_settled(second)
    assert sorted(one.envelope["run_id"] for one in receiver.received) == sorted([first, second])
    await standby.stop()


async def test_a_standby_takes_over_from_a_leader_that_was_killed(
    lab: Lab, receiver: Receiver, operator: OperatorProcess, own_control_plane: ControlPlane, tmp_path: Path
) -> None:
    standby = OperatorProcess(tmp_path, own_control_plane.kubeconfig, lab.namespace, name="standby")
    await standby.start(word="standby")
    hanging: list[Delivered] = []

    async def hang(one: Delivered) -> int:
        hanging.append(one)
        await asyncio.sleep(60)
        return 200

    receiver.answer = hang
    run = await lab.dispatch(receiver.url)
    await lab.cancel(run)
    await eventually(lambda: hanging)
    await operator.kill()
    receiver.answer = lambda _: 200
    await standby.until_ready("leading")
    await lab.until_settled(run)
    assert [event["delivery_attempt"] for event in receiver.events(run)] == [1, 1]
    await standby.stop()


async def test_a_leader_steps_down_for_a_successor_of_its_own_name(
    lab: Lab, operator: OperatorProcess, own_control_plane: ControlPlane, tmp_path: Path
) -> None:
    successor = OperatorProcess(tmp_path / "successor", own_control_plane.kubeconfig, lab.namespace)
    await successor.start(within_s=10)
    await eventually(lambda: '"taken_over": true' in operator.output)
    await successor.stop()


async def test_the_lease_tells_who_leads_and_is_given_back(
    lab: Lab, operator: OperatorProcess, own_control_plane: ControlPlane
) -> None:
    lease = await lab.client.get(LEASE, LEASE_NAME, lab.namespace)
    assert (lease["spec"]["holderIdentity"], lease["spec"]["leaseDurationSeconds"]) == ("operator", 15)
    await operator.stop()
    lease = await lab.client.get(LEASE, LEASE_NAME, lab.namespace)
    assert "holderIdentity" not in lease["spec"]
