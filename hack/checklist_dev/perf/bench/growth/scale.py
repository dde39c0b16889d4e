"""Measures a start with many live runs and many waiting deliveries: time, memory, and writes, of which there must be
none."""

import asyncio
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Final

from checklist_crds.resources.kinds import RUN, WEBHOOK_DELIVERY
from checklist_crds.times import format_timestamp, utc_now
from checklist_dev.perf.bench.report import Figure, Goal
from checklist_dev.perf.bench.sizes import Sizes
from checklist_dev.perf.bench.stage import Stage
from checklist_dev.perf.bench.waiting_deliveries import create, let_wait
from checklist_dev.perf.bench.waiting_deliveries import waiting_deliveries as waiting_for_retry
from checklist_dev.perf.load.pace import until
from checklist_dev.perf.load.probes import REQUESTS, samples
from checklist_dev.perf.load.raw import RawCluster, RunFactory, fill
from checklist_dev.perf.load.rig import Program

READY_WITHIN_S = 300.0
NOT_WHILE_MEASURED = timedelta(days=2)
URL = "http://127.0.0.1:1/hook"
WORDS = {"Run": "live runs", "WebhookDelivery": "deliveries that wait"}
_WRITES = frozenset({"POST", "PUT", "PATCH", "APPLY", "DELETE", "DELETECOLLECTION"})
_SEEN: Final = "checklists_watch_events_total"


def writes(metrics: str) -> Counter[str]:
    """Writes of the project's kinds as counted by the API server: `{"PATCH runs/status": 3, ...}`."""
    counted: Counter[str] = Counter()
    for sample in samples(metrics, REQUESTS):
        labels = sample.labels
        if labels.get("group") == "checklists.dev" and labels.get("verb") in _WRITES:
            resource = "/".join(filter(None, [labels.get("resource"), labels.get("subresource")]))
            counted[f"{labels['verb']} {resource}"] += int(sample.value)
    return counted


async def measure_start(stage: Stage, sizes: Sizes) -> list[Figure]:
    """Fill the cluster; start operator and API with the runs, and the operator again with deliveries."""
    api, operator, cluster = stage.api, stage.operator, stage.cluster
    run = await stage.example(webhook={**stage.webhook, "url": URL})
    without = {program.name: Start(0.0, program.rss_mib()) for program in (operator, api)}
    await asyncio.sleep(1.0)  # the quota's confirmation is written a little later
    await stage.stop()
    # Live runs as created by the API: half of them expire, but not during the measurement.
    later = {"expiresAt": format_timestamp(utc_now() + NOT_WHILE_MEASURED)}
    factory = RunFactory(run, stage.rig.keys)
    await fill(cluster, factory, sizes.live_runs, spec=lambda number: later if number % 2 else {})
    figures, with_runs = await _start(operator, "operator", cluster, without[operator.name])
    figures += (await _start(api, "API", cluster, without[api.name]))[0]
    deliveries = list(waiting_for_retry([run], sizes.waiting_deliveries))
    await create(cluster, deliveries)
    await let_wait(cluster, deliveries, [utc_now() + NOT_WHILE_MEASURED] * len(deliveries))
    with_both, with_deliveries = await _start(operator, "operator", cluster, with_runs)
    return [*figures, *with_both, *_costs(sizes, without[operator.name], with_runs, with_deliveries)]


@dataclass(frozen=True, slots=True)
class Start:
    """Seconds of a start until all objects are known, and the memory (RSS, MiB) after it."""

    seconds: float
    rss: float


def _costs(sizes: Sizes, empty: Start, with_runs: Start, with_deliveries: Start) -> list[Figure]:
    """The operator's cost of one more object."""
    steps = (
        ("live run", sizes.live_runs, empty, with_runs),
        ("delivery that waits", sizes.waiting_deliveries, with_runs, with_deliveries),
    )
    return [
        figure
        for what, count, before, after in steps
        for figure in (
            Figure(f"operator: memory of one more {what}", (after.rss - before.rss) / count * 1024, "KiB"),
            Figure(f"operator: start for one more {what}", (after.seconds - before.seconds) / count * 1000, "ms"),
        )
    ]


async def _start(program: Program, what: str, cluster: RawCluster, before_that: Start) -> tuple[list[Figure], Start]:
    """Start, wait until ready, measure, stop."""
    before = await Witness.see(cluster)
    program.start()
    ready_s = await asyncio.to_thread(partial(program.wait_ready, timeout_s=READY_WITHIN_S))
    seen_s = await _all_seen(program, before.counts) if what == "operator" else 0.0
    await asyncio.sleep(min(5.0, 1.0 + seen_s))  # writes at a start would have begun by then
    start = Start(max(ready_s, seen_s), program.rss_mib())
    after = await Witness.see(cluster)
    await asyncio.to_thread(program.child.stop)
    written = after.writes - before.writes
    changed = sum(after.versions.get(name) != version for name, version in before.versions.items())
    writes = ", ".join(f"{verb} x{count}" for verb, count in written.items()) or "no write of any kind"
    objects = " and ".join(f"{count:,} {WORDS[kind]}" for kind, count in before.counts.items() if count)
    title = f"{what} with {objects}"
    wrote = max(written.total(), changed)
    goals = (Goal("<=", 90), Goal("<=", 600)) if what == "operator" else (None, None)
    figures = [
        Figure(
            f"{title}: process start to all of them known",
            start.seconds,
            "s",
            goals[0],
            f"raw list of the same objects: {before.list_s:.1f} s; ready after {ready_s:.1f} s",
        ),
        Figure(f"{title}: memory (RSS)", start.rss, "MiB", goals[1], f"before them: {before_that.rss:.0f} MiB"),
        Figure(f"{title}: writes at start", wrote, "", Goal("==", 0), f"{writes}; {changed} objects changed"),
    ]
    return figures, start


async def _all_seen(operator: Program, counts: Mapping[str, int]) -> float:
    """Seconds from the start until the operator's watch has every object. Raises Failure."""

    async def are_seen() -> bool:
        _, text = await asyncio.to_thread(operator.get, "/metrics")
        seen = {sample.labels["kind"]: sample.value for sample in samples(text, _SEEN)}
        return all(seen.get(kind, 0) >= count for kind, count in counts.items())

    await until(are_seen, f"known to the operator: all of {dict(counts)}", within_s=READY_WITHIN_S)
    return time.monotonic() - operator.started_at


@dataclass(frozen=True, slots=True)
class Witness:
    """Two independent records of writes: the API server's counters, and the version of every live object."""

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
