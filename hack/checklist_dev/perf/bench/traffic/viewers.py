"""Dashboard pages with live updates, as a separate process that reads their event streams and counts.

Standard input: one JSON line `{"host", "port", "requests": [heads of the streams]}`. It prints `open` when every stream
has begun; at the end of its input it prints `{"changes", "bytes", "ended"}` and exits.
"""

import asyncio
import json
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from checklist_dev.failures import Failure
from checklist_dev.local.people import Person
from checklist_dev.perf.load.probes import give_way
from checklist_dev.system.tether import end_with_parent


@dataclass(slots=True)
class Counts:
    begun: int = 0
    changes: int = 0
    bytes: int = 0
    ended: int = 0


class Viewers:
    """`async with Viewers(host, port, heads) as viewers:` connects all; `counts` is set after the block."""

    def __init__(self, host: str, port: int, heads: list[str]) -> None:
        self.counts: dict[str, int] = {}
        self._wanted = json.dumps({"host": host, "port": port, "requests": heads}).encode() + b"\n"
        self._process: asyncio.subprocess.Process | None = None

    async def __aenter__(self) -> "Viewers":
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", __name__),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            raise Failure("the viewers have no pipes")
        stdin.write(self._wanted)
        await stdin.drain()
        answer = await asyncio.wait_for(stdout.readline(), 120)
        if answer.strip() != b"open":
            raise Failure(f"the viewers could not connect: {answer.decode()[:300]}")
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
            out, _err = await self._process.communicate()
            with suppress(ValueError):
                self.counts = json.loads(out)


def head_of(person: Person) -> str:
    """The request for an event stream."""
    path = f"/dashboard/api/{person.organization_id}/events"
    return (
        f"GET {path} HTTP/1.1\r\nHost: bench\r\nAccept: text/event-stream\r\nCookie: {person.headers['Cookie']}\r\n\r\n"
    )


async def _watch(given: Mapping[str, Any], head: str, counts: Counts, all_begun: asyncio.Event) -> None:
    reader, writer = await asyncio.open_connection(given["host"], given["port"])
    writer.write(head.encode())
    status = await reader.readline()
    if b" 200 " not in status:
        raise Failure(f"a stream was refused: {status!r}")
    counts.begun += 1
    if counts.begun == len(given["requests"]):
        all_begun.set()
    while data := await reader.read(65536):
        counts.bytes += len(data)
        counts.changes += data.count(b'"change":')
    counts.ended += 1


async def _main() -> None:
    given: dict[str, Any] = json.loads(await asyncio.to_thread(sys.stdin.readline))
    counts, all_begun = Counts(), asyncio.Event()
    tasks = []
    for head in given["requests"]:
        tasks.append(asyncio.create_task(_watch(given, head, counts, all_begun)))
        await asyncio.sleep(0.002)
    done, _ = await asyncio.wait([asyncio.create_task(all_begun.wait()), *tasks], return_when=asyncio.FIRST_COMPLETED)
    for task in done:
        task.result()
    print("open", flush=True)
    await asyncio.to_thread(sys.stdin.read)
    print(json.dumps({"changes": counts.changes, "bytes": counts.bytes, "ended": counts.ended}), flush=True)
    os._exit(0)  # the streams end like those of a closed browser


if __name__ == "__main__":
    end_with_parent()
    give_way()
    asyncio.run(_main())
