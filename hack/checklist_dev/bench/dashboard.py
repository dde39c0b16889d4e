"""The dashboard: what viewers who follow changes cost everybody else, and how long lists take beside many runs."""

import asyncio
import os
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Final
from urllib.parse import urlencode, urlsplit

import aiohttp

from checklist_crds.kube.client import KubeClient
from checklist_crds.resources.run import REST_STATUSES
from checklist_crds.times import format_timestamp, utc_now
from checklist_dev.bench.other_routes import REQUESTS_PER_S, OtherRoutes, Seconds
from checklist_dev.bench.raw import RawCluster, RunFactory, rate_of
from checklist_dev.bench.report import Figure, Goal, percentile
from checklist_dev.bench.viewers import Viewers, head_of
from checklist_dev.bootstrap import NAMESPACE, ServerKeys
from checklist_dev.failures import Failure
from checklist_dev.load.rig import Program
from checklist_dev.people import Person, sign_in

STREAMS_OF_ONE: Final = 10
WITHIN_MS: Final = 200.0
REFERENCES: Final = 500
_CALLS: Final = 12
_PER_PAGE: Final = 100


async def signed_in(kube: KubeClient, organization: str, count: int) -> list[Person]:
    """People with a session each."""
    signing = (sign_in(kube, organization=organization, namespace=NAMESPACE, role="viewer") for _ in range(count))
    return list(await asyncio.gather(*signing))


async def measure_viewers(
    api: Program, people: Sequence[Person], others: OtherRoutes, *, viewers: int, rounds: int, round_s: float
) -> list[Figure]:
    """`others` are called at a steady pace, in turn with and without `viewers` that are told of what that changes."""
    address = urlsplit(api.url)
    heads = [head_of(people[number % len(people)]) for number in range(viewers)]
    calm, busy = _nothing(), _nothing()
    used: dict[bool, float] = {True: 0.0, False: 0.0}
    changes = 0

    async def window(with_viewers: bool = False) -> Seconds:
        before = _processor_s(api)
        found = await others.call_until(asyncio.ensure_future(asyncio.sleep(round_s)))
        used[with_viewers] += _processor_s(api) - before
        return found

    async def watched() -> Seconds:
        nonlocal changes
        async with Viewers(str(address.hostname), int(address.port or 80), heads) as watching:
            await asyncio.sleep(1.0)  # that they come is not what is measured
            found = await window(with_viewers=True)
        if watching.counts.get("ended") or not watching.counts.get("changes"):
            raise Failure(f"the viewers were not told of what happened: {watching.counts}")
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
    told = changes / (viewers * rounds * (round_s + 1.0))
    return [
        _ratio("p99 of other requests", list(chain(*busy.values())), list(chain(*calm.values())), viewers),
        *(_ratio(f"... of {route}", busy[route], calm[route], viewers, goal=False) for route in busy),
        Figure(
            f"processor time of the API that {viewers} viewers take",
            100 * (used[True] - used[False]) / (rounds * round_s),
            "%",
            None,
            f"of one processor; without: {100 * used[False] / (rounds * round_s):.0f} %",
        ),
        Figure(f"changes that each of {viewers} viewers was told", told, "/s", None, "the newest of each object"),
    ]


