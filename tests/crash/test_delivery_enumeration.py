"""The crash rule by enumeration: an operator is stopped before and after every call of the Kubernetes API and at every
step on the network, and a successor finishes.

The cases are generated from what the operator does; five hundred of them are played here, chosen by a hash of their
names from each scenario and fate, and all of them (some thousands) by `make chaos`.
"""

import asyncio
import uuid
from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from checklist_dev.faults.cuts.course import Fate
from checklist_dev.faults.cuts.enumeration import (
    LEAST_CASES,
    Case,
    figures_of,
    findings_of,
    play_all,
    record,
    sample,
    stage_in,
)
from checklist_dev.faults.cuts.scenarios import SCENARIOS
from checklist_dev.faults.cuts.stage import Played
from checklist_dev.faults.cuts.verdict import PROMISES
from checklist_dev.local.controlplane import ControlPlane

PLAYED = 570
"""Some more than five hundred, since now and then a point does not come up again."""


@dataclass
class Enumerated:
    undisturbed: list[Played]
    cases: list[Case]
    played: list[Played]
    slept_before_sending: list[Played]


@pytest.fixture(scope="module")
def enumerated(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Enumerated:
    """Recorded, generated and played once for all tests."""
    namespace = f"cuts-{uuid.uuid4().hex[:12]}"
    control_plane.run_kubectl("create", "namespace", namespace)

    async def run() -> Enumerated:
        async with stage_in(control_plane.kubeconfig, namespace, tmp_path_factory.mktemp("cuts")) as stage:
            undisturbed, cases = await record(stage)
            played = await play_all(stage, sample(cases, PLAYED))
            return Enumerated(undisturbed, cases, played, await play_all(stage, _before_the_only_sending(cases)))

    return asyncio.run(run())


def _before_the_only_sending(cases: Sequence[Case]) -> list[Case]:
    """An operator is paused when it is about to send an event that is delivered at once."""
    mine = [(scenario, cut) for scenario, cut in cases if scenario is SCENARIOS[0] and cut.fate is Fate.PAUSED]
    sending = next(number for number, (_, cut) in enumerate(mine) if cut.point.endswith("send 1: before"))
    return mine[:sending]


@pytest.mark.parametrize("promise", PROMISES)
def test_wherever_an_operator_is_stopped_the_promise_holds(enumerated: Enumerated, promise: str) -> None:
    finding = next(one for one in findings_of([*enumerated.undisturbed, *enumerated.played]) if one.name == promise)
    assert finding.holds, "\n".join(finding.violations)


def test_at_least_five_hundred_cases_were_played_with_every_fate_in_every_scenario(enumerated: Enumerated) -> None:
    assert len(enumerated.cases) >= 2 * LEAST_CASES
    reached = [one for one in enumerated.played if one.reached]
    assert len(reached) >= LEAST_CASES, figures_of(enumerated.undisturbed, enumerated.played)
    met = {(one.scenario.name, one.cut.fate) for one in reached if one.cut}
    assert {name for name, _ in met} == {scenario.name for scenario in SCENARIOS}
    for fate in Fate:
        assert sum(fate is other for _, other in met) >= len(SCENARIOS) - 2, fate
    assert [one.title for one in enumerated.played if not one.received] == []


def test_the_steps_of_a_delivery_s_life_were_all_recorded(enumerated: Enumerated) -> None:
    """A recording that misses a kind of step would prove less than it says."""
    points = [point for one in enumerated.undisturbed for point in one.points]
    steps = (
        *("api GET templaterevisions", "api GET secrets", "api GET runs run", "api PATCH runs run"),
        *("api POST webhookdeliveries event 1 1: before", "api PATCH webhookdeliveries event 1 1: after"),
        *("api GET webhookdeliveries event 1", "permit asked for a first", "permit taken for a retry"),
        *("net resolve 1: after", "net event 1 attempt 1 connecting", "net event 1 attempt 1 connected"),
        *("net event 1 attempt 2 connection used again", "net event 1 attempt 5 head written"),
        *("net event 1 attempt 5 body written", "net event 1 attempt 5 arrived", "net event 1 attempt 5 answer read"),
        *("net event 1 attempt 2 broken", "net event 2 attempt 1 arrived"),
    )
    assert [step for step in steps if not any(point.startswith(step) for point in points)] == []


def test_one_who_slept_sends_nothing_that_it_had_not_begun(enumerated: Enumerated) -> None:
    assert len(enumerated.slept_before_sending) >= 3
    for one in enumerated.slept_before_sending:
        assert one.reached
        assert [(came.number, came.accepted) for came in one.received] == [(1, True)], one.title
        assert one.sent == [[], [(1, 1)]], one.title
