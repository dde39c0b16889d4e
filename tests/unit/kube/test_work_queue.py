"""Queues, batches and timers of the operator: each key once, nothing twice at a time, nothing lost by a failure."""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import cast

import pytest

from checklist_crds.kube.errors import KubeUnavailable
from checklist_crds.platform.ttl_cache import TTLCache
from checklist_operator.runtime.call_coalescer import CallCoalescer
from checklist_operator.runtime.timers import Timers
from checklist_operator.runtime.work_queue import Backoff, WorkQueue

pytestmark = pytest.mark.looptime


class Looks:
    """A look that notes its key and its time, and how many looks ran at the same time."""

    def __init__(self, lasts_s: float = 0, again_after_s: float | None = None) -> None:
        self.keys: list[object] = []
        self.times: list[float] = []
        self.at_work = self.most = 0
        self._lasts_s = lasts_s
        self._again_after_s = again_after_s

    async def __call__(self, key: object) -> float | None:
        self.keys.append(key)
        self.times.append(round(asyncio.get_running_loop().time(), 1))
        self.at_work += 1
        self.most = max(self.most, self.at_work)
        try:
            await asyncio.sleep(self._lasts_s)
        finally:
            self.at_work -= 1
        return self._again_after_s if len(self.keys) < 3 else None


async def test_a_key_named_many_times_is_looked_at_once_and_a_forgotten_one_not_at_all() -> None:
    looks = Looks()
    queue = WorkQueue("test", looks, workers=1)
    for _ in range(5):
        queue.add("a")
        queue.add("b")
    queue.add_later("c", 10)
    queue.forget("c")
    await asyncio.sleep(20)
    assert looks.keys == ["a", "b"]
    assert queue.is_idle


async def test_a_key_named_during_its_look_is_looked_at_once_more_and_no_more_than_the_workers_together() -> None:
    looks = Looks(lasts_s=1)
    queue = WorkQueue("test", looks, workers=3)
    queue.add("a")
    await asyncio.sleep(0.5)
    queue.add("a")
    queue.add("a")
    await asyncio.sleep(5)
    assert (len(looks.keys), looks.most) == (2, 1)
    for key in range(10):
        queue.add(key)
    await asyncio.sleep(10)
    assert (len(looks.keys), looks.most) == (12, 3)


async def test_a_cluster_that_does_not_answer_is_asked_again_with_growing_pauses() -> None:
    times: list[float] = []

    async def look(_: str) -> None:
        times.append(asyncio.get_running_loop().time())
        if len(times) < 5:
            raise KubeUnavailable("not now")

    queue = WorkQueue("test", look, workers=1, backoff=Backoff(first=1, longest=4))
    queue.add("a")
    await asyncio.sleep(60)
    pauses = [later - earlier for earlier, later in pairwise(times)]
    assert len(pauses) == 4
    assert all(low / 2 <= pause <= low for pause, low in zip(pauses, (1, 2, 4, 4), strict=True))


async def test_a_bug_is_logged_with_its_traceback_counted_and_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    looks, counted = 0, []

    async def look(_: str) -> None:
        nonlocal looks
        looks += 1
        if looks == 1:
            raise ZeroDivisionError("an unexpected bug")

    queue = WorkQueue("test", look, workers=1, on_bug=counted.append)
    with caplog.at_level(logging.ERROR):
        queue.add("a")
        await asyncio.sleep(10)
    assert "an unexpected bug" in caplog.text
    assert (looks, counted) == (2, ["test"])


async def test_a_look_may_ask_for_the_next_one_and_news_do_not_wait_for_a_planned_one() -> None:
    looks = Looks(again_after_s=10)
    queue = WorkQueue("test", looks, workers=1)
    queue.add("a")
    await asyncio.sleep(100)
    assert looks.times == [0.0, 10.0, 20.0]
    queue.add_later("a", 60)
    queue.add_later("a", 30)
    await asyncio.sleep(5)
    queue.add("a")
    await asyncio.sleep(100)
    assert looks.times[3:] == [105.0]


async def test_closing_ends_what_is_under_way_and_takes_nothing_new() -> None:
    looks = Looks(lasts_s=1000)
    queue = WorkQueue("test", looks, workers=1)
    queue.add("a")
    queue.add("b")
    await asyncio.sleep(1)
    await queue.close()
    queue.add("c")
    await asyncio.sleep(1)
    assert (looks.keys, looks.at_work, len(queue)) == (["a"], 0, 0)


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


@pytest.fixture
def calls() -> Calls:
    return Calls()


async def test_values_that_come_together_or_during_a_call_are_one_call(calls: Calls) -> None:
    batches: CallCoalescer[str, int, int] = CallCoalescer(calls, at_once=2)
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
    batches: CallCoalescer[str, int, int] = CallCoalescer(calls)
    calls.error = ValueError("no")
    calls.answering.set()
    failed = await asyncio.gather(batches.add("a", 1), batches.add("a", 2), return_exceptions=True)
    assert [str(error) for error in failed] == ["no", "no"]
    calls.error = None
    assert await batches.add("a", 3) == 3


