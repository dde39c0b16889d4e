"""Delay queue for expiry, retries and retention: one heap of due times.

Due times are wall-clock times, as promised to users and stored in the cluster. So the loop reads the wall clock at
least once a second: a changed clock, or a machine that slept, delays nothing by more.

Every live run with an expiry has an entry, so entries are small: one tuple and one dictionary slot.
"""

import asyncio
import contextlib
import heapq
from collections.abc import Callable
from datetime import datetime
from itertools import count
from typing import Any, Final, Generic, TypeVar

from checklist_crds.times import Clock

POLL_S: Final = 1.0
_SLACK: Final = 1000

K = TypeVar("K")


class Topic(Generic[K]):
    """Due times of one kind of work: at most one per key."""

    def __init__(self, timers: "Timers", wake: Callable[[K], None]) -> None:
        self._timers = timers
        self._wake = wake
        self._due: dict[K, float] = {}

    def set(self, key: K, due: datetime) -> None:
        """Calls `wake(key)` once the clock reaches `due`; replaces an earlier due time of the key."""
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
        """Wakes the key if (key, moment) is still current; returns whether it was."""
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
    """All topics on one heap, and the loop that wakes their keys."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._heap: list[tuple[float, int, Topic[Any], object]] = []
        self._numbers = count()
        self._abandoned = 0
        self._earlier = asyncio.Event()

    def topic(self, wake: Callable[[K], None]) -> Topic[K]:
        """Adds a topic. `wake` must neither block nor raise."""
        return Topic(self, wake)

    def __len__(self) -> int:
        return len(self._heap) - self._abandoned

    def push(self, moment: float, topic: Topic[Any], key: object) -> None:
        if not self._heap or moment < self._heap[0][0]:
            self._earlier.set()
        heapq.heappush(self._heap, (moment, next(self._numbers), topic, key))

    def abandon(self) -> None:
        """Counts a stale entry. It stays in the heap until it is due, or until stale entries are the majority."""
        self._abandoned += 1
        if self._abandoned > len(self._heap) // 2 + _SLACK:
            self._heap = [entry for entry in self._heap if entry[2].wants(entry[3], entry[0])]
            heapq.heapify(self._heap)
            self._abandoned = 0

    def fire_due(self) -> int:
        """Wakes all due keys; returns their number."""
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
        """Runs until cancelled."""
        while True:
            self._earlier.clear()
            self.fire_due()
            wait = POLL_S
            if self._heap:
                wait = min(wait, max(0.0, self._heap[0][0] - self._clock().timestamp()) + 0.001)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    await self._earlier.wait()
