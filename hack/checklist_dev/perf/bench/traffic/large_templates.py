"""Measures the effect of one organization's large templates on others: stored, and while they are read."""

import asyncio
import itertools
from contextlib import suppress
from typing import Any, Final

import aiohttp

from checklist_crds.resources.kinds import TEMPLATE
from checklist_dev.local.bootstrap import NAMESPACE
from checklist_dev.local.etcd import copy_template
from checklist_dev.perf.bench.reading import seconds_of
from checklist_dev.perf.bench.report import Figure, Goal, of_rounds, percentile
from checklist_dev.perf.bench.sizes import Sizes
from checklist_dev.perf.bench.stage import Stage
from checklist_dev.perf.bench.traffic.other_routes import REQUESTS_PER_S, OtherRoutes, Seconds, p99
from checklist_dev.perf.load.client import ServiceClient
from checklist_dev.perf.load.pace import due_times, until

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


async def measure_large_templates(stage: Stage, sizes: Sizes) -> list[Figure]:
    """Call routes of one organization at a steady pace: before another one has large templates, then alternating with
    them stored, and while they are read."""
    api, templates, rounds = stage.api, sizes.large_templates, sizes.viewer_rounds
    others = await OtherRoutes.of(stage)
    account = await asyncio.to_thread(stage.rig.new_account)

    async def window() -> Seconds:
        return await others.call_for(sizes.quiet_s)

    async with ServiceClient([api.url], account.api_key) as owner, stage.session(account) as session:
        await window()  # warms up
        without = [await window() for _ in range(rounds)]
        ids = await _fill(stage, owner, templates)
        await window()
        stored, read, reads = list[Seconds](), list[Seconds](), list[float]()
        for number in range(rounds):
            for reading in (number % 2 == 0, number % 2 == 1):
                if not reading:
                    stored.append(await window())
                    continue
                task = asyncio.create_task(_read(session, ids, reads))
                read.append(await window())
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
    calm = f"without: {p99(without) * 1000:.1f} ms, median of {rounds}; {REQUESTS_PER_S:.0f} requests per second"
    unread = (
        f"stored only: {p99(stored) * 1000:.1f} ms; a read takes {percentile(reads, 50) * 1000:.0f} ms, "
        f"median of {len(reads)}"
    )
    return [
        Figure(
            f"p99 of another organization with {templates} large templates over p99 without them",
            p99(stored) / p99(without),
            "",
            Goal("<=", 2),
            calm,
        ),
        of_rounds(
            f"... while {_READS_PER_S:.0f} of them a second are read over p99 without reads",
            [p99([busy]) / p99([idle]) for busy, idle in zip(read, stored, strict=True)],
            "",
            goal=Goal("<=", 2),
            baseline=unread,
        ),
        Figure(
            f"memory (RSS) of the API with {templates} large templates",
            api.rss_mib(),
            "MiB",
            Goal("<=", LIMIT_MIB),
            "after they were read",
        ),
    ]


async def _fill(stage: Stage, owner: ServiceClient, templates: int) -> list[str]:
    """Fill the cluster until the API lists all templates; returns their ids. The original is copied after the operator
    has written its status, since each such write costs the API server half a second. Raises Failure."""
    first = await owner.create_template(LARGE)

    async def judged() -> bool:
        return bool((await stage.kube.get(TEMPLATE, first, NAMESPACE)).get("status"))

    async def listed() -> bool:
        reply = await owner.once("GET", "/v1/templates?per_page=1")
        return bool(reply.ok and reply.body["pagination"]["total"] == templates)

    await until(judged, "judged: a large template", within_s=_WITHIN_S)
    ids = await copy_template(stage.rig.cluster.etcd_url, first, templates)
    await until(listed, f"listed: {templates} large templates", within_s=_WITHIN_S)
    return ids


async def _read(session: aiohttp.ClientSession, ids: list[str], seconds: list[float]) -> None:
    """Read templates in turn at a steady pace, with lists in between, until cancelled. Responses are not parsed, since
    real clients run elsewhere."""
    waiting = itertools.cycle(ids)
    numbers = itertools.count(1)
    async for _ in due_times(_READS_PER_S):
        template_id = next(waiting)
        if next(numbers) % _LIST_EVERY == 0:
            await seconds_of(session, "/v1/templates?per_page=100")
        else:
            seconds.append(await seconds_of(session, f"/v1/templates/{template_id}"))
