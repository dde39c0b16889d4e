"""The life of a WebhookDelivery, and what a run records of its events: pure functions of what was stored before."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from checklist_crds.delivery_types import Attempt, OutcomeClass, WebhookDeliveryStatus
from checklist_crds.events import EventName
from checklist_crds.run_types import MAX_DELIVERY_RECORDS as MOST
from checklist_crds.run_types import DeliveryPhase, DeliveryRecord, OutboxEntry, RunPhase, RunStatus
from checklist_operator.delivery_progress import (
    Conclude,
    Nothing,
    Send,
    Wait,
    after_attempt,
    claimed,
    given_up,
    next_step,
    settled,
)
from checklist_operator.run_status import with_records

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
LATER = NOW + timedelta(minutes=10)


def step(status: WebhookDeliveryStatus, *, age_s: float = 0, led_for_s: float = 0) -> object:
    return next_step(status, now=NOW, holder="me", created_at=NOW - timedelta(seconds=age_s), led_for_s=led_for_s)


def attempt(number: int, *, next_attempt_at: datetime | None = None, ok: bool = False) -> Attempt:
    outcome, status = (OutcomeClass.SUCCESS, 200) if ok else (OutcomeClass.HTTP_5XX, 500)
    made = Attempt(number=number, started_at=NOW, duration_ms=5, outcome=outcome, http_status=status)
    return made.model_copy(update={"next_attempt_at": next_attempt_at})


def after(status: WebhookDeliveryStatus, made: Attempt, *, ok: bool = False) -> WebhookDeliveryStatus:
    return after_attempt(status, made, ok=ok, now=NOW, generation=1)


def test_a_delivery_waits_for_its_time_and_is_then_sent_with_the_next_number() -> None:
    assert step(WebhookDeliveryStatus(attempt=1, next_attempt_at=LATER)) == Wait(LATER)
    assert step(WebhookDeliveryStatus(attempt=2, next_attempt_at=NOW)) == Send(3)


def test_a_delivery_that_is_just_being_made_is_left_alone_for_a_minute() -> None:
    assert step(WebhookDeliveryStatus(), age_s=5, led_for_s=3600) == Wait(NOW + timedelta(seconds=55))
    assert step(WebhookDeliveryStatus(), age_s=61, led_for_s=3600) == Send(1)


def test_a_failed_attempt_is_recorded_and_the_next_one_planned() -> None:
    made = claimed(WebhookDeliveryStatus(attempt=1), Send(2), holder="me", now=NOW)
    status = after(made, attempt(2, next_attempt_at=LATER))
    assert (status.phase, status.attempt, status.next_attempt_at) == (DeliveryPhase.PENDING, 2, LATER)
    assert status.claim is None
    assert [made.number for made in status.attempts] == [2]
    message = "Attempt 2 failed with HTTP 500; the next one is due at 2026-11-21T12:10:00.000Z."
    [condition] = status.conditions
    assert (condition.type, condition.reason, condition.message) == ("Delivered", "Retrying", message)


def test_a_success_and_the_fifth_failure_are_the_end_once_they_are_recorded() -> None:
    delivered = after(WebhookDeliveryStatus(attempt=1), attempt(2, ok=True), ok=True)
    assert (step(delivered), step(settled(delivered))) == (Conclude(), Nothing())
    status = after(WebhookDeliveryStatus(attempt=4), attempt(5))
    assert (status.phase, status.finished_at) == (DeliveryPhase.FAILED, NOW)
    assert status.conditions[0].reason == "AttemptsExhausted"
    assert step(status) == Conclude()


def test_a_delivery_that_is_given_up_keeps_its_history() -> None:
    retried = after(WebhookDeliveryStatus(attempt=1), attempt(2, next_attempt_at=LATER))
    status = given_up(retried, "RunDeleted", "gone", now=NOW, generation=1)
    assert (status.phase, len(status.attempts), status.next_attempt_at) == (DeliveryPhase.FAILED, 1, None)


@given(st.lists(st.booleans(), min_size=1, max_size=8))
def test_whatever_happens_there_are_at_most_five_numbers_and_a_success_ends_it(results: list[bool]) -> None:
    status = after(WebhookDeliveryStatus(), attempt(1, next_attempt_at=NOW))
    numbers = [1]
    for ok in results:
        todo = step(status, age_s=100)
        if not isinstance(todo, Send):
            break
        numbers.append(todo.attempt)
        due = None if ok or todo.attempt == 5 else NOW
        sent = claimed(status, todo, holder="me", now=NOW)
        status = after(sent, attempt(todo.attempt, next_attempt_at=due, ok=ok), ok=ok)
    assert numbers == list(range(1, len(numbers) + 1))
    assert len(numbers) <= 5
    assert status.phase.is_final == (any(results[:4]) or len(results) >= 4)


def entry(seq: int) -> OutboxEntry:
    return OutboxEntry(seq=seq, event=EventName.RUN_CANCELLED, event_id=f"evt-{seq}", ts=NOW)


def record(seq: int, phase: DeliveryPhase = DeliveryPhase.DELIVERED) -> DeliveryRecord:
    return DeliveryRecord(seq=seq, event=EventName.RUN_CANCELLED, event_id=f"evt-{seq}", phase=phase, attempts=1)


def test_a_recorded_event_leaves_the_outbox_and_others_stay() -> None:
    status = with_records(RunStatus(outbox=[entry(1), entry(2)]), [record(2)])
    assert [left.seq for left in status.outbox] == [1]
    assert [(one.seq, one.phase) for one in status.deliveries] == [(2, DeliveryPhase.DELIVERED)]


def test_a_final_run_settles_with_its_last_event_and_not_while_one_is_retried() -> None:
    open_run = RunStatus(outbox=[entry(1)])
    assert with_records(open_run, [record(1)]).settled is None
    final = RunStatus(phase=RunPhase.CANCELLED, outbox=[entry(1), entry(2)])
    retried = with_records(final, [record(1), record(2, DeliveryPhase.PENDING)])
    assert retried.settled is None
    assert with_records(retried, [record(2, DeliveryPhase.FAILED)]).settled is True


def test_late_news_never_undo_an_end() -> None:
    pending, delivered, failed = DeliveryPhase.PENDING, DeliveryPhase.DELIVERED, DeliveryPhase.FAILED
    for before, late, stays in (
        (delivered, pending, delivered),
        (delivered, failed, delivered),
        (failed, pending, failed),
        (failed, delivered, delivered),
        (pending, failed, failed),
    ):
        status = with_records(RunStatus(deliveries=[record(1, before)]), [record(1, late)])
        assert [one.phase for one in status.deliveries] == [stays], (before, late)


def test_a_long_run_forgets_its_oldest_finished_records_and_no_others() -> None:
    many = [record(seq) for seq in range(1, MOST + 1)]
    many[0] = record(1, DeliveryPhase.PENDING)
    status = with_records(RunStatus(deliveries=many), [record(MOST + 1)])
    assert len(status.deliveries) == MOST
    assert [one.seq for one in status.deliveries[:2]] == [1, 3]
