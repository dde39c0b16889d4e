"""What counts as a JSON object (contract section 7, 400)."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checklist_api.http.request_body import parse_json_object, require_members
from checklist_crds.errors import MalformedJson, MissingField

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.text(), JSON_VALUES, max_size=5))
def test_every_object_that_json_can_write_is_read_as_it_is(document: dict[str, object]) -> None:
    assert parse_json_object(json.dumps(document).encode()) == document
    try:
        raw = json.dumps(document, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return
    assert parse_json_object(raw) == document


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"", "missing"),
        (b"   ", "not JSON"),
        (b"{", "line 1"),
        (b'{"a": 1,}', "not JSON"),
        (b"[]", "not a JSON object"),
        (b"null", "not a JSON object"),
        (b'{"a": 1, "a": 1}', 'the name "a" twice'),
        (b'{"a": {"b": 1, "c": 2, "b": 3}}', 'the name "b" twice'),
        (b'{"a": -Infinity}', "-Infinity"),
        (b'{"a": 1e999}', "too large"),
        (b'{"a": ' + b"9" * 5000 + b"}", "too long"),
        (b'{"a": "\xff"}', "UTF-8"),
        ('{"a": "x"}'.encode("utf-16"), "UTF-8"),
        (b'\xef\xbb\xbf{"a": 1}', "not JSON"),
        (b'{"a": "\\ud800"}', "surrogate"),
        (b'{"\\udc00": 1}', "surrogate"),
        (b'{"a": "tab\there"}', "not JSON"),
        (b'{"a":' + b"[" * 100_000, "deeply"),
        (b"{} {}", "not JSON"),
    ],
)
def test_a_body_that_readers_could_understand_differently_is_malformed(raw: bytes, words: str) -> None:
    with pytest.raises(MalformedJson, match=words):
        parse_json_object(raw)


def test_all_missing_members_are_reported_at_once_and_null_is_not_missing() -> None:
    with pytest.raises(MissingField) as caught:
        require_members({"b": None}, "a", "b", "c", within="webhook")
    assert [problem.path for problem in caught.value.details] == ["webhook.a", "webhook.c"]