async def test_who_is_cancelled_leaves_the_call_to_the_others_and_closing_ends_every_wait(calls: Calls) -> None:
    batches: CallCoalescer[str, int, int] = CallCoalescer(calls)
    gone, stays = asyncio.create_task(batches.add("a", 1)), asyncio.create_task(batches.add("a", 2))
    await asyncio.sleep(0.01)
    gone.cancel()
    later = asyncio.create_task(batches.add("a", 3))
    await asyncio.sleep(0.01)
    calls.answering.set()
    assert await stays == await later == 3
    calls.answering.clear()
    waiting = [asyncio.create_task(batches.add("a", 1))]
    await asyncio.sleep(0.01)
    waiting.append(asyncio.create_task(batches.add("a", 2)))
    await asyncio.sleep(0.01)
    await batches.close()
    ends = await asyncio.gather(*waiting, return_exceptions=True)
    assert [type(end) for end in ends] == [asyncio.CancelledError] * 2
    assert calls.made == [("a", [1, 2]), ("a", [3]), ("a", [1])]


async def test_what_has_to_wait_for_other_keys_takes_along_what_comes_meanwhile(calls: Calls) -> None:
    batches: CallCoalescer[str, int, int] = CallCoalescer(calls, at_once=1)
    tasks = [asyncio.create_task(batches.add("a", 1))]
    await asyncio.sleep(0.01)
    for value in (2, 3, 4):
        tasks.append(asyncio.create_task(batches.add("b", value)))
        await asyncio.sleep(0.01)
    assert calls.made == [("a", [1])]
    calls.answering.set()
    assert await asyncio.gather(*tasks) == [1, 9, 9, 9]
    assert calls.made == [("a", [1]), ("b", [2, 3, 4])]


START = datetime(2026, 11, 21, 12, tzinfo=UTC)


class HandClock:
    """A wall clock that runs with the loop's time, and that a test may set."""

    offset = timedelta()

    def __call__(self) -> datetime:
        return START + timedelta(seconds=asyncio.get_running_loop().time()) + self.offset


@pytest.fixture
async def timers() -> AsyncIterator[Timers]:
    made = Timers(HandClock())
    running = asyncio.create_task(made.run())
    yield made
    running.cancel()


async def test_each_key_is_woken_once_at_its_latest_time(timers: Timers) -> None:
    woken: list[tuple[str, float]] = []
    topic = timers.topic(lambda key: woken.append((key, round(asyncio.get_running_loop().time(), 1))))
    topic.set("late", START + timedelta(minutes=10))
    topic.set("soon", START + timedelta(seconds=30))
    for seconds in (10, 20):
        topic.set("again", START + timedelta(seconds=seconds))
    topic.set("gone", START + timedelta(seconds=10))
    topic.cancel("gone")
    assert len(timers) == 3
    other: list[str] = []
    timers.topic(other.append).set("gone", START + timedelta(seconds=10))
    await asyncio.sleep(700)
    assert woken == [("again", 20.0), ("soon", 30.0), ("late", 600.0)]
    assert other == ["gone"], "topics do not meet"


async def test_clock_jumps_are_noticed(
    timers: Timers,
) -> None:
    woken: list[str] = []
    topic = timers.topic(woken.append)
    topic.set("ahead", START + timedelta(hours=1))
    await asyncio.sleep(5)
    cast(HandClock, timers._clock).offset = timedelta(hours=2)
    await asyncio.sleep(1.1)
    assert woken == ["ahead"]
    topic.set("back", START + timedelta(hours=2, seconds=60))
    cast(HandClock, timers._clock).offset = timedelta(hours=2, seconds=-1000)
    await asyncio.sleep(1000)
    assert woken == ["ahead"]
    await asyncio.sleep(60)
    assert woken == ["ahead", "back"]


async def test_times_that_are_set_again_and_again_do_not_fill_the_memory(timers: Timers) -> None:
    topic = timers.topic(lambda _: None)
    for second in range(20_000):
        topic.set("run", START + timedelta(seconds=second))
    assert len(timers) == 1
    assert len(timers._heap) < 4_000


async def test_of_too_many_values_the_oldest_goes_and_one_that_was_taken_or_is_too_old_is_gone() -> None:
    latest: TTLCache[str, int] = TTLCache(2, ttl_s=2.0)
    for number, key in enumerate("abac", 1):
        latest.put(key, number)
    assert ([latest.get(key) for key in "abc"], len(latest)) == ([3, None, 4], 2)
    assert (latest.pop("a"), latest.pop("a"), len(latest)) == (3, None, 1)
    await asyncio.sleep(1.9)
    assert latest.get("c") == 4
    await asyncio.sleep(0.2)
    assert (latest.get("c"), latest.pop("c"), len(latest)) == (None, None, 0)
