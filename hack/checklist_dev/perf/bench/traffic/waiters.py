"""Clients that wait for the end of runs, as a separate process: one connection each, which repeats its request.

Standard input: one JSON line `{"host", "port", "key", "runs": [run ids], "wait_s"}`. It prints `open` when every
request is sent; at the end of its input it prints `{"answers", "ends": {run id: time of the answer}, "failed"}` and
exits.
"""

import asyncio
import json
import os
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from checklist_dev.failures import Failure
from checklist_dev.perf.load.probes import give_way
from checklist_dev.system.tether import end_with_parent


@dataclass(slots=True)
class Counts:
    sent: int = 0
    answers: int = 0
    failed: int = 0
    ends: dict[str, float] = field(default_factory=dict)


class Waiters:
    """`async with Waiters(host, port, key, runs, wait_s) as waiters:` starts them; `ends` is set after the block."""

    def __init__(self, host: str, port: int, key: str, runs: list[str], wait_s: int) -> None:
        self.answers = 0
        self.ends: dict[str, float] = {}
        wanted = {"host": host, "port": port, "key": key, "runs": runs, "wait_s": wait_s}
        self._wanted = json.dumps(wanted).encode() + b"\n"
        self._process: asyncio.subprocess.Process | None = None

    async def __aenter__(self) -> "Waiters":
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", __name__), stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
        )
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            raise Failure("the waiters have no pipes")
        stdin.write(self._wanted)
        await stdin.drain()
        answer = await asyncio.wait_for(stdout.readline(), 300)
        if answer.strip() != b"open":
            raise Failure(f"the waiters did not start: {answer.decode()[:300]}")
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._process is None or self._process.stdin is None:
            return
        self._process.stdin.close()
        out, _err = await self._process.communicate()
        with suppress(ValueError):
            counts = json.loads(out)
            self.answers, self.ends = counts["answers"], counts["ends"]
            if counts["failed"]:
                raise Failure(f"{counts['failed']} waits failed")


async def _wait(given: Mapping[str, Any], run_id: str, counts: Counts, all_sent: asyncio.Event) -> None:
    head = (
        f"GET /v1/runs/{run_id}?wait={given['wait_s']} HTTP/1.1\r\n"
        f"Host: bench\r\nAuthorization: Bearer {given['key']}\r\n\r\n"
    ).encode()
    reader, writer = await asyncio.open_connection(given["host"], given["port"])
    while run_id not in counts.ends:
        writer.write(head)
        counts.sent += 1
        if counts.sent == len(given["runs"]):
            all_sent.set()
        answer = await reader.readuntil(b"\r\n\r\n")
        length = next(
            int(line.split(b":")[1]) for line in answer.split(b"\r\n") if line.lower().startswith(b"content-length")
        )
        body = await reader.readexactly(length)
        counts.answers += 1
        if b" 200 " not in answer.split(b"\r\n")[0]:
            counts.failed += 1
            return
        if json.loads(body)["status"] not in ("pending", "in_progress"):
            counts.ends[run_id] = time.time()


async def _main() -> None:
    given: dict[str, Any] = json.loads(await asyncio.to_thread(sys.stdin.readline))
    counts, all_sent = Counts(), asyncio.Event()
    tasks = []
    for run_id in given["runs"]:
        tasks.append(asyncio.create_task(_wait(given, run_id, counts, all_sent)))
        await asyncio.sleep(0.002)
    await all_sent.wait()
    print("open", flush=True)
    await asyncio.to_thread(sys.stdin.read)
    print(json.dumps({"answers": counts.answers, "ends": counts.ends, "failed": counts.failed}), flush=True)
    os._exit(0)


if __name__ == "__main__":
    end_with_parent()
    give_way()
    asyncio.run(_main())
