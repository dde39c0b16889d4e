"""Reads that are timed, of an API that may still be reading its archive."""

import asyncio
import time
from typing import Final

import aiohttp

from checklist_dev.failures import Failure

_LISTED_WITHIN_S: Final = 600.0
_LOOK_EVERY_S: Final = 0.1


async def seconds_of(session: aiohttp.ClientSession, path: str) -> float:
    """How long a GET of `path` takes, with its body. Raises Failure for any status but 200."""
    started = time.perf_counter()
    async with session.get(path) as response:
        await response.read()
        if response.status != 200:
            raise Failure(f"{path} answered {response.status}")
    return time.perf_counter() - started


async def until_listed(session: aiohttp.ClientSession, runs: int) -> float:
    """Seconds until the API lists just so many runs, none of them missing. Raises Failure after ten minutes."""
    started = time.monotonic()
    while True:
        async with session.get("/v1/runs?per_page=1") as response:
            told = await response.json()
        if "archive" not in told and told["pagination"]["total"] == runs:
            return time.monotonic() - started
        if time.monotonic() - started > _LISTED_WITHIN_S:
            raise Failure(
                f"after {_LISTED_WITHIN_S:.0f} s {told['pagination']['total']} runs are listed, not {runs}: "
                f"{told.get('archive')}"
            )
        await asyncio.sleep(_LOOK_EVERY_S)
