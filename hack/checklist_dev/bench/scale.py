"""What it costs to start beside many live runs and many deliveries that wait: time, memory, and writes, of which there
must be none."""

import asyncio
import re
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from checklist_crds.kube.client import KubeConnection
from checklist_crds.resources.kinds import RUN, WEBHOOK_DELIVERY
from checklist_crds.times import format_timestamp, utc_now
from checklist_dev.bench.raw import RawCluster, RunFactory, rate_of
from checklist_dev.bench.report import Figure, Goal
from checklist_dev.bench.waiting import create, let_wait
from checklist_dev.bench.waiting import waiting_deliveries as waiting_for_retry
from checklist_dev.failures import Failure
from checklist_dev.load.checklist import TEMPLATE
from checklist_dev.load.client import ServiceClient
from checklist_dev.load.rig import Program, Rig

READY_WITHIN_S = 300.0
NOT_WHILE_MEASURED = timedelta(days=2)
URL = "http://127.0.0.1:1/hook"
WORDS = {"Run": "live runs", "WebhookDelivery": "deliveries that wait"}
_WRITES = frozenset({"POST", "PUT", "PATCH", "APPLY", "DELETE", "DELETECOLLECTION"})
_REQUESTS = re.compile(r"^apiserver_request_total\{(?P<labels>.*)\} (?P<count>\S+)$", re.MULTILINE)
_SEEN = re.compile(r'^checklists_watch_events_total\{kind="(\w+)"\} (\S+)$', re.MULTILINE)
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


def writes(metrics: str) -> Counter[str]:
    """`{"PATCH runs/status": 3, ...}` of the project's own kinds, from the API server's own count."""
    counted: Counter[str] = Counter()
    for match in _REQUESTS.finditer(metrics):
        labels = dict(_LABEL.findall(match["labels"]))
        if labels.get("group") == "checklists.dev" and labels.get("verb") in _WRITES:
            resource = "/".join(filter(None, [labels.get("resource"), labels.get("subresource")]))
            counted[f"{labels['verb']} {resource}"] += int(float(match["count"]))
    return counted


async def measure_start(rig: Rig, *, live_runs: int, waiting_deliveries: int) -> list[Figure]:
    """Fills the cluster, starting operator and API beside the runs, and the operator once more beside deliveries."""
    account = await asyncio.to_thread(rig.new_account)
    api, operator = rig.add_api("scale-api"), rig.add_operator("operator-scale")
    await asyncio.to_thread(rig.start_all)
    connection = await KubeConnection.load(str(rig.cluster.kubeconfig))
    async with RawCluster(connection) as cluster:
        async with ServiceClient([api.url], account.api_key) as client:
            template_id = await client.create_template(TEMPLATE)
            webhook = {"url": URL, "secret": "of no consequence", "events": ["*"]}
            reply = await client.dispatch({"template_id": template_id, "webhook": webhook})
        empty = {program.name: program.rss_mib() for program in (operator, api)}
        await asyncio.sleep(1.0)  # the quota's confirmation is written a little later
        for program in (api, operator):
            await asyncio.to_thread(program.child.stop)
        run = await cluster.get_run(reply.body["run_id"])
        await _fill_runs(cluster, RunFactory(run, rig.keys), live_runs)
        figures, beside_runs = await _start(operator, "operator", cluster, Start(0.0, empty[operator.name]))
        figures += (await _start(api, "API", cluster, Start(0.0, empty[api.name])))[0]
        deliveries = list(waiting_for_retry([run], waiting_deliveries))
        await create(cluster, deliveries)
        await let_wait(cluster, deliveries, [utc_now() + NOT_WHILE_MEASURED] * len(deliveries))
        beside_all, with_deliveries = await _start(operator, "operator", cluster, beside_runs)
    return [*figures, *beside_all, *_costs(live_runs, waiting_deliveries, beside_runs, with_deliveries, empty)]


@dataclass(frozen=True, slots=True)
class Start:
    """How long a start took until all was known, and the memory (RSS, MiB) after it."""

    seconds: float
    rss: float


