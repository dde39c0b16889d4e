"""The cost of clients that wait for the end of runs (`?wait=60`), and the latency of the end."""

import asyncio
import time
from typing import Final
from urllib.parse import urlsplit

from checklist_dev.failures import Failure
from checklist_dev.perf.bench.report import Figure, Goal
from checklist_dev.perf.bench.sizes import Sizes
from checklist_dev.perf.bench.stage import Stage
from checklist_dev.perf.bench.traffic.waiters import Waiters
from checklist_dev.perf.load.checklist import TEMPLATE
from checklist_dev.perf.load.pace import until
from checklist_dev.perf.load.probes import processor_s, resident_mib, total
from checklist_dev.perf.load.rig import Program

MOST_MIB: Final = 20.0
MOST_PERCENT: Final = 5.0
_CONCURRENCY: Final = 16
_ENDED: Final = 10
"""One of this many runs is ended while its client waits."""


async def measure_waiting(stage: Stage, sizes: Sizes) -> list[Figure]:
    """Measures without and then with waiters, on a freshly started API: memory freed after the dispatches would hide
    the growth.

    The processor time is that of one wait, multiplied by the rate of the waiters: on a busy machine fewer waits end in
    the measured time.
    """
    api, address = stage.api, urlsplit(stage.api.url)
    runs, seconds = await _runs(stage, sizes.waiters), sizes.wait_s
    waiters = Waiters(str(address.hostname), int(address.port or 80), stage.account.api_key, runs, seconds)
    await stage.stop(api)
    await stage.start(api)
    await stage.client.insist("GET", f"/v1/runs/{runs[0]}?wait=1")
    await asyncio.sleep(seconds / 2)  # the composer warms up, and the lists are read
    used_without = await _used(api, seconds)
    before_mib = resident_mib(api.child.pid)
    async with waiters:
        await until(lambda: _all_wait(stage, len(runs)), f"waiting: {len(runs)}")
        answered = await _answered(stage)
        used_with = await _used(api, seconds)
        if (answered := await _answered(stage) - answered) == 0:
            raise Failure("no wait ended while the processor time was measured")
        with_mib = resident_mib(api.child.pid)
        ended: dict[str, float] = {}
        for run_id in runs[::_ENDED]:
            began = time.time()
            reply = await stage.client.insist("POST", f"/v1/runs/{run_id}/cancel", {})
            if not reply.ok:
                raise Failure(f"run {run_id} was not cancelled: {reply.status}")
            ended[run_id] = began
        await until(lambda: _all_wait(stage, len(runs) - len(ended)), "answered: all waits for ended runs")
        await asyncio.sleep(1.0)  # until the last answer has arrived
    if waiters.ends.keys() != ended.keys():
        raise Failure(f"{len(waiters.ends)} of {len(ended)} waiters received the end of their run")
    latencies = sorted(waiters.ends[run_id] - began for run_id, began in ended.items())
    count = f"{len(runs):,} waiters"
    return [
        Figure(f"memory that {count} add to the API", with_mib - before_mib, "MiB", Goal("<=", MOST_MIB), "RSS"),
        Figure(
            f"processor time that {count} take of the API",
            100 * (used_with - used_without) / answered * len(runs) / seconds,
            "%",
            Goal("<=", MOST_PERCENT),
            f"of one processor, with one request of each every {seconds} s; in {seconds} s: {used_with:.2f} s with "
            f"{answered:.0f} answered waits, {used_without:.2f} s without waiters",
        ),
        Figure(
            f"from a cancel to the answer of the wait, p99 of {len(latencies)}",
            latencies[int(0.99 * (len(latencies) - 1))] * 1000,
            "ms",
            None,
            f"with the cancel itself; median {latencies[len(latencies) // 2] * 1000:.0f} ms",
        ),
    ]


async def _runs(stage: Stage, count: int) -> list[str]:
    template_id = await stage.client.create_template(TEMPLATE)
    gate = asyncio.Semaphore(_CONCURRENCY)

    async def one() -> str:
        async with gate:
            return str((await stage.client.dispatch({"template_id": template_id})).body["run_id"])

    return list(await asyncio.gather(*(one() for _ in range(count))))


async def _used(api: Program, seconds: float) -> float:
    """Processor time of the API during `seconds`."""
    before = processor_s(api.child.pid)
    await asyncio.sleep(seconds)
    return processor_s(api.child.pid) - before


async def _all_wait(stage: Stage, count: int) -> bool:
    return total(await _metrics(stage), "checklists_run_waits") == count


async def _answered(stage: Stage) -> float:
    """Total of answered reads of runs."""
    text, route = await _metrics(stage), "/v1/runs/{run_id}"
    return total(text, "checklists_http_requests_total", lambda labels: labels["route"] == route) or 0.0


async def _metrics(stage: Stage) -> str:
    async with stage.session() as session, session.get("/metrics") as response:
        return await response.text()
