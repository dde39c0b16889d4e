"""Photos in the life of a run: bounds, order, events, drawings, room (contract sections 4 and 5); and its receipt."""

import base64
import hashlib
import itertools
import json
from datetime import timedelta
from typing import Any

import pytest
from tests.unit.runs.test_lifecycle import HERE, NOW, WHEN_A_IS_FALSE, Life, checklist, paths, step

from checklist_crds.errors import AnswerInvalid, IdempotencyKeyReused, NotFound, RequiredStepsMissing
from checklist_crds.resources.run import (
    MAX_PHOTOS,
    MAX_PHOTOS_EVER,
    MAX_RUN_PHOTO_BYTES,
    Answer,
    PhotoRef,
    Run,
    RunPhase,
)
from checklist_crds.runs.commands import AddPhoto, DrawSignature, RemovePhotos, Submit
from checklist_crds.runs.lifecycle import Decision
from checklist_crds.runs.photos import keys_in_use, photo_of_operation, photos_of
from checklist_crds.runs.receipt import receipt_digest, receipt_document, receipt_view
from checklist_crds.values.canonical_json import canonical_json

numbers = itertools.count()


def photo(**fields: Any) -> PhotoRef:
    made = {"key": f"k{next(numbers)}", "content_type": "image/jpeg", "bytes": 9, "sha256": "ab", "width": 4}
    return PhotoRef(**made | {"height": 3} | fields)


def upload(life: Life, name: str, **fields: Any) -> Decision:
    return life.does(AddPhoto(step_id=f"s-{name}", **({"photo": photo()} | fields)))


def refused(life: Life, name: str, **fields: Any) -> str:
    """The code with which a photo for this step is refused."""
    error: Any = life.refuses(AddPhoto(step_id=f"s-{name}", photo=photo(**fields)), AnswerInvalid)
    return str(error.details[0].code)


def indexes(life: Life, name: str) -> list[int]:
    return [photo.index for photo in life.status.answers[f"s-{name}"].photos]


def revisions(life: Life) -> list[int]:
    return [entry.frozen["revision"] for entry in life.status.outbox]


def test_a_photo_step_is_completed_at_its_minimum_and_again_with_each_further_photo() -> None:
    life = Life(checklist(step("a", "photo", config={"min": 2, "max": 3})))
    upload(life, "a")
    assert (life.status.phase, life.events, life.progress) == (RunPhase.IN_PROGRESS, [], (1, 0, 0))
    upload(life, "a")
    assert (life.events, life.progress) == (["step.completed"], (1, 1, 0))
    assert life.status.outbox[0].frozen["photos"][0]["key"] == life.status.answers["s-a"].photos[0].key
    upload(life, "a")
    assert revisions(life) == [1, 2]
    assert refused(life, "a") == "too_many"


@pytest.mark.parametrize("photos_first", [True, False])
def test_value_and_photos_complete_a_step_in_either_order_and_the_value_stays_without_them(photos_first: bool) -> None:
    life = Life(checklist(step("a", photo={"min": 1, "max": 1})))
    for is_photo in (photos_first, not photos_first):
        assert life.events == []
        upload(life, "a") if is_photo else life.answers("a")
    assert revisions(life) == [1]
    assert len(life.status.outbox[0].frozen["photos"]) == 1
    assert refused(life, "a") == "too_many"
    life.answers("a", False)
    assert indexes(life, "a") == [0]
    life.does(RemovePhotos(step_id="s-a"))
    assert (life.status.answers["s-a"].value, indexes(life, "a")) == (False, [])
    signed = Life(checklist(step("a", "signature", photo={"min": 1, "max": 2})))
    for is_photo in (photos_first, not photos_first):
        assert signed.events == []
        upload(signed, "a") if is_photo else signed.answers("a", {"name": "Ada"})
    assert (indexes(signed, "a"), revisions(signed)) == ([0], [1])


def test_a_step_that_asks_for_no_photos_or_does_not_apply_takes_none() -> None:
    life = Life(checklist(step("a"), step("b", "photo", condition=WHEN_A_IS_FALSE), step("read", "instruction")))
    assert refused(life, "a") == "photos_not_taken"
    assert refused(life, "b") == "not_applicable"
    life.refuses(AddPhoto(step_id="s-read", photo=photo()), NotFound)


