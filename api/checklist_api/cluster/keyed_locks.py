"""Locks by key: changes of one object that arrive in one process are made one after the other.

A write is conditional on the state that it was decided on, so of fifty concurrent ones all but one would conflict and
retry, round after round, and the last would give up. Under a lock each succeeds at its first try; only other processes
can still conflict, and the retry is for them.
"""

import asyncio
from weakref import WeakValueDictionary


class KeyedLocks:
    """A lock for each object that is being changed; it goes with its last waiter."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def of(self, name: str) -> asyncio.Lock:
        """`async with locks.of(run_id): ...`"""
        lock = self._locks.get(name)
        if lock is None:
            lock = self._locks[name] = asyncio.Lock()
        return lock
