"""What one organization's large templates cost the others: while they are there, and while they are read."""

import asyncio
import itertools
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from itertools import chain
from statistics import median
from typing import Any, Final

import aiohttp

from checklist_crds.kube.client import KubeClient
from checklist_crds.resources.kinds import TEMPLATE
from checklist_dev.bench.other_routes import REQUESTS_PER_S, OtherRoutes, Seconds
from checklist_dev.bench.reading import seconds_of
from checklist_dev.bench.report import Figure, Goal, of_rounds, percentile
from checklist_dev.bootstrap import NAMESPACE, Account
from checklist_dev.etcd_keys import copy_template
from checklist_dev.failures import Failure
from checklist_dev.load.client import ServiceClient
from checklist_dev.load.rig import Rig

SETTINGS: Final = {"CHECKLISTS_MAX_TEMPLATE_BYTES": str(2**30)}
LARGE: Final[dict[str, Any]] = {
    "name": "As large as they come",
    "sections": [
        {
            "id": f"g-{section}",
            "title": "Part",
            "steps": [
                {
                    "id": f"s-{section}-{step}",
                    "type": "choice",
                    "label": "Which?",
                    "config": {"options": [{"id": f"o-{option}", "label": "One"} for option in range(8)]},
                }
                for step in range(10)
            ],
        }
        for section in range(50)
    ],
}
"""500 steps, about 180 KB as compact JSON."""
LIMIT_MIB: Final = 512.0
_READS_PER_S: Final = 5.0
_LIST_EVERY: Final = 10
_WITHIN_S: Final = 300.0


async def measure_large_templates(
    rig: Rig, kube: KubeClient, account: Account, others: OtherRoutes, *, templates: int, rounds: int, round_s: float
) -> list[Figure]:
    """`others` of another organization are called at a steady pace: before the templates of `account` are there, then
    in turn beside them and while they are read."""
    api = rig.programs["api"]

    async def window() -> Seconds:
        return await others.call_until(asyncio.ensure_future(asyncio.sleep(round_s)))

    async with (
        ServiceClient([api.url], account.api_key) as owner,
        aiohttp.ClientSession(
            api.url, trust_env=False, headers={"Authorization": f"Bearer {account.api_key}"}
        ) as session,
    ):
        await window()  # warms up
        without = [await window() for _ in range(rounds)]
        ids = await _fill(rig, kube, owner, templates)
        await window()
        beside, read, reads = list[Seconds](), list[Seconds](), list[float]()
        for number in range(rounds):
            for reading in (number % 2 == 0, number % 2 == 1):
                if not reading:
                    beside.append(await window())
                    continue
                task = asyncio.create_task(_read(session, ids, reads))
                read.append(await window())
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
    told = f"without: {_p99(without) * 1000:.1f} ms, median of {rounds}; {REQUESTS_PER_S:.0f} requests per second"
    told_read = (
        f"beside: {_p99(beside) * 1000:.1f} ms; a read takes {percentile(reads, 50) * 1000:.0f} ms, "
        f"median of {len(reads)}"
    )
    return [
        Figure(
            f"p99 of another organization beside {templates} large templates over p99 without them",
            _p99(beside) / _p99(without),
            "",
            Goal("<=", 2),
            told,
        ),
        of_rounds(
            f"... while {_READS_PER_S:.0f} of them a second are read over p99 beside them",
            [_p99([busy]) / _p99([calm]) for busy, calm in zip(read, beside, strict=True)],
            "",
            goal=Goal("<=", 2),
            baseline=told_read,
        ),
        Figure(
            f"memory (RSS) of the API beside {templates} large templates",
            api.rss_mib(),
            "MiB",
            Goal("<=", LIMIT_MIB),
            "after they were read",
        ),
    ]


def _p99(rounds: Sequence[Seconds]) -> float:
    """The median of the rounds' p99, all routes together: one round that met a busy neighbour says nothing."""
    return median(percentile(list(chain(*one.values())), 99) for one in rounds)


async def _fill(rig: Rig, kube: KubeClient, owner: ServiceClient, templates: int) -> list[str]:
    """Their ids, when the API lists all of them. The one that is copied was judged by the operator before, so that
    the copies are: what it would write to each costs the API server half a second. Raises Failure."""
    first = await owner.create_template(LARGE)

    async def judged() -> bool:
        return bool((await kube.get(TEMPLATE, first, NAMESPACE)).get("status"))

    async def listed() -> bool:
        reply = await owner.once("GET", "/v1/templates?per_page=1")
        return reply.ok and reply.body["pagination"]["total"] == templates

    await _until(judged)
    ids = await copy_template(rig.cluster, first, templates)
    await _until(listed)
    return ids


async def _until(holds: Callable[[], Awaitable[bool]]) -> None:
    until = time.monotonic() + _WITHIN_S
    while not await holds():
        if time.monotonic() > until:
            raise Failure(f"{holds.__name__} does not hold after {_WITHIN_S:.0f} s")
        await asyncio.sleep(0.2)


async def _read(session: aiohttp.ClientSession, ids: list[str], seconds: list[float]) -> None:
    """One after the other at a steady pace, with lists of them in between, until cancelled. What comes is not parsed:
    who reads sits elsewhere in truth."""
    loop = asyncio.get_running_loop()
    due = loop.time()
    for number, template_id in enumerate(itertools.cycle(ids)):
        due += 1 / _READS_PER_S
        await asyncio.sleep(max(0.0, due - loop.time()))
        if number % _LIST_EVERY == _LIST_EVERY - 1:
            await seconds_of(session, "/v1/templates?per_page=100")
        else:
            seconds.append(await seconds_of(session, f"/v1/templates/{template_id}"))
