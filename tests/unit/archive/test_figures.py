"""The overview's counts and durations, and the search of the palette, through live and archived runs."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.unit.archive.test_index import NOW, START, a_part, a_run
from tests.unit.kube.memory_cluster import NO_CLUSTER

from checklist_api.index import run_figures, run_search
from checklist_api.index.run_figures import RunCounts
from checklist_api.index.run_search import FoundRuns
from checklist_api.index.runs import RunIndex
from checklist_crds.times import format_timestamp

DAY = timedelta(hours=24)


@pytest.fixture
def index(tmp_path: Path) -> Iterator[RunIndex]:
    index = RunIndex(NO_CLUSTER)
    index.archive.store_in(tmp_path)
    yield index
    index.close()


def completed(number: int, *, took: int, minutes: float = 0, **changes: Any) -> dict[str, Any]:
    """Completed `took` minutes after its dispatch."""
    at = format_timestamp(START + timedelta(minutes=minutes + took))
    return a_run(number, minutes=minutes, status={"phase": "Completed", "completedAt": at}, **changes)


def expiring(number: int, hours: float, **changes: Any) -> dict[str, Any]:
    return a_run(number, spec={"expiresAt": format_timestamp(NOW + timedelta(hours=hours))}, **changes)


def counts(index: RunIndex) -> RunCounts:
    return index.figures.counts("acme", ["main"], since=START, now=NOW, within=DAY)


def test_each_run_is_counted_where_it_belongs_live_or_archived(index: RunIndex) -> None:
    index.observe(a_run(1, minutes=-1))  # yesterday, open, never expires
    index.observe(expiring(2, 1))
    index.observe(expiring(3, 30))
    index.observe(expiring(4, -1))  # over, and not yet stored as such
    index.observe(expiring(5, -2, status={"phase": "Expired"}))
    index.observe(expiring(6, -30, status={"phase": "Expired"}))
    index.observe(completed(7, took=5, spec={"expiresAt": format_timestamp(NOW + timedelta(hours=1))}))
    index.observe(completed(8, took=5, minutes=-60))
    index.observe(a_run(9, organization="globex"))
    index.observe(a_run(10, namespace="elsewhere"))
    index.observe(a_run(13, minutes=-6 * 24 * 60, status={"phase": "InProgress", "flagged": 2}))
    index.observe(a_run(14, minutes=-6 * 24 * 60 - 1, status={"phase": "Cancelled", "flagged": 1}))
    archived_flagged = a_run(15, minutes=-60, status={"phase": "Cancelled", "flagged": 1})
    expired = expiring(12, -3, status={"phase": "Expired"})
    a_part(index, "one", completed(11, took=7), completed(7, took=5), expired, archived_flagged)
    # Dispatched: all but 1, 8 and the flagged ones; 7 is both live and archived and counts once.
    assert counts(index) == RunCounts(dispatched=8, completed=2, open=4, expiring=1, expired=3, flagged=2)


def test_a_count_stops_at_its_bound(index: RunIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_figures, "COUNTED_UP_TO", 2)
    for number in range(5):
        index.observe(a_run(number))
    assert (counts(index).dispatched, counts(index).open) == (2, 2)


def test_durations_are_those_of_the_newest_runs_by_template(index: RunIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    for number, took in enumerate((1, 2, 3, 4, 5, 6, 7, 8, 9, 100)):
        index.observe(completed(number, took=took))
    index.observe(completed(20, took=3, template="t-2"))
    a_part(index, "one", completed(21, took=5, template="t-2"), a_run(22, status={"phase": "Cancelled"}))
    minute = 60_000
    first, second = index.figures.times("acme", ["main"])
    assert (first.template_id, first.runs, first.median_ms, first.p90_ms) == ("t-1", 10, 5.5 * minute, 9 * minute)
    assert (second.template_id, second.runs, second.median_ms, second.p90_ms) == ("t-2", 2, 4 * minute, 5 * minute)
    monkeypatch.setattr(run_figures, "RECENT", 3)
    # Those that were completed last: after 100, 9 and 8 minutes.
    [newest] = index.figures.times("acme", ["main"])
    assert (newest.runs, newest.median_ms, newest.p90_ms) == (3, 9 * minute, 100 * minute)
    assert index.figures.times("globex", ["main"]) == []


def found(index: RunIndex, text: str, members: tuple[str, ...] = (), limit: int = 8) -> list[str]:
    result = index.search.find("acme", ["main"], text, members=members, now=NOW, limit=limit)
    assert result.complete
    return [run["run_id"] for run in result.runs]


def test_runs_are_found_by_any_part_and_only_those_of_the_organization(index: RunIndex) -> None:
    index.observe(a_run(1, spec={"executorRef": "Order STRASSE 7"}))
    identity = {"identity": {"name": "Ada Lovelace", "email": "ada@example.com"}}
    index.observe(a_run(2, minutes=1, status={"phase": "InProgress", **identity}))
    index.observe(a_run(3, minutes=2, status={"phase": "InProgress", "assignedTo": "u-1"}))
    index.observe(a_run(4, organization="globex", spec={"executorRef": "Order 7"}))
    index.observe(a_run(5, namespace="elsewhere", spec={"executorRef": "Order 7"}))
    assert found(index, "straße") == found(index, "ORDER") == ["r-0001"]
    assert found(index, "lovel") == found(index, "ADA@EXAMPLE") == ["r-0002"]
    assert found(index, "robin", ("u-1",)) == ["r-0003"]
    assert found(index, "r-0002") == ["r-0002"]
    assert found(index, "opening") == ["r-0003", "r-0002", "r-0001"]
    assert found(index, "opening", limit=1) == ["r-0003"]
    assert found(index, "100%_") == []


def test_a_search_reads_the_newest_runs_only_and_says_so(index: RunIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_search, "SEARCHED", 2)
    for number in range(3):
        index.observe(a_run(number, minutes=number, spec={"executorRef": f"order {number}"}))

    def result(text: str) -> FoundRuns:
        return index.search.find("acme", ["main"], text, members=(), now=NOW, limit=8)

    assert [run["run_id"] for run in result("order 1").runs] == ["r-0001"]
    assert result("order 0") == FoundRuns([], complete=False)
