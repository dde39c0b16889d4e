"""Locks by key, which serialize changes of one object within the process.

Writes are compare-and-swap, so of fifty concurrent ones all but one would conflict and retry, round after round. With a
lock each succeeds at once; only other processes can still cause conflicts.
"""

import asyncio
from weakref import WeakValueDictionary


class KeyedLocks:
    """A lock per key, which is released with its last user."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def of(self, name: str) -> asyncio.Lock:
        """`async with locks.of(run_id): ...`"""
        lock = self._locks.get(name)
        if lock is None:
            lock = self._locks[name] = asyncio.Lock()
        return lock
