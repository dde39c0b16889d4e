"""Two operators under load: the leader is killed or stopped repeatedly, and the other one takes over.

A kill may repeat transmissions in progress. A graceful end may not, except to a slow receiver: the process waits for it
only briefly, because the next leader waits as well.
"""

import asyncio
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from checklist_crds.kube.client import KubeClient
from checklist_crds.resources.kinds import LEASE
from checklist_dev.failures import Failure
from checklist_dev.faults.kill_under_load import Size, conduct, load
from checklist_dev.faults.killer import Killer
from checklist_dev.local.bootstrap import NAMESPACE
from checklist_dev.perf.judgement.facts import Facts, Finding
from checklist_dev.perf.judgement.settling import judge, staged
from checklist_dev.perf.judgement.transcript import Result, Transcript
from checklist_dev.perf.load.ledger import Kill
from checklist_dev.perf.load.rig import Program, Rig

ROUND: Final = (signal.SIGTERM, signal.SIGTERM, signal.SIGKILL, signal.SIGTERM)
"""A kill costs the duration of a lease each time."""
_POLL_S: Final = 0.02
_TAKES_OVER_WITHIN_S: Final = 90.0
_WAITED_FOR_S: Final = 0.5
"""A graceful end, which waits for a second, interrupts nothing that is answered sooner: a transmission may start a
quarter of a second after the signal, and take as long to reach the receiver on a busy machine."""
_LEASE_NAME: Final = "checklist-dispatch-operator"


@dataclass(frozen=True, slots=True)
class Takeover:
    """`seconds`: from the signal until the other operator leads and its watches run."""

    by: signal.Signals
    seconds: float


class Usurper(Killer):
    """Stops the leading operator once for each of `signals`, and restarts it when the other one leads."""

    def __init__(self, programs: Sequence[Program], signals: Sequence[signal.Signals], *, seed: int) -> None:
        super().__init__(programs, mean_life_s=1.0, seed=seed)
        self.takeovers: list[Takeover] = []
        self._signals = signals

    async def run(self, *, until: asyncio.Event) -> None:
        self._is_killing = True
        for number in self._signals:
            leader, standby = await self._leader_and_standby()
            await asyncio.sleep(self._rng.uniform(0.5, 2.0))
            self.takeovers.append(await self._depose(leader, standby, number))
        self._is_killing = False

    async def _leader_and_standby(self) -> tuple[Program, Program]:
        first, second = self._programs
        deadline = time.monotonic() + _TAKES_OVER_WITHIN_S
        while time.monotonic() < deadline:
            words = [await asyncio.to_thread(program.get, "/readyz") for program in (first, second)]
            for leader, standby, said in ((first, second, words), (second, first, words[::-1])):
                if "leading" in said[0][1] and "standby" in said[1][1]:
                    return leader, standby
            await asyncio.sleep(_POLL_S)
        raise Failure("there is no pair of leader and standby")

    async def _depose(self, leader: Program, standby: Program, number: signal.Signals) -> Takeover:
        before, began = time.time(), time.monotonic()
        leader.child.send_signal(number)
        while True:
            status, text = await asyncio.to_thread(standby.get, "/readyz")
            if status == 200 and "leading" in text:
                break
            if time.monotonic() - began > _TAKES_OVER_WITHIN_S:
                raise Failure(f"no operator leads {_TAKES_OVER_WITHIN_S:.0f} s after {number.name}")
            await asyncio.sleep(_POLL_S)
        seconds = time.monotonic() - began
        await asyncio.to_thread(leader.child.wait)
        # After releasing the lease a process may take a moment to end, but it sends nothing more.
        self.kills.append(Kill(f"{leader.name}, {number.name}", before, min(time.time(), before + seconds)))
        leader.start()
        return Takeover(number, seconds)


def takeover_size(signals: Sequence[signal.Signals]) -> Size:
    """The load during the takeovers."""
    return Size(
        load_s=60.0 + 40.0 * len(signals), kills=len(signals), events=100 * len(signals), slow_runs=4, events_per_s=15.0
    )


async def take_over(
    rig: Rig, gaps: list[float], transcript: Transcript, *, signals: Sequence[signal.Signals], size: Size, seed: int
) -> Result:
    """Raises Failure if no operator takes over."""
    rig.add_api("takeover-api")
    operators = [rig.add_operator(f"operator-{name}", identity=f"operator-{name}") for name in ("one", "two")]
    usurper = Usurper(operators, signals, seed=seed)
    async with staged(rig, transcript, f"{len(signals)} takeovers of two operators", seed=seed) as stage:
        before = await _transitions(stage.kube)
        await load(stage, usurper, size)
        changed = await _transitions(stage.kube) - before
        findings, facts = await judge(stage, usurper.kills, gaps, settle_within_s=size.settle_s)
        findings += conduct(stage, usurper, size)
    wrong = [] if changed == len(signals) else [f"the lease changed hands {changed} times"]
    findings.append(Finding("the lease changes hands once at each takeover", len(signals), wrong))
    findings.append(a_graceful_end_interrupts_nothing_that_is_answered_soon(facts))
    figures = {
        "runs": len(facts.state.runs),
        "transmissions": len(facts.transmissions),
        **{
            f"seconds_after_{number.name}": [round(one.seconds, 2) for one in usurper.takeovers if one.by is number]
            for number in dict.fromkeys(signals)
        },
    }
    return Result("takeovers", findings, figures, rig.logs())


def a_graceful_end_interrupts_nothing_that_is_answered_soon(facts: Facts) -> Finding:
    """An attempt is repeated only after a kill, or if the receiver was slow."""
    crashes = [kill for kill in facts.kills if "SIGTERM" not in kill.name]
    violations = []
    for event_id, sent_ones in facts.by_event.items():
        for before, after in pairwise(sent_ones):
            repeated = after.attempt == before.attempt and before.end - before.at < _WAITED_FOR_S
            if repeated and not any(kill.after >= before.at and kill.before <= after.at for kill in crashes):
                took_s = before.end - before.at
                violations.append(f"{event_id}: attempt {after.attempt} again, the first took {took_s:.2f} s")
    return Finding("a graceful end interrupts nothing that is answered soon", len(facts.by_event), violations)


async def _transitions(kube: KubeClient) -> int:
    spec: Any = (await kube.get(LEASE, _LEASE_NAME, NAMESPACE))["spec"]
    return int(spec.get("leaseTransitions") or 0)
