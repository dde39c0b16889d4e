"""Coalesces calls: values that arrive during a call share the next one."""

import asyncio
import contextvars
from collections.abc import Awaitable, Callable, Hashable, Sequence
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
R = TypeVar("R")


class CallCoalescer(Generic[K, V, R]):
    """Makes one call at a time for each key. A caller never gets the result of a call that began before its own."""

    def __init__(self, call: Callable[[K, Sequence[V]], Awaitable[R]], *, at_once: int = 1) -> None:
        """`call(key, values)` returns or raises for all callers with these values. `at_once`: concurrent calls of
        different keys; a call that waits for a slot also takes the values that arrive meanwhile.
        """
        self._call = call
        self._room = asyncio.Semaphore(at_once)
        self._running: dict[K, asyncio.Task[R]] = {}
        self._next: dict[K, tuple[list[V], asyncio.Task[R]]] = {}

    async def add(self, key: K, value: V) -> R:
        """Raises what the call raises. Cancelling one caller does not cancel the call for the others."""
        if key not in self._next:
            # An empty context: the call's log lines must not carry the log context of its first caller.
            alone = contextvars.Context()
            task = asyncio.create_task(self._begin(key, self._running.get(key)), name=f"batch {key}", context=alone)
            task.add_done_callback(_retrieve)
            self._next[key] = [], task
        values, task = self._next[key]
        values.append(value)
        return await asyncio.shield(task)

    async def close(self) -> None:
        """Cancels all calls and their callers."""
        tasks = [*self._running.values(), *(task for _, task in self._next.values())]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _begin(self, key: K, before: asyncio.Task[R] | None) -> R:
        if before is not None:
            await asyncio.wait([before])
        async with self._room:
            values, task = self._next.pop(key)
            self._running[key] = task
            try:
                return await self._call(key, values)
            finally:
                if self._running.get(key) is task:
                    del self._running[key]


def _retrieve(task: asyncio.Task[R]) -> None:
    """Marks the error as retrieved; every caller may have been cancelled."""
    if not task.cancelled():
        task.exception()
