"""A replay in the life of a delivery: which requests are accepted, and what an end makes of the status."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checklist_crds.delivery_types import (
    MAX_RECORDED,
    REPLAY_ANNOTATION,
    REPLAY_BY_ANNOTATION,
    Attempt,
    OutcomeClass,
    ReplayRequest,
    WebhookDeliverySpec,
    WebhookDeliveryStatus,
)
from checklist_crds.event_names import EventName
from checklist_crds.replay_rules import ReplayRefusal
from checklist_crds.run_types import DeliveryPhase, DeliveryRecord
from checklist_crds.times import format_timestamp
from checklist_operator.delivery_progress import (
    Conclude,
    Nothing,
    Send,
    Wait,
    after_attempt,
    claimed,
    next_step,
    record_of,
    settled,
)
from checklist_operator.replay_progress import (
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

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
REQUEST = ReplayRequest(requested_at=NOW, requested_by="Ada")
SPEC = WebhookDeliverySpec.model_validate(
    {
        **{
            "organizationRef": {"name": "acme"},
            "runRef": {"name": "r-1"},
            "eventId": "evt-1",
            "event": "run.completed",
        },
        **{"seq": 1, "ts": format_timestamp(NOW), "url": "https://hooks.example/", "payload": "{}"},
    }
)


def step(status: WebhookDeliveryStatus, *, holder: str = "me", now: datetime = NOW) -> object:
    return next_step(status, now=now, holder=holder, created_at=NOW - timedelta(days=1))


def attempt(number: int, *, ok: bool = False, manual: bool = False, next_attempt_at: datetime | None = None) -> Attempt:
    return Attempt(
        number=number,
        started_at=NOW,
        duration_ms=5,
        outcome=OutcomeClass.SUCCESS if ok else OutcomeClass.TIMEOUT,
        http_status=200 if ok else None,
        manual=manual,
        next_attempt_at=next_attempt_at,
        detail=None if ok else "no answer in time",
    )


def ended(*, ok: bool = False, number: int = 5) -> WebhookDeliveryStatus:
    """A delivery that was given up, or delivered, by its schedule, and that the run knows of."""
    before = WebhookDeliveryStatus(attempt=number - 1)
    return settled(after_attempt(before, attempt(number, ok=ok), ok=ok, now=NOW, generation=1))


def asked(status: WebhookDeliveryStatus, request: ReplayRequest = REQUEST) -> WebhookDeliveryStatus:
    return accepted(status, request, now=NOW, generation=1)


def sent(status: WebhookDeliveryStatus, *, ok: bool) -> WebhookDeliveryStatus:
    todo = step(status)
    assert isinstance(todo, Send)
    claim = claimed(status, todo, holder="me", now=NOW)
    return replayed(claim, attempt(todo.attempt, ok=ok, manual=True), ok=ok, now=NOW, generation=1)


def metadata(text: str | None, **more: Any) -> dict[str, Any]:
    return {"annotations": {} if text is None else {REPLAY_ANNOTATION: text}, **more}


def told(status: WebhookDeliveryStatus) -> tuple[str, str]:
    one = next(one for one in status.conditions if one.type == "Replayed")
    return one.status.value, one.reason


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


@given(st.text(max_size=40))
def test_no_text_breaks_the_reading_of_a_request(text: str) -> None:
    request = requested(metadata(text))
    assert request is None or request.requested_at.tzinfo is not None


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
    for status in (ended(), ended(ok=True), ended(ok=True, number=2)):
        assert judge(REQUEST, status) == Accept(REQUEST)
        under_way = asked(status)
        assert step(under_way) == Send(status.attempt, manual=True)
        assert judge(REQUEST, under_way) == Known()
        assert judge(REQUEST, sent(under_way, ok=False)) == Known()
        later = ReplayRequest(requested_at=NOW + timedelta(milliseconds=1))
        assert judge(later, sent(under_way, ok=False)) == Accept(later)


def test_a_replay_is_refused_while_anything_is_to_come() -> None:
    waiting = after_attempt(WebhookDeliveryStatus(), attempt(1, next_attempt_at=NOW), ok=False, now=NOW, generation=1)
    in_flight = claimed(waiting, Send(2), holder="me", now=NOW)
    untold = ended().model_copy(update={"settled": None})
    for status in (WebhookDeliveryStatus(), waiting, in_flight, untold):
        assert judge(REQUEST, status) == Refuse(ReplayRefusal.RETRY_PENDING)
    other = ReplayRequest(requested_at=NOW + timedelta(seconds=1))
    assert judge(other, asked(ended())) == Refuse(ReplayRefusal.REPLAY_UNDER_WAY)


def test_a_refusal_changes_nothing_but_what_is_told() -> None:
    status = refused(ended(), ReplayRefusal.RETRY_PENDING, now=NOW, generation=1)
    assert status.model_copy(update={"conditions": []}) == ended().model_copy(update={"conditions": []})
    assert told(status) == ("False", "RetryPending")
    under_way = asked(ended())
    assert refused(under_way, ReplayRefusal.REPLAY_UNDER_WAY, now=NOW, generation=1) == under_way
    assert told(under_way) == ("Unknown", "UnderWay")


def test_the_claim_of_a_replay_is_made_good_by_its_holder_and_by_others_in_time() -> None:
    claim = claimed(asked(ended()), Send(5, manual=True), holder="me", now=NOW)
    assert claim.phase is DeliveryPhase.FAILED
    assert step(claim) == Send(5, manual=True)
    assert step(claim, holder="other") == Wait(NOW + timedelta(seconds=30))
    assert step(claim, holder="other", now=NOW + timedelta(seconds=30)) == Send(5, manual=True)


def test_a_success_delivers_what_had_failed_and_the_run_is_still_to_be_told() -> None:
    status = sent(asked(ended()), ok=True)
    assert (status.phase, status.attempt) == (DeliveryPhase.DELIVERED, 5)
    assert (status.settled, status.claim, status.replay) == (None, None, None)
    assert step(status) == Conclude()
    assert record_of(SPEC, status).phase is DeliveryPhase.DELIVERED
    assert told(status) == ("True", "Delivered")


def test_a_failure_settles_at_once_and_can_be_replayed_again() -> None:
    status = sent(asked(ended()), ok=False)
    assert step(status) == Nothing()
    assert (status.phase, status.next_attempt_at, status.finished_at) == (DeliveryPhase.FAILED, None, NOW)
    assert told(status) == ("False", "ReplayFailed")
    last = status.last_replay
    assert last is not None
    assert (last.requested_at, last.requested_by, last.outcome) == (NOW, "Ada", OutcomeClass.TIMEOUT)


@pytest.mark.parametrize(("ok", "expected"), [(False, ("False", "ReplayFailed")), (True, ("True", "Delivered"))])
def test_what_is_delivered_stays_so_and_the_run_goes_on_showing_the_attempt_that_did_it(
    ok: bool, expected: tuple[str, str]
) -> None:
    later = NOW + timedelta(hours=1)
    claim = claimed(asked(ended(ok=True, number=2)), Send(2, manual=True), holder="me", now=later)
    status = replayed(claim, attempt(2, ok=ok, manual=True), ok=ok, now=later, generation=1)
    assert (step(status), status.phase, status.finished_at) == (Nothing(), DeliveryPhase.DELIVERED, NOW)
    assert [one.reason for one in status.conditions if one.type == "Delivered"] == ["Delivered"]
    record = record_of(SPEC, status)
    assert (record.outcome, record.http_status, record.attempts) == (OutcomeClass.SUCCESS, 200, 2)
    assert told(status) == expected


def test_a_replay_that_can_never_be_sent_ends_and_says_so() -> None:
    status = not_replayable(asked(ended()), ReplayRefusal.RUN_DELETED, now=NOW, generation=1)
    assert step(status) == Nothing()
    assert told(status) == ("False", "RunDeleted")
    assert status.last_replay is not None
    assert (status.last_replay.outcome, status.last_replay.attempted_at) == (None, None)
    assert judge(REQUEST, status) == Known()


def test_a_long_history_keeps_the_attempts_of_the_schedule_and_the_newest_replays() -> None:
    status = WebhookDeliveryStatus()
    for number in range(1, 6):
        made = attempt(number, next_attempt_at=None if number == 5 else NOW)
        status = after_attempt(status, made, ok=False, now=NOW, generation=1)
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
