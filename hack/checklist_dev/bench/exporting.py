"""What exports of a month of runs cost: how fast they come, the API's memory, and who asks for something meanwhile."""

import asyncio
import contextlib
import random
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlencode

import aiohttp

from checklist_crds.archive import ArchiveStore
from checklist_crds.ids import object_id
from checklist_crds.kube.client import KubeClient, KubeConnection
from checklist_crds.resources.run import RunPhase
from checklist_crds.times import format_timestamp, utc_now
from checklist_dev.bench.archived_month import FIRST_DAY, MONTH, answers, example_of, fill, records
from checklist_dev.bench.raw import RawCluster, RunFactory, rate_of
from checklist_dev.bench.reading import seconds_of, until_listed
from checklist_dev.bench.report import Figure, Goal, percentile
from checklist_dev.failures import Failure
from checklist_dev.load.checklist import TEMPLATE
from checklist_dev.load.client import ServiceClient
from checklist_dev.load.rig import Program, Rig

_LISTED_WITHIN_S: Final = 600.0
_LOOK_EVERY_S: Final = 0.1
_CHUNK: Final = 64 * 1024
_END: Final = format_timestamp(FIRST_DAY + MONTH)
Json = dict[str, Any]


async def measure_exports(rig: Rig, *, archived_runs: int, cluster_runs: int) -> list[Figure]:
    """Each form of `archived_runs` of one month, and one of `cluster_runs` that the cluster has."""
    account = await asyncio.to_thread(rig.new_account)
    api = rig.add_api()
    await asyncio.to_thread(rig.start_all)
    async with ServiceClient([api.url], account.api_key) as client:
        template_id = await client.create_template(TEMPLATE)
        run_id = str((await client.dispatch({"template_id": template_id})).body["run_id"])
    await asyncio.to_thread(api.child.stop)
    connection = await KubeConnection.load(str(rig.cluster.kubeconfig))
    async with KubeClient(connection) as kube:
        example, revision = await example_of(kube, run_id)
    store = ArchiveStore.open((rig.folder / "photos").absolute().as_uri())
    await fill(store, object_id("org", account.organization_id), records(example, revision, archived_runs))
    async with RawCluster(connection) as cluster:
        await _fill_cluster(cluster, RunFactory(example, rig.keys, webhook=False), cluster_runs)
    api.start()
    await asyncio.to_thread(api.wait_ready)
    headers = {"Authorization": f"Bearer {account.api_key}"}
    timeout = aiohttp.ClientTimeout(total=None, sock_read=120)
    async with aiohttp.ClientSession(api.url, trust_env=False, headers=headers, timeout=timeout) as session:
        await until_listed(session, archived_runs + cluster_runs + 1)
        calm = [await seconds_of(session, f"/v1/runs/{run_id}") for _ in range(100)]
        before = api.rss_mib()
        done = {
            what: await _export(session, api, {**query, "created_before": _END}, run_id, archived_runs)
            for what, query in _forms(template_id).items()
        }
        of_cluster = {"format": "jsonl", "created_after": _END, "status": "completed"}
        live = await _export(session, api, of_cluster, run_id, cluster_runs)
    figures = [one.rate(f"export of {archived_runs:,} archived runs, {what}") for what, one in done.items()]
    figures.append(live.rate(f"export of {cluster_runs:,} runs of the cluster, JSON lines"))
    most = max(done, key=lambda what: done[what].highest)
    steepest = max(done, key=lambda what: done[what].growth)
    busy = [seconds for one in (*done.values(), live) for seconds in one.meanwhile]
    return [
        *figures,
        Figure(
            f"memory (RSS) that exports of {archived_runs:,} runs add to the API, one after the other",
            done[most].highest - before,
            "MiB",
            Goal("<=", 64),
            f"most: {most}; {before:.0f} MiB before; up to 32 MiB are the parts read last",
        ),
        Figure(
            "... of these, between the first and the last quarter of one export",
            done[steepest].growth,
            "MiB",
            Goal("<=", 16),
            steepest,
        ),
        Figure(
            "GET of a run while an export is under way, p99",
            percentile(busy, 99) * 1000,
            "ms",
            None,
            f"without: {percentile(calm, 99) * 1000:.1f} ms; {len(busy)} requests",
        ),
    ]


def _forms(template_id: str) -> Mapping[str, Mapping[str, str]]:
    return {
        "JSON lines": {"format": "jsonl"},
        "CSV, a row an answer": {"format": "csv"},
        "CSV, a row a run": {"format": "csv", "rows": "runs", "template_id": template_id},
        "GeoJSON": {"format": "geojson"},
    }


@dataclass(slots=True)
class _Exported:
    """An export as it came: `memory` are the API's MiB while it did, `meanwhile` the times of a GET."""

    runs: int
    size: int = 0
    seconds: float = 0.0
    memory: list[float] = field(default_factory=list)
    meanwhile: list[float] = field(default_factory=list)

    @property
    def highest(self) -> float:
        return max(self.memory)

    @property
    def growth(self) -> float:
        quarter = max(1, len(self.memory) // 4)
        return max(self.memory[-quarter:]) - max(self.memory[:quarter])

    def rate(self, name: str) -> Figure:
        return Figure(name, self.runs / self.seconds, "runs/s", None, f"{self.size / 1e6:.1f} MB, {self.seconds:.1f} s")


async def _export(
    session: aiohttp.ClientSession, api: Program, query: Mapping[str, str], run_id: str, runs: int
) -> _Exported:
    """Raises Failure when it is not whole."""
    found, lines = _Exported(runs), 0
    started = time.perf_counter()
    async with _watched(session, api, run_id, found), session.get(f"/v1/exports?{urlencode(query)}") as response:
        if response.status != 200 or response.headers["Export-Runs"] != str(runs):
            raise Failure(f"an export answered {response.status}, {response.headers.get('Export-Runs')} runs")
        async for chunk in response.content.iter_chunked(_CHUNK):
            found.size += len(chunk)
            lines += chunk.count(b"\n")
        found.seconds = time.perf_counter() - started
    if query["format"] == "jsonl" and lines != runs:
        raise Failure(f"an export of {runs} runs had {lines} lines")
    return found


@contextlib.asynccontextmanager
async def _watched(session: aiohttp.ClientSession, api: Program, run_id: str, found: _Exported) -> AsyncIterator[None]:
    async def look() -> None:
        while True:
            found.memory.append(api.rss_mib())
            found.meanwhile.append(await seconds_of(session, f"/v1/runs/{run_id}"))
            await asyncio.sleep(_LOOK_EVERY_S)

    found.memory.append(api.rss_mib())
    task = asyncio.create_task(look(), name="look at memory and other requests")
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        found.memory.append(api.rss_mib())


async def _fill_cluster(cluster: RawCluster, factory: RunFactory, count: int) -> None:
    """Completed runs with all their answers, as the archived ones have them."""
    rng = random.Random(9)

    async def one(number: int) -> None:
        created_at = format_timestamp(utc_now())
        name, body = factory.make(createdAt=created_at, executorRef=f"ref {number % 97}")
        await cluster.create_run(body)
        status = {
            "phase": RunPhase.COMPLETED.value,
            "settled": True,
            "startedAt": created_at,
            "completedAt": created_at,
            "progress": {"total": 9, "answered": 9, "skipped": 0},
            "answers": answers(rng, created_at),
        }
        await cluster.patch_run_status(name, status)

    def call(number: int) -> Any:
        return lambda: one(number)

    await rate_of((call(number) for number in range(count)), concurrency=32)
