"""The life of a WebhookDelivery, its replays, and what a run records of them: pure functions of what was stored."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checklist_crds.resources.delivery import (
    MAX_RECORDED,
    REPLAY_ANNOTATION,
    REPLAY_BY_ANNOTATION,
    DeliveryAttempt,
    OutcomeClass,
    ReplayRequest,
    WebhookDeliverySpec,
    WebhookDeliveryStatus,
)
from checklist_crds.resources.delivery_records import DeliveryPhase, DeliveryRecord, text_of
from checklist_crds.resources.event_names import EventName
from checklist_crds.resources.run import MAX_DELIVERY_RECORDS as MOST
from checklist_crds.resources.run import OutboxEntry, Run, RunPhase, RunSpec, RunStatus
from checklist_crds.runs.replay_rules import ReplayRefusal
from checklist_crds.times import format_timestamp
from checklist_operator.attempts.delivery_state import (
    CLAIM_S,
    ORPHAN_S,
    Conclude,
    NextAction,
    Nothing,
    Send,
    Wait,
    after_attempt,
    claimed,
    failed,
    found_delivered,
    next_action,
    record_of,
    settled,
)
from checklist_operator.attempts.replay_state import (
    Accept,
    Known,
    Refuse,
    accepted,
    judge,
    not_replayable,
    refused,
    replayed,
    requested,
    with_history,
)
from checklist_operator.attempts.run_records import with_records

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
LATER = NOW + timedelta(minutes=10)
CLAIM = timedelta(seconds=CLAIM_S)
HOURS = [timedelta(hours=-2), timedelta(), timedelta(hours=2)]
REQUEST = ReplayRequest(requested_at=NOW, requested_by="Ada")
OBJECT = {"organizationRef": {"name": "acme"}, "runRef": {"name": "r-1"}, "eventId": "evt-1", "event": "run.completed"}
MESSAGE = {"seq": 1, "ts": format_timestamp(NOW), "url": "https://hooks.example/", "payload": "{}"}
SPEC = WebhookDeliverySpec.model_validate(OBJECT | MESSAGE)


def step(
    status: WebhookDeliveryStatus, *, holder: str = "me", now: datetime = NOW, age_s: float = 0, **more: Any
) -> NextAction:
    return next_action(status, now=now, holder=holder, created_at=NOW - timedelta(seconds=age_s), **more)


def attempt(
    number: int, *, next_attempt_at: datetime | None = None, ok: bool = False, manual: bool = False
) -> DeliveryAttempt:
    outcome, status = (OutcomeClass.SUCCESS, 200) if ok else (OutcomeClass.HTTP_5XX, 500)
    made = DeliveryAttempt(
        number=number, started_at=NOW, duration_ms=5, outcome=outcome, http_status=status, manual=manual
    )
    return made.model_copy(update={"next_attempt_at": next_attempt_at})


def after(status: WebhookDeliveryStatus, made: DeliveryAttempt, *, ok: bool = False) -> WebhookDeliveryStatus:
    return after_attempt(status, made, ok=ok, now=NOW, generation=1)


def ended(*, ok: bool = False, number: int = 5) -> WebhookDeliveryStatus:
    """A delivery that failed, or was delivered, by its schedule, and that the run knows of."""
    return settled(after(WebhookDeliveryStatus(attempt=number - 1), attempt(number, ok=ok), ok=ok))


def asked(status: WebhookDeliveryStatus, request: ReplayRequest = REQUEST) -> WebhookDeliveryStatus:
    return accepted(status, request, now=NOW, generation=1)


def sent(status: WebhookDeliveryStatus, *, ok: bool, now: datetime = NOW) -> WebhookDeliveryStatus:
    """After the replay that is due."""
    todo = step(status)
    assert isinstance(todo, Send)
    claim = claimed(status, todo, holder="me", now=now)
    assert claim.phase is status.phase
    return replayed(claim, attempt(todo.attempt, ok=ok, manual=True), ok=ok, now=now, generation=1)


def metadata(text: str | None, **more: Any) -> dict[str, Any]:
    return {"annotations": {} if text is None else {REPLAY_ANNOTATION: text}, **more}


def condition(status: WebhookDeliveryStatus, type_: str = "Replayed") -> tuple[str, str]:
    [one] = [one for one in status.conditions if one.type == type_]
    return one.status.value, one.reason


def test_a_delivery_waits_for_its_time_and_a_failed_attempt_is_recorded_and_the_next_one_planned() -> None:
    assert step(WebhookDeliveryStatus(attempt=1, next_attempt_at=LATER)) == Wait(LATER)
    due = WebhookDeliveryStatus(attempt=1, next_attempt_at=NOW)
    assert step(due) == Send(2)
    status = after(claimed(due, Send(2), holder="me", now=NOW), attempt(2, next_attempt_at=LATER))
    assert (status.phase, status.attempt, status.next_attempt_at) == (DeliveryPhase.PENDING, 2, LATER)
    assert (status.claim, [made.number for made in status.attempts]) == (None, [2])
    message = "Attempt 2 failed with HTTP 500; the next one is due at 2026-11-21T12:10:00.000Z."
    [found] = status.conditions
    assert (found.type, found.reason, found.message) == ("Delivered", "Retrying", message)
    lost = failed(status, "RunDeleted", "gone", now=NOW, generation=1)
    assert (lost.phase, len(lost.attempts), lost.next_attempt_at) == (DeliveryPhase.FAILED, 1, None)


def test_a_success_and_the_fifth_failure_are_the_end_once_they_are_recorded() -> None:
    delivered = after(WebhookDeliveryStatus(attempt=1), attempt(2, ok=True), ok=True)
    assert (step(delivered), step(settled(delivered))) == (Conclude(), Nothing())
    status = after(WebhookDeliveryStatus(attempt=4), attempt(5))
    assert (status.phase, status.finished_at, step(status)) == (DeliveryPhase.FAILED, NOW, Conclude())
    assert condition(status, "Delivered") == ("False", "AttemptsExhausted")


@pytest.mark.parametrize("jump", HOURS)
def test_claims_hold_whatever_the_clocks_say(
    jump: timedelta,
) -> None:
    first = WebhookDeliveryStatus(attempt=1, next_attempt_at=NOW)
    replay = asked(ended())
    for before, todo in ((first, Send(2)), (replay, Send(5, is_replay=True))):
        status, now = claimed(before, todo, holder="before", now=NOW), NOW + jump
        assert step(status, holder="before", now=now) == todo
        assert step(status, holder="after", now=NOW + CLAIM) == todo
        if jump <= timedelta():
            assert step(status, holder="after", now=now) == Wait(now + CLAIM)
            late = step(status, holder="after", now=now, led_for_s=CLAIM_S - 1)
            assert late == Wait(now + timedelta(seconds=1))
            assert step(status, holder="after", now=now, led_for_s=CLAIM_S) == todo
    status = found_delivered(claimed(first, Send(2), holder="before", now=NOW), now=NOW, generation=1)
    assert (status.phase, status.claim, status.next_attempt_at) == (DeliveryPhase.DELIVERED, None, None)
    assert condition(status, "Delivered") == ("True", "DeliveredBefore")


@pytest.mark.parametrize("jump", HOURS)
def test_half_made_deliveries_are_left_to_the_outbox(
    jump: timedelta,
) -> None:
    late = NOW + timedelta(hours=2)
    for led_for_s in (0, ORPHAN_S - 1):
        assert isinstance(step(WebhookDeliveryStatus(), holder="after", now=late + jump, led_for_s=led_for_s), Wait)
    assert step(WebhookDeliveryStatus(), holder="after", now=late, led_for_s=ORPHAN_S) == Send(1)
    assert step(WebhookDeliveryStatus(), age_s=5, led_for_s=3600) == Wait(NOW + timedelta(seconds=55))
    assert step(WebhookDeliveryStatus(), age_s=61, led_for_s=3600) == Send(1)


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
        claim = claimed(status, todo, holder="me", now=NOW)
        status = after(claim, attempt(todo.attempt, next_attempt_at=due, ok=ok), ok=ok)
    assert numbers == list(range(1, len(numbers) + 1))
    assert len(numbers) <= 5
    assert status.phase.is_final == (any(results[:4]) or len(results) >= 4)


def entry(seq: int) -> OutboxEntry:
    return OutboxEntry(seq=seq, event=EventName.RUN_CANCELLED, event_id=f"evt-{seq}", ts=NOW)


def record(seq: int, phase: DeliveryPhase = DeliveryPhase.DELIVERED) -> DeliveryRecord:
    return DeliveryRecord(seq=seq, event=EventName.RUN_CANCELLED, event_id=f"evt-{seq}", phase=phase, attempts=1)


def a_run(status: RunStatus, *, outbox: Sequence[OutboxEntry] = ()) -> Run:
    """`outbox`: what is stored of it, the recorded ones included."""
    stored = {"outbox": [one.to_kube() for one in outbox]}
    spec = RunSpec(created_at=NOW)
    return Run("r-1", "uid", "n", "1", NOW, spec, status, stored=stored)


def test_a_recorded_event_leaves_the_outbox_and_a_final_run_settles_with_the_end_of_its_last_one() -> None:
    assert with_records(a_run(RunStatus(outbox=[entry(1)])), [record(1)]).settled is None
    status = RunStatus(phase=RunPhase.CANCELLED, outbox=[entry(1), entry(2)])
    for news, left, is_settled in (
        (record(2, DeliveryPhase.PENDING), [1], None),
        (record(1), [], None),
        (record(2, DeliveryPhase.FAILED), [], True),
    ):
        status = with_records(a_run(status), [news])
        assert ([one.seq for one in status.outbox], status.settled) == (left, is_settled)
    records = [(1, DeliveryPhase.DELIVERED), (2, DeliveryPhase.FAILED)]
    assert sorted((one.seq, one.phase) for one in status.delivery_records) == records


def test_late_news_never_undo_an_end() -> None:
    pending, delivered, failed = DeliveryPhase.PENDING, DeliveryPhase.DELIVERED, DeliveryPhase.FAILED
    for before, late, stays in (
        (delivered, pending, delivered),
        (delivered, failed, delivered),
        (failed, pending, failed),
        (failed, delivered, delivered),
        (pending, failed, failed),
    ):
        for known in (
            RunStatus(structured_records=[record(1, before)]),
            RunStatus(records=text_of([record(1, before)])),
        ):
            status = with_records(a_run(known), [record(1, late)])
            assert [one.phase for one in status.delivery_records] == [stays], (before, late)
            assert status.structured_records == []


def test_a_long_run_forgets_its_oldest_finished_records_and_no_others() -> None:
    many = [record(1, DeliveryPhase.PENDING), *(record(seq) for seq in range(2, MOST + 1))]
    run = a_run(RunStatus(records=text_of(many)), outbox=[entry(2)])
    status = with_records(run, [record(MOST + 1)])
    assert len(status.delivery_records) == MOST
    # 2 still stands in the outbox, and would be sent again if nothing said that it was.
    assert [one.seq for one in status.delivery_records[:3]] == [1, 2, 4]


def test_every_form_of_rfc_3339_names_a_request_to_the_millisecond_and_nothing_else_does() -> None:
    for text in (
        *("2026-11-21T12:00:00Z", "2026-11-21t12:00:00.000z"),
        *("2026-11-21 13:00:00+01:00", " 2026-11-21T12:00:00.000999Z "),
    ):
        request = requested(metadata(text))
        assert request is not None
        assert request.requested_at == NOW
        assert ReplayRequest.model_validate(request.to_kube()) == request
    for text in (
        *("", "true", "now", "2026-11-21", "2026-11-21T12:00:00", "20261121T120000Z", "2026-W47-6T12:00:00Z"),
        *("2026-02-30T12:00:00Z", "2026-11-21T24:30:00Z", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-01:00"),
        "\u0662\u0660\u0662\u0666-11-21T12:00:00Z",
    ):
        assert requested(metadata(text)) is None, text
    assert judge(None, ended()) == Refuse(ReplayRefusal.INVALID_TIMESTAMP)


def test_the_requester_is_the_one_named_or_else_the_program_that_set_the_annotation() -> None:
    at = format_timestamp(NOW)
    fields: dict[str, Any] = {"f:metadata": {"f:annotations": {".": {}, f"f:{REPLAY_ANNOTATION}": {}}}}
    managed: list[dict[str, Any]] = [
        {"manager": "operator", "fieldsV1": {"f:status": {}}},
        {"manager": "kubectl", "fieldsV1": fields},
    ]
    named = metadata(at, managedFields=managed)
    named["annotations"][REPLAY_BY_ANNOTATION] = "A" * 300
    requests = [requested(each) for each in (metadata(at, managedFields=managed), named, metadata(at))]
    assert [request and request.requested_by for request in requests] == ["kubectl", "A" * 200, None]


def test_what_has_ended_can_be_replayed_under_its_last_number_and_one_timestamp_is_one_replay() -> None:
    later = ReplayRequest(requested_at=NOW + timedelta(milliseconds=1))
    for status in (ended(), ended(ok=True), ended(ok=True, number=2)):
        assert judge(REQUEST, status) == Accept(REQUEST)
        under_way = asked(status)
        assert step(under_way) == Send(status.attempt, is_replay=True)
        assert judge(later, under_way) == Refuse(ReplayRefusal.REPLAY_UNDER_WAY)
        for known in (under_way, sent(under_way, ok=False)):
            assert judge(REQUEST, known) == Known()
        assert judge(later, sent(under_way, ok=False)) == Accept(later)


def test_a_replay_is_refused_while_anything_is_to_come_and_that_changes_nothing_but_what_is_said() -> None:
    waiting = after(WebhookDeliveryStatus(), attempt(1, next_attempt_at=NOW))
    in_flight = claimed(waiting, Send(2), holder="me", now=NOW)
    unknown = ended().model_copy(update={"settled": None})
    for status in (WebhookDeliveryStatus(), waiting, in_flight, unknown):
        assert judge(REQUEST, status) == Refuse(ReplayRefusal.RETRY_PENDING)
    status = refused(ended(), ReplayRefusal.RETRY_PENDING, now=NOW, generation=1)
    assert status.model_copy(update={"conditions": []}) == ended().model_copy(update={"conditions": []})
    assert condition(status) == ("False", "RetryPending")
    under_way = asked(ended())
    assert refused(under_way, ReplayRefusal.REPLAY_UNDER_WAY, now=NOW, generation=1) == under_way
    assert condition(under_way) == ("Unknown", "UnderWay")


def test_a_success_delivers_what_had_failed_and_a_failure_settles_at_once() -> None:
    status = sent(asked(ended()), ok=True)
    assert (status.phase, status.attempt) == (DeliveryPhase.DELIVERED, 5)
    assert (status.settled, status.claim, status.replay, step(status)) == (None, None, None, Conclude())
    assert record_of(SPEC, status).phase is DeliveryPhase.DELIVERED
    assert condition(status) == ("True", "Delivered")
    status = sent(asked(ended()), ok=False)
    assert (status.phase, status.next_attempt_at, status.finished_at) == (DeliveryPhase.FAILED, None, NOW)
    assert (step(status), condition(status)) == (Nothing(), ("False", "ReplayFailed"))
    last = status.last_replay
    assert last is not None
    assert (last.requested_at, last.requested_by, last.outcome) == (NOW, "Ada", OutcomeClass.HTTP_5XX)
    status = not_replayable(asked(ended()), ReplayRefusal.RUN_DELETED, now=NOW, generation=1)
    assert (step(status), condition(status)) == (Nothing(), ("False", "RunDeleted"))
    assert status.last_replay is not None
    assert (status.last_replay.outcome, status.last_replay.attempted_at) == (None, None)
    assert judge(REQUEST, status) == Known()


@pytest.mark.parametrize(("ok", "expected"), [(False, ("False", "ReplayFailed")), (True, ("True", "Delivered"))])
def test_delivered_stays_delivered(ok: bool, expected: tuple[str, str]) -> None:
    status = sent(asked(ended(ok=True, number=2)), ok=ok, now=NOW + timedelta(hours=1))
    assert (step(status), status.phase, status.finished_at) == (Nothing(), DeliveryPhase.DELIVERED, NOW)
    assert condition(status, "Delivered") == ("True", "Delivered")
    record = record_of(SPEC, status)
    assert (record.outcome, record.http_status, record.attempts) == (OutcomeClass.SUCCESS, 200, 2)
    assert condition(status) == expected


def test_a_long_history_keeps_the_attempts_of_the_schedule_and_the_newest_replays() -> None:
    status = WebhookDeliveryStatus()
    for number in range(1, 6):
        status = after(status, attempt(number, next_attempt_at=None if number == 5 else NOW))
    status = settled(status)
    for second in range(MAX_RECORDED + 20):
        status = sent(asked(status, ReplayRequest(requested_at=NOW + timedelta(seconds=second))), ok=False)
    assert len(status.attempts) == MAX_RECORDED
    assert [one.number for one in status.attempts if not one.manual] == [1, 2, 3, 4, 5]
    assert WebhookDeliveryStatus.model_validate(status.to_kube()) == status


@pytest.mark.parametrize("ok", [True, False])
def test_the_history_of_an_event_without_a_delivery_comes_from_its_run(ok: bool) -> None:
    ending: dict[str, Any] = (
        {"phase": DeliveryPhase.DELIVERED, "attempts": 1, "outcome": OutcomeClass.SUCCESS, "http_status": 204}
        if ok
        else {"phase": DeliveryPhase.FAILED, "attempts": 5, "outcome": OutcomeClass.DNS, "http_status": None}
    )
    event = {"seq": 1, "event": EventName.RUN_COMPLETED, "event_id": "evt-1", "ts": NOW}
    record = DeliveryRecord(**event, **ending, started_at=NOW, duration_ms=1500)
    status = with_history(record, now=NOW + timedelta(days=1), generation=1)
    assert status.finished_at == NOW + timedelta(seconds=1.5)
    assert judge(REQUEST, status) == Accept(REQUEST)
    assert record_of(SPEC, status) == record
