"""The operator outlives troubles of its cluster, and takes new keys without a restart."""

import asyncio
import base64
import os
import time
import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from tests.cluster.operator_lab import SEALING_KEYS, WEBHOOK_SECRET, Lab, OperatorProcess, Receiver, StartOperator
from tests.cluster.severed_line import SeveredLine
from tests.mounted_secret import MountedSecret
from tests.waiting import eventually

from checklist_crds.kube.client import KubeClient, KubeConnection
from checklist_crds.kube.errors import KubeError
from checklist_crds.resources.kinds import RUN
from checklist_crds.resources.run import RunPhase
from checklist_crds.secrets.sealing import KeyRing
from checklist_dev.local.controlplane import ControlPlane
from checklist_dev.local.crd_install import install_crds


@pytest.fixture(scope="module")
def own_control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """One that these tests may break, since no other test uses it."""
    with ControlPlane(tmp_path_factory.mktemp("fragile"), ephemeral=True) as cluster:
        install_crds(cluster.run_kubectl)
        yield cluster


@pytest_asyncio.fixture
async def fragile_lab(own_control_plane: ControlPlane) -> AsyncIterator[Lab]:
    namespace = f"test-{uuid.uuid4().hex[:12]}"
    await asyncio.to_thread(own_control_plane.run_kubectl, "create", "namespace", namespace)
    async with KubeClient(await KubeConnection.load(str(own_control_plane.kubeconfig))) as client:
        made = Lab(client, namespace)
        await made.prepare()
        yield made


async def test_a_cluster_that_fails_loses_nothing(
    fragile_lab: Lab, receiver: Receiver, own_control_plane: ControlPlane, tmp_path: Path
) -> None:
    """First the API server is paused until the lease is lost, then it dies, then its storage is slow."""
    lab, cluster = fragile_lab, own_control_plane
    operator = OperatorProcess(tmp_path, cluster.kubeconfig, lab.namespace)
    await operator.start()
    pid = operator.child.pid

    async def stands_by() -> bool:
        status, text = await operator.get("/readyz")
        return "standby" in text and status == 200

    async def is_answering() -> bool:
        try:
            await lab.client.list_all(RUN, lab.namespace)
        except KubeError:
            return False
        return True

    missed = await lab.dispatch(receiver.url, expires_in_s=5)
    await asyncio.to_thread(cluster.pause_apiserver)
    began = time.monotonic()
    await eventually(stands_by)
    assert 7 < time.monotonic() - began < 15  # before another one could have the lease
    await asyncio.to_thread(cluster.resume_apiserver)
    assert (await lab.until_settled(missed)).status.phase is RunPhase.EXPIRED

    expiring = await lab.dispatch(receiver.url, expires_in_s=2)
    runs = [await lab.dispatch(receiver.url) for _ in range(5)]
    await asyncio.to_thread(cluster.stop_apiserver, kill=True)
    await asyncio.sleep(3)
    await asyncio.to_thread(cluster.start_apiserver)
    await eventually(is_answering)
    # The new server remembers no history, so the watches meet 410 Gone; this run has gone unseen by them.
    await lab.client.delete(RUN, runs.pop(), lab.namespace)
    for run in runs:
        await lab.cancel(run)
    for run in [*runs, expiring]:
        await lab.until_settled(run)

    late = await lab.dispatch(receiver.url, expires_in_s=1)
    cluster.etcd.pause()
    await asyncio.sleep(4)
    cluster.etcd.resume()
    await lab.until_settled(late)
    assert sorted(one.envelope["run_id"] for one in receiver.received) == sorted([*runs, missed, expiring, late])
    assert operator.child.pid == pid and operator.child.running
    await operator.stop()


async def test_an_operator_waits_for_its_cluster_and_watches_that_break_lose_no_event(
    lab: Lab, receiver: Receiver, line: SeveredLine, start_operator: StartOperator
) -> None:
    line.down = True
    operator = await start_operator(
        word="standby", kubeconfig=line.kubeconfig, may_log_errors=True, CHECKLISTS_RESYNC_SECONDS="5"
    )
    expired = await lab.dispatch(receiver.url, expires_in_s=0.1)
    await asyncio.sleep(1)
    line.down = False
    await operator.until_ready("leading")
    await lab.until_settled(expired)
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
        assert set(receiver.attempts(run)) == {1}


async def test_a_leader_steps_down_for_a_successor_of_its_own_name(
    operator: OperatorProcess, control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    successor = OperatorProcess(tmp_path / "successor", control_plane.kubeconfig, namespace)
    await successor.start()
    await eventually(lambda: '"taken_over": true' in operator.output)
    await successor.stop()


NEW = base64.b64encode(os.urandom(32)).decode()


async def test_keys_that_change_are_used_from_then_on(
    lab: Lab, receiver: Receiver, start_operator: StartOperator, tmp_path: Path
) -> None:
    files = MountedSecret(tmp_path / "mounted", **{"sealing-keys": SEALING_KEYS})
    operator = await start_operator(
        may_log_errors=True,  # a file that cannot be used is one
        CHECKLISTS_SEALING_KEYS="",
        CHECKLISTS_SEALING_KEYS_FILE=str(files.path("sealing-keys")),
    )
    pid = operator.child.pid

    async def until_logged(event: str, count: int) -> None:
        await eventually(lambda: operator.output.count(event) >= count)

    await lab.cancelled(receiver.url)
    lab.key_ring = KeyRing.parse(f"k2:{NEW}")
    second = await lab.dispatch(receiver.url)
    await lab.cancel(second)
    held = await lab.until_condition(RUN, second, "Delivering", reason="SecretUnreadable")
    assert "k2" in held["message"]
    files.change(**{"sealing-keys": f"k2:{NEW},{SEALING_KEYS}"})
    (record,) = (await lab.until_settled(second)).status.delivery_records
    assert record.attempts == 1, "waiting for a key is no attempt"
    await until_logged("settings.file_taken", 1)

    # The old one goes: what it sealed opens no more, and the file that says nonsense changes nothing.
    files.change(**{"sealing-keys": "no keys at all"})
    await until_logged("settings.file_refused", 1)
    assert await operator.metric("checklists_setting_stale") == 1
    await lab.cancelled(receiver.url)
    files.change(**{"sealing-keys": f"k2:{NEW}"})
    await until_logged("settings.file_taken", 2)
    assert await operator.metric("checklists_setting_stale") == 0
    assert (operator.child.running, operator.child.pid) == (True, pid), "nothing of this takes a restart"
    for secret in (NEW, SEALING_KEYS, WEBHOOK_SECRET):
        assert secret not in operator.output
