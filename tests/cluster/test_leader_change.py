"""Two operators at once: a leader sleeps through the loss of its lease, another one takes over, and it wakes."""

import asyncio
import os
import signal
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio
from tests.cluster.operator_lab import Delivered, Lab, OperatorProcess, Receiver
from tests.waiting import eventually

from checklist_crds.run_types import DeliveryPhase
from checklist_dev.controlplane import ControlPlane


@pytest_asyncio.fixture
async def pair(
    control_plane: ControlPlane, lab: Lab, tmp_path: Path
) -> AsyncIterator[tuple[OperatorProcess, OperatorProcess]]:
    """One that leads, and one that stands by."""
    first = OperatorProcess(tmp_path, control_plane.kubeconfig, lab.namespace, name="first")
    second = OperatorProcess(tmp_path, control_plane.kubeconfig, lab.namespace, name="second")
    await first.start()
    await second.start(word="standby")
    try:
        yield first, second
    finally:
        os.kill(first.child.pid, signal.SIGCONT)
        await first.stop()
        await second.stop()


async def test_a_leader_that_wakes_after_it_was_replaced_does_no_harm(
    lab: Lab, receiver: Receiver, pair: tuple[OperatorProcess, OperatorProcess]
) -> None:
    first, second = pair
    asleep = asyncio.Event()
    held: list[Delivered] = []

    async def answer(one: Delivered) -> int:
        """Holds the first transmission of everything until the leader sleeps; /retried then fails once."""
        number = one.envelope["delivery_attempt"]
        if not asleep.is_set() and (one.path != "/retried" or number == 2):
            held.append(one)
            await asleep.wait()
            return 200
        return 500 if one.path == "/retried" and number == 1 else 200

    known = await lab.dispatch(receiver.url)  # a host that was never heard of would get few of these at a time
    await lab.cancel(known)
    await lab.until_settled(known)
    receiver.answer = answer
    base = receiver.url.removesuffix("/hook")
    delivering = [await lab.dispatch(f"{base}/held") for _ in range(4)]
    retrying = [await lab.dispatch(f"{base}/retried") for _ in range(4)]
    waiting = [await lab.dispatch(f"{base}/quiet") for _ in range(4)]
    for run in [*delivering, *retrying]:
        await lab.cancel(run)
    # Everything is in the air: first attempts, and retries under a claim.
    await eventually(lambda: len(held) == 8)
    os.kill(first.child.pid, signal.SIGSTOP)
    asleep.set()
    for run in waiting:
        await lab.cancel(run)
    await second.until_ready("leading")
    runs = [*delivering, *retrying, *waiting]
    for run in runs:
        await lab.until_settled(run)
    os.kill(first.child.pid, signal.SIGCONT)
    await first.until_ready("standby")
    await asyncio.sleep(1)  # five gaps: what it would send on top would have come by now

    for run in runs:
        events = receiver.events(run)
        numbers = Counter(event["delivery_attempt"] for event in events)
        assert len({event["event_id"] for event in events}) == 1
        assert sorted(numbers) == ([1, 2] if run in retrying else [1])
        assert numbers.total() - len(numbers) <= 1, f"{run} came as {numbers}"
        now = await lab.run(run)
        assert now.status.settled and [one.phase for one in now.status.deliveries] == [DeliveryPhase.DELIVERED]
        for delivery in await lab.deliveries(run):
            status = delivery["status"]
            assert (status["phase"], status["settled"], "claim" in status) == ("Delivered", True, False)
    assert {one.envelope["delivery_attempt"] for one in receiver.received if one.path == "/quiet"} == {1}
    assert await second.metric("checklists_leader") == 1
    assert await first.metric("checklists_leader") == 0
    _, told = await first.get("/metrics")
    assert "checklists_leader 0.0" in told
    assert 'of="' not in told, "what its term left behind waits no more, and ages no more"
