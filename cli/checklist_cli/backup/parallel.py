"""Runs a bounded number of tasks at a time and stops after the first failure."""

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable
from typing import TypeVar

T = TypeVar("T")


async def for_each(
    items: AsyncIterable[T] | Iterable[T], work: Callable[[T], Awaitable[None]], *, parallel: int
) -> None:
    """Raises the first failure, after the running tasks have ended."""
    under_way: set[asyncio.Task[None]] = set()

    try:
        async for item in items if isinstance(items, AsyncIterable) else _each(items):
            if len(under_way) >= parallel:
                ended, under_way = await asyncio.wait(under_way, return_when=asyncio.FIRST_COMPLETED)
                for task in ended:
                    task.result()
            under_way.add(asyncio.ensure_future(work(item)))
        while under_way:
            ended, under_way = await asyncio.wait(under_way, return_when=asyncio.FIRST_COMPLETED)
            for task in ended:
                task.result()
    finally:
        for task in under_way:
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)


async def _each(items: Iterable[T]) -> AsyncIterator[T]:
    for item in items:
        yield item


async def gathered(work: Iterable[Awaitable[T]]) -> list[T]:
    """All results in order; after a failure, the other tasks are cancelled before it is raised."""
    tasks = [asyncio.ensure_future(one) for one in work]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
