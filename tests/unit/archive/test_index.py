"""Lists through live and archived runs, against a plain reference; and how often the archive is looked at."""

import asyncio
import random
import resource
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.unit.kube.memory_cluster import NO_CLUSTER

from checklist_api.archive.single_flight import REFRESH_EVERY_S, SingleFlight
from checklist_api.index.archive_table import ArchivedRow, KnownPart, PartState
from checklist_api.index.run_filter import RunFilter
from checklist_api.index.runs import RunIndex
from checklist_crds.platform.object_store import StoreUnavailable
from checklist_crds.runs.row import row_of_run
from checklist_crds.times import format_timestamp

START = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def a_run(number: int, *, version: int = 1, minutes: float = 0, **changes: Any) -> dict[str, Any]:
    """A run as the cluster gives it; `changes`: organization, template, namespace, spec, status."""
    metadata = {"name": f"r-{number:04}", "namespace": changes.get("namespace", "main")}
    metadata |= {"resourceVersion": str(version), "creationTimestamp": "2026-11-21T11:59:00Z"}
    resolved = {
        **{"organization": changes.get("organization", "acme"), "templateId": changes.get("template", "t-1")},
        **{"templateVersion": 3, "templateName": "Opening", "revisionRef": {"name": "t-1-v3"}},
        **{"identityMode": "anonymous", "stepCount": 2, "applicableSteps": 2},
    }
    spec = {"createdAt": format_timestamp(START + timedelta(minutes=minutes)), "resolved": resolved}
    return {
        "metadata": metadata,
        "spec": spec | changes.get("spec", {}),
        "status": {"phase": "Pending"} | changes.get("status", {}),
    }


def test_stale_states_are_ignored_and_unlistable_runs_skipped(
    index: RunIndex,
) -> None:
    for number, minutes in ((1, 5), (2, 9), (3, 5)):
        index.observe(a_run(number, minutes=minutes, version=7, status={"phase": "Completed"}))
    index.observe(a_run(1, version=5))
    not_admitted = a_run(4)
    del not_admitted["spec"]["resolved"]
    for body in (not_admitted, a_run(5, spec={"createdAt": "yesterday"}), a_run(6, organization="globex")):
        index.observe(body)
    assert listed(index, RunFilter(status="completed")) == listed(index) == ["r-0002", "r-0003", "r-0001"]
    index.informer.forget(a_run(3))
    assert listed(index) == ["r-0002", "r-0001"]
    expiring = a_run(7, spec={"expiresInHours": 0.00125})
    index.observe(expiring)
    instant = START + timedelta(seconds=4.5)
    for now, status in ((instant - timedelta(milliseconds=1), "pending"), (instant, "expired")):
        total, _ = index.page("acme", ["main"], RunFilter(status=status), now=now, offset=0, limit=9)
        assert total == 1


OWNER = "org-of-acme"
NOW = START + timedelta(hours=1)
Body = dict[str, Any]


@pytest.fixture
def index(tmp_path: Path) -> Iterator[RunIndex]:
    index = RunIndex(NO_CLUSTER)
    index.archive.store_in(tmp_path)
    yield index
    index.close()


def key_of(name: str, month: str = "2026-11", owner: str = OWNER) -> str:
    return f"archive/{owner}/{month}/{name}.manifest.json"


def a_part(index: RunIndex, name: str, *bodies: Body) -> KnownPart:
    """A part that the index has learned of and loaded."""
    versions = {body["metadata"]["name"]: int(body["metadata"]["resourceVersion"]) for body in bodies}
    index.archive.add_part(key_of(name), f"tag of {name}", OWNER, versions)
    load(index, index.archive.parts()[key_of(name)], *bodies)
    return index.archive.parts()[key_of(name)]


def archived(body: Body, *events: str) -> ArchivedRow:
    row = row_of_run(body)
    assert row is not None
    return ArchivedRow(row, int(body["metadata"]["resourceVersion"]), events)


def load(index: RunIndex, part: KnownPart, *bodies: Body) -> None:
    index.archive.put(part, [archived(body) for body in bodies])
    index.archive.mark(part, PartState.LOADED)


def over(number: int, **changes: Any) -> Body:
    return a_run(number, **{"status": {"phase": "Completed"}, **changes})


def listed(index: RunIndex, wanted: RunFilter | None = None, *, offset: int = 0, limit: int = 100) -> list[str]:
    total, runs = index.page("acme", ["main"], wanted or RunFilter(), now=NOW, offset=offset, limit=limit)
    found = [str(run["run_id"]) for run in runs]
    assert len(found) == max(0, min(limit, total - offset))
    return found


def older(body: Body) -> Body:
    return {"metadata": {**body["metadata"], "resourceVersion": "1"}, "status": {"phase": "Cancelled"}}


