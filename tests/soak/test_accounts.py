"""The accounts of `make soak` are judged: what is lost on the way into the archive is found."""

from dataclasses import replace
from typing import Any

import pytest
from tests.crash.test_invariants import RUN_ID, good

from checklist_dev.chaos.facts import ClusterState, Facts
from checklist_dev.soak.accounts import Archived, both, check_accounts

HISTORY = frozenset({"r-old"})


def broken(facts: Facts, state: ClusterState, archived: Archived, problems: Any = ()) -> list[str]:
    findings = check_accounts(facts, state, archived, HISTORY, problems)
    return [finding.name for finding in findings if not finding.holds]


@pytest.fixture
def facts() -> Facts:
    told = good()
    return replace(told, views={RUN_ID: {**told.views[RUN_ID], "run_id": RUN_ID}})


@pytest.fixture
def archived(facts: Facts) -> Archived:
    """Everything has moved."""
    run = facts.state.runs[RUN_ID]
    return Archived({RUN_ID: run, "r-old": run}, facts.state.deliveries)


@pytest.fixture
def empty(facts: Facts) -> ClusterState:
    return replace(facts.state, runs={}, deliveries={})


def test_what_has_moved_is_accounted_for(facts: Facts, empty: ClusterState, archived: Archived) -> None:
    whole = replace(facts, state=both(empty, archived, HISTORY))
    assert whole.state.runs.keys() == {RUN_ID}
    assert broken(whole, empty, archived) == []


def test_a_run_that_is_nowhere_is_found(facts: Facts, empty: ClusterState, archived: Archived) -> None:
    lost = replace(archived, runs={"r-old": archived.runs["r-old"]})
    found = broken(replace(facts, state=both(empty, lost, HISTORY)), empty, lost)
    assert "every run is in the cluster or in the archive" in found
    assert "every acknowledged change has its event, in order" in found


def test_a_delivery_that_the_archive_lacks_is_found(facts: Facts, empty: ClusterState, archived: Archived) -> None:
    lost = replace(archived, deliveries={})
    found = broken(replace(facts, state=both(empty, lost, HISTORY)), empty, lost)
    assert found == ["every event is delivered, or failed after exactly five attempts"]


def test_a_run_that_cannot_be_read_is_found(facts: Facts, empty: ClusterState, archived: Archived) -> None:
    unread = replace(facts, state=both(empty, archived, HISTORY), views={RUN_ID: {"error": "run_not_found"}})
    assert "every run can be read, wherever it is" in broken(unread, empty, archived)


def test_history_that_is_lost_or_left_is_found(facts: Facts, empty: ClusterState, archived: Archived) -> None:
    name = "the history is in the archive, and in the cluster no more"
    whole = replace(facts, state=both(empty, archived, HISTORY))
    lost = replace(archived, runs={RUN_ID: archived.runs[RUN_ID]})
    assert broken(whole, empty, lost) == [name]
    left = replace(empty, runs={"r-old": archived.runs["r-old"]})
    assert broken(whole, left, archived) == [name]


def test_what_readers_met_and_an_archive_that_stood_still_are_found(
    facts: Facts, empty: ClusterState, archived: Archived
) -> None:
    whole = replace(facts, state=both(empty, archived, HISTORY))
    assert broken(whole, empty, archived, ["GET /v1/runs/r-1 answered 404"]) == [
        "readers met no run that was nowhere while it moved"
    ]
    here = replace(archived, runs={"r-old": archived.runs["r-old"]})
    assert broken(facts, facts.state, here) == ["runs moved into the archive while the load went on"]
