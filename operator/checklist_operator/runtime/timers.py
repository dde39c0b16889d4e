"""Delay queue for expiry, retries and retention: one heap for everything that waits for a time.

Due times are wall-clock times, because that is what users were promised and what the cluster stores. So the loop looks
at the wall clock at least once a second: a clock that was set, or a machine that slept, makes nothing late by more.

Memory matters here, since every live run with an expiry has an entry: an entry is one tuple and one dictionary slot.
"""

import asyncio
import contextlib
import heapq
from collections.abc import Callable
from datetime import datetime
from itertools import count
from typing import Any, Final, Generic, TypeVar

from checklist_crds.times import Clock

LOOK_EVERY_S: Final = 1.0
_SLACK: Final = 1000

K = TypeVar("K")


class Topic(Generic[K]):
    """The due times of one concern: at most one for each key."""

    def __init__(self, timers: "Timers", wake: Callable[[K], None]) -> None:
        self._timers = timers
        self._wake = wake
        self._due: dict[K, float] = {}

    def set(self, key: K, due: datetime) -> None:
        """`wake(key)` is called once, when the clock has reached `due`; this replaces an earlier time of the key."""
        moment = due.timestamp()
        before = self._due.get(key)
        if before != moment:
            self._due[key] = moment
            self._timers.push(moment, self, key)
            if before is not None:
                self._timers.abandon()

    def cancel(self, key: K) -> None:
        if self._due.pop(key, None) is not None:
            self._timers.abandon()

    def fire(self, key: K, moment: float) -> bool:
        """Whether (key, moment) was still wanted; then it is woken."""
        if self._due.get(key) != moment:
            return False
        del self._due[key]
        self._wake(key)
        return True

    def wants(self, key: K, moment: float) -> bool:
        return self._due.get(key) == moment

    def __len__(self) -> int:
        return len(self._due)


class Timers:
    """All topics on one heap, and the loop that fires them."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._heap: list[tuple[float, int, Topic[Any], object]] = []
        self._numbers = count()
        self._abandoned = 0
        self._earlier = asyncio.Event()

    def topic(self, wake: Callable[[K], None]) -> Topic[K]:
        """A new concern. `wake` must neither block nor raise."""
        return Topic(self, wake)

    def __len__(self) -> int:
        return len(self._heap) - self._abandoned

    def push(self, moment: float, topic: Topic[Any], key: object) -> None:
        if not self._heap or moment < self._heap[0][0]:
            self._earlier.set()
        heapq.heappush(self._heap, (moment, next(self._numbers), topic, key))

    def abandon(self) -> None:
        """An entry is no longer wanted. It stays in the heap until it comes up, or until such are the majority."""
        self._abandoned += 1
        if self._abandoned > len(self._heap) // 2 + _SLACK:
            self._heap = [entry for entry in self._heap if entry[2].wants(entry[3], entry[0])]
            heapq.heapify(self._heap)
            self._abandoned = 0

    def fire_due(self) -> int:
        """Wakes everything whose time has come by the clock; returns how many."""
        now = self._clock().timestamp()
        fired = 0
        while self._heap and self._heap[0][0] <= now:
            moment, _, topic, key = heapq.heappop(self._heap)
            if topic.fire(key, moment):
                fired += 1
            else:
                self._abandoned = max(0, self._abandoned - 1)
        return fired

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            self._earlier.clear()
            self.fire_due()
            wait = LOOK_EVERY_S
            if self._heap:
                wait = min(wait, max(0.0, self._heap[0][0] - self._clock().timestamp()) + 0.001)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    await self._earlier.wait()
