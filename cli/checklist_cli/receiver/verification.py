"""Is this request a genuine delivery? Every check by itself, so that the answer can say which one failed and why.

`listen` and `verify` ask here. The checks are those of docs/receivers.md; each passes or fails alone, except where it
needs what another one reads (a signature cannot be judged without a Signature-Input).
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
    """One check: what it is called, how it ended, a sentence about it, and how to mend what failed."""

    name: str
    verdict: Verdict
    says: str
    remedy: str | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """All checks in the order in which a receiver makes them."""

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
    """What a genuine delivery must agree with. `url` is canonical; the secret is never shown."""

    url: str
    secret: bytes
    max_age_s: int = MAX_AGE_S
    skew_s: int = SKEW_S

    def __repr__(self) -> str:
        return f"Expectation({self.url})"


def verify(request: CapturedRequest, expected: Expectation, *, now: datetime) -> Report:
    """Judge `request` as of `now`. Never raises, whatever the request is."""
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
    return _failed("method", "deliveries are POST requests", "something between us turned the request into another one")


def _url(request: CapturedRequest, expected: Expectation) -> Check:
    """Never fails: what is signed is the configured URL, and behind a proxy a request may have come for any other one.
    But somebody who sends a genuine request to another place shows here, and nowhere else."""
    authority, _, rest = expected.url.partition("://")[2].partition("/")
    host = (request.field("host") or authority).lower()
    target = request.target or f"/{rest}"
    if (host, target) == (authority, f"/{rest}"):
        return _passed("url", expected.url)
    return _passed("url", f"{expected.url}; it came as {host}{target}, as it may behind a proxy and nowhere else")


def _length(request: CapturedRequest) -> Check:
    length, there = request.declared_length, len(request.body)
    if length is None or length == there:
        return _passed("content-length", f"{there:,} bytes")
    remedy = (
        "the capture was cut off: keep the whole body" if there < length else "the capture holds more than the body"
    )
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
        "verify with the field as it arrived; what rewrites it (adds a charset) breaks the signature",
    )


def _digest(request: CapturedRequest) -> Check:
    value, computed = request.field("content-digest"), content_digest(request.body)
    if value is None:
        return _failed("content-digest", "the field is missing", diagnosis.LOST_FIELD)
    if hmac.compare_digest(value.encode("latin-1", "replace"), computed.encode()):
        return _passed("content-digest", "the body is the one that was sent")
    if not value.startswith("sha-256=:"):
        return _failed("content-digest", "the field is no single sha-256 digest", diagnosis.FOREIGN)
    return _failed("content-digest", "the body is not the one that was sent", diagnosis.why_digest(request.body, value))


def _input(request: CapturedRequest) -> Check:
    name, value = "signature-input", request.field("signature-input")
    if value is None:
        return _failed(name, "the field is missing", diagnosis.LOST_FIELD)
    try:
        parse_input(value)
    except NotInProfile as deviation:
        return _failed(name, str(deviation), diagnosis.FOREIGN)
    return _passed(name, "one sig1 with the five components, our algorithm and our tag")


def _time(signed: SignatureInput | None, expected: Expectation, now: datetime) -> Check:
    name = "created, expires"
    if signed is None:
        return _unjudged(name, "cannot be read")
    age = now.timestamp() - signed.created
    if age < -expected.skew_s:
        return _failed(
            name, f"made {_seconds(-age)} after it came in", "the receiver's clock is behind: let it follow NTP"
        )
    limit = expected.max_age_s
    if signed.expires is not None:
        limit = min(limit, signed.expires - signed.created)
    if age > limit + expected.skew_s:
        made = datetime.fromtimestamp(min(signed.created, 253402300799), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return _failed(
            name,
            f"made {_seconds(age)} before it was judged, and holds for {limit} s",
            f"somebody repeats an old request, or the receiver's clock is ahead; to judge it as of then: --at {made}",
        )
    return _passed(name, f"made {_seconds(max(age, 0.0))} before, holds for {limit} s")


def _seconds(number: float) -> str:
    return f"{number:,.0f} s"


def _signature(request: CapturedRequest, expected: Expectation, signed: SignatureInput | None) -> Check:
    name, value = "signature", request.field("signature")
    if value is None:
        return _failed(name, "the field is missing", diagnosis.LOST_FIELD)
    if signed is None:
        return _unjudged(name, "cannot be judged without a Signature-Input of ours")
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
        return _failed(name, "the body is no event of ours in JSON", diagnosis.FOREIGN)
    if signed is not None and event["run_id"] != signed.key_id:
        return _failed(name, "the event is of another run than the signature's keyid says", diagnosis.FOREIGN)
    return _passed(name, f"{event['event']} of {event['run_id']}")


def envelope_of(body: bytes) -> dict[str, Any] | None:
    """The event in a body, None for what is none: at least event_id, event and run_id as text, and the attempt."""
    try:
        event = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(event, dict) or not isinstance(event.get("delivery_attempt"), int):
        return None
    return event if all(isinstance(event.get(name), str) for name in ("event_id", "event", "run_id")) else None