def _costs(
    runs: int, deliveries: int, beside_runs: Start, beside_all: Start, empty: Mapping[str, float]
) -> list[Figure]:
    """What one more object costs the operator."""
    without = empty["operator-scale"]
    return [
        Figure("operator: memory of one more live run", (beside_runs.rss - without) / runs * 1024, "KiB"),
        Figure(
            "operator: memory of one more delivery that waits",
            (beside_all.rss - beside_runs.rss) / deliveries * 1024,
            "KiB",
        ),
        Figure("operator: start for one more live run", beside_runs.seconds / runs * 1000, "ms"),
        Figure(
            "operator: start for one more delivery that waits",
            (beside_all.seconds - beside_runs.seconds) / deliveries * 1000,
            "ms",
        ),
    ]


async def _start(program: Program, what: str, cluster: RawCluster, before_that: Start) -> tuple[list[Figure], Start]:
    """Start, wait until ready, look, stop."""
    before = await Witness.see(cluster)
    program.start()
    ready_s = await asyncio.to_thread(partial(program.wait_ready, timeout_s=READY_WITHIN_S))
    seen_s = await _all_seen(program, before.counts)
    await asyncio.sleep(min(5.0, 1.0 + seen_s))  # whoever writes at a start has begun by then
    start = Start(max(ready_s, seen_s), program.rss_mib())
    after = await Witness.see(cluster)
    await asyncio.to_thread(program.child.stop)
    written = after.writes - before.writes
    changed = sum(after.versions.get(name) != version for name, version in before.versions.items())
    told = ", ".join(f"{verb} x{count}" for verb, count in written.items()) or "no write of any kind"
    objects = " and ".join(f"{count:,} {WORDS[kind]}" for kind, count in before.counts.items() if count)
    beside = f"{what} beside {objects}"
    wrote = max(written.total(), changed)
    goals = (Goal("<=", 90), Goal("<=", 600)) if what == "operator" else (None, None)
    figures = [
        Figure(
            f"{beside}: process start to all of them known",
            start.seconds,
            "s",
            goals[0],
            f"raw list of the same objects: {before.list_s:.1f} s; ready after {ready_s:.1f} s",
        ),
        Figure(f"{beside}: memory (RSS)", start.rss, "MiB", goals[1], f"before them: {before_that.rss:.0f} MiB"),
        Figure(f"{beside}: writes at start", wrote, "", Goal("==", 0), f"{told}; {changed} objects changed"),
    ]
    return figures, start


async def _all_seen(program: Program, counts: Mapping[str, int]) -> float:
    """Seconds from the start until the operator's watch has brought every object; 0 for a program that does not count.

    Raises Failure when that does not come to pass.
    """
    while True:
        _, text = await asyncio.to_thread(program.get, "/metrics")
        seen = {kind: float(count) for kind, count in _SEEN.findall(text)}
        elapsed = time.monotonic() - program.started_at
        if not seen and program.name.startswith("scale-api"):
            return 0.0
        if all(seen.get(kind, 0) >= count for kind, count in counts.items()):
            return elapsed
        if elapsed > READY_WITHIN_S:
            raise Failure(f"{program.name} had not seen all of {dict(counts)} after {READY_WITHIN_S:.0f} s")
        await asyncio.sleep(0.1)


@dataclass(frozen=True, slots=True)
class Witness:
    """Two independent ways to see writes: the API server's own count, and the version of every live object."""

    writes: Counter[str]
    versions: Mapping[str, str]
    counts: Mapping[str, int]
    list_s: float

    @classmethod
    async def see(cls, cluster: RawCluster) -> "Witness":
        started = time.perf_counter()
        versions: dict[str, str] = {}
        counts: dict[str, int] = {}
        for kind in (RUN, WEBHOOK_DELIVERY):
            before = len(versions)
            async for page in cluster.pages(kind, field_selector="status.settled!=true"):
                versions |= {item["metadata"]["name"]: item["metadata"]["resourceVersion"] for item in page}
            counts[kind.kind] = len(versions) - before
        list_s = time.perf_counter() - started
        return cls(writes(await cluster.metrics()), versions, counts, list_s)


async def _fill_runs(cluster: RawCluster, factory: RunFactory, count: int) -> None:
    """Live runs as the API makes them: half of them expire some day, none of them while this is measured."""
    later = format_timestamp(utc_now() + NOT_WHILE_MEASURED)

    def body(number: int) -> bytes:
        return factory.make(expiresAt=later)[1] if number % 2 else factory.make()[1]

    await rate_of((partial(cluster.create_run, body(number)) for number in range(count)), concurrency=32)
