"""Bodies of deliveries."""

import json
from typing import Any

from checklist_crds.delivery_types import MAX_PAYLOAD
from checklist_operator.envelopes import body_of, kept_message, payload_of


def message(thumbnail: str | None) -> dict[str, Any]:
    photos = [{"photo_index": 0, "url": "https://x/1", "thumbnail": thumbnail}]
    return {"event_id": "evt-1", "event": "step.completed", "data": {"value": "Grüße", "photos": photos}, "seq": 1}


def test_only_the_number_differs_between_attempts() -> None:
    first, fifth = body_of(message("AAAA"), 1), body_of(message("AAAA"), 5)
    assert first == fifth.replace(b'"delivery_attempt":5', b'"delivery_attempt":1')
    assert list(json.loads(first))[:2] == ["event_id", "delivery_attempt"]
    assert "Grüße".encode() in first


def test_what_is_kept_for_retries_has_neither_number_nor_thumbnails() -> None:
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
