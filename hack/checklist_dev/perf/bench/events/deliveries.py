"""Measures deliveries: their latency at a steady rate, their rate end to end (executors answer at full speed; every
event arrives once, signed, and is recorded), and many retries that are due in a short time.
"""

import asyncio
import time
from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import Final

from checklist_crds.ids import derived_id
from checklist_crds.times import parse_timestamp, utc_now
from checklist_dev.perf.bench.answers import SECRET, USUAL_STEPS, answers_to, open_runs, runs_needed, template_of
from checklist_dev.perf.bench.report import Figure, Goal, percentile, unaccounted
from checklist_dev.perf.bench.sizes import Sizes
from checklist_dev.perf.bench.stage import Stage
from checklist_dev.perf.bench.waiting_deliveries import create, let_wait, waiting_deliveries
from checklist_dev.perf.load.client import Person
from checklist_dev.perf.load.pace import at_steady_rate, rate_of
from checklist_dev.perf.load.raw import RawCluster, recorded
from checklist_dev.perf.load.received import Transmission, collect

_AT_ONCE: Final = 32
GOAL = Goal(">=", 200)
KEEPS_UP = Goal(">=", 0.95)
STARTS_WITHIN_S = 10.0
HOSTS = 20
"""Addresses that the operator treats as different hosts."""


async def measure_latency(stage: Stage, sizes: Sizes) -> list[Figure]:
    """Measure from the commit of an event to its first byte at the receiver, at a steady rate. The start is the
    envelope's `ts`, when the change was decided, just before it was written: the figure can only be too large.

    Raises Failure if an event does not arrive."""
    client, per_second = stage.client, sizes.events_per_s
    count = int(sizes.latency_round_s * per_second)
    template_id = await client.create_template(template_of(USUAL_STEPS))
    people = await open_runs(client, template_id, [stage.hook], runs_needed(sizes.latency_rounds * count))
    answers, log = answers_to(people), stage.log()
    latencies: list[float] = []
    rates: list[float] = []
    for _ in range(sizes.latency_rounds):
        planned = [each.give for each in islice(answers, count)]
        rates.append(await at_steady_rate(planned, per_second=per_second))
        for each in await collect(log, len(planned)):
            committed = parse_timestamp(each.envelope["ts"]).timestamp()
            latencies.append((each.at - committed) * 1000)
    name = f"event decided to first byte at {per_second:.0f} events/s"
    return [
        Figure(f"{name}, p50", percentile(latencies, 50), "ms", Goal("<=", 250)),
        Figure(f"{name}, p99", percentile(latencies, 99), "ms", Goal("<=", 1000)),
        Figure("events per second while that was measured", min(rates), "/s", Goal(">=", per_second * 0.95)),
    ]


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
    figure = await _unaccounted("events unaccounted for, while executors answer", cluster, people, arrived)
    return [
        Figure(
            "deliveries over answers while executors answer",
            delivered / rate,
            "",
            KEEPS_UP,
            f"answers at full speed: {rate:,.0f}/s",
        ),
        Figure("deliveries while executors answer", delivered, "/s"),
        figure,
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
    figure = await _unaccounted("events unaccounted for, from a backlog", stage.cluster, people, arrived)
    recorded_s = time.time() - first
    return [
        Figure("deliveries end to end from a backlog", delivered, "/s", GOAL),
        Figure("the same, each recorded in its run", len(arrived) / recorded_s, "/s", GOAL),
        figure,
    ]


async def _unaccounted(
    name: str, cluster: RawCluster, people: Sequence[Person], arrived: Sequence[Transmission]
) -> Figure:
    """Wait until every outbox is empty, so that every delivery is recorded."""
    expected = {
        derived_id("evt", run["metadata"]["uid"], str(number + 1))
        for run in await recorded(cluster, {person.run_id for person in people})
        for number in range(run["status"]["seq"])
    }
    bad = sum(each.signature_problem(SECRET) is not None for each in arrived)
    return unaccounted(name, expected, (each.event_id for each in arrived), bad_signatures=bad)


async def measure_retries(stage: Stage, sizes: Sizes) -> list[Figure]:
    """Second attempts of many runs in turn, evenly distributed over the time."""
    cluster, operator, count, within_s = stage.cluster, stage.operator, sizes.retries, sizes.retries_within_s
    hosts = [f"127.0.3.{number}" for number in range(1, HOSTS + 1)]
    port = stage.rig.start_receiver("endpoints", hosts=["127.0.0.1", *hosts])
    template_id = await stage.client.create_template(template_of(USUAL_STEPS))
    urls = [f"http://{host}:{port}/ok/hook" for host in hosts]
    people = await open_runs(stage.client, template_id, urls, sizes.retrying_runs)
    runs = await asyncio.gather(*(cluster.get_run(person.run_id) for person in people))
    await stage.stop(operator)
    log = stage.log("endpoints")

    deliveries = list(waiting_deliveries(runs, count))
    rate = await create(cluster, deliveries)
    first_due = utc_now() + timedelta(seconds=1.5 * count / rate + STARTS_WITHIN_S)
    due = [first_due + timedelta(seconds=number * within_s / count) for number in range(count)]
    await let_wait(cluster, deliveries, due)
    await stage.start(operator)
    arrived = await collect(log, count)
    lateness = _lateness_ms(arrived, dict(zip((each.name for each in deliveries), due, strict=True)))
    pace = f"{count:,} retries due within {within_s:.0f} s"
    return [
        Figure(f"{pace}: late, p50", percentile(lateness, 50), "ms"),
        Figure(f"{pace}: late, p99", percentile(lateness, 99), "ms", Goal("<=", 1000)),
        Figure("retries that were early", sum(late < 0 for late in lateness), "", Goal("==", 0)),
        unaccounted(
            "retries unaccounted for",
            {(each.name, 2) for each in deliveries},
            ((each.event_id, each.attempt) for each in arrived),
        ),
    ]


def _lateness_ms(arrived: Sequence[Transmission], due: dict[str, datetime]) -> list[float]:
    return [(each.at - due[each.event_id].timestamp()) * 1000 for each in arrived if each.event_id in due]
