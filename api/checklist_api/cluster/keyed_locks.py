"""One after the other: changes of one object that arrive in one process wait for each other.

A write is conditional on the state that it was decided on, so of fifty that arrive at once all but one would have to
read and decide again, round after round, and the last would give up. In turns, each succeeds at its first try; only
other processes can still come in between, and for them the retry is there.
"""

import asyncio
from weakref import WeakValueDictionary


class Turns:
    """A lock for each object that is being changed; it goes with its last waiter."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def of(self, name: str) -> asyncio.Lock:
        """`async with turns.of(run_id): ...`"""
        lock = self._locks.get(name)
        if lock is None:
            lock = self._locks[name] = asyncio.Lock()
        return lock
