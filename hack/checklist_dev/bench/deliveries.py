"""Deliveries end to end: executors answer as fast as they can; every event arrives once, signed, and is recorded."""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import aiohttp

from checklist_crds.ids import derived_id
from checklist_crds.resources.delivery_records import waiting_events
from checklist_dev.bench.answers import SECRET, answers_to
from checklist_dev.bench.raw import CONCURRENCY, RawCluster, rate_of
from checklist_dev.bench.report import Figure, Goal
from checklist_dev.failures import Failure
from checklist_dev.load.client import Person
from checklist_dev.load.received import ReceiverLog, Transmission
from checklist_dev.load.rig import Program

ARRIVE_WITHIN_S = 60.0
GOAL = Goal(">=", 200)
KEEPS_UP = Goal(">=", 0.95)
Json = dict[str, Any]


@dataclass(slots=True)
class Accounts:
    """Every event by its id: what the cluster says must have come, and what came."""

    expected: set[str]
    received: Counter[str]
    bad_signatures: int

    def as_figure(self, name: str) -> Figure:
        missing = self.expected - self.received.keys()
        strange = self.received.keys() - self.expected
        twice = sum(times - 1 for times in self.received.values())
        wrong = len(missing) + len(strange) + twice + self.bad_signatures
        told = f"{len(self.expected)} events: {len(missing)} missing, {len(strange)} unknown, {twice} twice"
        return Figure(name, wrong, "", Goal("==", 0), f"{told}, {self.bad_signatures} with a bad signature")


async def measure_while_answering(
    people: Sequence[Person], cluster: RawCluster, log: ReceiverLog, *, concurrency: int = 32
) -> list[Figure]:
    """All steps of all runs, `concurrency` answers under way, while the operator delivers."""
    planned = list(answers_to(people))
    raw = await rate_of(_raw_patches(cluster, [person.run_id for person in people]), concurrency=concurrency)
    started = time.time()
    answered = asyncio.ensure_future(rate_of((answer.give for answer in planned), concurrency=concurrency))
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
            f"answers as fast as they are taken: {rate:,.0f}/s",
        ),
        Figure(
            "deliveries while executors answer",
            delivered,
            "/s",
            None,
            f"raw status patches alone: {raw:,.0f}/s; {delivered / raw:.2f} x",
        ),
        accounts.as_figure("events unaccounted for, while executors answer"),
    ]


async def measure_backlog(
    people: Sequence[Person], cluster: RawCluster, operator: Program, log: ReceiverLog, url: str
) -> list[Figure]:
    """The operator is away while executors answer; then it comes back to full outboxes."""
    await asyncio.to_thread(operator.child.stop)
    planned = list(answers_to(people))
    await rate_of((answer.give for answer in planned), concurrency=32)
    operator.start()
    arrived = await collect(log, len(planned))
    first, last = min(each.at for each in arrived), max(each.at for each in arrived)
    delivered = len(arrived) / (last - first)
    await asyncio.to_thread(operator.wait_ready)
    accounts = await _account(cluster, people, arrived)
    recorded_s = time.time() - first
    bare = await _bare_posts(arrived, url)
    list(log.new())
    return [
        Figure(
            "deliveries end to end from a backlog",
            delivered,
            "/s",
            GOAL,
            f"bare POSTs of the same bodies: {bare:,.0f}/s; {delivered / bare:.2f} x",
        ),
        Figure("the same, each recorded in its run", len(arrived) / recorded_s, "/s", GOAL),
        accounts.as_figure("events unaccounted for, from a backlog"),
    ]


async def collect(log: ReceiverLog, count: int) -> list[Transmission]:
    """At least `count` transmissions. Raises Failure when nothing has come for `ARRIVE_WITHIN_S` seconds."""
    arrived: list[Transmission] = []
    last = time.monotonic()
    while len(arrived) < count:
        await asyncio.sleep(0.1)
        new = list(log.new())
        if new:
            last = time.monotonic()
            arrived += new
        elif time.monotonic() - last > ARRIVE_WITHIN_S:
            raise Failure(f"{count - len(arrived)} of {count} events had not arrived after {ARRIVE_WITHIN_S:.0f} s")
    return arrived


async def _account(cluster: RawCluster, people: Sequence[Person], arrived: Sequence[Transmission]) -> Accounts:
    """Waits until every outbox is empty, so that every delivery is recorded."""
    deadline = time.monotonic() + ARRIVE_WITHIN_S
    waiting = {person.run_id for person in people}
    expected: set[str] = set()
    while waiting:
        if time.monotonic() > deadline:
            raise Failure(f"{len(waiting)} runs still have events in their outbox, for example {next(iter(waiting))}")
        for body in await asyncio.gather(*(cluster.get_run(name) for name in list(waiting)[:64])):
            status: Mapping[str, Any] = body["status"]
            if not waiting_events(status):
                waiting.discard(body["metadata"]["name"])
                expected |= {derived_id("evt", body["metadata"]["uid"], str(n + 1)) for n in range(status["seq"])}
    bad = sum(each.signature_problem(SECRET) is not None for each in arrived)
    return Accounts(expected, Counter(each.event_id for each in arrived), bad)


def _raw_patches(cluster: RawCluster, names: Sequence[str]) -> Iterator[Callable[[], Awaitable[Any]]]:
    for number in range(max(200, 4 * len(names))):
        step_id = f"s-{number}"
        yield partial(cluster.patch_run_status, names[number % len(names)], {"lastStepId": step_id})


async def _bare_posts(arrived: Sequence[Transmission], url: str) -> float:
    """The same bytes to the same receiver, unsigned, from one aiohttp client."""
    async with aiohttp.ClientSession(trust_env=False) as session:

        async def post(body: bytes) -> None:
            async with session.post(url, data=body) as response:
                await response.read()

        return await rate_of((partial(post, each.body.encode()) for each in arrived), concurrency=CONCURRENCY)
