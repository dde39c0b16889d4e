"""Measures the dashboard: the effect of viewers with live updates on other requests, and lists of many runs."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from typing import Final
from urllib.parse import urlsplit

import aiohttp

from checklist_crds.times import format_timestamp, utc_now
from checklist_dev.failures import Failure
from checklist_dev.local.bootstrap import NAMESPACE
from checklist_dev.local.people import Person, sign_in
from checklist_dev.perf.bench.reading import slowest_list
from checklist_dev.perf.bench.report import Figure, Goal
from checklist_dev.perf.bench.sizes import Sizes
from checklist_dev.perf.bench.stage import Stage
from checklist_dev.perf.bench.traffic.other_routes import REQUESTS_PER_S, OtherRoutes, Seconds, p99
from checklist_dev.perf.bench.traffic.viewers import Viewers, head_of
from checklist_dev.perf.load.client import Json
from checklist_dev.perf.load.pace import until
from checklist_dev.perf.load.probes import processor_s
from checklist_dev.perf.load.raw import RunFactory, fill

STREAMS_OF_ONE: Final = 10
WITHIN_MS: Final = 200.0
REFERENCES: Final = 500


async def measure_dashboard(stage: Stage, sizes: Sizes) -> list[Figure]:
    namespace, count = NAMESPACE, -(-sizes.viewers // STREAMS_OF_ONE)
    signing = (
        sign_in(stage.kube, organization=stage.account.organization_id, namespace=namespace, role="viewer")
        for _ in range(count)
    )
    people = await asyncio.gather(*signing)
    return [*await _viewers(stage, sizes, people), *await _lists(stage, sizes.listed_runs, people[0])]


async def _viewers(stage: Stage, sizes: Sizes, people: Sequence[Person]) -> list[Figure]:
    """Call other routes at a steady pace, alternating with and without viewers that receive the changes."""
    api, rounds, viewers, others = stage.api, sizes.viewer_rounds, sizes.viewers, await OtherRoutes.of(stage)
    address = urlsplit(api.url)
    heads = [head_of(people[number % len(people)]) for number in range(viewers)]
    calm, busy = Seconds(), Seconds()
    used: dict[bool, float] = {True: 0.0, False: 0.0}
    changes, round_s = 0, sizes.quiet_s

    async def window(with_viewers: bool = False) -> Seconds:
        before = processor_s(api.child.pid)
        found = await others.call_for(round_s)
        used[with_viewers] += processor_s(api.child.pid) - before
        return found

    async def watched() -> Seconds:
        nonlocal changes
        async with Viewers(str(address.hostname), int(address.port or 80), heads) as watching:
            await asyncio.sleep(1.0)  # excludes their connecting
            found = await window(with_viewers=True)
        if watching.counts.get("ended") or not watching.counts.get("changes"):
            raise Failure(f"the viewers did not receive the changes: {watching.counts}")
        changes += watching.counts["changes"]
        return found

    await window()  # warms up
    used[False] = 0.0
    for number in range(rounds):
        for with_viewers in (number % 2 == 0, number % 2 == 1):
            found, into = (await watched(), busy) if with_viewers else (await window(), calm)
            for route, seconds in found.items():
                into.setdefault(route, []).extend(seconds)
            await asyncio.sleep(0.5)
    received = changes / (viewers * rounds * (round_s + 1.0))
    return [
        Figure(
            f"p99 of other requests with {viewers} viewers over p99 without",
            p99([busy]) / p99([calm]),
            "",
            Goal("<=", 1.5),
            f"without: {p99([calm]) * 1000:.1f} ms; {REQUESTS_PER_S:.0f} requests a second",
        ),
        Figure(
            f"processor time of the API for {viewers} viewers",
            100 * (used[True] - used[False]) / (rounds * round_s),
            "%",
            None,
            f"of one processor; without: {100 * used[False] / (rounds * round_s):.0f} %",
        ),
        Figure(f"changes received by each of {viewers} viewers", received, "/s", None, "the newest of each object"),
    ]


async def _lists(stage: Stage, live_runs: int, person: Person) -> list[Figure]:
    """Every filter of the list of runs, as requested by its page, with `live_runs` runs of many references, half of
    which expire, some within a second."""

    def spec(number: int) -> Json:
        within = timedelta(seconds=1) if number % 20 == 0 else timedelta(days=2)
        expires = {} if number % 2 else {"expiresAt": format_timestamp(utc_now() + within)}
        return {"executorRef": f"ref {number % REFERENCES}", **expires}

    example = await stage.example()
    await fill(stage.cluster, RunFactory(example, stage.rig.keys, webhook=False), live_runs, spec=spec)
    base = f"/dashboard/api/{person.organization_id}/runs"
    async with aiohttp.ClientSession(stage.api.url, trust_env=False, headers=person.headers) as session:

        async def are_listed() -> bool:
            async with session.get(f"{base}?per_page=1") as response:
                return response.status == 200 and (await response.json())["pagination"]["total"] >= live_runs

        await until(are_listed, f"listed: {live_runs} runs")
        template_id = str(example["spec"]["resolved"]["templateId"])
        worst, seconds = await slowest_list(session, base, template_id, utc_now() - timedelta(seconds=5))
    title = f"list of runs with {live_runs:,} live ones, slowest filter and page, p95"
    return [Figure(title, seconds * 1000, "ms", Goal("<=", WITHIN_MS), worst)]