def test_taking_a_photo_back_is_an_event_as_long_as_the_step_stays_answered() -> None:
    life = Life(checklist(step("a", "photo")))
    assert not life.does(RemovePhotos(step_id="s-a")).changes_anything
    upload(life, "a")
    upload(life, "a")
    assert not life.does(RemovePhotos(step_id="s-a", photo_index=7)).changes_anything
    life.does(RemovePhotos(step_id="s-a", photo_index=0))
    assert revisions(life) == [1, 2, 3]
    life.does(RemovePhotos(step_id="s-a", photo_index=1))
    assert (revisions(life), life.run.progress.answered) == ([1, 2, 3], 0)
    upload(life, "a")
    assert revisions(life) == [1, 2, 3, 4]


def test_a_place_given_before_the_photo_stays() -> None:
    life = Life(checklist(step("a", "photo", geo=True, geo_required=True, required=True)))
    upload(life, "a")
    assert life.events == []
    life.answers("a", None, geo=HERE)
    assert (life.events, indexes(life, "a")) == (["step.completed"], [0])
    life.does(RemovePhotos(step_id="s-a"))
    assert life.status.answers["s-a"].geo == HERE
    assert paths(life.refuses(Submit(), RequiredStepsMissing)) == ["s-a"]


def test_a_photo_that_is_sent_again_is_kept_once() -> None:
    life = Life(checklist(step("a", "photo"), step("b", "photo")))
    upload(life, "a", op_id="one")
    assert upload(life, "a", op_id="one").repeated
    assert photo_of_operation(life.status.answers["s-a"], "one") == life.status.answers["s-a"].photos[0]
    assert photo_of_operation(life.status.answers["s-a"], "two") is None
    life.refuses(AddPhoto(step_id="s-b", photo=photo(), op_id="one"), IdempotencyKeyReused)
    life.update(operations="")  # even when the list of operations has forgotten it
    upload(life, "a", op_id="one")
    assert indexes(life, "a") == [0]


