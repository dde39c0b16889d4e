"""Measures the cost of an answer with a webhook by the size of its run: rate, processor time, writes and bytes.

Baseline in the same rounds: one client that patches the same answers into runs without events, directly at the
Kubernetes API, with the same concurrency on the same machine.
"""

import json
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from checklist_crds.times import format_timestamp, utc_now
from checklist_dev.failures import Failure, say
from checklist_dev.perf.bench.answers import USUAL_STEPS, answers_to, open_runs, template_of, text_for
from checklist_dev.perf.bench.report import Figure, Goal, of_rounds
from checklist_dev.perf.bench.sizes import Sizes
from checklist_dev.perf.bench.stage import Stage
from checklist_dev.perf.load.client import Person, new_op
from checklist_dev.perf.load.pace import Call, rate_of, until
from checklist_dev.perf.load.probes import REQUESTS, processor_s, total
from checklist_dev.perf.load.raw import RawCluster, RunFactory, fill, recorded
from checklist_dev.perf.load.rig import Rig

SIZES: Final = (5, 20, 40, 100)
_QUEUE: Final = 100
"""Answers in an offline queue."""


@dataclass(frozen=True, slots=True)
class Cost:
    """The costs in one round."""

    rate: float
    """Answers acknowledged per second."""
    ms: Mapping[str, float]
    """Processor time per answer and process, until the last event is recorded, in ms."""
    patches: float
    """Successful writes of a run's status, per answer."""
    refused: float
    """Writes refused for a conflict, per answer."""

    @property
    def ms_in_all(self) -> float:
        return sum(self.ms.values())


async def measure_answer_cost(stage: Stage, sizes: Sizes, *, before: Stage | None = None) -> list[Figure]:
    """Measure the sizes of runs in turn. `before`: an earlier release, measured in turn."""
    client, cluster, answers, rounds = stage.client, stage.cluster, sizes.answers, sizes.answer_rounds
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
        *await _offline_queues(stage, templates[SIZES[-1]]),
        *(
            [
                of_rounds(
                    f"answers with a webhook relative to the previous release, {USUAL_STEPS} steps",
                    over_before,
                    "x",
                    goal=Goal(">=", 3),
                )
            ]
            if over_before
            else []
        ),
    ]


async def _round(stage: Stage, template_id: str, *, size: int, answers: int) -> tuple[Cost, list[Person]]:
    """Answer every step of so many runs, ordered by step."""
    rig, cluster = stage.rig, stage.cluster
    people = await open_runs(stage.client, template_id, [stage.hook], -(-answers // size))
    planned, log = list(answers_to(people, size)), stage.log()
    patches_before, cpu_before = await _patches(cluster), _processor_s(rig)
    rate = await rate_of(answer.give for answer in planned)
    await recorded(cluster, {person.run_id for person in people}, look_every_s=0.25)
    cpu, patches = _processor_s(rig), await _patches(cluster)
    arrived = sum(1 for _ in log.new())
    if arrived < len(planned):
        raise Failure(f"{len(planned) - arrived} of {len(planned)} events did not arrive")
    count = len(planned)
    spent = {name: 1000 * (cpu[name] - cpu_before[name]) / count for name in cpu}
    succeeded, refused = (now - before for now, before in zip(patches, patches_before, strict=True))
    return Cost(rate, spent, succeeded / count, refused / count), people


async def _raw_rate(stage: Stage, people: Sequence[Person], *, size: int) -> float:
    """The rate of the same answers as merge patches of runs without webhook and records."""
    cluster = stage.cluster
    example = await cluster.get_run(people[0].run_id)
    made = await fill(cluster, RunFactory(example, stage.rig.keys, webhook=False), len(people))

    def patches() -> Iterator[Call]:
        for number in range(size):
            for name in made:
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
    """The submitted and settled run, as compact JSON."""
    await person.submit(op_id=new_op())

    async def is_settled() -> bool:
        return bool((await cluster.get_run(person.run_id))["status"].get("settled"))

    await until(is_settled, f"settled: run {person.run_id}")
    return json.dumps(await cluster.get_run(person.run_id), ensure_ascii=False, separators=(",", ":"))


async def _offline_queues(stage: Stage, template_id: str) -> list[Figure]:
    """Send all answers of an offline phone in one request."""
    seconds, patches, cluster = [], [], stage.cluster
    for person in await open_runs(stage.client, template_id, [stage.hook], 5):
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
        await recorded(cluster, [person.run_id])
        patches.append((await _patches(cluster))[0] - before)
    return [
        of_rounds(f"an offline queue of {_QUEUE} answers", seconds, "s", goal=Goal("<=", 2)),
        of_rounds(f"status patches for an offline queue of {_QUEUE} answers", patches, "", goal=Goal("<=", 8)),
    ]


async def _patches(cluster: RawCluster) -> tuple[float, float]:
    """Writes of run statuses since the start of the API server: successful and conflicting ones."""
    page = await cluster.metrics()

    def count(*codes: str) -> float:
        wanted = {"verb": "PATCH", "resource": "runs", "subresource": "status"}.items()
        return total(page, REQUESTS, lambda labels: wanted <= labels.items() and labels["code"] in codes) or 0.0

    return count("200"), count("409", "422")


def _processor_s(rig: Rig) -> dict[str, float]:
    """Processor time of each process so far, in seconds."""
    return {name: processor_s(pid) for name, pid in rig.pids().items()}


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