@pytest.mark.parametrize("seed", range(3))
def test_lists_are_the_same_wherever_runs_are(index: RunIndex, seed: int) -> None:
    """Live, archived, or both; with ties in time and versions that are archived twice."""
    rng = random.Random(seed)
    phases = ("Pending", "InProgress", "Completed", "Cancelled", "Expired")
    reference = RunIndex(NO_CLUSTER)
    closed = []
    for number in range(120):
        organization, namespace = rng.choice(["acme"] * 5 + ["globex"]), rng.choice(["main"] * 5 + ["other"])
        owner = {"organization": organization, "namespace": namespace}
        spec = {"spec": {"executorRef": rng.choice(["one", "two", None])}}
        body = a_run(number, minutes=rng.randrange(40), template=f"t-{rng.randrange(3)}", version=2, **owner, **spec)
        body["status"]["phase"] = rng.choice(phases)
        reference.observe(body)
        if body["status"]["phase"] in phases[2:] and rng.random() < 0.8:
            closed.append(body)
        else:
            index.observe(body)
    parts = [closed[start : start + 9] for start in range(0, len(closed), 9)]
    for number, some in enumerate(parts):
        if number % 3 == 0:
            for body in some:  # as long as its object is there
                index.observe(body)
        a_part(index, f"p{number}", *some)
        if number % 4 == 1:
            a_part(index, f"q{number}", *[body | older(body) for body in some[:4]])
        if number % 3 == 0 and rng.random() < 0.5:
            for body in some:
                index.informer.forget(body)
    filters = [
        RunFilter(created_after=START + timedelta(minutes=20)),
        RunFilter(created_before=START + timedelta(minutes=3)),
        *(
            RunFilter(status, template, executor_ref=executor)
            for status in (None, "pending", "completed", "expired")
            for template in (None, "t-1")
            for executor in (None, "two")
        ),
    ]
    for wanted in filters:
        for offset, limit in ((0, 100), (0, 7), (7, 7), (33, 10), (95, 50)):
            page = {"now": NOW, "offset": offset, "limit": limit}
            assert index.page("acme", ["main"], wanted, **page) == reference.page("acme", ["main"], wanted, **page)
    reference.close()


def test_a_run_whose_object_goes_stays_listed_until_the_archive_was_looked_at(index: RunIndex) -> None:
    leaving: list[tuple[str, tuple[str, str]]] = []
    index.on_leaving(lambda organization, key: leaving.append((organization, key)))
    news: list[str] = []
    for number in range(3):
        index.observe(over(number))
    index.observe(a_run(3))
    index.add_listener(lambda each: news.append(each.run_id))
    for number in range(4):
        index.informer.forget(a_run(number))
    assert leaving == [("acme", ("main", f"r-000{number}")) for number in range(3)]
    assert (listed(index), news) == (["r-0002", "r-0001", "r-0000"], ["r-0003"])
    a_part(index, "p", over(1))
    assert listed(index) == ["r-0002", "r-0001", "r-0000"]
    for number in range(2):
        index.drop_leaving(("main", f"r-000{number}"))
    assert (listed(index), news) == (["r-0002", "r-0001"], ["r-0003", "r-0000"])
    index.observe(over(2, version=9))
    index.drop_leaving(("main", "r-0002"))
    assert listed(index) == ["r-0002", "r-0001"]


def test_of_two_versions_the_newer_is_listed_and_the_older_again_when_the_newer_is_gone(index: RunIndex) -> None:
    new, old = over(1, version=7), over(1, version=5, status={"phase": "Cancelled"})
    older, newer = a_part(index, "old", old), a_part(index, "new", new)
    index.archive.put(older, [])
    load(index, older, old)
    assert listed(index, RunFilter(status="completed")) == ["r-0001"]
    assert [part.key for part in index.archive.parts_of("r-0001")] == [newer.key, older.key]
    index.archive.forget(newer.key)
    assert listed(index) == []
    waiting = index.archive.unread()
    assert waiting is not None
    load(index, waiting, old)
    assert listed(index, RunFilter(status="cancelled")) == ["r-0001"]
    assert index.archive.known_runs() == 1


def test_a_full_disk_leaves_what_was_known_as_it_was(index: RunIndex) -> None:
    part = a_part(index, "p", over(1), over(2))
    new = [archived(over(number, spec={"executorRef": "x" * 200})) for number in range(3, 53)]
    pages = index._db.execute("PRAGMA archive.page_count").fetchone()[0]

    index._db.execute(f"PRAGMA archive.max_page_count = {pages + 1}")  # a statement fails
    with pytest.raises(sqlite3.OperationalError, match="full"):
        index.archive.put(part, new)
    assert (listed(index), index.archive.known_runs()) == (["r-0002", "r-0001"], 2)

    index._db.execute("PRAGMA archive.max_page_count = 1000000")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (pages * 4096, limits[1]))  # the commit fails
    try:
        with pytest.raises(sqlite3.OperationalError):
            index.archive.put(part, new)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert (listed(index), index.archive.known_runs()) == (["r-0002", "r-0001"], 2)

    index.archive.put(part, new)
    assert index.archive.known_runs() == len(listed(index)) == 52


