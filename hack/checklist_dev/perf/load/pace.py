"""Calls in an open loop (each starts on time, regardless of earlier ones) and in a closed one."""

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import Any, Final

from checklist_dev.failures import Failure

CONCURRENCY: Final = 16
Call = Callable[[], Awaitable[Any]]


async def due_times(per_second: float, is_over: Callable[[], bool] = lambda: False) -> AsyncIterator[float]:
    """Yield the loop's time of each call when it is due, until `is_over`."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    for number in itertools.count():
        due = began + number / per_second
        await asyncio.sleep(max(0.0, due - loop.time()))
        if is_over():
            return
        yield due


async def at_steady_rate(calls: Iterable[Call], *, per_second: float) -> float:
    """Start the calls on time; returns the achieved rate."""
    started = time.perf_counter()
    tasks = []
    for number, call in enumerate(calls):
        await asyncio.sleep(max(0.0, started + number / per_second - time.perf_counter()))
        tasks.append(asyncio.ensure_future(call()))
    await asyncio.gather(*tasks)
    return len(tasks) / (time.perf_counter() - started)


async def rate_of(calls: Iterable[Call], *, concurrency: int = CONCURRENCY) -> float:
    """Calls per second with `concurrency` concurrent ones."""
    waiting = iter(calls)
    done = 0

    async def work() -> None:
        nonlocal done
        for call in waiting:
            await call()
            done += 1

    started = time.perf_counter()
    await asyncio.gather(*(work() for _ in range(concurrency)))
    return done / (time.perf_counter() - started)


async def until(
    holds: Callable[[], Awaitable[Any]], what: str, *, within_s: float = 60.0, every_s: float = 0.1
) -> float:
    """Wait until `holds` returns something true; returns the seconds. Raises Failure with `what`."""
    started = time.monotonic()
    while not await holds():
        if time.monotonic() - started > within_s:
            raise Failure(f"after {within_s:.0f} s: not {what}")
        await asyncio.sleep(every_s)
    return time.monotonic() - started
