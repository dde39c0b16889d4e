"""Readers that wait for the next change of a run."""

import asyncio
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import pytest

from checklist_api.runs import change_readers
from checklist_api.runs.change_readers import ChangeReaders
from checklist_crds.errors import RateLimited, ServiceUnavailable
from checklist_crds.ids import new_id

KEY = ("ns", "daily")
RUN_ID = new_id("r")
LONG_S = 30.0


class Index:
    """The part of the index that is used: it passes events of the watch on."""

    def __init__(self) -> None:
        self.apply: Callable[[str, dict[str, Any]], None]

    def add_handler(self, handler: Callable[[str, dict[str, Any]], None]) -> None:
        self.apply = handler

    def changed(self, changes: int, key: tuple[str, str] = KEY, run_id: str = RUN_ID) -> None:
        status = {"changes": changes, "resolved": {"runId": run_id}}
        self.apply("UPSERT", {"metadata": {"namespace": key[0], "name": key[1]}, "status": status})

    def deleted(self) -> None:
        self.apply("DELETE", {"metadata": {"namespace": KEY[0], "name": KEY[1]}})


class Time:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def index() -> Index:
    return Index()


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def changes(index: Index, time: Time) -> ChangeReaders:
    return ChangeReaders(index, monotonic=time)  # type: ignore[arg-type]


async def test_a_reader_waits_until_the_run_has_more_changes_than_it_knows(
    index: Index, changes: ChangeReaders
) -> None:
    with changes.reading(KEY, RUN_ID) as run:
        run.note(3)
        await changes.wait(run, 2, LONG_S)  # has them already
        waiting = asyncio.create_task(changes.wait(run, 4, LONG_S))
        for _ in range(3):
            await asyncio.sleep(0)
        index.changed(9, ("ns", "r-2"))
        index.changed(4)  # the reader's own change, which the watch reports later
        index.changed(2)
        for _ in range(3):
            await asyncio.sleep(0)
        assert not waiting.done()
        index.changed(5)
        await waiting
        assert run.changes == 5


async def test_a_reader_gives_up_after_its_time(changes: ChangeReaders) -> None:
    with changes.reading(KEY, RUN_ID) as run:
        run.note(1)
        await changes.wait(run, 1, 0.01)
        assert (run.changes, run.gone) == (1, False)


@pytest.mark.parametrize("end", ["deleted", "closed", "replaced"])
async def test_waiting_ends_with_the_run_and_with_the_process(index: Index, changes: ChangeReaders, end: str) -> None:
    with changes.reading(KEY, RUN_ID) as run:
        run.note(1)
        waiting = asyncio.create_task(changes.wait(run, 1, LONG_S))
        await asyncio.sleep(0)
        if end == "deleted":
            index.deleted()
        elif end == "replaced":
            index.changed(1, run_id=new_id("r"))  # another run of the name: the deletion was not seen
        else:
            changes.close()
        await waiting
        assert run.gone is (end != "closed")
    if end == "closed":
        with pytest.raises(ServiceUnavailable), changes.reading(KEY, RUN_ID):
            pass


async def test_a_run_is_remembered_until_its_reader_has_been_away_for_long(
    index: Index, changes: ChangeReaders, time: Time
) -> None:
    with changes.reading(KEY, RUN_ID) as run:
        run.note(1)
    index.changed(2)
    time.now += 60
    with changes.reading(KEY, RUN_ID) as again:
        assert (again.changes, len(changes)) == (2, 1)
    with changes.reading(("ns", "r-2"), "r-2"):
        time.now += 500
        with changes.reading(("ns", "r-3"), "r-3"):
            pass
        assert len(changes) == 2, "the one with a reader, and the one that was left now"


async def test_readers_are_limited(changes: ChangeReaders, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change_readers, "READERS_OF_A_RUN", 2)
    monkeypatch.setattr(change_readers, "READERS", 3)
    with ExitStack() as stack:
        for _ in range(2):
            stack.enter_context(changes.reading(KEY, RUN_ID))
        with pytest.raises(RateLimited), changes.reading(KEY, RUN_ID):
            pass
        stack.enter_context(changes.reading(("ns", "r-2"), "r-2"))
        with pytest.raises(ServiceUnavailable), changes.reading(("ns", "r-3"), "r-3"):
            pass
    assert changes.readers == 0
