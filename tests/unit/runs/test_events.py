"""What receivers read: bodies, envelope and data of the five events (specification, "Events"; contract section 9)."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from checklist_crds.resources.delivery import MAX_PAYLOAD
from checklist_crds.resources.run import Geo, PhotoRef, Place, Run, RunStatus
from checklist_crds.resources.template_definition import Definition
from checklist_crds.runs.commands import AnswerStep, Cancel, Command, Expire, GiveIdentity, Open, SkipStep, Submit
from checklist_crds.runs.events import (
    EVENT_NAMES,
    answer_view,
    envelope,
    event_data,
    event_name_problem,
    for_attempt,
    identity_view,
    recorded_answer_view,
)
from checklist_crds.runs.lifecycle import decide
from checklist_operator.attempts.envelopes import body_of, kept_message, payload_of

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
LATER = NOW + timedelta(seconds=90, milliseconds=250)
MEMBER = "u-00000000-0000-4000-8000-000000000001"
PHOTO = PhotoRef(key="k1", content_type="image/jpeg", bytes=12, sha256="ab", width=4, height=3, captured_at=NOW)
STEPS = [
    {"id": "s-door", "type": "boolean", "label": "Door locked?", "config": {"true_label": "Locked"}},
    {"id": "s-temp", "type": "number", "label": "Temperature", "config": {"unit": "°C", "decimal": 1}},
]


def photo_url(photo: PhotoRef, *, thumbnail: bool = False) -> str:
    return f"https://photos.example/{photo.key}{'/thumbnail' if thumbnail else ''}"


def story(*commands: Command, identity: str = "none", expires_at: datetime | None = None) -> tuple[Run, Definition]:
    sections = [{"id": "g-one", "title": "One", "steps": STEPS}]
    rules = {"settings": {"allow_skip": True}, "execution": {"identity_required": identity}}
    definition = Definition.model_validate({"name": "Closing", "sections": sections} | rules)
    resolved = {"organization": "acme", "templateId": "t-1", "templateVersion": 3, "templateName": "Closing"}
    resolved |= {"revisionRef": {"name": "rev"}, "identityMode": definition.identity_mode}
    resolved |= {"stepCount": 2, "applicableSteps": 2}
    webhook = {"url": "https://example.com/", "events": ["*"], "sealedSecret": "k1:x"}
    spec = {"createdAt": NOW, "executorRef": "order 7", "expiresAt": expires_at, "webhook": webhook}
    body: dict[str, Any] = {"metadata": {"name": "r-1", "uid": "uid"}, "spec": spec | {"resolved": resolved}}
    run = Run.parse(body)
    for number, command in enumerate(commands):
        now = LATER if number else NOW
        status = decide(run, definition, command, now).after
        run = Run.parse(body | {"status": RunStatus.to_kube(status)})
    return run, definition


def last_event(run: Run, definition: Definition) -> dict[str, Any]:
    entry = run.status.outbox[-1]
    whole = envelope(entry, run, event_data(entry, run, definition, photo_url))
    json.dumps(whole)
    return whole


def test_the_envelope_has_the_specified_fields_in_their_order_and_attempts_differ_in_their_number_alone() -> None:
    whole = last_event(*story(AnswerStep(step_id="s-door", value=True)))
    first, second = for_attempt(whole, 1), for_attempt(whole, 2)
    specified = "event_id delivery_attempt event run_id template_id template_v ts identity data"
    assert list(first) == [*specified.split(), "seq", "executor_ref"]
    assert second == first | {"delivery_attempt": 2}
    expected = {"delivery_attempt": 1, "event": "step.completed", "run_id": "r-1", "template_id": "t-1"}
    expected |= {"template_v": 3, "ts": "2026-11-21T12:00:00.000Z", "seq": 1, "executor_ref": "order 7"}
    assert first.items() >= expected.items()


def test_step_events_tell_the_answer_as_value_and_in_words_and_the_progress() -> None:
    at = {"at": "2026-11-21T12:00:00.000Z", "by": None}
    run, definition = story(AnswerStep(step_id="s-temp", value=4, geo=Geo(lat=1, lng=2)))
    step = {"step_id": "s-temp", "section_id": "g-one", "type": "number", "label": "Temperature"}
    geo = {"lat": 1.0, "lng": 2.0, "accuracy_m": None}
    answer = {"value": 4, "display": "4.0 °C", "photos": [], "geo": geo, "revision": 1}
    progress = {"progress": {"total": 2, "answered": 1, "skipped": 0}}
    assert last_event(run, definition)["data"] == step | answer | at | progress
    skipped = {"step_id": "s-door", "section_id": "g-one", "label": "Door locked?"}
    progress = {"progress": {"total": 2, "answered": 0, "skipped": 1}}
    assert last_event(*story(SkipStep(step_id="s-door")))["data"] == skipped | at | progress


def test_step_completed_keeps_what_was_answered_then_when_the_answer_changes_later() -> None:
    run, definition = story(AnswerStep(step_id="s-door", value=True), AnswerStep(step_id="s-door", value=False))
    first = event_data(run.status.outbox[0], run, definition, photo_url)
    assert (first["value"], first["display"], first["revision"]) == (True, "Locked", 1)


def test_photos_and_drawings_of_a_step_event_get_their_address_when_it_is_sent() -> None:
    run, definition = story(AnswerStep(step_id="s-door", value=True))
    entry, signature = run.status.outbox[0], {"url": None, "name": "Ada", "signed_at": "2026-11-21T12:00:00.000Z"}
    frozen = entry.frozen | {"photos": [PHOTO.to_kube()], "value": signature, "drawing": PHOTO.to_kube()}
    sent = event_data(entry.model_copy(update={"encoded": json.dumps(frozen)}), run, definition, photo_url)
    assert sent["photos"] == [{"photo_index": 0, "url": "https://photos.example/k1", "thumbnail": None}]
    assert sent["value"] == signature | {"url": "https://photos.example/k1"}
    answer = run.status.answers["s-door"].model_copy(update={"encoded": json.dumps(signature), "drawing": PHOTO})
    assert answer_view(answer, photo_url)["value"] == sent["value"]
    assert answer_view(answer.model_copy(update={"encoded": "null"}), photo_url)["value"] is None


def test_run_completed_tells_everything_and_how_long_it_took() -> None:
    run, definition = story(AnswerStep(step_id="s-door", value=True), Submit(signature_name="Ada"))
    answer = run.status.answers["s-door"] = run.status.answers["s-door"].model_copy(update={"photos": [PHOTO]})
    data = last_event(run, definition)["data"]
    specified = "completed_at started_at duration_seconds answers photos skipped_steps signature progress"
    assert list(data) == specified.split()
    assert (data["started_at"], data["completed_at"]) == ("2026-11-21T12:00:00.000Z", "2026-11-21T12:01:30.250Z")
    assert data["duration_seconds"] == pytest.approx(90.25)
    assert data["answers"] == {"s-door": recorded_answer_view(answer, photo_url)}
    assert data["photos"] == [{"step_id": "s-door", "photo_index": 0, "url": "https://photos.example/k1"}]
    assert data["signature"] == {"url": None, "name": "Ada", "signed_at": "2026-11-21T12:01:30.250Z"}
    assert data["progress"] == {"total": 2, "answered": 1, "skipped": 0}


def test_run_cancelled_tells_the_partial_answers_the_last_step_and_the_reason() -> None:
    run, definition = story(AnswerStep(step_id="s-temp", value=4.5), Cancel(reason="no key"))
    assert last_event(run, definition)["data"] == {
        "cancelled_at": "2026-11-21T12:01:30.250Z",
        "reason": "no key",
        "last_step_id": "s-temp",
        "answers": {"s-temp": recorded_answer_view(run.status.answers["s-temp"], photo_url)},
        "progress": {"total": 2, "answered": 1, "skipped": 0},
    }


def test_run_expired_happens_at_the_instant_with_zero_answered_when_it_was_never_started() -> None:
    whole = last_event(*story(Expire(), expires_at=NOW - timedelta(hours=1)))
    expired_at = "2026-11-21T11:00:00.000Z"
    assert whole["ts"] == expired_at
    assert whole["data"] == {"expires_at": expired_at, "progress": {"total": 2, "answered": 0, "skipped": 0}}


def view_with_photo(geo: Geo | None = None, **photo: Any) -> dict[str, Any]:
    run, _ = story(AnswerStep(step_id="s-door", value=False, geo=geo))
    photos = [PHOTO.model_copy(update=photo)]
    return answer_view(run.status.answers["s-door"].model_copy(update={"photos": photos}), photo_url)


def test_the_answer_object_has_the_specified_fields() -> None:
    view = view_with_photo()
    assert list(view) == ["value", "photos", "geo", "at", "by", "received_at"]
    assert (view["value"], view["geo"], view["by"]) == (False, None, None)
    photo = {"photo_index": 0, "url": "https://photos.example/k1", "distance_m": None}
    photo |= {"thumbnail_url": "https://photos.example/k1/thumbnail", "content_type": "image/jpeg", "bytes": 12}
    photo |= {"sha256": "ab", "width": 4, "height": 3}
    assert view["photos"] == [photo | {"captured_at": "2026-11-21T12:00:00.000Z", "captured_at_zone": "stated"}]
    assert view_with_photo(captured_at_assumed=True)["photos"][0]["captured_at_zone"] == "assumed"
    assert view_with_photo(captured_at=None)["photos"][0]["captured_at_zone"] is None
    near = view_with_photo(Geo(lat=52.5, lng=13.4), taken_at=Place(lat=52.501, lng=13.4))
    assert near["photos"][0]["distance_m"] == 111


ADA = {"name": "Ada", "email": "ada@example.com"}


def test_the_executor_identity_has_the_fields_of_its_mode() -> None:
    assert identity_view(story()[0]) == {"mode": "anonymous"}
    for identity, given, before, after in (
        ("external", GiveIdentity(**ADA), {"name": None, "email": None}, ADA),
        ("member", Open(by=MEMBER), {"user_id": None}, {"user_id": MEMBER}),
    ):
        assert identity_view(story(identity=identity)[0]) == {"mode": identity, **before}
        assert identity_view(story(given, identity=identity)[0]) == {"mode": identity, **after}


def test_a_subscription_names_events_or_all_of_them_and_nothing_else() -> None:
    for events in (["*"], ["step.completed"], list(EVENT_NAMES)):
        assert event_name_problem(events) is None, events
    twice = ["run.completed", "run.completed"]
    for wrong in ([], None, "*", ["*", "run.completed"], ["run.done"], twice, [1], ["*", "*"]):
        assert event_name_problem(wrong), wrong


def message(thumbnail: str | None) -> dict[str, Any]:
    photos = [{"photo_index": 0, "url": "https://x/1", "thumbnail": thumbnail}]
    return {"event_id": "evt-1", "event": "step.completed", "data": {"value": "Grüße", "photos": photos}, "seq": 1}


def test_only_the_number_differs_between_attempts_and_what_is_kept_for_them_has_neither_it_nor_thumbnails() -> None:
    first, fifth = body_of(message("AAAA"), 1), body_of(message("AAAA"), 5)
    assert first == fifth.replace(b'"delivery_attempt":5', b'"delivery_attempt":1')
    assert "Grüße".encode() in first
    kept = payload_of(message("AAAA"))
    assert "AAAA" not in kept and "delivery_attempt" not in kept
    assert json.loads(body_of(kept_message(kept), 3)) == {**message(None), "delivery_attempt": 3}


def test_thumbnails_make_way_when_a_body_is_too_large_and_say_so() -> None:
    body = body_of(message("A" * MAX_PAYLOAD), 1)
    assert len(body) < MAX_PAYLOAD
    data = json.loads(body)["data"]
    assert data["photos"][0] == {"photo_index": 0, "url": "https://x/1", "thumbnail": None}
    assert data["thumbnails_dropped"] is True
    assert "thumbnails_dropped" not in json.loads(body_of(message("AAAA"), 1))["data"]
