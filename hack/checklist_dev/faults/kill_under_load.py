"""The main scene: executors answer, receivers misbehave, and API and operator are killed at random times."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from checklist_crds.resources.delivery_records import DeliveryPhase
from checklist_dev.faults.killer import Killer
from checklist_dev.perf.judgement.facts import Facts, Finding
from checklist_dev.perf.judgement.settling import Stage, judge, repetitions, staged
from checklist_dev.perf.judgement.transcript import Result, Transcript
from checklist_dev.perf.load.ledger import Kill, lost_leases
from checklist_dev.perf.load.plan import RunPlan, plan_run
from checklist_dev.perf.load.received import ANSWER_WITHIN_S
from checklist_dev.perf.load.rig import Rig

_REPORT_EVERY_S = 10.0


@dataclass(frozen=True, slots=True)
class Size:
    """The load ends when both numbers are reached, or after `load_s`."""

    load_s: float
    kills: int
    events: int
    settle_s: float = 150.0
    apis: int = 2
    executors: int = 32
    slow_runs: int = 10
    mean_life_s: float = 2.5
    pause_s: float = 0.15
    events_per_s: float = 35.0
    """Limit of the average rate: the load must last as long as the kills, and not overload the machine."""


async def kill_under_load(rig: Rig, size: Size, gaps: list[float], transcript: Transcript, *, seed: int) -> Result:
    """Raises Failure if the service cannot be started."""
    apis = [rig.add_api(f"api-{number}") for number in range(size.apis)]
    operator = rig.add_operator()
    title = f"{size.kills} kills of {size.apis} APIs and the operator, {size.events} events"
    killer = Killer([*apis, operator], mean_life_s=size.mean_life_s, seed=seed)
    async with staged(rig, transcript, title, seed=seed) as stage:
        started = time.monotonic()
        await load(stage, killer, size)
        load_s = time.monotonic() - started
        transcript.say(f"the load has ended: {_progress(stage, killer)}, {stage.client.retries} retries")
        helper = asyncio.create_task(killer.look_after())
        findings, facts = await judge(stage, killer.kills, gaps, settle_within_s=size.settle_s)
        helper.cancel()
        findings += conduct(stage, killer, size)
        lost = [f"at {lost.before:.1f}" for lost in lost_leases(operator.child.log)]
        findings.append(Finding("the operator keeps its lease while the cluster answers", 1, lost))
        figures = _figures(facts, killer, load_s=load_s, retries=stage.client.retries)
    return Result("kills under load", findings, figures, rig.logs())


class Disturbance(Protocol):
    """What happens to the processes during a load."""

    @property
    def kills(self) -> Sequence[Kill]: ...

    def is_done(self, kills: int) -> bool: ...

    async def run(self, *, until: asyncio.Event) -> None: ...


async def load(stage: Stage, killer: Disturbance, size: Size) -> None:
    """Run until both numbers are reached or the time is up, and finish every run that was begun."""
    enough, deadline, executors = asyncio.Event(), time.monotonic() + size.load_s, stage.executors

    def is_enough() -> bool:
        reached = executors.acknowledged >= size.events and killer.is_done(size.kills)
        return reached or time.monotonic() >= deadline

    next_plan = _plans(size, stage.rng, is_enough)
    begun = time.monotonic()

    async def pace() -> None:
        """Wait until another run may begin."""
        ahead_s = executors.acknowledged / size.events_per_s - (time.monotonic() - begun)
        if ahead_s > 1.0 and not is_enough():
            await asyncio.sleep(min(ahead_s, 5.0))

    killing = asyncio.create_task(killer.run(until=enough))
    reporting = asyncio.create_task(_report(stage, killer))
    await asyncio.gather(*(executors.work(next_plan, pace) for _ in range(size.executors)))
    enough.set()
    await killing
    reporting.cancel()


def _plans(size: Size, rng: random.Random, is_enough: Callable[[], bool]) -> Callable[[], RunPlan | None]:
    """Plans of runs; a few small ones have a receiver that is too slow, since each holds a place for ten seconds."""
    made = 0
    slow_every = max(1, size.events // 10 // max(1, 2 * size.slow_runs))

    def next_plan() -> RunPlan | None:
        nonlocal made
        if is_enough():
            return None
        made += 1
        turn, rest = divmod(made, slow_every)
        if rest == 0 and turn <= size.slow_runs:
            plan = plan_run(rng, pause_s=size.pause_s, behaviour="hang" if turn % 2 else "slow")
            return replace(plan, ops=plan.ops[:3])
        return plan_run(rng, pause_s=size.pause_s)

    return next_plan


async def _report(stage: Stage, killer: Disturbance) -> None:
    while True:
        await asyncio.sleep(_REPORT_EVERY_S)
        stage.transcript.say(_progress(stage, killer))


def _progress(stage: Stage, killer: Disturbance) -> str:
    done = stage.executors
    return f"{len(done.records)} runs, {done.acknowledged} changes acknowledged, {len(killer.kills)} kills"


def conduct(stage: Stage, killer: Killer, size: Size) -> list[Finding]:
    executors, client = stage.executors, stage.client
    missed = []
    if len(killer.kills) < size.kills:
        missed.append(f"{len(killer.kills)} kills, {size.kills} were wanted")
    if executors.acknowledged < size.events:
        missed.append(f"{executors.acknowledged} events, {size.events} were wanted")
    return [
        Finding("no request is answered with 500", client.retries + executors.acknowledged, client.faults),
        Finding("every executor is answered within two minutes", len(executors.records), executors.failures),
        Finding("no process ends except by a kill", len(killer.kills), killer.ended_by_themselves),
        Finding("the load was as large as planned", 2, missed),
    ]


def _figures(facts: Facts, killer: Killer, *, load_s: float, retries: int) -> dict[str, Any]:
    phases = Counter(delivery.phase for _, _, delivery in facts.events())
    return {
        "load_seconds": round(load_s, 1),
        "runs": len(facts.state.runs),
        "events": phases.total(),
        "delivered": phases[DeliveryPhase.DELIVERED],
        "failed_after_five_attempts": phases[DeliveryPhase.FAILED],
        "transmissions": len(facts.transmissions),
        "repeated_transmissions": repetitions(facts),
        "timed_out_transmissions": sum(sent.end - sent.at > ANSWER_WITHIN_S - 0.1 for sent in facts.transmissions),
        "kills": len(killer.kills),
        "kills_by_process": killer.count(),
        "operator_kills": len(facts.operator_kills),
        "tries_in_vain": retries,
    }
