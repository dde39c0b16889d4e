"""The receipt: what its digest is made of, in the one form of RFC 8785."""

import base64
import hashlib
import json
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checklist_crds.canonical_json import canonical_json
from checklist_crds.receipt import receipt_digest, receipt_document, receipt_view
from checklist_crds.run_commands import AddPhoto, DrawSignature, Submit
from checklist_crds.run_types import PhotoRef, Run

from .test_run_lifecycle import HERE, NOW, Life, checklist, step


def photo(sha256: str) -> PhotoRef:
    return PhotoRef(key=f"k-{sha256}", content_type="image/jpeg", bytes=9, sha256=sha256, width=4, height=3)


def completed() -> Life:
    steps = (step("a"), step("b", "photo"), step("c", "signature"), step("d", "number"))
    life = Life(checklist(*steps, signature_on_complete=True))
    life.answers("a", geo=HERE)
    for sha256 in ("11", "22"):
        life.does(AddPhoto(step_id="s-b", photo=photo(sha256)))
    life.answers("c", {"name": "Ada"})
    life.does(AddPhoto(step_id="s-c", photo=photo("33")))
    life.answers("d", 2.5)
    life.does(DrawSignature(photo=photo("44")))
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


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_number_reads_back_as_it_was(number: float) -> None:
    assert float(canonical_json(number)) == number
