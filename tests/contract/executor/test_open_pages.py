"""What a thousand open pages of runs cost the API while nothing happens, and that they do not delay its end."""

import asyncio
import os
import random
import signal
import time
from pathlib import Path

import pytest
from tests.contract.conftest import Api, shared_api
from tests.contract.executor_client import Person, person_for, step
from tests.contract.own_process import own_process
from tests.waiting import eventually

from checklist_api.runs.change_readers import READERS_OF_A_RUN
from checklist_dev.local.controlplane import ControlPlane

api = shared_api

PAGES = 1_000
PAGE_WAITS_S = 50
"""As the app does (WAIT_S in change_watch.ts)."""
WAIT_S = 10
MOST_CPU = 0.05
"""Of one processor."""


def cpu_seconds(pid: int) -> float:
    user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def memory_kib(pid: int) -> int:
    text = Path(f"/proc/{pid}/status").read_text()
    return int(text.partition("VmRSS:")[2].split()[0])


class Page:
    """One kept connection that waits again and again."""

    def __init__(self, port: int, person: Person) -> None:
        self._port = port
        self._head = f"GET /v1/executor/runs/{person.run_id}/changes?after=0&wait=%d HTTP/1.1\r\nHost: x\r\n"
        self._head += f"Authorization: Executor {person.token}\r\n\r\n"
        self.answered = 0
        self.is_over = False

    async def run(self) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        wait_s = random.uniform(1, WAIT_S)  # so that they do not all come back at once
        while not self.is_over:
            writer.write((self._head % wait_s).encode())
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            assert head.startswith("http/1.1 200"), head
            length = int(head.partition("content-length: ")[2].split()[0])
            assert b'"changes":0' in await reader.readexactly(length)
            self.answered += 1
            self.is_over = "connection: close" in head
            wait_s = WAIT_S
        writer.close()


@pytest.mark.verify
async def test_a_thousand_open_pages_take_no_measurable_part_of_a_processor(
    api: Api, control_plane: ControlPlane, tmp_path: Path
) -> None:
    people = [await person_for(api, step("a")) for _ in range(PAGES // READERS_OF_A_RUN)]
    async with own_process(api, control_plane, tmp_path, CHECKLISTS_RATE_LIMIT="off") as (process, http):
        pid, port = process.child.pid, int(process.url.rpartition(":")[2])
        for person in people:  # known to its index
            headers = {"Authorization": f"Executor {person.token}"}
            path = f"/v1/executor/runs/{person.run_id}"
            await eventually(lambda path=path, headers=headers: _is_known(http, path, headers))
        before_kib = memory_kib(pid)
        pages = [Page(port, people[number % len(people)]) for number in range(PAGES)]
        tasks = [asyncio.create_task(page.run()) for page in pages]
        await eventually(lambda: all(page.answered > 0 for page in pages), within_s=120)
        more_kib = memory_kib(pid) - before_kib
        began, cpu, answered = time.monotonic(), cpu_seconds(pid), sum(page.answered for page in pages)
        await asyncio.sleep(2 * WAIT_S)
        took, used = time.monotonic() - began, cpu_seconds(pid) - cpu
        each = used / (sum(page.answered for page in pages) - answered)
        share = each * PAGES / PAGE_WAITS_S
        figures = f"{each * 1000:.2f} ms a request, {share:.1%} of a processor, {more_kib / PAGES:.0f} KiB a page"
        print(f"{figures}, measured for {took:.0f} s")
        assert share < MOST_CPU
        process.child.send_signal(signal.SIGTERM)
        async with asyncio.timeout(60):
            await asyncio.gather(*tasks)
            await asyncio.to_thread(process.child.wait)
        assert process.child.returncode == 0


async def _is_known(http: object, path: str, headers: dict[str, str]) -> bool:
    response = await http.get(f"{path}/changes?after=0", headers=headers)  # type: ignore[attr-defined]
    return bool(response.status_code == 200)
