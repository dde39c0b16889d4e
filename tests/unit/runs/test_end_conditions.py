"""Completed and Ended: what a run says of its end, in one write with the end, and afterwards for older runs."""

from datetime import timedelta

import pytest
from tests.unit.runs.test_lifecycle import NOW, Life, checklist, diff_of, step

from checklist_crds.resources.run import RunPhase, RunStatus
from checklist_crds.runs.commands import Cancel, Command, Expire, Submit
from checklist_crds.runs.end_conditions import ENDED, lacks_ended, with_missing_ended

LATER = NOW + timedelta(hours=2)
ENDS = [
    (Submit(), NOW, RunPhase.COMPLETED),
    (Cancel(reason="enough"), NOW, RunPhase.CANCELLED),
    (Expire(), LATER, RunPhase.EXPIRED),
]


def life() -> Life:
    return Life(checklist(step("a")), expires_at=NOW + timedelta(hours=1))


def shown(status: RunStatus) -> list[tuple[str, str, str]]:
    return [(one.type, one.status.value, one.reason) for one in status.conditions]


def body_of(status: RunStatus) -> dict[str, object]:
    return {"status": status.to_kube()}


@pytest.mark.parametrize(("command", "at", "phase"), ENDS)
def test_every_end_is_shown_by_ended_in_the_same_write_as_the_phase(
    command: Command, at: object, phase: RunPhase
) -> None:
    one = life()
    assert not lacks_ended(body_of(one.status)), "an open run lacks nothing"
    patch = diff_of(one.does(command, at))  # type: ignore[arg-type]
    assert patch["phase"] == phase.value
    assert {each["type"] for each in patch["conditions"]} == {"Completed", ENDED}
    completed = "True" if phase is RunPhase.COMPLETED else "False"
    assert shown(one.status) == [("Completed", completed, f"Run{phase.value}"), (ENDED, "True", phase.value)]
    ended = one.status.conditions[1]
    assert (ended.last_transition_time, ended.observed_generation, bool(ended.message)) == (at, 4, True)
    assert not lacks_ended(body_of(one.status))


@pytest.mark.parametrize(("command", "at", "phase"), ENDS)
def test_a_run_that_an_earlier_release_ended_gets_ended_as_of_its_end(
    command: Command, at: object, phase: RunPhase
) -> None:
    one = life()
    one.does(command, at)  # type: ignore[arg-type]
    whole = one.status.conditions
    one.update(conditions=[each for each in whole if each.type != ENDED])
    assert lacks_ended(body_of(one.status))
    after = with_missing_ended(one.run)
    assert after.conditions == whole
    assert after.model_copy(update={"conditions": []}) == one.status.model_copy(update={"conditions": []})


def test_nothing_is_added_to_an_open_run_nor_twice_and_one_without_any_condition_ended_when_it_was_made() -> None:
    one = life()
    assert with_missing_ended(one.run) is one.status
    one.does(Submit())
    assert with_missing_ended(one.run) is one.status
    one.update(conditions=[])
    [ended] = with_missing_ended(one.run).conditions
    assert (ended.type, ended.reason, ended.last_transition_time) == (ENDED, "Completed", one.run.created_at)
