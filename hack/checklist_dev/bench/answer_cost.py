"""What an answer with a webhook costs, by the size of its run: rate, processor time, writes of the run, and bytes.

Baseline in the same rounds: one client that patches the same answers into runs without events, at the Kubernetes API
itself. What is compared with it has the same client, as many requests under way, and the same machine.
"""

import asyncio
import json
import os
import re
import statistics
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from checklist_crds.resources.delivery_records import waiting_events
from checklist_crds.times import format_timestamp, utc_now
from checklist_dev.bench.answers import USUAL_STEPS, answers_to, open_runs, template_of, text_for
from checklist_dev.bench.raw import RawCluster, RunFactory, rate_of
from checklist_dev.bench.report import Figure, Goal, of_rounds
from checklist_dev.failures import Failure, say
from checklist_dev.load.client import Person, ServiceClient, new_op
from checklist_dev.load.received import ReceiverLog
from checklist_dev.load.rig import Rig

SIZES: Final = (5, 20, 40, 100)
_QUEUE: Final = 100
"""Answers of an offline queue."""
_RECORDED_WITHIN_S: Final = 60.0
_PATCHES: Final = re.compile(r"^apiserver_request_total\{([^}]*)\} (\S+)$", re.MULTILINE)
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one round."""

    rate: float
    """Answers acknowledged per second."""
    ms: Mapping[str, float]
    """Processor time per answer and process, until the last event is recorded."""
    patches: float
    """Writes of a run's status that succeeded, per answer."""
    refused: float
    """And those that were refused for a conflict."""

    @property
    def ms_in_all(self) -> float:
        return sum(self.ms.values())


@dataclass(frozen=True, slots=True)
class Answering:
    """A service whose answers are measured."""

    rig: Rig
    client: ServiceClient
    cluster: RawCluster
    log: ReceiverLog
    url: str


