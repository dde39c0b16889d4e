"""Bodies of deliveries, the operator's settings and its log lines."""

import json
import logging
from typing import Any

import pytest

from checklist_crds.delivery_types import MAX_PAYLOAD
from checklist_crds.settings.declaring import variables
from checklist_operator.envelopes import body_of, kept_message, payload_of
from checklist_operator.json_logging import JsonLines, about
from checklist_operator.settings import InvalidSetting, Settings, help_text

KEYS = "k1:" + "A" * 43 + "="


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


def test_every_setting_but_the_keys_has_a_default_and_is_explained() -> None:
    settings = Settings.from_environment({"CHECKLISTS_SEALING_KEYS": KEYS})
    assert (settings.schedule.gaps, settings.namespace) == ((30, 120, 600, 3600), "checklists")
    assert not settings.allow_insecure_targets
    assert all(variable.name in help_text() for variable in variables(Settings))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("CHECKLISTS_RETRY_GAPS", "1,2,3"),
        ("CHECKLISTS_OPERATOR_PORT", "http"),
        ("CHECKLISTS_ALLOW_INSECURE_TARGETS", "perhaps"),
        ("CHECKLISTS_DENIED_ADDRESSES", "10.0.0.0/99"),
        ("CHECKLISTS_SWEEP_SECONDS", "-1"),
        ("CHECKLISTS_MAX_DELIVERIES", "0"),
        ("CHECKLISTS_SERVER_KEY", "c2hvcnQ="),
        ("CHECKLISTS_PHOTO_ORPHAN_SECONDS", "-1"),
    ],
)
def test_a_wrong_setting_is_named(name: str, value: str) -> None:
    with pytest.raises(InvalidSetting, match=name):
        Settings.from_environment({"CHECKLISTS_SEALING_KEYS": KEYS, name: value})


@pytest.mark.parametrize("keys", ["", "c2VjcmV0LWtleS1vZi0zMi1ieXRlcw==", "k1:c2hvcnQ="])
def test_a_key_is_never_repeated_in_a_complaint(keys: str) -> None:
    with pytest.raises(InvalidSetting) as caught:
        Settings.from_environment({"CHECKLISTS_SEALING_KEYS": keys})
    assert "CHECKLISTS_SEALING_KEYS" in str(caught.value)
    assert "c2" not in str(caught.value)
    assert "AAAA" not in repr(Settings.from_environment({"CHECKLISTS_SEALING_KEYS": KEYS}))


def test_a_log_line_says_what_it_is_about_and_nothing_else() -> None:
    record = logging.makeLogRecord(
        {"msg": "event delivered", "levelname": "INFO", "answer": "private", **about(run_id="r-1")}
    )
    line = json.loads(JsonLines().format(record))
    assert (line["event"], line["run_id"], line["level"]) == ("event delivered", "r-1", "info")
    assert "private" not in str(line)
