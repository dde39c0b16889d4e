"""Measures deliveries end to end: executors answer at full speed; every event arrives once, signed, and is recorded."""

import asyncio
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from checklist_crds.ids import derived_id
from checklist_dev.perf.bench.answers import SECRET, USUAL_STEPS, answers_to, open_runs, runs_needed, template_of
from checklist_dev.perf.bench.report import Figure, Goal
from checklist_dev.perf.bench.sizes import Sizes
from checklist_dev.perf.bench.stage import Stage
from checklist_dev.perf.load.client import Person
from checklist_dev.perf.load.pace import rate_of
from checklist_dev.perf.load.raw import RawCluster, recorded
from checklist_dev.perf.load.received import Transmission, collect

_AT_ONCE: Final = 32
GOAL = Goal(">=", 200)
KEEPS_UP = Goal(">=", 0.95)


@dataclass(slots=True)
class Accounts:
    """Events by id: those expected by the cluster's state, and those received."""

    expected: set[str]
    received: Counter[str]
    bad_signatures: int

    def as_figure(self, name: str) -> Figure:
        missing = self.expected - self.received.keys()
        strange = self.received.keys() - self.expected
        twice = sum(times - 1 for times in self.received.values())
        wrong = len(missing) + len(strange) + twice + self.bad_signatures
        counts = f"{len(self.expected)} events: {len(missing)} missing, {len(strange)} unknown, {twice} twice"
        return Figure(name, wrong, "", Goal("==", 0), f"{counts}, {self.bad_signatures} with a bad signature")


async def measure_deliveries(stage: Stage, sizes: Sizes) -> list[Figure]:
    template_id = await stage.client.create_template(template_of(USUAL_STEPS))
    count = runs_needed(sizes.deliveries)
    figures = await _while_answering(stage, await open_runs(stage.client, template_id, [stage.hook], count))
    return figures + await _from_a_backlog(stage, await open_runs(stage.client, template_id, [stage.hook], count))


async def _while_answering(stage: Stage, people: Sequence[Person]) -> list[Figure]:
    """All steps of all runs, `_AT_ONCE` concurrent answers, while the operator delivers."""
    planned, cluster, log = list(answers_to(people)), stage.cluster, stage.log()
    started = time.time()
    answered = asyncio.ensure_future(rate_of((answer.give for answer in planned), concurrency=_AT_ONCE))
    arrived = await collect(log, len(planned))
    rate = await answered
    delivered = len(arrived) / (max(each.at for each in arrived) - started)
    accounts = await _account(cluster, people, arrived)
    return [
        Figure(
            "deliveries over answers while executors answer",
            delivered / rate,
            "",
            KEEPS_UP,
            f"answers at full speed: {rate:,.0f}/s",
        ),
        Figure("deliveries while executors answer", delivered, "/s"),
        accounts.as_figure("events unaccounted for, while executors answer"),
    ]


async def _from_a_backlog(stage: Stage, people: Sequence[Person]) -> list[Figure]:
    """The operator is stopped while executors answer, and then starts with full outboxes."""
    log, operator = stage.log(), stage.operator
    await stage.stop(operator)
    planned = list(answers_to(people))
    await rate_of((answer.give for answer in planned), concurrency=_AT_ONCE)
    operator.start()
    arrived = await collect(log, len(planned))
    first, last = min(each.at for each in arrived), max(each.at for each in arrived)
    delivered = len(arrived) / (last - first)
    await asyncio.to_thread(operator.wait_ready)
    accounts = await _account(stage.cluster, people, arrived)
    recorded_s = time.time() - first
    return [
        Figure("deliveries end to end from a backlog", delivered, "/s", GOAL),
        Figure("the same, each recorded in its run", len(arrived) / recorded_s, "/s", GOAL),
        accounts.as_figure("events unaccounted for, from a backlog"),
    ]


async def _account(cluster: RawCluster, people: Sequence[Person], arrived: Sequence[Transmission]) -> Accounts:
    """Wait until every outbox is empty, so that every delivery is recorded."""
    expected = {
        derived_id("evt", run["metadata"]["uid"], str(number + 1))
        for run in await recorded(cluster, {person.run_id for person in people})
        for number in range(run["status"]["seq"])
    }
    bad = sum(each.signature_problem(SECRET) is not None for each in arrived)
    return Accounts(expected, Counter(each.event_id for each in arrived), bad)