async def measure_answer_cost(
    stage: Answering, *, answers: int, rounds: int, before: Answering | None = None
) -> list[Figure]:
    """`answers` in each round and size; the sizes take turns. `before`: an earlier release, measured in turn."""
    client, cluster = stage.client, stage.cluster
    templates = {size: await client.create_template(template_of(size)) for size in SIZES}
    older = None if before is None else await before.client.create_template(template_of(USUAL_STEPS))
    over_before: list[float] = []
    costs: dict[int, list[Cost]] = {size: [] for size in SIZES}
    shares: dict[int, list[float]] = {size: [] for size in SIZES}
    await _round(stage, templates[SIZES[0]], size=SIZES[0], answers=answers // 4)  # warms up
    finished = ""
    for number in range(rounds):
        for size in SIZES:
            say(f"answers: round {number + 1} of {rounds}, runs of {size} steps")
            cost, people = await _round(stage, templates[size], size=size, answers=answers)
            raw = await _raw_rate(stage, people, size=size)
            costs[size].append(cost)
            shares[size].append(cost.rate / raw)
            if size == USUAL_STEPS:
                finished = await _finished(cluster, people[0])
                if before is not None and older is not None:
                    earlier, _ = await _round(before, older, size=size, answers=answers)
                    over_before.append(cost.rate / earlier.rate)
    usual, small, large = costs[USUAL_STEPS], costs[SIZES[0]], costs[SIZES[-1]]
    growth = [of_large.ms_in_all / of_small.ms_in_all for of_large, of_small in zip(large, small, strict=True)]
    return [
        *(_rate_figure(size, shares[size], costs[size]) for size in SIZES),
        *(_cost_figure(size, costs[size]) for size in SIZES),
        of_rounds(f"cost of an answer at {SIZES[-1]} steps over one at {SIZES[0]}", growth, "x", goal=Goal("<=", 1.5)),
        of_rounds(
            f"status patches per answer, {USUAL_STEPS} steps",
            [each.patches for each in usual],
            "",
            goal=Goal("<=", 1.2),
        ),
        of_rounds(
            f"refused for a conflict per answer, {USUAL_STEPS} steps",
            [each.refused for each in usual],
            "",
            goal=Goal("<=", 0.02),
        ),
        Figure(
            f"bytes of a finished run of {USUAL_STEPS} steps with its records",
            len(finished) / 1024,
            "KiB",
            Goal("<=", 14),
        ),
        *await _offline_queues(client, cluster, templates[SIZES[-1]], stage.url),
        *(
            [
                of_rounds(
                    f"answers with a webhook over those of the release before, {USUAL_STEPS} steps",
                    over_before,
                    "x",
                    goal=Goal(">=", 3),
                )
            ]
            if over_before
            else []
        ),
    ]


async def _round(stage: Answering, template_id: str, *, size: int, answers: int) -> tuple[Cost, list[Person]]:
    """Every step of so many runs, step by step through all of them."""
    rig, cluster, log = stage.rig, stage.cluster, stage.log
    people = await open_runs(stage.client, template_id, [stage.url], -(-answers // size))
    planned = list(answers_to(people, size))
    for _ in log.new():
        pass
    patches_before, cpu_before = await _patches(cluster), _processor_s(rig)
    rate = await rate_of(answer.give for answer in planned)
    await _all_recorded(cluster, people)
    cpu, patches = _processor_s(rig), await _patches(cluster)
    arrived = sum(1 for _ in log.new())
    if arrived < len(planned):
        raise Failure(f"{len(planned) - arrived} of {len(planned)} events did not arrive")
    count = len(planned)
    spent = {name: 1000 * (cpu[name] - cpu_before[name]) / count for name in cpu}
    succeeded, refused = (now - before for now, before in zip(patches, patches_before, strict=True))
    return Cost(rate, spent, succeeded / count, refused / count), people


async def _raw_rate(stage: Answering, people: Sequence[Person], *, size: int) -> float:
    """The same answers as merge patches of runs without webhook and records."""
    cluster = stage.cluster
    example = await cluster.get_run(people[0].run_id)
    factory = RunFactory(example, stage.rig.keys, raw=True, webhook=False)
    made = [factory.make() for _ in people]
    for _, body in made:
        await cluster.create_run(body)

    def patches() -> Iterator[Callable[[], Awaitable[None]]]:
        for number in range(size):
            for name, _ in made:
                answer = {
                    "value": json.dumps(text_for(number)),
                    "at": format_timestamp(utc_now()),
                    "revision": 1,
                }
                status = {
                    "phase": "InProgress",
                    "answers": {f"s-{number}": answer},
                    "progress": {"total": size, "answered": number + 1, "skipped": 0},
                    "lastStepId": f"s-{number}",
                    "seq": number + 1,
                }
                yield partial(cluster.patch_run_status, name, status)

    return await rate_of(patches())


async def _finished(cluster: RawCluster, person: Person) -> str:
    """The run once it is submitted and settled, as compact JSON."""
    await person.submit(op_id=new_op())
    deadline = time.monotonic() + _RECORDED_WITHIN_S
    while time.monotonic() < deadline:
        run = await cluster.get_run(person.run_id)
        if run["status"].get("settled"):
            return json.dumps(run, ensure_ascii=False, separators=(",", ":"))
        await asyncio.sleep(0.1)
    raise Failure(f"run {person.run_id} was not settled within {_RECORDED_WITHIN_S:.0f} s")


async def _offline_queues(client: ServiceClient, cluster: RawCluster, template_id: str, url: str) -> list[Figure]:
    """What a phone sends that was offline: all its answers in one request."""
    seconds, patches = [], []
    for person in await open_runs(client, template_id, [url], 5):
        before, _ = await _patches(cluster)
        operations = [
            {"type": "answer", "op_id": new_op(), "step_id": f"s-{number}", "value": text_for(number)}
            for number in range(_QUEUE)
        ]
        started = time.perf_counter()
        reply = await person.write("POST", "/operations", {"operations": operations})
        seconds.append(time.perf_counter() - started)
        if not reply.ok or any(each["status"] != 200 for each in reply.body["results"]):
            raise Failure(f"an offline queue was answered with {reply.status}: {str(reply.body)[:300]}")
        await _all_recorded(cluster, [person])
        patches.append((await _patches(cluster))[0] - before)
    return [
        of_rounds(f"an offline queue of {_QUEUE} answers", seconds, "s", goal=Goal("<=", 2)),
        of_rounds(f"status patches for an offline queue of {_QUEUE} answers", patches, "", goal=Goal("<=", 8)),
    ]


async def _all_recorded(cluster: RawCluster, people: Sequence[Person]) -> None:
    deadline = time.monotonic() + _RECORDED_WITHIN_S
    waiting = {person.run_id for person in people}
    while waiting:
        if time.monotonic() > deadline:
            raise Failure(f"{len(waiting)} runs still have unrecorded events, for example {next(iter(waiting))}")
        for name in sorted(waiting):
            status = (await cluster.get_run(name))["status"]
            if not waiting_events(status):
                waiting.discard(name)
        await asyncio.sleep(0.25)


async def _patches(cluster: RawCluster) -> tuple[float, float]:
    """Writes of the status of runs since the start of the API server: those that succeeded, those that conflicted."""
    counts = {"200": 0.0, "409": 0.0, "422": 0.0}
    for text, value in _PATCHES.findall(await cluster.metrics()):
        labels = dict(re.findall(r'(\w+)="([^"]*)"', text))
        if (labels["verb"], labels["resource"], labels["subresource"]) == ("PATCH", "runs", "status") and (
            labels["code"] in counts
        ):
            counts[labels["code"]] += float(value)
    return counts["200"], counts["409"] + counts["422"]


def _processor_s(rig: Rig) -> dict[str, float]:
    """Seconds of processor time of each process so far."""
    pids = rig.cluster.pids() | {name: program.child.pid for name, program in rig.programs.items()}
    found = {}
    for name, pid in pids.items():
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        found[name] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return found


def _rate_figure(size: int, shares: Sequence[float], costs: Sequence[Cost]) -> Figure:
    rate = statistics.median(cost.rate for cost in costs)
    goal = Goal(">=", 0.55) if size == USUAL_STEPS else None
    name = f"answers with a webhook over raw status patches, {size} steps"
    return of_rounds(name, shares, "x", goal=goal, baseline=f"answers: {rate:,.0f}/s")


def _cost_figure(size: int, costs: Sequence[Cost]) -> Figure:
    each = {name: statistics.median(cost.ms[name] for cost in costs) for name in costs[0].ms}
    parts = ", ".join(f"{name} {ms:.1f}" for name, ms in each.items())
    return of_rounds(
        f"processor time of an answer, {size} steps", [cost.ms_in_all for cost in costs], "ms", baseline=parts
    )
