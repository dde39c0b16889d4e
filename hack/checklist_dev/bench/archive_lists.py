"""What a month of archived runs costs who lists and reads runs: the time of every list, the API's start and memory."""

import asyncio
import random
import time
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlencode

import aiohttp

from checklist_crds.archive import ArchiveStore
from checklist_crds.ids import object_id
from checklist_crds.kube.client import KubeClient, KubeConnection
from checklist_crds.resources.run import REST_STATUSES
from checklist_crds.times import format_timestamp
from checklist_dev.bench.archived_month import FIRST_DAY, MONTH, example_of, fill, records
from checklist_dev.bench.reading import seconds_of
from checklist_dev.bench.report import Figure, Goal, percentile
from checklist_dev.failures import Failure
from checklist_dev.load.checklist import TEMPLATE
from checklist_dev.load.client import ServiceClient
from checklist_dev.load.rig import Program, Rig

_PER_PAGE: Final = 100
_CALLS: Final = 5
_READ: Final = 200
_LOADED_WITHIN_S: Final = 600.0
Json = dict[str, Any]


async def measure_archive_lists(rig: Rig, *, archived_runs: int) -> list[Figure]:
    """Starts an API without an archive and one beside `archived_runs` of one month, and lists and reads them."""
    account = await asyncio.to_thread(rig.new_account)
    api = rig.add_api()
    await asyncio.to_thread(rig.start_all)
    async with ServiceClient([api.url], account.api_key) as client:
        template_id = await client.create_template(TEMPLATE)
        run_id = str((await client.dispatch({"template_id": template_id})).body["run_id"])
        await client.insist("GET", "/v1/runs")
    without = api.rss_mib()
    await asyncio.to_thread(api.child.stop)
    async with KubeClient(await KubeConnection.load(str(rig.cluster.kubeconfig))) as kube:
        example, revision = await example_of(kube, run_id)
    store = ArchiveStore.open((rig.folder / "photos").absolute().as_uri())
    organization = object_id("org", account.organization_id)
    ids = await fill(store, organization, records(example, revision, archived_runs))
    headers = {"Authorization": f"Bearer {account.api_key}"}
    async with aiohttp.ClientSession(api.url, trust_env=False, headers=headers) as session:
        loading = await _start(api, session, f"/v1/runs/{run_id}", archived_runs)
        with_archive = api.rss_mib()
        lists = await _lists(session, template_id)
        reads = await _reads(session, ids)
    added = api.rss_mib() - without
    return [
        *lists,
        *loading,
        Figure(
            f"API beside {archived_runs:,} archived runs: memory (RSS) that they add",
            added,
            "MiB",
            Goal("<=", 96),
            f"{without:.0f} MiB without, {with_archive:.0f} MiB when all were loaded, more after lists and reads",
        ),
        *reads,
    ]


async def _start(api: Program, session: aiohttp.ClientSession, live: str, archived: int) -> list[Figure]:
    """Start beside the archive: ready at once, and all of it listed some time later, while a live run is read."""
    api.start()
    ready_s = await asyncio.to_thread(api.wait_ready)
    meanwhile = []
    while True:
        meanwhile.append(await seconds_of(session, live))
        async with session.get("/v1/runs?per_page=1") as response:
            told = await response.json()
        if "archive" not in told:
            break
        if time.monotonic() - api.started_at > _LOADED_WITHIN_S:
            raise Failure(f"the archive was not read within {_LOADED_WITHIN_S:.0f} s: {told['archive']}")
        await asyncio.sleep(0.02)
    loaded_s = time.monotonic() - api.started_at
    if told["pagination"]["total"] != archived + 1:
        raise Failure(f"{told['pagination']['total']} runs are listed, not {archived + 1}")
    beside = f"beside {archived:,} archived runs"
    return [
        Figure(
            f"API {beside}: process start to all of them listed", loaded_s, "s", None, f"ready after {ready_s:.1f} s"
        ),
        Figure(f"... GET of a live run meanwhile, p99, {beside}", percentile(meanwhile, 99) * 1000, "ms"),
    ]


async def _lists(session: aiohttp.ClientSession, template_id: str) -> list[Figure]:
    """Every filter, on the first, the middle and the last page."""
    middle = format_timestamp(FIRST_DAY + MONTH / 2)
    filters: dict[str, Mapping[str, str]] = {"no filter": {}}
    filters |= {f"status {status}": {"status": status} for status in REST_STATUSES}
    filters |= {
        "template": {"template_id": template_id},
        "template and status": {"template_id": template_id, "status": "completed"},
        "reference": {"executor_ref": "ref 7"},
        "unknown reference": {"executor_ref": "nobody's"},
        "created after": {"created_after": middle},
        "created before": {"created_before": middle},
    }
    slowest: dict[str, float] = {}
    for name, wanted in filters.items():
        async with session.get(f"/v1/runs?{urlencode(wanted)}&per_page={_PER_PAGE}") as response:
            last = -(-(await response.json())["pagination"]["total"] // _PER_PAGE)
        for which, page in {"first": 1, "middle": last // 2, "last": last}.items():
            if page <= 1 and which != "first":
                continue
            query = urlencode({**wanted, "page": max(1, page), "per_page": _PER_PAGE})
            slowest[f"{name}, {which} page"] = max(
                [await seconds_of(session, f"/v1/runs?{query}") for _ in range(_CALLS)]
            )
    worst = max(slowest, key=slowest.__getitem__)
    title = "list through to the archive, slowest of every filter and page"
    every = [Figure(f"... archive, {name}", seconds * 1000, "ms") for name, seconds in slowest.items()]
    return [Figure(title, slowest[worst] * 1000, "ms", Goal("<=", 1000), worst), *every]


async def _reads(session: aiohttp.ClientSession, ids: list[str]) -> list[Figure]:
    """Single runs: anywhere, so that hardly two are in one part that was just read; and one after the other."""
    anywhere = random.Random(9).sample(ids, min(_READ, len(ids)))
    apart = [await seconds_of(session, f"/v1/runs/{run_id}") for run_id in anywhere]
    in_order = [await seconds_of(session, f"/v1/runs/{run_id}") for run_id in ids[:_READ]]
    return [
        Figure("GET of an archived run anywhere, p95", percentile(apart, 95) * 1000, "ms"),
        Figure("GET of archived runs in order, p95", percentile(in_order, 95) * 1000, "ms"),
    ]
