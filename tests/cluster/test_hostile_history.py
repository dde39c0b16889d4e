"""What the cluster tells of receivers that mean harm: the class of every attempt, by the operator as it runs."""

import asyncio
from contextlib import AsyncExitStack

from tests.cluster.operator_lab import Lab, OperatorProcess
from tests.delivery.hostile import PLAIN
from tests.delivery.test_hostile_receivers import listening

from checklist_crds.run_types import DeliveryPhase

AT_ONCE = [name for name, hostile in PLAIN.items() if not hostile.takes_s]


async def test_the_class_of_every_attempt_is_told(lab: Lab, operator: OperatorProcess) -> None:
    runs: dict[str, str] = {}
    async with AsyncExitStack() as stack:
        for name in AT_ONCE:
            receiver = await stack.enter_async_context(listening(PLAIN[name].behave))
            runs[name] = await lab.dispatch(f"http://127.0.0.1:{receiver.port}/hook")
        await asyncio.gather(*(lab.cancel(run) for run in runs.values()))
        for run in runs.values():
            await lab.until_settled(run, within_s=90)
    for name, run in runs.items():
        verdict = PLAIN[name].verdict
        (record,) = (await lab.run(run)).status.deliveries
        deliveries = await lab.deliveries(run)
        assert record.outcome == verdict, f"{name}: {record}"
        if verdict == "success":
            assert (record.phase, record.attempts, deliveries) == (DeliveryPhase.DELIVERED, 1, []), name
            continue
        (delivery,) = deliveries
        attempts = delivery["status"]["attempts"]
        assert (record.phase, record.attempts) == (DeliveryPhase.FAILED, 5), name
        assert [(one["number"], one["outcome"]) for one in attempts] == [(n, verdict) for n in range(1, 6)], name
        if verdict.startswith("http_"):
            assert {f"http_{str(one['httpStatus'])[0]}xx" for one in attempts} == {verdict}, name
