"""Records of deliveries as text: what was written is read again, as is what earlier versions wrote."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from checklist_crds.resources.delivery_records import (
    DeliveryPhase,
    DeliveryRecord,
    has_unfinished,
    line_of,
    merge,
    parse_records,
    raw_records,
    recorded_events,
    text_of,
    waiting_events,
)
from checklist_crds.resources.event_names import EventName
from checklist_crds.resources.outcome import OutcomeClass
from checklist_crds.resources.run import Run

NOW = datetime(2026, 11, 24, 9, 30, tzinfo=UTC)
MOMENTS = st.none() | st.integers(0, 10**9).map(lambda ms: NOW + timedelta(milliseconds=ms))
RECORDS = st.fixed_dictionaries(
    {
        "seq": st.integers(1, 10**6),
        "event": st.sampled_from(EventName),
        "event_id": st.uuids().map(lambda uuid: f"evt-{uuid}"),
        "ts": MOMENTS,
        "phase": st.sampled_from(DeliveryPhase),
        "attempts": st.integers(0, 5),
        "started_at": MOMENTS,
        "duration_ms": st.none() | st.integers(0, 60_000),
        "outcome": st.none() | st.sampled_from(OutcomeClass),
        "http_status": st.none() | st.integers(0, 999),
    }
).map(DeliveryRecord.model_validate)


def record(seq: int, phase: DeliveryPhase = DeliveryPhase.DELIVERED) -> DeliveryRecord:
    return DeliveryRecord(seq=seq, event=EventName.STEP_COMPLETED, event_id=f"evt-{seq}", phase=phase, attempts=1)


def test_a_line_is_readable() -> None:
    full = DeliveryRecord(
        seq=3,
        event=EventName.STEP_COMPLETED,
        event_id="evt-1",
        ts=NOW,
        phase=DeliveryPhase.DELIVERED,
        attempts=1,
        started_at=NOW + timedelta(milliseconds=21),
        duration_ms=17,
        outcome=OutcomeClass.SUCCESS,
        http_status=204,
    )
    begun = "2026-11-24T09:30:00.000Z 2026-11-24T09:30:00.021Z"
    assert line_of(full) == f"3 step.completed Delivered 1 success 204 17ms {begun} evt-1"
    assert line_of(record(7, DeliveryPhase.PENDING)) == "7 step.completed Pending 1 - - - - - evt-7"


@given(st.lists(RECORDS, max_size=5))
def test_what_is_written_is_read_again(records: list[DeliveryRecord]) -> None:
    text = text_of(records)
    assert list(parse_records(text)) == records
    for one in records:
        assert DeliveryRecord.model_validate(recorded_events({"records": text})[one.event_id]) == one
    assert has_unfinished({"records": text}) == any(not one.phase.is_final for one in records)
    structured = {"deliveries": [one.to_kube() for one in records]}
    assert recorded_events({"records": text}).keys() == recorded_events(structured).keys()


def test_words_of_a_later_release_do_not_hide_the_other_records() -> None:
    text = "1 step.completed Delivered 1 success 204 1ms - - evt-1\n2 step.sealed Delivered 1 quick 204 1ms - - evt-2"
    assert recorded_events({"records": text})["evt-2"]["event"] == "step.sealed"


def test_what_stands_in_the_outbox_and_in_a_record_is_not_sent_again() -> None:
    outbox = [{"seq": seq, "event": "step.completed", "eventId": f"evt-{seq}", "ts": "2026-11-24T09:30:00Z"}
              for seq in (1, 2, 3)]  # fmt: skip
    status = {"outbox": outbox, "records": text_of([record(1)]), "deliveries": [record(2).to_kube()]}
    assert [one["seq"] for one in waiting_events(status)] == [3]
    metadata = {"name": "r-1", "creationTimestamp": "2026-11-24T09:30:00Z"}
    run = Run.parse({"metadata": metadata, "spec": {}, "status": status})
    assert [one.seq for one in run.status.outbox] == [3]
    assert [one.seq for one in run.status.delivery_records] == [1, 2]
    assert waiting_events({}) == []


def test_an_event_that_both_forms_know_is_one() -> None:
    status = {"records": text_of([record(1)]), "deliveries": [record(1, DeliveryPhase.PENDING).to_kube()]}
    assert list(raw_records(status)) == ["evt-1"]
    [one] = merge([record(1, DeliveryPhase.PENDING)], [record(1)])
    assert one.phase is DeliveryPhase.DELIVERED
