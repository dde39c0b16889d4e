"""Timed reads: single requests, and lists with every filter."""

import time
from collections.abc import Mapping
from datetime import datetime
from typing import Final
from urllib.parse import urlencode

import aiohttp

from checklist_crds.resources.run import REST_STATUSES
from checklist_crds.times import format_timestamp
from checklist_dev.failures import Failure
from checklist_dev.perf.bench.report import percentile
from checklist_dev.perf.load.pace import until

_PER_PAGE: Final = 100
_CALLS: Final = 12
_LISTED_WITHIN_S: Final = 600.0


async def seconds_of(session: aiohttp.ClientSession, path: str) -> float:
    """Seconds of a GET of `path` with its body. Raises Failure for any status but 200."""
    started = time.perf_counter()
    async with session.get(path) as response:
        await response.read()
        if response.status != 200:
            raise Failure(f"{path} answered {response.status}")
    return time.perf_counter() - started


async def until_listed(session: aiohttp.ClientSession, runs: int) -> float:
    """Seconds until the API lists exactly `runs` runs. Raises Failure after ten minutes."""

    async def are_listed() -> bool:
        async with session.get("/v1/runs?per_page=1") as response:
            listed = await response.json()
        return "archive" not in listed and listed["pagination"]["total"] == runs

    return await until(are_listed, f"listed: exactly {runs} runs", within_s=_LISTED_WITHIN_S)


async def slowest_list(
    session: aiohttp.ClientSession, path: str, template_id: str, middle: datetime
) -> tuple[str, float]:
    """The slowest list of runs at `path` over all filters and the first, middle and last page, and the 95th percentile
    of its seconds. `middle`: a time before and after which there are runs."""
    filters: dict[str, Mapping[str, str]] = {
        "no filter": {},
        **{f"status {status}": {"status": status} for status in REST_STATUSES},
        "template": {"template_id": template_id},
        "template and status": {"template_id": template_id, "status": "completed"},
        "reference": {"executor_ref": "ref 7"},
        "unknown reference": {"executor_ref": "unknown"},
        "created after": {"created_after": format_timestamp(middle)},
        "created before": {"created_before": format_timestamp(middle)},
    }
    found: dict[str, float] = {}
    for name, wanted in filters.items():
        async with session.get(f"{path}?{urlencode(wanted)}&per_page={_PER_PAGE}") as response:
            last = max(1, -(-(await response.json())["pagination"]["total"] // _PER_PAGE))
        for page in sorted({1, max(1, last // 2), last}):
            query = urlencode({**wanted, "page": page, "per_page": _PER_PAGE})
            seconds = [await seconds_of(session, f"{path}?{query}") for _ in range(_CALLS)]
            found[f"{name}, page {page} of {last}"] = percentile(seconds, 95)
    slowest = max(found, key=found.__getitem__)
    return slowest, found[slowest]
