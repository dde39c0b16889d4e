"""What it costs to start beside many live runs: time, memory, and writes, of which there must be none."""

import asyncio
import re
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from checklist_crds.kube.client import KubeConnection
from checklist_crds.times import format_timestamp, utc_now
from checklist_dev.bench.raw import RawCluster, RunFactory, rate_of
from checklist_dev.bench.report import Figure, Goal
from checklist_dev.failures import Failure
from checklist_dev.load.checklist import TEMPLATE
from checklist_dev.load.client import ServiceClient
from checklist_dev.load.rig import Program, Rig

READY_WITHIN_S = 300.0
_WRITES = frozenset({"POST", "PUT", "PATCH", "APPLY", "DELETE", "DELETECOLLECTION"})
_REQUESTS = re.compile(r"^apiserver_request_total\{(?P<labels>.*)\} (?P<count>\S+)$", re.MULTILINE)
_SEEN = re.compile(r'^checklists_watch_events_total\{kind="Run"\} (\S+)$', re.MULTILINE)
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


async def measure_start(rig: Rig, *, live_runs: int) -> list[Figure]:
    """Fills the cluster, then starts operator and API beside what is there."""
    account = await asyncio.to_thread(rig.new_account)
    api, operator = rig.add_api("scale-api"), rig.add_operator("operator-scale")
    await asyncio.to_thread(rig.start_all)
    connection = await KubeConnection.load(str(rig.cluster.kubeconfig))
    async with RawCluster(connection) as cluster:
        async with ServiceClient([api.url], account.api_key) as client:
            template_id = await client.create_template(TEMPLATE)
            webhook = {"url": "http://127.0.0.1:1/hook", "secret": "of no consequence", "events": ["*"]}
            run = await client.dispatch({"template_id": template_id, "webhook": webhook})
        empty = {program.name: program.rss_mib() for program in (operator, api)}
        await asyncio.sleep(1.0)  # the quota's confirmation is written a little later
        for program in (api, operator):
            await asyncio.to_thread(program.child.stop)
        await _fill(cluster, RunFactory(await cluster.get_run(run.body["run_id"])), live_runs)
        figures = []
        for program, what in ((operator, "operator"), (api, "API")):
            figures += await _start(program, what, cluster, empty_rss=empty[program.name])
    return figures


async def _start(program: Program, what: str, cluster: RawCluster, *, empty_rss: float) -> list[Figure]:
    """Start, wait until ready, look, stop."""
    before = await Witness.see(cluster)
    program.start()
    ready_s = await asyncio.to_thread(partial(program.wait_ready, timeout_s=READY_WITHIN_S))
    seen_s = await _all_seen(program, len(before.versions))
    await asyncio.sleep(min(5.0, 1.0 + seen_s))  # whoever writes at a start has begun by then
    rss = program.rss_mib()
    after = await Witness.see(cluster)
    await asyncio.to_thread(program.child.stop)
    written = after.writes - before.writes
    changed = sum(after.versions.get(name) != version for name, version in before.versions.items())
    told = ", ".join(f"{verb} x{count}" for verb, count in written.items()) or "no write of any kind"
    beside = f"{what} beside {len(before.versions):,} live runs"
    wrote = max(written.total(), changed)
    return [
        Figure(
            f"{beside}: process start to all of them known",
            max(ready_s, seen_s),
            "s",
            None,
            f"raw list of the same runs: {before.list_s:.1f} s; ready after {ready_s:.1f} s",
        ),
        Figure(f"{beside}: memory (RSS)", rss, "MiB", None, f"without runs: {empty_rss:.0f} MiB"),
        Figure(f"{beside}: writes at start", wrote, "", Goal("==", 0), f"{told}; {changed} runs changed"),
    ]


async def _all_seen(program: Program, runs: int) -> float:
    """Seconds from the start until the operator's watch has brought every run; 0 for a program that does not count.

    Raises Failure when that does not come to pass.
    """
    while True:
        _, text = await asyncio.to_thread(program.get, "/metrics")
        seen = _SEEN.search(text)
        elapsed = time.monotonic() - program.started_at
        if seen is None and program.name.startswith("scale-api"):
            return 0.0
        if seen is not None and float(seen[1]) >= runs:
            return elapsed
        if elapsed > READY_WITHIN_S:
            raise Failure(f"{program.name} had not seen all of {runs} runs after {READY_WITHIN_S:.0f} s")
        await asyncio.sleep(0.1)


@dataclass(frozen=True, slots=True)
class Witness:
    """Two independent ways to see writes: the API server's own count, and the version of every live run."""

    writes: Counter[str]
    versions: Mapping[str, str]
    list_s: float

    @classmethod
    async def see(cls, cluster: RawCluster) -> "Witness":
        started = time.perf_counter()
        runs = await cluster.list_runs(field_selector="status.settled!=true")
        list_s = time.perf_counter() - started
        versions = {run["metadata"]["name"]: run["metadata"]["resourceVersion"] for run in runs}
        return cls(writes(await cluster.metrics()), versions, list_s)


async def _fill(cluster: RawCluster, factory: RunFactory, count: int) -> None:
    """Live runs as the API makes them: half of them expire some day, none of them while this is measured."""
    later = format_timestamp(utc_now() + timedelta(days=2))

    def body(number: int) -> bytes:
        return factory.make(expiresAt=later)[1] if number % 2 else factory.make()[1]

    await rate_of((partial(cluster.create_run, body(number)) for number in range(count)), concurrency=32)
