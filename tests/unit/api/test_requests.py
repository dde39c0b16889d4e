"""Requests: rate limits, and bodies that are JSON or refused."""

import json

import pytest
from aiohttp.test_utils import make_mocked_request
from hypothesis import given
from hypothesis import strategies as st

from checklist_api.http.addresses import rate_limit_address
from checklist_api.http.json_body import parse_json_object, require_members
from checklist_api.http.rate_limit import LocalRateLimiter
from checklist_api.settings.rates import Rate
from checklist_crds.errors import MalformedJson, MissingField, RateLimited
from checklist_crds.values.json_text import MOST_NESTED


class Ticker:
    """A monotonic clock that the test sets."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def ticker() -> Ticker:
    return Ticker()


@pytest.fixture
def limiter(ticker: Ticker) -> LocalRateLimiter:
    return LocalRateLimiter(ticker)


RATE = Rate(per_second=10, burst=5)


async def admitted(limiter: LocalRateLimiter, tries: int, subject: str = "key:a") -> int:
    return sum([await limiter.wait_for(subject, RATE) == 0 for _ in range(tries)])


async def test_a_burst_then_the_sustained_rate(limiter: LocalRateLimiter, ticker: Ticker) -> None:
    assert await admitted(limiter, 8) == 5
    for seconds, expected in ((0.1, 1), (1.0, 5), (3600, 5)):
        ticker.now += seconds
        assert await admitted(limiter, 20) == expected
    count = 0
    for _ in range(1000):
        ticker.now += 0.01
        count += await admitted(limiter, 1)
    assert 99 <= count <= 105


async def test_a_refusal_tells_how_long_to_wait_and_costs_nothing(limiter: LocalRateLimiter, ticker: Ticker) -> None:
    await admitted(limiter, 5)
    waits = [await limiter.wait_for("key:a", RATE) for _ in range(50)]
    assert waits == pytest.approx([0.1] * 50)
    ticker.now += waits[0]
    assert await admitted(limiter, 1) == 1
    assert await admitted(limiter, 10, "key:b") == 5, "subjects do not share their limits"


async def test_several_limits_count_atomically(limiter: LocalRateLimiter, ticker: Ticker) -> None:
    waits = [await limiter.wait_for("key:a", RATE, count) for count in (3, 3, 2, 1)]
    assert waits == pytest.approx([0, 0.1, 0, 0.1])
    ticker.now += 0.5
    assert [await limiter.wait_for("key:a", RATE, count) for count in (200, 1)] == pytest.approx([0, 0.1])


def test_a_rate_reads_as_it_is_written() -> None:
    rates = {"100/s burst 200": Rate(100, 200), "30/min": Rate(0.5, 30), "0.5/s burst 2": Rate(0.5, 2), " OFF ": None}
    assert {text: Rate.parse(text) for text in rates} == rates
    for text in ("", "100", "fast", "0/s", "-1/s", "10/s burst 0", "10/day"):
        with pytest.raises(ValueError, match="burst"):
            Rate.parse(text)


def test_retry_after_is_a_whole_number_of_seconds_of_at_least_one() -> None:
    headers = [RateLimited(wait_s).headers for wait_s in (0.001, 1.0, 1.2, 59.01)]
    assert headers == [{"Retry-After": seconds} for seconds in ("1", "1", "2", "60")]


def test_an_address_is_believed_only_as_far_as_our_own_proxies_wrote_it() -> None:
    for remote, forwarded, proxies, address in (
        ("203.0.113.9", "198.51.100.7", 0, "203.0.113.9"),
        ("10.0.0.1", "198.51.100.7", 1, "198.51.100.7"),
        ("10.0.0.1", "6.6.6.6, 198.51.100.7", 1, "198.51.100.7"),
        ("10.0.0.1", "6.6.6.6, 198.51.100.7, 10.0.0.2", 2, "198.51.100.7"),
        ("10.0.0.1", None, 1, "10.0.0.1"),
        ("2001:db8:1:2:3:4:5:6", None, 0, "2001:db8:1:2::"),
        ("::ffff:203.0.113.9", None, 0, "203.0.113.9"),
    ):
        headers = {"X-Forwarded-For": forwarded} if forwarded else {}
        request = make_mocked_request("GET", "/", headers=headers).clone(remote=remote)
        assert rate_limit_address(request, proxies) == address, (remote, forwarded)


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


def test_a_body_is_read_to_the_limit_of_nesting_and_malformed_beyond_it() -> None:
    for opening, closing in ((b"[", b"]"), (b'{"a":', b"}")):
        for depth in (MOST_NESTED, MOST_NESTED + 1, *range(900, 1001)):
            raw = b'{"a":' + opening * (depth - 1) + b'"\\u0041"' + closing * (depth - 1) + b"}"
            if depth == MOST_NESTED:
                assert json.dumps(parse_json_object(raw)).count("A") == 1
                continue
            with pytest.raises(MalformedJson, match="deeply"):
                parse_json_object(raw)


def test_all_missing_members_are_reported_at_once_and_null_is_not_missing() -> None:
    with pytest.raises(MissingField) as caught:
        require_members({"b": None}, "a", "b", "c", within="webhook")
    assert [problem.path for problem in caught.value.details] == ["webhook.a", "webhook.c"]
