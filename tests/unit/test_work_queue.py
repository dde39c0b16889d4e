"""The work queue: once for each key, never twice at a time, and nothing lost by a failure."""

import asyncio
import logging
from itertools import pairwise

import pytest

from checklist_crds.kube.errors import KubeUnavailable
from checklist_operator.work_queue import Backoff, WorkQueue

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
        await asyncio.sleep(self._lasts_s)
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
            raise ZeroDivisionError("nobody thought of this")

    queue = WorkQueue("test", look, workers=1, on_bug=counted.append)
    with caplog.at_level(logging.ERROR):
        queue.add("a")
        await asyncio.sleep(10)
    assert "nobody thought of this" in caplog.text
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