def _processor_s(program: Program) -> float:
    """What the process has used so far; 0 where the kernel does not tell."""
    with suppress(OSError):
        fields = Path(f"/proc/{program.child.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return 0.0


def _nothing() -> Seconds:
    return {}


def _ratio(what: str, busy: list[float], calm: list[float], viewers: int, *, goal: bool = True) -> Figure:
    without = percentile(calm, 99)
    name = f"{what} with {viewers} viewers over p99 without" if goal else f"{what}, with viewers"
    told = f"without: {without * 1000:.1f} ms; {len(busy)} requests, {REQUESTS_PER_S:.0f} a second"
    return Figure(name, percentile(busy, 99) / without, "", Goal("<=", 1.5) if goal else None, told)


async def measure_lists(
    url: str, person: Person, cluster: RawCluster, example: Mapping[str, object], keys: ServerKeys, *, live_runs: int
) -> list[Figure]:
    """Every filter of the list of runs beside `live_runs`, on the first and the last page, as its page asks for it."""
    await _fill(cluster, RunFactory(dict(example), keys, webhook=False), live_runs)
    base = f"{url}/dashboard/api/{person.organization_id}"
    async with aiohttp.ClientSession(trust_env=False, headers=person.headers) as session:
        await _all_listed(session, base, live_runs)
        nothing = await _times(session, f"{base}/runs/r-00000000-0000-4000-8000-000000000000", status=404)
        slowest: dict[str, float] = {}
        for name, wanted in _filters(str(example["spec"]["resolved"]["templateId"])).items():  # type: ignore[index]
            total, seconds = await _list(session, base, wanted, 1)
            slowest[f"{name}, first page"] = percentile(seconds, 95)
            if total > _PER_PAGE:
                _, seconds = await _list(session, base, wanted, -(-total // _PER_PAGE))
                slowest[f"{name}, last page"] = percentile(seconds, 95)
    worst = max(slowest, key=slowest.__getitem__)
    told = f"a run that is not there: {percentile(nothing, 95) * 1000:.1f} ms"
    every = [Figure(f"... {name}", seconds * 1000, "ms") for name, seconds in slowest.items()]
    title = f"list of runs beside {live_runs:,} live ones, slowest filter and page, p95"
    return [Figure(title, slowest[worst] * 1000, "ms", Goal("<=", WITHIN_MS), f"{worst}; {told}"), *every]


def _filters(template_id: str) -> dict[str, dict[str, str]]:
    some_ago = format_timestamp(utc_now() - timedelta(seconds=5))
    found: dict[str, dict[str, str]] = {"no filter": {}}
    found |= {f"status {status}": {"status": status} for status in REST_STATUSES}
    found |= {
        "template": {"template_id": template_id},
        "template and status": {"template_id": template_id, "status": "pending"},
        "reference": {"executor_ref": "ref 7"},
        "unknown reference": {"executor_ref": "nobody's"},
        "created after": {"created_after": some_ago},
        "created before": {"created_before": some_ago},
    }
    return found


async def _list(
    session: aiohttp.ClientSession, base: str, wanted: Mapping[str, str], page: int
) -> tuple[int, list[float]]:
    query = urlencode({**wanted, "page": page, "per_page": _PER_PAGE})
    async with session.get(f"{base}/runs?{query}") as response:
        total = int((await response.json())["pagination"]["total"])
    return total, await _times(session, f"{base}/runs?{query}")


async def _times(session: aiohttp.ClientSession, url: str, *, status: int = 200) -> list[float]:
    found = []
    for _ in range(_CALLS):
        started = time.perf_counter()
        async with session.get(url) as response:
            await response.read()
            if response.status != status:
                raise Failure(f"a list answered {response.status}")
        found.append(time.perf_counter() - started)
    return found


async def _fill(cluster: RawCluster, factory: RunFactory, count: int) -> None:
    """Live runs of many references; half of them expire some day, some a second after they were made."""

    def body(number: int) -> bytes:
        within = timedelta(seconds=1) if number % 20 == 0 else timedelta(days=2)
        expires = {} if number % 2 else {"expiresAt": format_timestamp(utc_now() + within)}
        return factory.make(executorRef=f"ref {number % REFERENCES}", **expires)[1]

    await rate_of((partial(cluster.create_run, body(number)) for number in range(count)), concurrency=32)


async def _all_listed(session: aiohttp.ClientSession, base: str, count: int) -> None:
    for _ in range(600):
        async with session.get(f"{base}/runs?per_page=1") as response:
            if response.status == 200 and (await response.json())["pagination"]["total"] >= count:
                return
        await asyncio.sleep(0.1)
    raise Failure(f"the list did not have {count} runs after a minute")
