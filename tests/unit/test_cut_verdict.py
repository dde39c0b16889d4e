"""The judge of the enumeration: each promise is seen to be broken when it is."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from checklist_crds.event_names import EventName
from checklist_crds.run_types import DeliveryPhase, DeliveryRecord, Run
from checklist_crds.times import format_timestamp
from checklist_dev.chaos.cuts.course import Cut, Fate
from checklist_dev.chaos.cuts.post import Transmission
from checklist_dev.chaos.cuts.scenarios import SCENARIOS, Scenario
from checklist_dev.chaos.cuts.stage import Played
from checklist_dev.chaos.cuts.verdict import PROMISES, judge
from checklist_operator.delivery_objects import Delivery

START = datetime(2026, 11, 21, 12, tzinfo=UTC)
ARRIVES, REPEATS, NUMBERS, IN_TIME, FINAL, IN_ORDER, TOLD = PROMISES
EVENT = "evt-1"
CRASHES = {Fate.KILLED, Fate.SUCCEEDED, Fate.SUCCEEDED_AHEAD, Fate.SUCCEEDED_BEHIND, Fate.PAUSED, Fate.LOST}


def scenario(name: str) -> Scenario:
    return next(one for one in SCENARIOS if one.name == name)


def came(number: int, status: int, at: float, *, seq: int = 1) -> Transmission:
    return Transmission(EVENT if seq == 1 else f"evt-{seq}", seq, number, status, at, START.timestamp() + at, False)


def retried(fate: Fate | None = None) -> Played:
    """An event that was delivered at its second attempt, as it should be."""
    played = Played(scenario("delivered at the second attempt"), Cut("somewhere", fate) if fate else None)
    played.ended, played.reached = True, fate is not None
    played.sent = [[(1, 1), (1, 2)]]
    played.received = [came(1, 500, 0.0), came(2, 200, 0.1)]
    played.phases = {EVENT: [(0.05, DeliveryPhase.PENDING), (0.15, DeliveryPhase.DELIVERED)]}
    played.settled_at = 0.2
    played.run = _run(DeliveryPhase.DELIVERED)
    played.deliveries = [_delivery("Delivered", [1, 2])]
    return played


def _run(phase: DeliveryPhase) -> Run:
    record = DeliveryRecord(seq=1, event=EventName.RUN_CANCELLED, event_id=EVENT, phase=phase, attempts=2)
    return Run.parse(
        {
            "metadata": {"name": "r-1", "namespace": "n", "uid": "u", "resourceVersion": "1"},
            "spec": {
                "organizationRef": {"name": "org-1"},
                "templateId": "t-1",
                "createdAt": format_timestamp(START),
            },
            "status": {"phase": "Cancelled", "settled": True, "deliveries": [record.to_kube()]},
        }
    )


def _delivery(phase: str, numbers: list[int], *, settled: bool = True, due_at: float = 0.08) -> Delivery:
    attempts = [
        {
            "number": number,
            "startedAt": format_timestamp(START),
            "durationMs": 1,
            "outcome": "http_5xx",
            "nextAttemptAt": format_timestamp(START + timedelta(seconds=due_at)),
        }
        for number in numbers
    ]
    return Delivery.parse(
        {
            "metadata": {
                "name": EVENT,
                "namespace": "n",
                "resourceVersion": "1",
                "creationTimestamp": format_timestamp(START),
            },
            "spec": {
                "organizationRef": {"name": "org-1"},
                "runRef": {"name": "r-1"},
                "eventId": EVENT,
                "event": "run.cancelled",
                "seq": 1,
                "ts": format_timestamp(START),
                "url": "http://receiver.test/",
                "payload": "{}",
            },
            "status": {"phase": phase, "attempt": len(numbers), "attempts": attempts, "settled": settled},
        }
    )


@pytest.mark.parametrize("fate", [None, *Fate])
def test_a_life_as_it_should_be_breaks_nothing(fate: Fate | None) -> None:
    assert judge(retried(fate)) == {}


def _is_lost(played: Played) -> None:
    played.received = played.received[:1]


def _does_not_end(played: Played) -> None:
    played.ended = False


def _comes_twice(played: Played) -> None:
    played.received.insert(1, came(1, 500, 0.02))


def _leaves_a_number_out(played: Played) -> None:
    played.received[1] = came(3, 200, 0.1)
    played.deliveries = [_delivery("Delivered", [1, 3])]


def _comes_right_after_a_failure(played: Played) -> None:
    played.received[1] = came(2, 200, 0.049)


def _comes_before_the_time_in_its_history(played: Played) -> None:
    played.deliveries = [_delivery("Delivered", [1, 2], due_at=0.3)]


def _comes_after_its_success_was_recorded(played: Played) -> None:
    played.received.append(came(3, 200, 0.3))


def _a_success_is_taken_back(played: Played) -> None:
    played.phases[EVENT].append((0.16, DeliveryPhase.FAILED))


def _begins_with_the_second_event(played: Played) -> None:
    played.sent = [[(2, 1), (1, 1)]]


def _the_run_tells_of_a_failure(played: Played) -> None:
    played.run = _run(DeliveryPhase.FAILED)


def _the_delivery_is_left_open(played: Played) -> None:
    played.deliveries = [_delivery("Delivered", [1, 2], settled=False)]


def _an_attempt_is_recorded_twice(played: Played) -> None:
    played.deliveries = [_delivery("Delivered", [1, 2, 2])]


@pytest.mark.parametrize(
    ("wrong", "promise"),
    [
        (_is_lost, ARRIVES),
        (_does_not_end, ARRIVES),
        (_comes_twice, REPEATS),
        (_leaves_a_number_out, NUMBERS),
        (_comes_right_after_a_failure, IN_TIME),
        (_comes_before_the_time_in_its_history, IN_TIME),
        (_comes_after_its_success_was_recorded, FINAL),
        (_a_success_is_taken_back, FINAL),
        (_begins_with_the_second_event, IN_ORDER),
        (_the_run_tells_of_a_failure, TOLD),
        (_the_delivery_is_left_open, TOLD),
        (_an_attempt_is_recorded_twice, TOLD),
    ],
    ids=lambda value: value.__name__.strip("_").replace("_", " ") if callable(value) else "",
)
def test_what_is_wrong_is_seen(wrong: Callable[[Played], None], promise: str) -> None:
    played = retried()
    wrong(played)
    assert promise in judge(played)


@pytest.mark.parametrize("fate", list(Fate))
def test_one_repetition_is_allowed_where_somebody_crashed_and_nowhere_else(fate: Fate) -> None:
    played = retried(fate)
    _comes_twice(played)
    assert (REPEATS in judge(played)) is (fate not in CRASHES)
    played.received.insert(1, came(1, 500, 0.03))
    assert REPEATS in judge(played)


def test_an_attempt_that_failed_before_it_left_is_not_left_out() -> None:
    played = retried()
    played.received = [came(2, 200, 0.1)]
    assert judge(played) == {}


def test_a_sixth_number_is_seen() -> None:
    played = retried()
    played.received = [came(number, 500, number * 0.1) for number in range(1, 6)] + [came(6, 200, 0.7)]
    assert NUMBERS in judge(played)
