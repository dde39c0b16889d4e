"""Measures exports of a month of runs: their speed, and the API's memory."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlencode

import aiohttp

from checklist_dev.failures import Failure
from checklist_dev.perf.bench.report import Figure, Goal
from checklist_dev.perf.bench.stage import Stage
from checklist_dev.perf.load.client import Json
from checklist_dev.perf.load.rig import Program

_LOOK_EVERY_S: Final = 0.1
_CHUNK: Final = 64 * 1024


async def measure_exports(
    stage: Stage, session: aiohttp.ClientSession, example: Json, *, end: str, archived: int, live: int
) -> list[Figure]:
    """Export the `archived` runs from before `end` in each format, and the `live` ones completed since."""
    api = stage.api
    before = api.rss_mib()
    done = {
        what: await _export(session, api, {**query, "created_before": end}, archived)
        for what, query in _forms(example["spec"]["resolved"]["templateId"]).items()
    }
    of_cluster = {"format": "jsonl", "created_after": end, "status": "completed"}
    last = await _export(session, api, of_cluster, live)
    figures = [one.rate(f"export of {archived:,} archived runs, {what}") for what, one in done.items()]
    figures.append(last.rate(f"export of {live:,} runs of the cluster, JSON lines"))
    most = max(done, key=lambda what: done[what].highest)
    steepest = max(done, key=lambda what: done[what].growth)
    return [
        *figures,
        Figure(
            f"memory (RSS) that exports of {archived:,} runs add to the API, one after another",
            done[most].highest - before,
            "MiB",
            Goal("<=", 64),
            f"most: {most}; {before:.0f} MiB before; up to 32 MiB are cached parts",
        ),
        Figure(
            "... of these, between the first and the last quarter of one export",
            done[steepest].growth,
            "MiB",
            Goal("<=", 16),
            steepest,
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
    """A received export. `memory`: the API's MiB during it."""

    runs: int
    size: int = 0
    seconds: float = 0.0
    memory: list[float] = field(default_factory=list)

    @property
    def highest(self) -> float:
        return max(self.memory)

    @property
    def growth(self) -> float:
        quarter = max(1, len(self.memory) // 4)
        return max(self.memory[-quarter:]) - max(self.memory[:quarter])

    def rate(self, name: str) -> Figure:
        return Figure(name, self.runs / self.seconds, "runs/s", None, f"{self.size / 1e6:.1f} MB, {self.seconds:.1f} s")


async def _export(session: aiohttp.ClientSession, api: Program, query: Mapping[str, str], runs: int) -> _Exported:
    """Raises Failure if the export is incomplete."""
    found, lines = _Exported(runs), 0
    started = time.perf_counter()
    async with _watched(api, found), session.get(f"/v1/exports?{urlencode(query)}") as response:
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
async def _watched(api: Program, found: _Exported) -> AsyncIterator[None]:
    async def look() -> None:
        while True:
            found.memory.append(api.rss_mib())
            await asyncio.sleep(_LOOK_EVERY_S)

    found.memory.append(api.rss_mib())
    task = asyncio.create_task(look(), name="look at memory")
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        found.memory.append(api.rss_mib())