def test_a_run_takes_no_more_photos_than_its_limits() -> None:
    life = Life(checklist(step("a", "photo"), step("b", "photo")))
    upload(life, "a", photo=photo(bytes=MAX_RUN_PHOTO_BYTES - 10))
    assert refused(life, "b", bytes=11) == "too_large"
    upload(life, "b", photo=photo(bytes=10))
    full = Answer(encoded="null", at=NOW, photos=[photo(index=index) for index in range(20)])
    answers = {f"s-{number}": full for number in range(MAX_PHOTOS // 20)}
    # Taking photos back makes room up to MAX_PHOTOS_EVER only.
    for update in ({"answers": answers}, {"answers": {}, "photo_counts": {"s-a": MAX_PHOTOS_EVER}}):
        life.update(**update)
        assert refused(life, "b") == "too_many"


def test_the_drawing_of_a_signature_step_is_nothing_without_the_name_and_is_replaced_by_a_new_one() -> None:
    life = Life(checklist(step("a", "signature", required=True)))
    upload(life, "a")
    assert (life.events, life.status.answers["s-a"].photos) == ([], [])
    assert paths(life.refuses(Submit(), RequiredStepsMissing)) == ["s-a"]
    life.answers("a", {"name": "Ada"})
    assert revisions(life) == [1]
    first = life.status.answers["s-a"].drawing
    assert first is not None
    assert life.status.outbox[0].frozen["drawing"]["key"] == first.key
    upload(life, "a")
    drawing = life.status.answers["s-a"].drawing
    assert drawing is not None
    assert (drawing.index, len(list(photos_of(life.status))), revisions(life)) == (1, 1, [1, 2])
    assert keys_in_use(life.status) == {first.key, drawing.key}, "the event of the first one is still to be sent"
    life.does(RemovePhotos(step_id="s-a"))
    assert life.status.answers["s-a"].drawing is None
    assert life.status.answers["s-a"].value is not None


def test_submit_takes_the_drawn_signature_in_unless_it_was_taken_back() -> None:
    for last in (photo(), None):
        life = Life(checklist(step("a"), signature_on_complete=True))
        life.does(DrawSignature(photo=photo(), op_id="one"))
        assert (life.status.phase, life.events) == (RunPhase.PENDING, [])
        life.does(DrawSignature(photo=last, op_id="two"))
        life.refuses(Submit(), RequiredStepsMissing)
        life.does(Submit(signature_name="Ada"))
        signature = life.status.signature
        assert signature is not None
        drawn = signature.photo.key if signature.photo else None
        assert (signature.name, drawn, life.status.drawing) == ("Ada", last.key if last else None, None)
    error: Any = Life(checklist(step("a"))).refuses(DrawSignature(photo=photo()), AnswerInvalid)
    assert error.details[0].code == "signature_not_asked"


def test_photos_are_in_use_while_an_event_or_a_step_that_applies_has_them() -> None:
    life = Life(checklist(step("a"), step("b", "photo", condition=WHEN_A_IS_FALSE)))
    life.answers("a", False)
    upload(life, "b", photo=photo(key="gone"))
    life.does(RemovePhotos(step_id="s-b"))
    upload(life, "b", photo=photo(key="kept"))
    assert keys_in_use(life.status) == {"gone", "kept"}
    life.update(outbox=[])
    assert keys_in_use(life.status) == {"kept"}
    life.answers("a", True)
    life.does(Submit())
    life.update(outbox=[])
    assert keys_in_use(life.status) == frozenset()


def completed() -> Life:
    steps = (step("a"), step("b", "photo"), step("c", "signature"), step("d", "number"))
    life = Life(checklist(*steps, signature_on_complete=True))
    life.answers("a", geo=HERE)
    for sha256 in ("11", "22"):
        life.does(AddPhoto(step_id="s-b", photo=photo(sha256=sha256)))
    life.answers("c", {"name": "Ada"})
    life.does(AddPhoto(step_id="s-c", photo=photo(sha256="33")))
    life.answers("d", 2.5)
    life.does(DrawSignature(photo=photo(sha256="44")))
    life.does(Submit(signature_name="Ada"), at=NOW + timedelta(seconds=1))
    return life


def test_a_run_that_is_not_completed_has_no_receipt() -> None:
    life = Life(checklist(step("a")))
    assert receipt_view(life.run) is None
    with pytest.raises(ValueError, match="not completed"):
        receipt_document(life.run)


def test_the_receipt_counts_and_its_digest_is_of_the_document_that_the_documentation_describes() -> None:
    at, geo = "2026-11-21T12:00:00.000Z", {"lat": 52.5, "lng": 13.4, "accuracy_m": 8}
    signed = {"name": "Ada", "signed_at": at, "drawing": "33"}
    document = {
        "run_id": "r-1",
        "template_id": "t-1",
        "template_v": 3,
        "answers": {
            "s-a": {"value": True, "photos": [], "geo": geo, "at": at},
            "s-b": {"value": None, "photos": ["11", "22"], "geo": None, "at": at},
            "s-c": {"value": signed, "photos": [], "geo": None, "at": at},
            "s-d": {"value": 2.5, "photos": [], "geo": None, "at": at},
        },
        "skipped_steps": [],
        "signature": {"name": "Ada", "signed_at": "2026-11-21T12:00:01.000Z", "drawing": "44"},
        "completed_at": "2026-11-21T12:00:01.000Z",
    }
    run = completed().run
    assert json.loads(canonical_json(receipt_document(run))) == document
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("=")
    assert receipt_digest(run) == f"sha-256={digest}"
    view = receipt_view(run)
    assert view is not None
    counts = {"answers": 4, "photos": 2, "digest": f"sha-256={digest}"}
    assert view == {"run_id": "r-1", "completed_at": "2026-11-21T12:00:01.000Z"} | counts
    stored = {"metadata": {"name": "r-1", "uid": "u"}, "spec": run.spec.to_kube(), "status": run.status.to_kube()}
    again = Run.parse(json.loads(json.dumps(stored)))
    assert receipt_digest(again) == receipt_digest(run), "after a journey through the cluster"


def test_numbers_are_written_as_ecmascript_does_and_what_is_no_json_is_refused() -> None:
    texts = (
        "0 1 4.5 0.002 0.000001 1e-7 1.5e-7 123456789012345680000 1e+21 1.25e+22 1e+30 -333333333.3333333 "
        "9007199254740994 5e-324 1.7976931348623157e+308"
    )
    assert " ".join(canonical_json(float(text)).decode() for text in texts.split()) == texts
    assert canonical_json(-0.0) == b"0"
    for number in (float("nan"), float("inf")):
        with pytest.raises(ValueError):
            canonical_json([number])


def test_names_are_sorted_by_utf16_and_texts_keep_their_characters() -> None:
    assert canonical_json({"\ufb01": 1, "\U0001f600": 2, "a": "é\u20ac\n\x01"}) == (
        '{"a":"é€\\n\\u0001","\U0001f600":2,"\ufb01":1}'.encode()
    )
