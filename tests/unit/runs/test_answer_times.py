"""When an answer was given and when it arrived (contract section 11)."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.unit.runs.test_lifecycle import NOW, Life, checklist, step

from checklist_crds.resources.event_names import EventName
from checklist_crds.resources.run import PhotoRef, RunPhase
from checklist_crds.runs.answer_times import AnswerTimes, answer_times
from checklist_crds.runs.commands import (
    AddPhoto,
    AnswerStep,
    ClearAnswer,
    Command,
    RemovePhotos,
    SkipStep,
    Submit,
    is_repeated,
    with_operation,
)
from checklist_crds.runs.events import answer_view, event_data, final_data
from checklist_crds.times import format_timestamp

DISPATCHED = NOW - timedelta(hours=1)
TODAY = NOW.date()
GIVEN = NOW - timedelta(minutes=30)
PHOTO = PhotoRef(key="k", content_type="image/png", bytes=1, sha256="0", width=1, height=1)


def ago(**by: float) -> datetime:
    return NOW - timedelta(**by)


@pytest.mark.parametrize(
    ("given_at", "expected"),
    [
        (None, AnswerTimes(NOW, TODAY)),
        (GIVEN, AnswerTimes(GIVEN, TODAY, NOW)),
        (DISPATCHED, AnswerTimes(DISPATCHED, TODAY, NOW)),
        (ago(hours=2), AnswerTimes(DISPATCHED, TODAY, NOW)),
        (datetime.min.replace(tzinfo=UTC), AnswerTimes(DISPATCHED, TODAY, NOW)),
        (NOW + timedelta(milliseconds=1), AnswerTimes(NOW, TODAY)),
        (datetime.max.replace(tzinfo=UTC), AnswerTimes(NOW, TODAY)),
        (ago(milliseconds=400), AnswerTimes(ago(milliseconds=400), TODAY)),
        (ago(seconds=1), AnswerTimes(ago(seconds=1), TODAY)),
        (ago(milliseconds=1001), AnswerTimes(ago(milliseconds=1001), TODAY, NOW)),
        (GIVEN.replace(microsecond=123_999), AnswerTimes(GIVEN.replace(microsecond=123_000), TODAY, NOW)),
    ],
)
def test_the_time_of_an_answer_is_between_dispatch_and_now(given_at: datetime | None, expected: AnswerTimes) -> None:
    assert answer_times(given_at, dispatched_at=DISPATCHED, now=NOW) == expected


def test_a_run_dispatched_by_a_replica_whose_clock_is_ahead_has_no_answer_in_the_future() -> None:
    ahead = NOW + timedelta(seconds=3)
    assert answer_times(GIVEN, dispatched_at=ahead, now=NOW) == AnswerTimes(NOW, TODAY)


def views(life: Life) -> dict[str, dict[str, Any]]:
    return {step_id: answer_view(answer, lambda *_, **__: "") for step_id, answer in life.status.answers.items()}


def test_answers_events_and_skips_show_both_times() -> None:
    life = Life(checklist(step("late"), step("now"), step("skip"), allow_skip=True))
    life.answers("late", given_at=GIVEN)
    life.answers("now", given_at=ago(milliseconds=300))
    life.does(SkipStep(step_id="s-skip", given_at=GIVEN))
    late = {"at": format_timestamp(GIVEN), "received_at": format_timestamp(NOW)}
    at_once = dict.fromkeys(("at", "received_at"), format_timestamp(ago(milliseconds=300)))
    shown = views(life)
    assert shown["s-late"].items() >= late.items()
    assert shown["s-now"].items() >= at_once.items()
    sent = [event_data(entry, life.run, life.definition, lambda *_, **__: "") for entry in life.status.outbox]
    del at_once["received_at"]
    assert [{name: data[name] for name in late if name in data} for data in sent] == [late, at_once, late]
    ended = final_data(EventName.RUN_COMPLETED, life.run, NOW, lambda *_, **__: "")["answers"]
    assert [{name: ended[step_id].get(name) for name in late} for step_id in ("s-late", "s-now")] == [
        late,
        at_once | {"received_at": None},
    ]
    assert [entry.ts for entry in life.status.outbox] == [NOW, NOW, NOW], "an event happens when the service changes"


def test_an_answer_that_arrives_at_once_is_stored_with_one_time() -> None:
    online, without = Life(checklist(step("a"))), Life(checklist(step("a")))
    online.answers("a", given_at=ago(milliseconds=900))
    without.answers("a")
    for life in (online, without):
        assert set(life.status.answers["s-a"].to_kube()) == {"value", "at"}
        assert "received_at" not in life.status.outbox[0].frozen
    assert len(json.dumps(online.status.to_kube())) == len(json.dumps(without.status.to_kube()))


def test_a_photo_a_removed_photo_and_a_signature_have_the_time_when_they_were_given() -> None:
    signature = {"name": "Ada"}
    life = Life(checklist(step("photo", "photo"), step("sign", "signature")))
    life.does(AddPhoto(step_id="s-photo", photo=PHOTO, given_at=GIVEN))
    photo = life.status.answers["s-photo"]
    assert (photo.at, photo.received_at) == (GIVEN, NOW)
    life.does(AddPhoto(step_id="s-photo", photo=PHOTO))
    photo = life.status.answers["s-photo"]
    assert (photo.at, photo.received_at) == (NOW, None)
    life.does(RemovePhotos(step_id="s-photo", photo_index=1, given_at=GIVEN))
    photo = life.status.answers["s-photo"]
    assert (photo.at, photo.received_at) == (GIVEN, NOW)
    life.answers("sign", signature, given_at=GIVEN)
    assert life.status.answers["s-sign"].value == {"url": None, "name": "Ada", "signed_at": format_timestamp(GIVEN)}


def test_the_run_started_with_its_earliest_answer_also_if_that_arrives_later() -> None:
    life = Life(checklist(step("a"), step("b"), step("c")))
    life.answers("a")
    life.answers("b", at=NOW + timedelta(minutes=1), given_at=GIVEN)
    life.answers("c", at=NOW + timedelta(minutes=2))
    assert (life.status.phase, life.status.started_at) == (RunPhase.IN_PROGRESS, GIVEN)
    life.does(Submit(given_at=GIVEN), NOW + timedelta(minutes=3))
    assert life.status.completed_at == NOW + timedelta(minutes=3), "the submit counts when it arrives"


@pytest.mark.parametrize(
    "command",
    [
        AnswerStep(step_id="s-a", value=True, op_id="1"),
        SkipStep(step_id="s-a", op_id="1"),
        ClearAnswer(step_id="s-a", op_id="1"),
        AddPhoto(step_id="s-a", photo=PHOTO, op_id="1"),
        RemovePhotos(step_id="s-a", op_id="1"),
    ],
)
def test_an_operation_may_be_repeated_without_its_time_and_with_another(command: Command) -> None:
    assert with_operation("", replace(command, given_at=GIVEN)) == with_operation("", command)


def test_marks_of_operations_are_those_of_earlier_releases() -> None:
    """Otherwise the repetition of an operation during an update would be refused."""
    command = AnswerStep(step_id="s-a", value=4.5, op_id="op-1", given_at=GIVEN)
    assert with_operation("", command) == "caDvcZXfoCsq"


def test_an_upload_may_be_repeated_after_the_limit_of_the_organization_was_changed() -> None:
    command = AddPhoto(step_id="s-a", photo=PHOTO, op_id="1")
    wider = replace(command, run_bytes=2 * command.run_bytes)
    assert is_repeated(with_operation("", command), wider)
    assert with_operation("", wider) == "a4ayc_80ho7K", "the mark of earlier releases at the usual limit"
    assert is_repeated("a4ayc_80dLVC", wider), "the mark of earlier releases at this limit"
