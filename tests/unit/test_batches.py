import asyncio
from collections.abc import Sequence

import pytest

from checklist_operator.batches import Batches


class Calls:
    def __init__(self) -> None:
        self.made: list[tuple[str, list[int]]] = []
        self.answering = asyncio.Event()
        self.error: Exception | None = None

    async def __call__(self, key: str, values: Sequence[int]) -> int:
        self.made.append((key, list(values)))
        await self.answering.wait()
        if self.error is not None:
            raise self.error
        return sum(values)


pytestmark = pytest.mark.looptime


@pytest.fixture
def calls() -> Calls:
    return Calls()


async def test_values_that_come_together_or_during_a_call_are_one_call(calls: Calls) -> None:
    batches: Batches[str, int, int] = Batches(calls, at_once=2)
    first = [asyncio.create_task(batches.add("a", value)) for value in (1, 2)]
    await asyncio.sleep(0.01)
    later = [asyncio.create_task(batches.add("a", value)) for value in (3, 4, 5)]
    other = asyncio.create_task(batches.add("b", 6))
    await asyncio.sleep(0.01)
    assert calls.made == [("a", [1, 2]), ("b", [6])]
    calls.answering.set()
    assert await asyncio.gather(*first, *later, other) == [3, 3, 12, 12, 12, 6]
    assert calls.made[2:] == [("a", [3, 4, 5])]


async def test_an_error_is_that_of_all_who_share_the_call_and_of_no_later_one(calls: Calls) -> None:
    batches: Batches[str, int, int] = Batches(calls)
    calls.error = ValueError("no")
    calls.answering.set()
    failed = await asyncio.gather(batches.add("a", 1), batches.add("a", 2), return_exceptions=True)
    assert [str(error) for error in failed] == ["no", "no"]
    calls.error = None
    assert await batches.add("a", 3) == 3


async def test_one_who_is_cancelled_leaves_the_call_to_the_others(calls: Calls) -> None:
    batches: Batches[str, int, int] = Batches(calls)
    gone, stays = asyncio.create_task(batches.add("a", 1)), asyncio.create_task(batches.add("a", 2))
    await asyncio.sleep(0.01)
    gone.cancel()
    await asyncio.sleep(0.01)
    calls.answering.set()
    assert await stays == 3


async def test_closing_ends_every_wait(calls: Calls) -> None:
    batches: Batches[str, int, int] = Batches(calls)
    waiting = [asyncio.create_task(batches.add("a", 1))]
    await asyncio.sleep(0.01)
    waiting.append(asyncio.create_task(batches.add("a", 2)))
    await asyncio.sleep(0.01)
    await batches.close()
    ends = await asyncio.gather(*waiting, return_exceptions=True)
    assert [type(end) for end in ends] == [asyncio.CancelledError] * 2
    assert calls.made == [("a", [1])]


async def test_what_has_to_wait_for_other_keys_takes_along_what_comes_meanwhile(calls: Calls) -> None:
    batches: Batches[str, int, int] = Batches(calls, at_once=1)
    tasks = [asyncio.create_task(batches.add("a", 1))]
    await asyncio.sleep(0.01)
    for value in (2, 3, 4):
        tasks.append(asyncio.create_task(batches.add("b", value)))
        await asyncio.sleep(0.01)
    assert calls.made == [("a", [1])]
    calls.answering.set()
    assert await asyncio.gather(*tasks) == [1, 9, 9, 9]
    assert calls.made == [("a", [1]), ("b", [2, 3, 4])]
