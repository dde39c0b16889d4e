"""Calls in an open loop (each starts when it is due, whatever the earlier ones do) and in a closed one."""

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import Any, Final

from checklist_dev.failures import Failure

CONCURRENCY: Final = 16
Call = Callable[[], Awaitable[Any]]


async def due_times(per_second: float, is_over: Callable[[], bool] = lambda: False) -> AsyncIterator[float]:
    """The loop's time of each call, when it has come, until `is_over`."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    for number in itertools.count():
        due = began + number / per_second
        await asyncio.sleep(max(0.0, due - loop.time()))
        if is_over():
            return
        yield due


async def at_steady_rate(calls: Iterable[Call], *, per_second: float) -> float:
    """Start them on time; the rate that came out."""
    started = time.perf_counter()
    tasks = []
    for number, call in enumerate(calls):
        await asyncio.sleep(max(0.0, started + number / per_second - time.perf_counter()))
        tasks.append(asyncio.ensure_future(call()))
    await asyncio.gather(*tasks)
    return len(tasks) / (time.perf_counter() - started)


async def rate_of(calls: Iterable[Call], *, concurrency: int = CONCURRENCY) -> float:
    """Calls per second, `concurrency` of them under way all the time."""
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
    """Seconds until `holds` gives something true. Raises Failure with `what` when it does not."""
    started = time.monotonic()
    while not await holds():
        if time.monotonic() - started > within_s:
            raise Failure(f"after {within_s:.0f} s: not {what}")
        await asyncio.sleep(every_s)
    return time.monotonic() - started
