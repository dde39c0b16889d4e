"""The judge of the enumeration: each promise is seen to be broken when it is."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from checklist_crds.event_names import EventName
from checklist_crds.run_types import DeliveryPhase, DeliveryRecord, Run
from checklist_crds.times import format_timestamp
from checklist_dev.chaos.cuts.course import Cut, Fate
from checklist_dev.chaos.cuts.post import Transmission
from checklist_dev.chaos.cuts.scenarios import SCENARIOS
from checklist_dev.chaos.cuts.stage import Played
from checklist_dev.chaos.cuts.verdict import PROMISES, judge
from checklist_operator.delivery_objects import Delivery

START = datetime(2026, 11, 21, 12, tzinfo=UTC)
ARRIVES, REPEATS, NUMBERS, IN_TIME, FINAL, IN_ORDER, TOLD = PROMISES
EVENT = "evt-1"
CRASHES = {Fate.KILLED, Fate.SUCCEEDED, Fate.SUCCEEDED_AHEAD, Fate.SUCCEEDED_BEHIND, Fate.PAUSED, Fate.LOST}


def came(number: int, status: int, at: float) -> Transmission:
    return Transmission(EVENT, 1, number, status, at, START.timestamp() + at, False)


FIRST, SECOND = came(1, 500, 0.0), came(2, 200, 0.1)
TWICE = [FIRST, came(1, 500, 0.02), SECOND]


def retried(fate: Fate | None = None) -> Played:
    """An event that was delivered at its second attempt, as it should be."""
    scenario = next(one for one in SCENARIOS if one.name == "delivered at the second attempt")
    played = Played(scenario, Cut("somewhere", fate) if fate else None)
    played.ended, played.reached = True, fate is not None
    played.sent = [[(1, 1), (1, 2)]]
    played.received = [FIRST, SECOND]
    played.phases = {EVENT: [(0.05, DeliveryPhase.PENDING), (0.15, DeliveryPhase.DELIVERED)]}
    played.settled_at = 0.2
    played.run = _run(DeliveryPhase.DELIVERED)
    played.deliveries = [_delivery("Delivered", [1, 2])]
    return played


def _run(phase: DeliveryPhase) -> Run:
    record = DeliveryRecord(seq=1, event=EventName.RUN_CANCELLED, event_id=EVENT, phase=phase, attempts=2)
    metadata = {"name": "r-1", "namespace": "n", "uid": "u", "resourceVersion": "1"}
    spec = {"organizationRef": {"name": "org-1"}, "createdAt": format_timestamp(START)}
    status = {"phase": "Cancelled", "settled": True, "deliveries": [record.to_kube()]}
    return Run.parse({"metadata": metadata, "spec": spec, "status": status})


def _delivery(phase: str, numbers: list[int], *, settled: bool = True, due_at: float = 0.08) -> Delivery:
    started, due = format_timestamp(START), format_timestamp(START + timedelta(seconds=due_at))
    made = {"startedAt": started, "durationMs": 1, "outcome": "http_5xx", "nextAttemptAt": due}
    attempts = [{"number": number, **made} for number in numbers]
    named = {"name": EVENT, "namespace": "n", "resourceVersion": "1", "creationTimestamp": started}
    spec = {"organizationRef": {"name": "org-1"}, "runRef": {"name": "r-1"}, "ts": started, "payload": "{}"}
    spec |= {"eventId": EVENT, "event": "run.cancelled", "seq": 1, "url": "http://receiver.test/"}
    status = {"phase": phase, "attempt": len(numbers), "attempts": attempts, "settled": settled}
    return Delivery.parse({"metadata": named, "spec": spec, "status": status})


def test_a_life_as_it_should_be_breaks_nothing() -> None:
    for fate in (None, *Fate):
        assert judge(retried(fate)) == {}, fate
    played = retried()
    played.received = [SECOND]  # the first attempt failed before it left
    assert judge(played) == {}


SIX = [came(number, 500, number * 0.1) for number in range(1, 6)] + [came(6, 200, 0.7)]
TAKEN_BACK = [(0.05, DeliveryPhase.PENDING), (0.15, DeliveryPhase.DELIVERED), (0.16, DeliveryPhase.FAILED)]
LEAVES_OUT = {"received": [FIRST, came(3, 200, 0.1)], "deliveries": [_delivery("Delivered", [1, 3])]}


@pytest.mark.parametrize(
    ("changes", "promise"),
    [
        pytest.param({"received": [FIRST]}, ARRIVES, id="it is lost"),
        pytest.param({"ended": False}, ARRIVES, id="it does not end"),
        pytest.param({"received": TWICE}, REPEATS, id="it comes twice"),
        pytest.param(LEAVES_OUT, NUMBERS, id="it leaves a number out"),
        pytest.param({"received": SIX}, NUMBERS, id="it has a sixth number"),
        pytest.param({"received": [FIRST, came(2, 200, 0.049)]}, IN_TIME, id="it comes right after a failure"),
        pytest.param({"deliveries": [_delivery("Delivered", [1, 2], due_at=0.3)]}, IN_TIME, id="it comes too early"),
        pytest.param({"received": [FIRST, SECOND, came(3, 200, 0.3)]}, FINAL, id="it comes after its success"),
        pytest.param({"phases": {EVENT: TAKEN_BACK}}, FINAL, id="a success is taken back"),
        pytest.param({"sent": [[(2, 1), (1, 1)]]}, IN_ORDER, id="it begins with the second event"),
        pytest.param({"run": _run(DeliveryPhase.FAILED)}, TOLD, id="the run says that it failed"),
        pytest.param({"deliveries": [_delivery("Delivered", [1, 2], settled=False)]}, TOLD, id="left open"),
        pytest.param({"deliveries": [_delivery("Delivered", [1, 2, 2])]}, TOLD, id="an attempt is recorded twice"),
    ],
)
def test_what_is_wrong_is_seen(changes: dict[str, Any], promise: str) -> None:
    played = retried()
    for name, value in changes.items():
        setattr(played, name, value)
    assert promise in judge(played)


def test_one_repetition_is_allowed_after_a_crash_only() -> None:
    for fate in Fate:
        played = retried(fate)
        played.received = list(TWICE)
        assert (REPEATS in judge(played)) is (fate not in CRASHES), fate
        played.received.insert(1, came(1, 500, 0.03))
        assert REPEATS in judge(played), fate
