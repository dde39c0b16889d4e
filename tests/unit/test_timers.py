"""The heap of due times, under a clock that the test holds and a loop whose time costs nothing."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from checklist_operator.timers import Timers

START = datetime(2026, 11, 21, 12, tzinfo=UTC)


class HandClock:
    """A wall clock that runs with the loop's time, and that somebody may set."""

    def __init__(self) -> None:
        self.offset = timedelta()

    def __call__(self) -> datetime:
        return START + timedelta(seconds=asyncio.get_running_loop().time()) + self.offset


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.mark.looptime
async def test_each_key_is_woken_once_at_its_time(clock: HandClock) -> None:
    woken: list[tuple[str, float]] = []
    timers = Timers(clock)
    topic = timers.topic(lambda key: woken.append((key, round(asyncio.get_running_loop().time(), 1))))
    running = asyncio.create_task(timers.run())
    topic.set("late", START + timedelta(minutes=10))
    topic.set("soon", START + timedelta(seconds=30))
    await asyncio.sleep(700)
    assert woken == [("soon", 30.0), ("late", 600.0)]
    running.cancel()


@pytest.mark.looptime
async def test_a_new_time_of_a_key_replaces_the_old_one(clock: HandClock) -> None:
    woken: list[str] = []
    timers = Timers(clock)
    topic = timers.topic(woken.append)
    running = asyncio.create_task(timers.run())
    topic.set("run", START + timedelta(seconds=10))
    topic.set("run", START + timedelta(seconds=20))
    topic.set("gone", START + timedelta(seconds=10))
    topic.cancel("gone")
    assert len(timers) == 1
    await asyncio.sleep(15)
    assert woken == []
    await asyncio.sleep(10)
    assert woken == ["run"]
    running.cancel()


@pytest.mark.looptime
async def test_a_clock_that_jumps_ahead_is_noticed_within_a_second(clock: HandClock) -> None:
    woken: list[str] = []
    timers = Timers(clock)
    timers.topic(woken.append).set("run", START + timedelta(hours=1))
    running = asyncio.create_task(timers.run())
    await asyncio.sleep(5)
    clock.offset = timedelta(hours=2)
    await asyncio.sleep(1.1)
    assert woken == ["run"]
    running.cancel()


@pytest.mark.looptime
async def test_a_clock_that_jumps_back_makes_nothing_early(clock: HandClock) -> None:
    woken: list[str] = []
    timers = Timers(clock)
    timers.topic(woken.append).set("run", START + timedelta(seconds=60))
    running = asyncio.create_task(timers.run())
    await asyncio.sleep(30)
    clock.offset = timedelta(seconds=-1000)
    await asyncio.sleep(100)
    assert woken == []
    await asyncio.sleep(940)
    assert woken == ["run"]
    running.cancel()


@pytest.mark.looptime
async def test_topics_do_not_meet(clock: HandClock) -> None:
    expired: list[str] = []
    retried: list[str] = []
    timers = Timers(clock)
    timers.topic(expired.append).set("same", START - timedelta(seconds=1))
    timers.topic(retried.append).set("same", START + timedelta(seconds=1))
    assert timers.fire_due() == 1
    assert (expired, retried) == (["same"], [])


@pytest.mark.looptime
async def test_times_that_are_set_again_and_again_do_not_fill_the_memory(clock: HandClock) -> None:
    timers = Timers(clock)
    topic = timers.topic(lambda _: None)
    for second in range(20_000):
        topic.set("run", START + timedelta(seconds=second))
    assert len(timers) == 1
    assert len(timers._heap) < 4_000
