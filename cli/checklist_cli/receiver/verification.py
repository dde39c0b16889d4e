"""Verifies that a request is a genuine delivery. Checks are separate, so that the result can name the failed one.

Used by `listen` and `verify`. The checks are those of docs/receivers.md; they are independent, except where one needs
the result of another (a signature needs a Signature-Input).
"""

import hmac
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final

from . import diagnosis
from .captured_request import CapturedRequest
from .signature_profile import CONTENT_TYPE, NotInProfile, SignatureInput, content_digest, parse_input, signature

MAX_AGE_S: Final = 300
SKEW_S: Final = 5


class Verdict(StrEnum):
    PASSED = "ok"
    FAILED = "FAIL"
    UNJUDGED = "-"


@dataclass(frozen=True, slots=True)
class Check:
    """One check: its name, result, an explanation, and how to fix a failure."""

    name: str
    verdict: Verdict
    says: str
    remedy: str | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """All checks, in the order of a receiver."""

    checks: tuple[Check, ...]
    input: SignatureInput | None

    @property
    def is_genuine(self) -> bool:
        return all(check.verdict is Verdict.PASSED for check in self.checks)

    @property
    def first_failure(self) -> Check | None:
        return next((check for check in self.checks if check.verdict is Verdict.FAILED), None)


@dataclass(frozen=True, slots=True)
class Expectation:
    """The expected values. `url` is canonical; the secret is not in the repr."""

    url: str
    secret: bytes
    max_age_s: int = MAX_AGE_S
    skew_s: int = SKEW_S

    def __repr__(self) -> str:
        return f"Expectation({self.url})"


def verify(request: CapturedRequest, expected: Expectation, *, now: datetime) -> Report:
    """Verify `request` as of `now`. Never raises."""
    try:
        signed: SignatureInput | None = parse_input(request.field("signature-input") or "")
    except NotInProfile:
        signed = None
    return Report(tuple(_checks(request, expected, signed, now)), signed)


def _checks(
    request: CapturedRequest, expected: Expectation, signed: SignatureInput | None, now: datetime
) -> Iterator[Check]:
    yield _method(request)
    yield _url(request, expected)
    yield _length(request)
    yield _content_type(request)
    yield _digest(request)
    yield _input(request)
    yield _time(signed, expected, now)
    yield _signature(request, expected, signed)
    yield _envelope(request, signed)


def _passed(name: str, says: str) -> Check:
    return Check(name, Verdict.PASSED, says)


def _failed(name: str, says: str, remedy: str) -> Check:
    return Check(name, Verdict.FAILED, says, remedy)


def _unjudged(name: str, says: str) -> Check:
    return Check(name, Verdict.UNJUDGED, says)


def _method(request: CapturedRequest) -> Check:
    if request.method == "POST":
        return _passed("method", "POST")
    return _failed("method", "deliveries are POST requests", "something on the way changed the method")


def _url(request: CapturedRequest, expected: Expectation) -> Check:
    """Never fails: the signature covers the configured URL, and behind a proxy the request's URL may differ. But it
    shows a genuine request that was sent to another place."""
    authority, _, rest = expected.url.partition("://")[2].partition("/")
    host = (request.field("host") or authority).lower()
    target = request.target or f"/{rest}"
    if (host, target) == (authority, f"/{rest}"):
        return _passed("url", expected.url)
    return _passed("url", f"{expected.url}; it arrived as {host}{target}, which only a proxy explains")


def _length(request: CapturedRequest) -> Check:
    length, there = request.declared_length, len(request.body)
    if length is None or length == there:
        return _passed("content-length", f"{there:,} bytes")
    remedy = "the capture is truncated: keep the whole body" if there < length else "the capture has more than the body"
    return _failed("content-length", f"Content-Length is {length:,} and the body has {there:,} bytes", remedy)


