"""Hosts that do not answer leave the attempts at others as fast as before."""

import asyncio
from dataclasses import dataclass

import pytest
from tests.unit.delivery.test_fairness import answered

from checklist_operator.transport.fairness import Permits
from checklist_operator.transport.outcome import OutcomeClass


@dataclass(frozen=True)
class Scene:
    """Dead hosts are sent an event every `every_s` seconds each, which takes `lasts_s` seconds to end in `outcome`."""

    dead: int = 100
    every_s: float = 1.0
    lasts_s: float = 10.0
    outcome: OutcomeClass = OutcomeClass.TIMEOUT
    dead_have_answered: bool = True
    living_have_answered: bool = True
    for_s: int = 13
    living_each_tick: int = 5


@pytest.mark.looptime
@pytest.mark.parametrize(
    "scene",
    [
        pytest.param(Scene(20, 0.8, 10.0, OutcomeClass.TIMEOUT, False, False, 60, 2), id="until the dead are slow"),
        pytest.param(Scene(dead_have_answered=False), id="hundreds that never answered"),
        pytest.param(Scene(), id="hundreds that die all at once"),
        pytest.param(Scene(lasts_s=9.0, outcome=OutcomeClass.SUCCESS), id="hundreds that take nine seconds"),
    ],
)
async def test_dead_hosts_leave_the_living_as_fast_as_before(scene: Scene) -> None:
    """Of the attempts at 40 hosts that answer in 50 ms, 99 % wait less than 50 ms (in virtual time)."""
    permits = Permits()
    loop = asyncio.get_running_loop()
    waits: list[float] = []
    answered(permits, *(f"{n}.example" for n in range(40) if scene.living_have_answered))
    answered(permits, *(f"{n}.dead.example" for n in range(scene.dead) if scene.dead_have_answered))

    async def attempt(host: str, takes_s: float, outcome: OutcomeClass) -> None:
        asked = loop.time()
        async with permits.held(permits.apply(host=host, organization=host, first=True)):
            if takes_s < 1:
                waits.append(loop.time() - asked)
            await asyncio.sleep(takes_s)
            permits.record(host, outcome, takes_s)

    tasks = set()
    for tick in range(scene.for_s * 10):
        for number in range(scene.dead):
            if (tick + number) % round(scene.every_s * 10) == 0:
                tasks.add(asyncio.create_task(attempt(f"{number}.dead.example", scene.lasts_s, scene.outcome)))
        for number in range(scene.living_each_tick):
            tasks.add(asyncio.create_task(attempt(f"{(tick + number) % 40}.example", 0.05, OutcomeClass.SUCCESS)))
        await asyncio.sleep(0.1)
    assert (permits.slow_hosts > 0) is (scene.for_s == 60)
    await asyncio.gather(*(task for task in tasks if task.cancel()), return_exceptions=True)
    assert len(waits) == scene.for_s * 10 * scene.living_each_tick
    assert sorted(waits)[int(len(waits) * 0.99)] < 0.05
