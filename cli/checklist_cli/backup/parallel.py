"""Many small pieces of work at a time, but only so many, and none after one has failed."""

import asyncio
from collections.abc import AsyncIterable, Awaitable, Callable, Iterable
from typing import TypeVar

T = TypeVar("T")


async def for_each(items: AsyncIterable[T], work: Callable[[T], Awaitable[None]], *, parallel: int) -> None:
    """Raises what the first piece that fails raises, when those under way have ended."""
    under_way: set[asyncio.Task[None]] = set()

    async def one(item: T) -> None:
        await work(item)

    try:
        async for item in items:
            if len(under_way) >= parallel:
                ended, under_way = await asyncio.wait(under_way, return_when=asyncio.FIRST_COMPLETED)
                for task in ended:
                    task.result()
            under_way.add(asyncio.create_task(one(item)))
        while under_way:
            ended, under_way = await asyncio.wait(under_way, return_when=asyncio.FIRST_COMPLETED)
            for task in ended:
                task.result()
    finally:
        for task in under_way:
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)


async def gathered(work: Iterable[Awaitable[T]]) -> list[T]:
    """All at once, in their order; when one fails the others are ended before its error is raised."""
    tasks = [asyncio.ensure_future(one) for one in work]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
