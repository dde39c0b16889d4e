"""Measures from the commit of an event to its first byte at the receiver, at a steady rate of events.

The start is the envelope's `ts`, when the change was decided, just before it was written. The figure thus includes the
commit and can only be too large; from the executor's answer on it would be smaller, and negative if the event is faster
than the answer.

The baseline is the minimum with this API: patch a status, receive it by a watch, send a bare POST.
"""

import asyncio
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice

import aiohttp

from checklist_crds.kube.client import KubeClient
from checklist_crds.resources.kinds import RUN
from checklist_crds.times import parse_timestamp
from checklist_dev.local.bootstrap import NAMESPACE
from checklist_dev.perf.bench.answers import USUAL_STEPS, Planned, answers_to, open_runs, runs_needed, template_of
from checklist_dev.perf.bench.report import Figure, Goal, percentile
from checklist_dev.perf.bench.sizes import Sizes
from checklist_dev.perf.bench.stage import Stage
from checklist_dev.perf.load.pace import Call, at_steady_rate
from checklist_dev.perf.load.raw import RAW_LABEL, RawCluster, RunFactory
from checklist_dev.perf.load.received import Transmission, collect


@dataclass(slots=True)
class Latencies:
    """Milliseconds."""

    raw: list[float] = field(default_factory=list)
    ours: list[float] = field(default_factory=list)
    after_answer: list[float] = field(default_factory=list)
    """First byte after the executor's answer; negative if it was before."""


class RawPipeline:
    """Patch, watch, POST: in one process, without any of the service's work."""

    def __init__(self, cluster: RawCluster, kube: KubeClient, url: str) -> None:
        self._cluster = cluster
        self._kube = kube
        self._url = url
        self._session = aiohttp.ClientSession(trust_env=False)
        self._names: list[str] = []
        self._sent_at: dict[str, float] = {}
        self._posts: set[asyncio.Task[None]] = set()
        self._watching: asyncio.Task[None] | None = None

    async def prepare(self, factory: RunFactory, count: int) -> None:
        for _ in range(count):
            name, body = factory.make()
            await self._cluster.create(RUN, body)
            self._names.append(name)
        _, version = await self._kube.list_all(RUN, NAMESPACE, label_selector=RAW_LABEL)
        self._watching = asyncio.create_task(self._watch(version))

    async def close(self) -> None:
        if self._watching:
            self._watching.cancel()
        await asyncio.gather(*self._posts, return_exceptions=True)
        await self._session.close()

    def calls(self, count: int, mark: str) -> Iterator[Call]:
        """Patches over all runs in turn."""
        for number in range(count):
            yield self._patch(self._names[number % len(self._names)], f"s-{mark}-{number}")

    def latency_ms(self, transmission: Transmission) -> float:
        return (transmission.at - self._sent_at[json.loads(transmission.body)["event_id"]]) * 1000

    def _patch(self, name: str, step_id: str) -> Call:
        async def patch() -> None:
            self._sent_at[step_id] = time.time()
            await self._cluster.patch_run_status(name, {"lastStepId": step_id})

        return patch

    async def _watch(self, version: str) -> None:
        events = self._kube.watch(RUN, NAMESPACE, resource_version=version, label_selector=RAW_LABEL)
        async for event in events:
            step_id = (event.object.get("status") or {}).get("lastStepId")
            if event.type == "MODIFIED" and step_id:
                task = asyncio.create_task(self._post(step_id))
                self._posts.add(task)
                task.add_done_callback(self._posts.discard)

    async def _post(self, step_id: str) -> None:
        async with self._session.post(self._url, json={"event_id": step_id}) as response:
            await response.read()


async def measure_latency(stage: Stage, sizes: Sizes) -> list[Figure]:
    """Measure in alternating windows. Raises Failure if an event does not arrive."""
    client, per_second = stage.client, sizes.events_per_s
    count = int(sizes.latency_round_s * per_second)
    template_id = await client.create_template(template_of(USUAL_STEPS))
    people = await open_runs(client, template_id, [stage.hook], runs_needed(sizes.latency_rounds * count))
    example = await stage.cluster.get_run(people[0].run_id)
    answers, log = answers_to(people), stage.log()
    result, rates = Latencies(), []
    acknowledged: dict[tuple[str, str], float] = {}
    pipeline = RawPipeline(stage.cluster, stage.kube, stage.hook)
    try:
        await pipeline.prepare(RunFactory(example, stage.rig.keys, raw=True, webhook=False), len(people))
        for number in range(sizes.latency_rounds):
            await at_steady_rate(pipeline.calls(count, str(number)), per_second=per_second)
            result.raw += [pipeline.latency_ms(each) for each in await collect(log, count)]
            before = len(acknowledged)
            planned = (_timed(each, acknowledged) for each in islice(answers, count))
            rates.append(await at_steady_rate(planned, per_second=per_second))
            for each in await collect(log, len(acknowledged) - before):
                committed = parse_timestamp(each.envelope["ts"]).timestamp()
                result.ours.append((each.at - committed) * 1000)
                key = (each.run_id, str(each.envelope["data"]["step_id"]))
                result.after_answer.append((each.at - acknowledged[key]) * 1000)
    finally:
        await pipeline.close()
    return _figures(result, per_second, min(rates))


def _timed(planned: Planned, acknowledged: dict[tuple[str, str], float]) -> Call:
    async def give() -> None:
        await planned.give()
        acknowledged[planned.key] = time.time()

    return give


def _figures(result: Latencies, per_second: float, rate: float) -> list[Figure]:
    figures = []
    for percent, bound in ((50, 250.0), (99, 1000.0)):
        raw = percentile(result.raw, percent)
        ours = percentile(result.ours, percent)
        name = f"event decided to first byte at {per_second:.0f} events/s, p{percent}"
        figures.append(
            Figure(name, ours, "ms", Goal("<=", bound), f"raw patch, watch and POST: {raw:.1f} ms; {ours / raw:.1f} x")
        )
    after = percentile(result.after_answer, 50)
    figures.append(Figure("executor's answer to first byte, p50", after, "ms"))
    figures.append(Figure("events per second while that was measured", rate, "/s", Goal(">=", per_second * 0.95)))
    return figures
