"""Small pure parts of the core: ids, keys, times, sealing, merge patch."""

import json
import re
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from checklist_crds import ids
from checklist_crds.secrets import api_keys, sealing
from checklist_crds.times import Timestamp, format_timestamp, parse_timestamp, readable_timestamp, utc_now
from checklist_crds.values import merge_patch

KEYS = sealing.KeyRing({"k1": b"1" * 32})
UUID_4, UUID_5 = (rf"-.{{14}}{version}.{{3}}-[89ab].*" for version in (4, 5))


def test_random_and_keyed_ids_are_of_version_4_and_derived_ones_of_version_5() -> None:
    made = {ids.new_id("t"): UUID_4, ids.keyed_id("t", b"key", "a"): UUID_4, ids.derived_id("t", "a"): UUID_5}
    for each, form in made.items():
        assert ids.is_id("t", each)
        assert re.fullmatch("t" + form, each)
    for text in ("", "r-", "r-ABCDEF00-0000-4000-8000-000000000000", "t-x", None, 5, "r-" + "0" * 36, *made):
        assert not ids.is_id("r", text), text


def test_a_keyed_id_depends_on_the_key_and_on_where_its_parts_begin() -> None:
    assert ids.keyed_id("r", b"k", "ab", "c") == ids.keyed_id("r", b"k", "ab", "c")
    assert ids.keyed_id("r", b"k", "ab", "c") != ids.keyed_id("r", b"k", "a", "bc")
    assert ids.keyed_id("r", b"k", "a") != ids.keyed_id("r", b"other", "a")


def test_a_name_that_is_an_id_is_kept_and_a_human_name_gives_the_same_id_everywhere() -> None:
    made = ids.new_id("t")
    assert ids.object_id("t", made, "acme") == made
    assert ids.object_id("t", "fridge", "acme") == ids.object_id("t", "fridge", "acme")
    assert ids.object_id("t", "fridge", "acme") != ids.object_id("t", "fridge", "other")


def test_api_keys_have_the_published_form_and_never_repeat() -> None:
    made = {api_keys.new_key() for _ in range(100)}
    assert len(made) == 100
    assert all(re.fullmatch(r"cds_live_[0-9A-Za-z]{32}", key) and api_keys.is_well_formed(key) for key in made)
    start = "cds_live_"
    for text in ("", start, start + "a" * 31, start + "a" * 33, "x" * 41, start + "-" * 32):
        assert not api_keys.is_well_formed(text), text


def test_a_sealed_secret_opens_for_its_run_only_and_is_sealed_differently_each_time() -> None:
    own = sealing.run_owner("home", "r-1")
    sealed = KEYS.seal("correct horse", owner=own)
    assert "horse" not in sealed
    assert KEYS.seal("correct horse", owner=own) != sealed
    assert KEYS.open(sealed, owner=own) == "correct horse"
    for namespace, run in (("home", "r-2"), ("elsewhere", "r-1")):
        with pytest.raises(sealing.SealBroken):
            KEYS.open(sealed, owner=sealing.run_owner(namespace, run))


def test_keys_are_rotated_by_putting_the_new_one_first_under_which_secrets_are_sealed_again() -> None:
    ring = sealing.KeyRing({"k2": b"2" * 32, "k1": b"1" * 32})
    assert (repr(ring), ring.current, ring.ids) == ("KeyRing(k2, k1)", "k2", ("k2", "k1"))
    old = KEYS.seal("correct horse", owner="r-1")
    assert ring.open(old, owner="r-1") == "correct horse"
    with pytest.raises(sealing.SealBroken, match="unknown key"):
        KEYS.open(ring.seal("new", owner="r-1"), owner="r-1")
    new = ring.reseal(old, owner="r-1")
    assert (sealing.sealing_key_of(old), sealing.sealing_key_of(new)) == ("k1", "k2")
    assert sealing.KeyRing({"k2": b"2" * 32}).open(new, owner="r-1") == "correct horse"
    assert ring.reseal(new, owner="r-1") == new
    for sealed, owner in ((old, "r-2"), (new, "r-2"), ("k3" + old[2:], "r-1"), ("correct horse", "r-1")):
        with pytest.raises(sealing.SealBroken):
            ring.reseal(sealed, owner=owner)


