"""The guarantees that must hold after every case (delivery profile, "Crash rule")."""

from collections import Counter
from itertools import pairwise
from typing import Final

from checklist_crds.resources.delivery import MAX_ATTEMPTS
from checklist_crds.resources.delivery_records import DeliveryPhase
from checklist_dev.faults.cuts.course import Fate
from checklist_dev.faults.cuts.ground import GAP
from checklist_dev.faults.cuts.post import Transmission
from checklist_dev.faults.cuts.stage import Played

PROMISES: Final = (
    "every event arrives, or has failed five times",
    "at most one more transmission per crash and event",
    "numbers are 1 to 5, without gaps",
    "no attempt before its time",
    "a recorded success is final",
    "first attempts start in the order of events",
    "run and deliveries record what happened, and are settled",
)
_AHEAD: Final = (Fate.AHEAD, Fate.SUCCEEDED_AHEAD)
_BACK: Final = (Fate.BACK, Fate.SUCCEEDED_BEHIND)
Violations = dict[str, str]
"""How each guarantee was broken."""


def judge(played: Played) -> Violations:
    """The guarantees that did not hold."""
    checks = (_arrives, _repeats, _numbers, _in_time, _final, _in_order, _recorded)
    found = {promise: check(played) for promise, check in zip(PROMISES, checks, strict=True)}
    return {promise: problem for promise, problem in found.items() if problem}


def history_of(played: Played) -> str:
    """The attempts recorded in the cluster, for debugging."""
    attempts = (
        f"event {one.spec.seq} {attempt.number}: {attempt.outcome} ({attempt.detail})"
        for one in played.deliveries
        for attempt in one.status.attempts
    )
    return "history: " + (", ".join(attempts) or "none")


def _of(played: Played, seq: int) -> list[Transmission]:
    return [one for one in played.received if one.seq == seq]


def _by_schedule(played: Played, seq: int) -> list[Transmission]:
    return [one for one in _of(played, seq) if not one.replay]


def _made(played: Played, seq: int) -> set[int]:
    """Numbers of the attempts that arrived or are recorded: if the machine hangs, an attempt may fail unsent."""
    histories = (one.status.attempts for one in played.deliveries if one.spec.seq == seq)
    recorded = {attempt.number for attempts in histories for attempt in attempts if not attempt.manual}
    return recorded | {one.number for one in _by_schedule(played, seq)}


def _arrives(played: Played) -> str:
    if not played.ended:
        return "the case did not end"
    for seq, end in played.scenario.ends.items():
        came = _of(played, seq)
        if end is DeliveryPhase.DELIVERED and not any(one.accepted for one in came):
            return f"event {seq} was never accepted"
        if played.scenario.replayed and not any(one.replay for one in came):
            return f"event {seq} was never replayed"
        if end is DeliveryPhase.FAILED and _made(played, seq) != set(range(1, MAX_ATTEMPTS + 1)):
            return f"event {seq} failed after the attempts {_numbers_of(came)}"
    return ""


def _repeats(played: Played) -> str:
    allowed = played.cut.fate.may_repeat if played.cut and played.reached else 0
    for seq in played.scenario.ends:
        came = Counter((one.number, one.replay) for one in _of(played, seq))
        if came.total() - len(came) > allowed:
            return f"event {seq} was sent as {_numbers_of(_of(played, seq))}"
    return ""


def _numbers(played: Played) -> str:
    for seq in played.scenario.ends:
        numbers = sorted(_made(played, seq))
        if numbers != list(range(1, len(numbers) + 1)) or len(numbers) > MAX_ATTEMPTS:
            return f"event {seq} was sent as {_numbers_of(_of(played, seq))}"
    return ""


def _in_time(played: Played) -> str:
    """A gap after the previous attempt, and not before the recorded time."""
    fate = played.cut.fate if played.cut else None
    due = {
        (delivery.spec.event_id, attempt.number + 1): attempt.next_attempt_at.timestamp()
        for delivery in played.deliveries
        for attempt in delivery.status.attempts
        if attempt.next_attempt_at is not None
    }
    if fate not in _AHEAD:  # a clock two hours ahead makes everything due
        for seq in played.scenario.ends:
            for before, after in pairwise(_by_schedule(played, seq)):
                gap = after.at - before.at
                if after.number == before.number + 1 and gap < GAP.total_seconds():
                    return f"event {seq}: attempt {after.number} was sent {gap:.4f} s after the previous one"
    # With a clock set back, punctual transmissions look early; and if two operators each made a first attempt, only one
    # of them is recorded.
    if fate not in (*_BACK, Fate.PAUSED):
        for one in played.received:
            moment = due.get((one.event_id, one.number))
            if moment is not None and one.wall < moment:
                return f"event {one.seq}: attempt {one.number} was sent {moment - one.wall:.4f} s early"
    return ""


def _final(played: Played) -> str:
    for event_id, phases in played.phases.items():
        names = [phase for _, phase in phases]
        if DeliveryPhase.DELIVERED in names[:-1]:
            return f"{event_id} was {', '.join(names)}"
        recorded_at = next((at for at, phase in phases if phase is DeliveryPhase.DELIVERED), None)
        if recorded_at is None and not played.scenario.replayed and _was_delivered(played, event_id):
            recorded_at = played.settled_at  # the same write settled the run, so the watch did not show it
        if recorded_at is None:
            continue
        came = [one for one in played.received if one.event_id == event_id and not one.replay]
        late = [one for one in came if one.at > recorded_at]
        # Only a paused operator may send once more what it had begun.
        slept = played.cut is not None and played.cut.fate is Fate.PAUSED
        if len(late) > (1 if slept else 0):
            return f"{event_id} was sent again after its success was recorded, as {_numbers_of(late)}"
    return ""


def _was_delivered(played: Played, event_id: str) -> bool:
    records = played.run.status.delivery_records if played.run is not None else []
    return any(one.event_id == event_id and one.phase is DeliveryPhase.DELIVERED for one in records)


def _in_order(played: Played) -> str:
    for begun in played.sent:
        firsts = [seq for seq, number in begun if number == 1]
        if firsts != sorted(firsts):
            return f"first attempts were started in the order {firsts}"
    return ""


def _recorded(played: Played) -> str:
    run, scenario = played.run, played.scenario
    if played.bugs:
        return "; ".join(played.bugs)
    if run is None:
        return "the run is missing"
    recorded = {record.seq: record.phase for record in run.status.delivery_records}
    if recorded != dict(scenario.ends):
        return f"the run records {recorded}"
    if run.status.outbox or bool(run.status.settled) is not scenario.final:
        return f"the run has {len(run.status.outbox)} events in its outbox and settled={run.status.settled}"
    for delivery in played.deliveries:
        status = delivery.status
        numbers = [attempt.number for attempt in status.attempts if not attempt.manual]
        if not status.settled or status.claim is not None or status.phase is not recorded.get(delivery.spec.seq):
            return f"the delivery of event {delivery.spec.seq} ended as {status.phase}, settled={status.settled}"
        if numbers != list(range(1, len(numbers) + 1)) or status.attempt != len(numbers):
            return f"the delivery of event {delivery.spec.seq} has the attempts {numbers}, and attempt={status.attempt}"
    return ""


def _numbers_of(transmissions: list[Transmission]) -> list[int]:
    return [one.number for one in transmissions]