class _Store:
    """What is looked at, and a clock on which `sleep` makes the time pass."""

    def __init__(self) -> None:
        self.now = 100.0
        self.began: list[float] = []
        self.answers = asyncio.Event()
        self.answers.set()
        self.fails = False
        self.looks = SingleFlight(self._look, lambda: self.now, self._sleep)

    async def _sleep(self, seconds: float) -> None:
        self.now += seconds
        await asyncio.sleep(0)

    async def _look(self, _: str) -> None:
        self.began.append(self.now)
        await asyncio.sleep(0)
        await self.answers.wait()
        if self.fails:
            raise StoreUnavailable("down")


async def test_those_who_ask_for_a_look_at_the_same_time_share_one() -> None:
    store = _Store()
    await asyncio.gather(*(store.looks.fresh("acme") for _ in range(50)))
    assert len(store.began) == 2  # the first one's own, which began before the others asked; and theirs
    await store.looks.fresh("acme")
    assert len(store.began) == 3
    assert store.began[2] - store.began[1] >= REFRESH_EVERY_S
    await asyncio.gather(store.looks.fresh("acme"), store.looks.fresh("globex"))
    assert len(store.began) == 5


async def test_who_asks_while_a_look_is_under_way_gets_the_next_one() -> None:
    store = _Store()
    store.answers.clear()
    first = asyncio.create_task(store.looks.fresh("acme"))
    await asyncio.sleep(0)
    store.now += 0.2
    second = asyncio.create_task(store.looks.fresh("acme"))
    await asyncio.sleep(0)
    store.answers.set()
    await asyncio.gather(first, second)
    assert store.began == [100.0, 100.0 + REFRESH_EVERY_S]


async def test_a_look_that_failed_fails_for_all_who_waited_for_it_and_not_for_those_who_come_later() -> None:
    store = _Store()
    store.fails = True
    failed = await asyncio.gather(*(store.looks.fresh("acme") for _ in range(3)), return_exceptions=True)
    assert [type(each) for each in failed] == [StoreUnavailable] * 3
    store.fails = False
    await store.looks.fresh("acme")


def test_a_part_of_runs_that_lists_have_already_makes_no_list_incomplete(index: RunIndex) -> None:
    for number in range(3):
        index.observe(over(number))
    index.archive.add_part(key_of("p"), "tag", OWNER, {"r-0000": 1, "r-0001": 1})
    assert index.archive.states(OWNER) == {PartState.COVERED: 1}
    index.archive.add_part(key_of("p"), "another tag", OWNER, {"r-0000": 1, "r-0007": 1})
    assert index.archive.states(OWNER) == {PartState.WAITING: 1}


def test_a_part_that_is_written_again_hands_its_rows_over(index: RunIndex) -> None:
    bodies = [over(number, minutes=number) for number in range(5)]
    a_part(index, "old", *bodies)
    versions = {body["metadata"]["name"]: 1 for body in bodies if body is not bodies[2]}
    index.archive.add_part(key_of("new"), "tag of new", OWNER, versions)
    assert len(listed(index)) == 5
    index.archive.forget(key_of("old"))
    assert listed(index) == ["r-0004", "r-0003", "r-0001", "r-0000"]
    assert index.archive.parts()[key_of("new")].state is PartState.LOADED
    assert index.archive.total("acme", ["main"], "completed") == 4
    index.archive.forget(key_of("new"))
    assert listed(index) == []


def test_events_of_runs_that_moved_to_another_part_are_found_and_those_of_erased_runs_are_not(index: RunIndex) -> None:
    events = [f"evt-00000000-0000-4000-8000-00000000000{number}" for number in range(2)]
    index.archive.add_part(key_of("old"), "tag", OWNER, {"r-0000": 1, "r-0001": 1})
    rows = [archived(over(number), event) for number, event in enumerate(events)]
    index.archive.put(index.archive.parts()[key_of("old")], rows)
    index.archive.add_part(key_of("new"), "tag", OWNER, {"r-0000": 1})
    index.archive.forget(key_of("old"))
    assert [index.archive.run_of_event(event) for event in events] == ["r-0000", None]


def test_rows_go_to_no_part_that_is_damaged_or_another_organizations_or_has_another_state(index: RunIndex) -> None:
    a_part(index, "old", over(1, version=4))
    for name, owner, version in (("damaged", OWNER, 4), ("misplaced", "org-of-others", 4), ("older", OWNER, 3)):
        index.archive.add_part(key_of(name, owner=owner), "tag", owner, {"r-0001": version})
    index.archive.mark(index.archive.parts()[key_of("damaged")], PartState.DAMAGED)
    index.archive.forget(key_of("old"))
    assert listed(index) == []
    assert {part.state for part in index.archive.parts().values()} == {PartState.WAITING}
