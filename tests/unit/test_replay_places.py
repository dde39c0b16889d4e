"""Bulk replays beside each other: what bounds those of one organization, and that it never stops those of another."""

import asyncio
from collections import Counter
from datetime import UTC, datetime

from checklist_crds.delivery_types import LastReplay
from checklist_crds.replay_rules import ReplayRefusal
from checklist_operator.replay_places import Places
from checklist_operator.replay_selection import Target
from checklist_operator.replay_under_way import AT_ONCE, HELD_UP, UnderWay

ACME = ("acme", False)
NOW = datetime(2026, 11, 21, tzinfo=UTC)


def key(number: int) -> tuple[str, str]:
    return "ns", f"replay-{number}"


def target(number: int) -> Target:
    return Target(f"evt-{number}", "r-1", "a.example", NOW)


async def never() -> LastReplay | ReplayRefusal:
    await asyncio.Event().wait()
    raise AssertionError


async def at_once() -> LastReplay | ReplayRefusal:
    return ReplayRefusal.RUN_DELETED


def test_replays_beyond_those_that_an_owner_may_have_wait_in_line_and_come_in_their_order() -> None:
    places = Places(named=1, chosen=2)
    assert [places.take(ACME, key(number)) for number in (1, 2, 3, 4, 3)] == [True, True, False, False, False]
    assert places.take(("acme", True), key(8))
    assert not places.take(("acme", True), key(10))
    assert places.take(("other", False), key(9))
    assert places.give_back(key(4)) is None, "it had none"
    assert places.give_back(key(2)) == key(3)
    assert places.take(ACME, key(3)), "it was given to it"
    assert not places.take(ACME, key(2))
    # One that was deleted while it stood in line gives its place back as well.
    assert places.give_back(key(1)) == key(4)
    assert places.give_back(key(4)) == key(2)
    assert [places.give_back(key(number)) for number in (2, 3)] == [None, None]
    assert [places.take(ACME, key(number)) for number in (5, 6, 7)] == [True, True, False]


async def test_the_requests_of_an_organization_are_bounded_and_each_of_its_replays_goes_on() -> None:
    counts: Counter[str] = Counter()
    large, small, other = (UnderWay(counts, name) for name in ("acme", "acme", "other"))
    started = 0
    while large.has_room:
        large.start(target(started), never())
        started += 1
    assert started == AT_ONCE
    assert small.has_room
    small.start(target(1000), never())
    assert not small.has_room
    assert other.has_room
    await large.cancel()
    assert small.has_room
    await small.cancel()
    assert counts == {}


async def test_what_is_held_up_steps_aside_once_and_so_many_of_them() -> None:
    counts: Counter[str] = Counter()
    under_way = UnderWay(counts, "acme")
    for number in range(HELD_UP + 2):
        under_way.start(target(number), never())
    assert counts["acme"] == HELD_UP + 2
    for number in (0, 0, *range(HELD_UP + 1)):
        under_way.held_up(target(number))
    assert under_way.stepped_aside() == [target(number) for number in range(HELD_UP)]
    assert under_way.stepped_aside() == []
    assert counts["acme"] == 2
    await under_way.cancel()
    assert counts == {}


async def test_the_turn_of_one_that_ends_is_free_unless_it_was_so_before() -> None:
    counts: Counter[str] = Counter()
    under_way = UnderWay(counts, "acme")
    for number in range(2):
        under_way.start(target(number), at_once())
    under_way.held_up(target(0))
    ended, _ = await asyncio.wait(under_way.tasks)
    assert {under_way.end(task) for task in ended} == {None, target(1)}
    assert under_way.stepped_aside() == [target(0)]
    assert counts == {}
