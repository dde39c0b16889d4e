"""Records, generates, plays and judges all points of all scenarios with all fates."""

import asyncio
import hashlib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Final
from unittest import mock

from checklist_crds.kube.client import KubeClient, KubeConnection
from checklist_dev.faults.cuts.course import Cut, Fate, fates_at
from checklist_dev.faults.cuts.feed import Feed
from checklist_dev.faults.cuts.ground import Ground
from checklist_dev.faults.cuts.post import Post
from checklist_dev.faults.cuts.scenarios import SCENARIOS, Scenario
from checklist_dev.faults.cuts.stage import Played, Stage
from checklist_dev.faults.cuts.verdict import PROMISES, history_of, judge
from checklist_dev.perf.judgement.facts import Finding
from checklist_dev.perf.judgement.transcript import Result
from checklist_operator.attempts import delivery_state
from checklist_operator.runtime import deadlines
from checklist_operator.transport import sender

LEAST_CASES: Final = 500
AT_ONCE: Final = 64
_DEADLINE_S: Final = 60.0
"""Generous for shutdown and attempts, so that a slow machine does not look like a failure: these receivers answer or
close the connection at once."""
_CLAIM_S: Final = 1.0
"""30 s in the service. Attempts take milliseconds here, and a successor waits for the claims of others."""
_TRIES: Final = 3
"""Tries of a case whose point did not occur: two events of a run may interleave differently."""

Case = tuple[Scenario, Cut]


@asynccontextmanager
async def stage_in(kubeconfig: Path, namespace: str, folder: Path) -> AsyncIterator[Stage]:
    """A stage in a namespace of its own."""
    patched = (
        mock.patch.object(deadlines, "FOR_STARTS_S", _DEADLINE_S),
        mock.patch.object(deadlines, "FOR_ANSWERS_S", _DEADLINE_S),
        mock.patch.object(deadlines, "FOR_RECORDS_S", _DEADLINE_S),
        mock.patch.object(sender, "DEADLINE_S", _DEADLINE_S),
        mock.patch.object(sender, "CONNECT_S", _DEADLINE_S),
        mock.patch.object(delivery_state, "CLAIM_S", _CLAIM_S),
    )
    connection = await KubeConnection.load(str(kubeconfig))
    async with KubeClient(connection, answer_within_s=30.0) as client, Post() as post:
        ground = Ground(client, namespace, folder)
        await ground.prepare()
        feed = Feed(client, namespace)
        watching = asyncio.create_task(feed.run(), name="feed")
        try:
            with ExitStack() as patches:
                for patch in patched:
                    patches.enter_context(patch)
                yield Stage(ground, feed, post)
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)


async def record(stage: Stage, scenarios: Sequence[Scenario] = SCENARIOS) -> tuple[list[Played], list[Case]]:
    """Play each scenario undisturbed, and return the cases of its points."""
    undisturbed = await asyncio.gather(*(stage.play(scenario) for scenario in scenarios))
    cases = [
        (played.scenario, Cut(point, fate))
        for played in undisturbed
        for point in dict.fromkeys(played.points)
        for fate in fates_at(point)
    ]
    return undisturbed, cases


def sample(cases: Sequence[Case], number: int) -> list[Case]:
    """`number` cases with each scenario and fate in proportion, chosen by their names."""

    def mark(case: Case) -> str:
        scenario, cut = case
        return hashlib.sha256(f"{scenario.name}/{cut.fate}/{cut.point}".encode()).hexdigest()

    groups: dict[tuple[str, Fate], list[Case]] = {}
    for case in sorted(cases, key=mark):
        groups.setdefault((case[0].name, case[1].fate), []).append(case)
    share = number / len(cases)
    return [case for group in groups.values() for case in group[: max(1, round(len(group) * share))]]


async def play_all(
    stage: Stage, cases: Sequence[Case], *, at_once: int = AT_ONCE, report: Callable[[str], None] = lambda _: None
) -> list[Played]:
    """Play every case, `at_once` at a time, and report progress."""
    room = asyncio.Semaphore(at_once)
    done = 0

    async def play(case: Case) -> Played:
        nonlocal done
        async with room:
            for _ in range(_TRIES):
                played = await stage.play(*case)
                if played.reached or not played.ended or judge(played):
                    break
            done += 1
            if done % LEAST_CASES == 0:
                report(f"{done} of {len(cases)} cases played")
            return played

    return list(await asyncio.gather(*map(play, cases)))


def findings_of(played: Sequence[Played]) -> list[Finding]:
    """A finding for each guarantee."""
    violations: dict[str, list[str]] = {promise: [] for promise in PROMISES}
    for one in played:
        for promise, problem in judge(one).items():
            violations[promise].append(f"{one.title}: {problem}; {history_of(one)}")
    return [Finding(promise, len(played), found) for promise, found in violations.items()]


def figures_of(undisturbed: Sequence[Played], played: Sequence[Played]) -> dict[str, Any]:
    reached = [one for one in played if one.reached]
    fates = Counter(one.cut.fate.value for one in reached if one.cut)
    return {
        "scenarios": len(undisturbed),
        "points": sum(len(set(one.points)) for one in undisturbed),
        "cases": len(played),
        "cases_in_which_the_point_came_up": len(reached),
        "transmissions": sum(len(one.received) for one in played),
        "by_fate": dict(fates),
    }


async def cut_everywhere(
    kubeconfig: Path,
    namespace: str,
    folder: Path,
    *,
    at_most: int | None,
    report: Callable[[str], None] = lambda _: None,
) -> Result:
    """Play all cases, or a sample of `at_most`, in an existing namespace that is not shared."""
    async with stage_in(kubeconfig, namespace, folder) as stage:
        undisturbed, cases = await record(stage)
        chosen = cases if at_most is None else sample(cases, at_most)
        report(f"{len(cases)} cases from {len(undisturbed)} scenarios, of which {len(chosen)} are played")
        played = await play_all(stage, chosen, report=report)
    few = [] if len(cases) >= LEAST_CASES else [f"there are only {len(cases)}"]
    missed = [one.title for one in played if not one.reached]
    findings = [
        *findings_of([*undisturbed, *played]),
        Finding(f"at least {LEAST_CASES} cases are generated", len(cases), few),
        Finding("nearly all points occur again", len(played), missed if len(missed) > len(played) // 8 else []),
    ]
    return Result("every cut", findings, {"generated": len(cases), **figures_of(undisturbed, played)})
