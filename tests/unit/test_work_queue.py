"""The work queue: once for each key, never twice at a time, and nothing lost by a failure."""

import asyncio
import logging
from itertools import pairwise

import pytest

from checklist_crds.kube.errors import KubeUnavailable
from checklist_operator.work_queue import Backoff, WorkQueue

pytestmark = pytest.mark.looptime


async def test_a_key_named_many_times_is_looked_at_once() -> None:
    looks: list[str] = []

    async def look(key: str) -> None:
        looks.append(key)

    queue = WorkQueue("test", look, workers=1)
    for _ in range(5):
        queue.add("a")
        queue.add("b")
    await asyncio.sleep(1)
    assert looks == ["a", "b"]
    assert queue.is_idle


async def test_a_key_named_during_its_look_is_looked_at_once_more_and_never_at_the_same_time() -> None:
    at_work, most, looks = 0, 0, 0

    async def look(_: str) -> None:
        nonlocal at_work, most, looks
        at_work += 1
        most = max(most, at_work)
        await asyncio.sleep(1)
        at_work -= 1
        looks += 1

    queue = WorkQueue("test", look, workers=4)
    queue.add("a")
    await asyncio.sleep(0.5)
    queue.add("a")
    queue.add("a")
    await asyncio.sleep(5)
    assert (looks, most) == (2, 1)


async def test_no_more_keys_than_workers_are_looked_at_together() -> None:
    at_work, most, done = 0, 0, 0

    async def look(_: int) -> None:
        nonlocal at_work, most, done
        at_work += 1
        most = max(most, at_work)
        await asyncio.sleep(1)
        at_work -= 1
        done += 1

    queue = WorkQueue("test", look, workers=3)
    for key in range(10):
        queue.add(key)
    await asyncio.sleep(10)
    assert (done, most) == (10, 3)


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
            raise ZeroDivisionError("nobody thought of this")

    queue = WorkQueue("test", look, workers=1, on_bug=counted.append)
    with caplog.at_level(logging.ERROR):
        queue.add("a")
        await asyncio.sleep(10)
    assert "nobody thought of this" in caplog.text
    assert (looks, counted) == (2, ["test"])


async def test_a_look_may_ask_for_the_next_one() -> None:
    times: list[float] = []

    async def look(_: str) -> float | None:
        times.append(round(asyncio.get_running_loop().time(), 1))
        return 10 if len(times) < 3 else None

    queue = WorkQueue("test", look, workers=1)
    queue.add("a")
    await asyncio.sleep(100)
    assert times == [0.0, 10.0, 20.0]


async def test_news_do_not_wait_for_a_planned_look() -> None:
    times: list[float] = []

    async def look(_: str) -> None:
        times.append(round(asyncio.get_running_loop().time(), 1))

    queue = WorkQueue("test", look, workers=1)
    queue.add_later("a", 60)
    queue.add_later("a", 30)
    await asyncio.sleep(5)
    queue.add("a")
    await asyncio.sleep(100)
    assert times == [5.0]


async def test_what_is_forgotten_is_not_looked_at() -> None:
    looks: list[str] = []

    async def look(key: str) -> None:
        looks.append(key)

    queue = WorkQueue("test", look, workers=1)
    queue.add_later("a", 10)
    queue.forget("a")
    await asyncio.sleep(20)
    assert looks == []


async def test_closing_ends_what_is_under_way_and_takes_nothing_new() -> None:
    ended: list[str] = []

    async def look(key: str) -> None:
        try:
            await asyncio.sleep(1000)
        finally:
            ended.append(key)

    queue = WorkQueue("test", look, workers=1)
    queue.add("a")
    queue.add("b")
    await asyncio.sleep(1)
    await queue.close()
    queue.add("c")
    await asyncio.sleep(1)
    assert ended == ["a"]
    assert len(queue) == 0
