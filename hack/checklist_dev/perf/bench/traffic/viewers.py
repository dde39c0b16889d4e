"""Dashboard pages with live updates: one process of low priority that reads their event streams and counts."""

import asyncio
import multiprocessing
from collections.abc import Sequence
from multiprocessing.queues import SimpleQueue
from multiprocessing.synchronize import Event
from typing import Any, Final

from checklist_dev.failures import Failure
from checklist_dev.local.people import Person
from checklist_dev.perf.load.probes import give_way
from checklist_dev.system.tether import end_with_parent

_CONNECTED_WITHIN_S: Final = 120.0
_BETWEEN_CONNECTS_S: Final = 0.002


class Viewers:
    """`async with Viewers(host, port, heads) as viewers:` connects all, or raises Failure.

    After the block `counts` has the `changes` that they received, and how many streams `ended` by themselves.
    """

    def __init__(self, host: str, port: int, heads: list[str]) -> None:
        self.counts: dict[str, int] = {}
        context: Any = multiprocessing.get_context("spawn")
        self._begun, self._over, self._result = context.Event(), context.Event(), context.SimpleQueue()
        arguments = (host, port, heads, self._begun, self._over, self._result)
        self._process = context.Process(target=_read_all, args=arguments, daemon=True)

    async def __aenter__(self) -> "Viewers":
        self._process.start()
        if not await asyncio.to_thread(self._begun.wait, _CONNECTED_WITHIN_S) or not self._result.empty():
            self._process.kill()
            raise Failure("the viewers could not connect")
        return self

    async def __aexit__(self, *_: object) -> None:
        self._over.set()
        self.counts = await asyncio.to_thread(self._result.get)
        await asyncio.to_thread(self._process.join)


def head_of(person: Person) -> str:
    """The request for an event stream."""
    path = f"/dashboard/api/{person.organization_id}/events"
    return (
        f"GET {path} HTTP/1.1\r\nHost: bench\r\nAccept: text/event-stream\r\nCookie: {person.headers['Cookie']}\r\n\r\n"
    )


def _read_all(  # noqa: PLR0917 - passed to a process by position
    host: str, port: int, heads: Sequence[str], begun: Event, over: Event, result: "SimpleQueue[dict[str, int]]"
) -> None:
    end_with_parent()
    give_way()
    asyncio.run(_read(host, port, heads, begun, over, result))


async def _read(  # noqa: PLR0917 - as above
    host: str, port: int, heads: Sequence[str], begun: Event, over: Event, result: "SimpleQueue[dict[str, int]]"
) -> None:
    counts = {"changes": 0, "ended": 0}

    async def view(reader: asyncio.StreamReader) -> None:
        while data := await reader.read(65536):
            counts["changes"] += data.count(b'"change":')
        counts["ended"] += 1

    streams = []
    for head in heads:
        reader, writer = await asyncio.open_connection(host, port)
        writer.write(head.encode())
        if b" 200 " not in await reader.readline():
            result.put({})
            begun.set()
            return
        streams.append((asyncio.create_task(view(reader)), writer))
        await asyncio.sleep(_BETWEEN_CONNECTS_S)
    begun.set()
    await asyncio.to_thread(over.wait)
    result.put(dict(counts))
    for task, writer in streams:
        task.cancel()
        writer.transport.abort()  # like a browser that is closed
