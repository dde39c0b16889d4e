"""The first attempts of one run start one after another, in the order of its events; none waits long for another."""

import asyncio
from itertools import pairwise

import pytest

from checklist_operator.controllers.outbox_lane import HEAD_START_S, Turn


class Attempts:
    """First attempts of one run, in the order of events."""

    def __init__(self, takes_s: list[float], *, waits_for_permit_s: list[float] | None = None) -> None:
        self.started: list[tuple[int, float]] = []
        self._takes_s = takes_s
        self._permit_s = waits_for_permit_s or [0.0] * len(takes_s)
        self._turns: list[Turn] = []
        for _ in takes_s:
            self._turns.append(Turn(self._turns[-1] if self._turns else None))

    async def play(self) -> None:
        """All begin at once, the last one first."""
        numbers = reversed(range(len(self._turns)))
        await asyncio.gather(*(asyncio.create_task(self._attempt(number)) for number in numbers))

    async def _attempt(self, number: int) -> None:
        turn, loop = self._turns[number], asyncio.get_running_loop()
        try:
            await turn.come()
            await asyncio.sleep(self._permit_s[number])
            turn.started.set()
            self.started.append((number, loop.time()))
            await asyncio.sleep(self._takes_s[number])
            turn.ended.set()
        finally:
            turn.end()

    @property
    def order(self) -> list[int]:
        return [number for number, _ in self.started]


@pytest.mark.looptime
async def test_attempts_start_in_the_order_of_events_whoever_is_ready_first() -> None:
    attempts = Attempts([0.01] * 20, waits_for_permit_s=[0.2 if number % 3 == 0 else 0.0 for number in range(20)])
    await attempts.play()
    assert attempts.order == list(range(20))


@pytest.mark.looptime
@pytest.mark.parametrize(("takes_s", "pause_s"), [(0.02, 0.02), (10.0, HEAD_START_S)])
async def test_an_event_waits_for_the_answer_to_the_one_before_and_no_longer_than_the_head_start(
    takes_s: float, pause_s: float
) -> None:
    attempts = Attempts([takes_s] * 5)
    await attempts.play()
    assert attempts.order == list(range(5))
    pauses_s = [after - before for (_, before), (_, after) in pairwise(attempts.started)]
    assert pauses_s == pytest.approx([pause_s] * 4, abs=0.002)


@pytest.mark.looptime
async def test_an_attempt_that_is_given_up_lets_the_next_one_go_on() -> None:
    first = Turn(None)
    second = Turn(first)
    waiting = asyncio.create_task(second.come())
    await asyncio.sleep(60)
    assert not waiting.done()
    first.end()
    await asyncio.wait_for(waiting, 1)
