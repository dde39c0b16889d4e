"""Which deliveries a bulk replay chooses, what it refuses, what bounds it, and how it finds what was done before."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.unit.delivery.test_delivery_state import MESSAGE, OBJECT

from checklist_crds.resources.delivery import (
    DeliveryAttempt,
    LastReplay,
    OutcomeClass,
    ReplayRequest,
    WebhookDeliverySpec,
    WebhookDeliveryStatus,
)
from checklist_crds.resources.delivery_records import DeliveryPhase, DeliveryRecord
from checklist_crds.resources.event_names import EventName
from checklist_crds.resources.replay import ReplayFilter
from checklist_crds.resources.run import ObjectNameRef, Run
from checklist_crds.runs.replay_rules import ReplayRefusal, refusal_of_record
from checklist_crds.times import format_timestamp
from checklist_operator.attempts.replay_state import Known, Refuse, judge
from checklist_operator.replays.search import search
from checklist_operator.replays.selection import Choice, Tally, Target
from checklist_operator.replays.turns import AT_ONCE, MAX_ASIDE, PER_HOST, Places, Turns, UnderWay

STARTED = datetime(2026, 11, 21, 12, tzinfo=UTC)
BEFORE, AFTER = STARTED - timedelta(hours=1), STARTED + timedelta(minutes=1)


def choice(**wanted: Any) -> Choice:
    return Choice(ReplayFilter.model_validate(wanted), "acme", by_replay("again"))


def by_replay(name: str) -> ReplayRequest:
    return ReplayRequest(requested_at=STARTED, replay_ref=ObjectNameRef(name=name))


def spec(**other: Any) -> WebhookDeliverySpec:
    message = MESSAGE | {"ts": format_timestamp(BEFORE), "url": "https://hooks.example:8443/a"}
    return WebhookDeliverySpec.model_validate(OBJECT | message | other)


def status(**other: Any) -> WebhookDeliveryStatus:
    """A delivery that failed before the replay started."""
    last = DeliveryAttempt(number=5, started_at=BEFORE, duration_ms=1, outcome=OutcomeClass.DNS)
    fields = {"phase": DeliveryPhase.FAILED, "attempt": 5, "attempts": [last], "settled": True, "finished_at": BEFORE}
    return WebhookDeliveryStatus(**fields | other)


def earlier(requested_at: datetime, outcome: OutcomeClass | None = OutcomeClass.DNS) -> LastReplay:
    return LastReplay(requested_at=requested_at, attempted_at=requested_at, outcome=outcome)


TARGET = Target("evt-1", "r-1", "hooks.example", BEFORE)


def test_what_fits_every_part_of_the_filter_is_chosen() -> None:
    of_run = {"runRef": {"name": "r-1"}}
    later = BEFORE + timedelta(milliseconds=1)
    for chosen in (
        *({}, {"phase": "Failed"}, of_run, of_run | {"eventIds": ["evt-1", "evt-2"]}),
        *({"host": "Hooks.Example."}, {"event": "run.completed"}, {"outcome": "dns"}),
        {"finishedAfter": BEFORE, "finishedBefore": later},
    ):
        assert choice(**chosen).of_delivery(spec(), status()) == TARGET, chosen
    for other in (
        *({"phase": "Delivered"}, {"runRef": {"name": "r-2"}}, of_run | {"eventIds": ["evt-2"]}),
        *({"host": "example"}, {"host": "hooks.example:8443"}, {"event": "run.expired"}, {"outcome": "timeout"}),
        *({"finishedAfter": later}, {"finishedBefore": BEFORE}),
    ):
        assert choice(**other).of_delivery(spec(), status()) is None, other


def test_what_ended_or_was_replayed_after_the_start_is_left_alone() -> None:
    changed = [status(finished_at=AFTER), status(last_replay=earlier(AFTER))]
    assert [choice().of_delivery(spec(), each) for each in changed] == [None, None]
    assert choice().of_delivery(spec(), status(last_replay=earlier(BEFORE))) == TARGET
    # A clock that was set back hides nothing from a replay that starts now; what the caller asks for holds.
    new = replace(choice(), is_new=True)
    assert [new.of_delivery(spec(), each) for each in changed] == [TARGET, TARGET]
    assert replace(choice(finishedBefore=STARTED), is_new=True).of_delivery(spec(), changed[0]) is None


def test_what_this_replay_has_dealt_with_is_counted_and_what_it_has_begun_is_finished() -> None:
    assert choice().of_delivery(spec(organizationRef={"name": "other"}), status()) is None
    done = earlier(STARTED, OutcomeClass.SUCCESS)
    delivered = status(phase=DeliveryPhase.DELIVERED, finished_at=AFTER, last_replay=done)
    assert choice().of_delivery(spec(), delivered) == done
    begun = [status(replay=ReplayRequest(requested_at=at), settled=None) for at in (STARTED, AFTER)]
    found = [choice().of_delivery(spec(), each) for each in begun]
    assert found == [TARGET, ReplayRefusal.REPLAY_UNDER_WAY], "of this replay, and of another one"


def test_a_replay_that_started_at_the_same_moment_is_not_taken_for_this_one() -> None:
    mine, others = by_replay("again"), by_replay("other")
    assert choice().of_delivery(spec(), status(replay=mine, settled=None)) == TARGET
    assert choice().of_delivery(spec(), status(replay=others, settled=None)) is ReplayRefusal.REPLAY_UNDER_WAY
    elsewhere = choice(runRef={"name": "r-2"}, eventIds=["evt-2"])
    assert elsewhere.of_delivery(spec(), status(replay=others, settled=None)) is None
    done = LastReplay(**others.model_dump(), attempted_at=AFTER, outcome=OutcomeClass.SUCCESS)
    assert elsewhere.of_delivery(spec(), status(last_replay=done)) is None
    assert judge(mine, status(replay=others, settled=None)) == Refuse(ReplayRefusal.REPLAY_UNDER_WAY)
    assert judge(mine, status(replay=mine, settled=None)) == Known()
    # The annotation with which a delivery is made from its run cannot say the name.
    assert judge(ReplayRequest(requested_at=STARTED), status(replay=mine, settled=None)) == Known()


def test_a_half_made_delivery_is_made_again_from_its_run_and_one_that_is_retried_is_only_refused_by_name() -> None:
    empty = WebhookDeliveryStatus()
    named = choice(runRef={"name": "r-1"}, eventIds=["evt-1"])
    again = replace(TARGET, from_run=True)
    assert named.of_delivery(spec(), empty, incomplete=True) == again
    assert choice(phase="Delivered").of_delivery(spec(), empty, incomplete=True) == again
    assert choice().of_delivery(spec(), empty, incomplete=True) is None
    assert named.of_delivery(spec(), empty) is ReplayRefusal.RETRY_PENDING
    retried = status(phase=DeliveryPhase.PENDING, settled=None, finished_at=None)
    assert choice().of_delivery(spec(), retried) is None
    assert named.of_delivery(spec(), retried) is ReplayRefusal.RETRY_PENDING


def run(*, phase: str = "Completed", webhook: bool = True) -> Run:
    body: dict[str, Any] = {
        "metadata": {"name": "r-1", "namespace": "n", "creationTimestamp": format_timestamp(BEFORE)},
        "spec": {"webhook": {"url": "https://hooks.example/", "events": ["*"]}} if webhook else {},
        "status": {"phase": phase},
    }
    return Run.parse(body)


def record(event: EventName, phase: DeliveryPhase = DeliveryPhase.DELIVERED) -> DeliveryRecord:
    return DeliveryRecord(
        seq=1, event=event, event_id="evt-1", phase=phase, attempts=1, started_at=BEFORE, duration_ms=1
    )


def test_the_events_that_end_a_run_are_chosen_without_a_delivery_and_those_of_steps_were_not_kept() -> None:
    for event in EventName:
        found = choice(phase="Delivered").of_record(run(), record(event), BEFORE)
        of_a_step = event.value.startswith("step.")
        assert found == (ReplayRefusal.PAYLOAD_NOT_KEPT if of_a_step else replace(TARGET, from_run=True))


def test_a_run_that_goes_on_or_has_no_webhook_has_no_event_to_send_again() -> None:
    completed = record(EventName.RUN_COMPLETED)
    assert refusal_of_record(run(phase="InProgress"), completed) is ReplayRefusal.PAYLOAD_NOT_KEPT
    assert refusal_of_record(run(webhook=False), completed) is ReplayRefusal.PAYLOAD_NOT_KEPT
    retried = record(EventName.RUN_COMPLETED, DeliveryPhase.PENDING)
    assert refusal_of_record(run(), retried) is ReplayRefusal.RETRY_PENDING
    assert refusal_of_record(run(), completed) is None


def test_the_tally_adds_up() -> None:
    tally = Tally()
    for outcome in (OutcomeClass.SUCCESS, OutcomeClass.TLS, None):
        tally.count(earlier(STARTED, outcome))
    for _ in range(2):
        tally.count(ReplayRefusal.PAYLOAD_NOT_KEPT)
    assert (tally.done, tally.delivered, tally.failed, tally.refused) == (5, 1, 1, 3)
    counts = [(one.reason, one.count) for one in tally.refusal_counts]
    assert counts == [("payload_not_kept", 2), ("run_deleted", 1)]


def test_hosts_take_turns_and_one_that_does_not_answer_holds_up_no_other() -> None:
    hosts = ["dead.example"] * 50 + ["alive.example"] * 50
    turns = Turns([Target(f"evt-{number}", "r-1", host, BEFORE) for number, host in enumerate(hosts)])
    taken = [turns.take() for _ in range(2 * PER_HOST)]
    assert [one.host for one in taken if one] == ["dead.example", "alive.example"] * PER_HOST
    assert turns.take() is None
    alive = [one for one in taken if one and one.host == "alive.example"]
    for one in alive:  # grows while it is read
        turns.release(one)
        if following := turns.take():
            alive.append(following)
    assert [one.host for one in alive] == ["alive.example"] * 50
    assert turns.left


async def test_one_object_that_cannot_be_read_does_not_hide_the_others(caplog: pytest.LogCaptureFixture) -> None:
    whole = {"metadata": {"name": "evt-1"}, "spec": spec().to_kube(), "status": status().to_kube()}
    broken = {**whole, "metadata": {"name": "evt-2"}, "status": {"phase": "Odd"}}

    class Client:
        """Two pages of deliveries."""

        async def pages(self, *arguments: Any, **named: Any) -> AsyncIterator[tuple[list[dict[str, Any]], str]]:
            yield [broken], "1"
            yield [whole], "1"

    found = await search(Client(), ["n"], choice(), is_new=True)  # type: ignore[arg-type]
    assert found.targets == [replace(TARGET, namespace="n")]
    assert "object_not_understood" in caplog.text


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
    assert places.release(key(4)) is None, "it had none"
    assert places.release(key(2)) == key(3)
    assert places.take(ACME, key(3)), "it was given to it"
    assert not places.take(ACME, key(2))
    # One that was deleted while it stood in line gives its place back as well.
    assert places.release(key(1)) == key(4)
    assert places.release(key(4)) == key(2)
    assert [places.release(key(number)) for number in (2, 3)] == [None, None]
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
    for number in range(MAX_ASIDE + 2):
        under_way.start(target(number), never())
    assert counts["acme"] == MAX_ASIDE + 2
    for number in (0, 0, *range(MAX_ASIDE + 1)):
        under_way.set_aside(target(number))
    assert under_way.take_set_aside() == [target(number) for number in range(MAX_ASIDE)]
    assert under_way.take_set_aside() == []
    assert counts["acme"] == 2
    await under_way.cancel()
    assert counts == {}
    for number in range(2):
        under_way.start(target(number), at_once())
    under_way.set_aside(target(0))
    ended, _ = await asyncio.wait(under_way.tasks)
    assert {under_way.end(task) for task in ended} == {None, target(1)}, "its turn is free unless it was so before"
    assert (under_way.take_set_aside(), counts) == ([target(0)], {})
