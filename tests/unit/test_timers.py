"""The heap of due times, under a clock that the test holds and a loop whose time costs nothing."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import cast

import pytest

from checklist_operator.timers import Timers

pytestmark = pytest.mark.looptime

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


def clock_of(timers: Timers) -> HandClock:
    return cast(HandClock, timers._clock)


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
    await asyncio.sleep(700)
    assert woken == [("again", 20.0), ("soon", 30.0), ("late", 600.0)]


async def test_a_clock_that_jumps_ahead_is_noticed_within_a_second_and_one_that_jumps_back_makes_nothing_early(
    timers: Timers,
) -> None:
    woken: list[str] = []
    topic = timers.topic(woken.append)
    topic.set("ahead", START + timedelta(hours=1))
    await asyncio.sleep(5)
    clock_of(timers).offset = timedelta(hours=2)
    await asyncio.sleep(1.1)
    assert woken == ["ahead"]
    topic.set("back", START + timedelta(hours=2, seconds=60))
    clock_of(timers).offset = timedelta(hours=2, seconds=-1000)
    await asyncio.sleep(1000)
    assert woken == ["ahead"]
    await asyncio.sleep(60)
    assert woken == ["ahead", "back"]


async def test_topics_do_not_meet(timers: Timers) -> None:
    expired: list[str] = []
    retried: list[str] = []
    timers.topic(expired.append).set("same", START - timedelta(seconds=1))
    timers.topic(retried.append).set("same", START + timedelta(seconds=1))
    assert timers.fire_due() == 1
    assert (expired, retried) == (["same"], [])


async def test_times_that_are_set_again_and_again_do_not_fill_the_memory(timers: Timers) -> None:
    topic = timers.topic(lambda _: None)
    for second in range(20_000):
        topic.set("run", START + timedelta(seconds=second))
    assert len(timers) == 1
    assert len(timers._heap) < 4_000