def _content_type(request: CapturedRequest) -> Check:
    value = request.field("content-type")
    if value == CONTENT_TYPE:
        return _passed("content-type", CONTENT_TYPE)
    if value is None:
        return _failed("content-type", "the field is missing", diagnosis.LOST_FIELD)
    return _failed(
        "content-type",
        f"the field is not {CONTENT_TYPE}",
        "verify the field as it arrived; changing it (adding a charset) breaks the signature",
    )


def _digest(request: CapturedRequest) -> Check:
    value, computed = request.field("content-digest"), content_digest(request.body)
    if value is None:
        return _failed("content-digest", "the field is missing", diagnosis.LOST_FIELD)
    if hmac.compare_digest(value.encode("latin-1", "replace"), computed.encode()):
        return _passed("content-digest", "the body is the one that was sent")
    if not value.startswith("sha-256=:"):
        return _failed("content-digest", "the field is not a single sha-256 digest", diagnosis.FOREIGN)
    return _failed("content-digest", "the body is not the one that was sent", diagnosis.why_digest(request.body, value))


def _input(request: CapturedRequest) -> Check:
    name, value = "signature-input", request.field("signature-input")
    if value is None:
        return _failed(name, "the field is missing", diagnosis.LOST_FIELD)
    try:
        parse_input(value)
    except NotInProfile as deviation:
        return _failed(name, str(deviation), diagnosis.FOREIGN)
    return _passed(name, "sig1 with the five components, the algorithm and the tag")


def _time(signed: SignatureInput | None, expected: Expectation, now: datetime) -> Check:
    name = "created, expires"
    if signed is None:
        return _unjudged(name, "cannot be read")
    age = now.timestamp() - signed.created
    if age < -expected.skew_s:
        return _failed(
            name, f"made {_seconds(-age)} after it arrived", "the receiver's clock is behind: synchronize it by NTP"
        )
    limit = expected.max_age_s
    if signed.expires is not None:
        limit = min(limit, signed.expires - signed.created)
    if age > limit + expected.skew_s:
        made = datetime.fromtimestamp(min(signed.created, 253402300799), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return _failed(
            name,
            f"made {_seconds(age)} before now, and valid for {limit} s",
            f"an old request was repeated, or the receiver's clock is ahead; to verify it as of its time: --at {made}",
        )
    return _passed(name, f"made {_seconds(max(age, 0.0))} before now, valid for {limit} s")


def _seconds(number: float) -> str:
    return f"{number:,.0f} s"


def _signature(request: CapturedRequest, expected: Expectation, signed: SignatureInput | None) -> Check:
    name, value = "signature", request.field("signature")
    if value is None:
        return _failed(name, "the field is missing", diagnosis.LOST_FIELD)
    if signed is None:
        return _unjudged(name, "cannot be verified without a valid Signature-Input")
    content_type, digest = request.field("content-type") or "", request.field("content-digest") or ""
    right = signature(request.method, expected.url, content_type, digest, signed.params, secret=expected.secret)
    if hmac.compare_digest(value.encode("latin-1", "replace"), right.encode()):
        return _passed(name, "made with this secret, for this URL")
    return _failed(
        name,
        "made with another secret, or for another request",
        diagnosis.why_signature(request, signed, value, url=expected.url, secret=expected.secret),
    )


def _envelope(request: CapturedRequest, signed: SignatureInput | None) -> Check:
    name, event = "envelope", envelope_of(request.body)
    if event is None:
        return _failed(name, "the body is not an event in JSON", diagnosis.FOREIGN)
    if signed is not None and event["run_id"] != signed.key_id:
        return _failed(name, "the event's run is not the one of the signature's keyid", diagnosis.FOREIGN)
    return _passed(name, f"{event['event']} of {event['run_id']}")


def envelope_of(body: bytes) -> dict[str, Any] | None:
    """The event in a body, or None. It must have event_id, event and run_id as text, and the attempt."""
    try:
        event = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(event, dict) or not isinstance(event.get("delivery_attempt"), int):
        return None
    return event if all(isinstance(event.get(name), str) for name in ("event_id", "event", "run_id")) else None
