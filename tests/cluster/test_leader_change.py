"""Two operators at once: a leader sleeps through the loss of its lease, another one takes over, and it wakes."""

import asyncio
import os
import signal
from collections import Counter

from tests.cluster.operator_lab import Delivered, Lab, Receiver, StartOperator
from tests.waiting import eventually

from checklist_crds.run_types import DeliveryPhase


async def test_a_leader_that_wakes_after_it_was_replaced_does_no_harm(
    lab: Lab, receiver: Receiver, start_operator: StartOperator
) -> None:
    first, second = await start_operator("first"), await start_operator("second", word="standby")
    asleep = asyncio.Event()
    held: list[Delivered] = []

    async def answer(one: Delivered) -> int:
        """Holds the first transmission of everything until the leader sleeps; /retried then fails once."""
        if not asleep.is_set() and (one.path != "/retried" or one.attempt == 2):
            held.append(one)
            await asleep.wait()
            return 200
        return 500 if one.path == "/retried" and one.attempt == 1 else 200

    await lab.cancelled(receiver.url)  # a host that was never heard of would get few of these at a time
    receiver.answer = answer
    base = receiver.url.removesuffix("/hook")
    delivering = [await lab.dispatch(f"{base}/held") for _ in range(4)]
    retrying = [await lab.dispatch(f"{base}/retried") for _ in range(4)]
    waiting = [await lab.dispatch(f"{base}/quiet") for _ in range(4)]
    for run in [*delivering, *retrying]:
        await lab.cancel(run)
    # Everything is in the air: first attempts, and retries under a claim.
    await eventually(lambda: len(held) == 8)
    runs = [*delivering, *retrying, *waiting]
    os.kill(first.child.pid, signal.SIGSTOP)
    try:
        asleep.set()
        for run in waiting:
            await lab.cancel(run)
        await second.until_ready("leading")
        for run in runs:
            await lab.until_settled(run)
    finally:
        os.kill(first.child.pid, signal.SIGCONT)
    await first.until_ready("standby")
    await asyncio.sleep(1)  # five gaps: what it would send on top would have come by now

    for run in runs:
        events = receiver.events(run)
        numbers = Counter(receiver.attempts(run))
        assert len({event["event_id"] for event in events}) == 1
        assert sorted(numbers) == ([1, 2] if run in retrying else [1])
        assert numbers.total() - len(numbers) <= 1, f"{run} came as {numbers}"
        now = await lab.run(run)
        assert now.status.settled and [one.phase for one in now.status.deliveries] == [DeliveryPhase.DELIVERED]
        for delivery in await lab.deliveries(run):
            status = delivery["status"]
            assert (status["phase"], status["settled"], "claim" in status) == ("Delivered", True, False)
    assert {one.attempt for one in receiver.received if one.path == "/quiet"} == {1}
    assert await second.metric("checklists_leader") == 1
    assert await first.metric("checklists_leader") == 0
    assert 'of="' not in (await first.get("/metrics"))[1], "what its term left behind waits no more, and ages no more"