def test_a_secret_where_a_sealed_one_belongs_is_not_repeated() -> None:
    for text in ("my-own-webhook-secret", "pass:word", "a secret: with spaces", "s3cret" * 20, "k1:", ""):
        assert sealing.sealing_key_of(text) is None
        with pytest.raises(sealing.SealBroken, match=r"^not a sealed text$"):
            KEYS.open(text, owner="r-1")


KEY = "a2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2s="  # 32 bytes in base64
OTHER_KEY = "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWY="
NO_KEY_RINGS = ["", "k1", "k1:!!!", "k1:YWJj", ":", OTHER_KEY, f"k1:{KEY},k1:{OTHER_KEY}", f"k 1:{KEY}", f"k1:{KEY}é"]


@pytest.mark.parametrize("text", NO_KEY_RINGS)
def test_a_bad_key_ring_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(ValueError, match=r"sealing key") as refusal:
        sealing.KeyRing.parse(text)
    assert not text.strip(":") or text not in str(refusal.value)


def test_an_executor_token_opens_one_run() -> None:
    keys = sealing.ServerKeys(b"k" * 32)
    token = sealing.executor_token(keys, "org-1", "r-1")
    assert re.fullmatch(r"[A-Za-z0-9_-]{43}", token)
    assert sealing.is_executor_token(keys, "org-1", "r-1", token)
    for organization, run, other in (("org-2", "r-1", token), ("org-1", "r-2", token), ("org-1", "r-1", "é")):
        assert not sealing.is_executor_token(keys, organization, run, other)
    assert not sealing.is_unbound_token(keys, "r-1", token)


def test_timestamps_are_utc_with_milliseconds_and_need_a_date_and_a_zone() -> None:
    moment = datetime(2026, 11, 21, 14, 50, 0, 123_999, tzinfo=timezone(timedelta(hours=1)))
    assert format_timestamp(moment) == "2026-11-21T13:50:00.123Z"
    assert parse_timestamp("2026-11-21T13:50:00Z") == datetime(2026, 11, 21, 13, 50, tzinfo=UTC)
    assert parse_timestamp(format_timestamp(now := utc_now())) == now
    for text in ("", "2026-11-21T13:50:00", "yesterday", "2026-13-01T00:00:00Z"):
        with pytest.raises(ValueError, match=r"."):
            parse_timestamp(text)


@given(
    st.from_regex(
        r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])[Tt]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]"
        r"(\.[0-9]{1,12})?([Zz]|[+-]([01][0-9]|2[0-3]):[0-5][0-9])",
        fullmatch=True,
    )
)
def test_what_a_custom_resource_accepts_as_a_timestamp_can_be_read_everywhere(text: str) -> None:
    try:
        moment = TypeAdapter(Timestamp).validate_python(text)
    except ValidationError:
        moment = None
    assert readable_timestamp(text) == moment


RFC_7396 = [  # appendix A: target, patch, result
    ({"a": "b"}, {"a": "c"}, {"a": "c"}),
    ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
    ({"a": "b"}, {"a": None}, {}),
    ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
    ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
    ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
    ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
    ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
    (["a", "b"], ["c", "d"], ["c", "d"]),
    ({"a": "b"}, ["c"], ["c"]),
    ({"a": "foo"}, None, None),
    ({"a": "foo"}, "bar", "bar"),
    ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
    ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
    ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
]


def test_merge_patch_does_what_the_rfc_shows() -> None:
    for target, patch, result in RFC_7396:
        assert merge_patch.apply(target, patch) == result


_VALUES = st.recursive(
    st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)
_OBJECTS = st.dictionaries(st.sampled_from("abcd"), _VALUES, max_size=4)


@example({"a": [1], "b": {"c": 1}}, {"a": [True], "b": {"c": 1}})
@given(_OBJECTS, _OBJECTS)
def test_a_difference_applied_to_the_old_gives_the_new(old: dict[str, Any], new: dict[str, Any]) -> None:
    patch = merge_patch.diff(old, new)
    # As JSON, since True is not 1.
    assert json.dumps(merge_patch.apply(old, patch), sort_keys=True) == json.dumps(new, sort_keys=True)
    assert merge_patch.diff(new, new) == {}
