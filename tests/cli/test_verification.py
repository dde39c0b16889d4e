"""The verification that `listen` and `verify` share: what it accepts, what it refuses, and what it says about it."""

import base64
import json
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cli.conftest import CREATED, RUN, SECRET, Send, Sent, envelope

from checklist_cli.capture_formats import from_raw_http
from checklist_cli.captured_request import CapturedRequest
from checklist_cli.verification import Check, Expectation, Report, Verdict, verify


def judge(
    raw: bytes, url: str, secret: str = SECRET, *, now: datetime = CREATED + timedelta(seconds=1), **expected: Any
) -> Report:
    return verify(from_raw_http(raw), Expectation(url, secret.encode(), **expected), now=now)


def failed(report: Report) -> list[str]:
    return [check.name for check in report.checks if check.verdict is Verdict.FAILED]


def the(name: str, report: Report) -> Check:
    return next(check for check in report.checks if check.name == name)


def replaced(sent: Sent, old: str, new: str) -> bytes:
    """The request with a text of its head replaced; it must be there exactly once."""
    assert sent.head.count(old.encode()) == 1, sent.head
    return sent.head.replace(old.encode(), new.encode()) + b"\r\n\r\n" + sent.body


async def test_what_the_service_sends_is_genuine(send: Send) -> None:
    for path in ("/hook", "/", "/a%2Fb/?q=%27x%27&y", "/%E2%98%83?"):
        sent = await send(path)
        report = judge(sent.raw, sent.url.removesuffix("?"))
        assert report.is_genuine, report
        assert report.first_failure is None
        assert all(check.remedy is None for check in report.checks)


async def test_a_signature_without_expires_is_genuine_too(send: Send) -> None:
    sent = await send(expires_s=0)
    assert b"expires" not in sent.head
    assert judge(sent.raw, sent.url).is_genuine


ALTERED = {
    "method": ("POST /hook", "PUT /hook", ["method", "signature"]),
    "content type": ("Content-Type: application/json", "Content-Type: text/json", ["content-type", "signature"]),
    "digest": ("Content-Digest: sha-256=:", "Content-Digest: sha-256=:A", ["content-digest", "signature"]),
    "another algorithm of digest": ("Content-Digest: sha-256", "Content-Digest: md5", ["content-digest", "signature"]),
    "created": (";created=1795269000", ";created=1795269001", ["signature"]),
    "keyid": (f'keyid="{RUN}"', 'keyid="r-1"', ["signature", "envelope"]),
    "alg": ('alg="hmac-sha256"', 'alg="rsa-v1_5-sha256"', ["signature-input"]),
    "expires": (";expires=1795269300", ";expires=1795269301", ["signature"]),
    "expires, gone": (";expires=1795269300", "", ["signature"]),
    "nonce": (';nonce="', ';nonce="x', ["signature"]),
    "nonce, gone": (";nonce=", ";nounce=", ["signature-input"]),
    "tag": ("checklist-dispatch/v1", "checklist-dispatch/v2", ["signature-input"]),
    "label": ("Signature-Input: sig1=", "Signature-Input: sig2=", ["signature-input"]),
    "label of the signature": ("Signature: sig1=", "Signature: sig2=", ["signature"]),
    "order of components": (
        '"@method" "@target-uri"', '"@target-uri" "@method"', ["signature-input"],
    ),
    "a component less": (' "content-digest")', ")", ["signature-input"]),
    "a component more": (' "content-digest")', ' "content-digest" "date")', ["signature-input"]),
    "a second signature": ("Signature: sig1=", "Signature: sig0=:AAAA:, sig1=", ["signature"]),
    "a second input": ("Signature-Input: sig1=", 'Signature-Input: sig0=("@method"), sig1=', ["signature-input"]),
    "signature": ("Signature: sig1=:", "Signature: sig1=:AAAA", ["signature"]),
    "no digest": ("Content-Digest:", "X-Digest:", ["content-digest", "signature"]),
    "no input": ("Signature-Input:", "X-Input:", ["signature-input"]),
    "no signature": ("\r\nSignature:", "\r\nX-Signature:", ["signature"]),
    "no content type": ("Content-Type:", "X-Type:", ["content-type", "signature"]),
}  # fmt: skip


@pytest.mark.parametrize("what", ALTERED)
async def test_the_check_of_what_was_altered_fails(send: Send, what: str) -> None:
    old, new, checks = ALTERED[what]
    sent = await send()
    report = judge(replaced(sent, old, new), sent.url)
    assert not report.is_genuine
    assert failed(report) == checks
    assert all(check.remedy for check in report.checks if check.verdict is Verdict.FAILED)


async def test_a_flipped_bit_anywhere_in_what_is_signed_is_noticed(send: Send) -> None:
    sent = await send()
    request = from_raw_http(sent.raw)
    signed = ("content-type", "content-digest", "signature-input", "signature")
    flips = 0
    for number, (name, value) in enumerate(request.fields):
        if name.lower() in signed:
            for position in range(len(value)):
                flipped = value[:position] + chr(ord(value[position]) ^ 1 << position % 7) + value[position + 1 :]
                fields = (*request.fields[:number], (name, flipped), *request.fields[number + 1 :])
                altered = CapturedRequest(request.method, request.target, fields, request.body)
                report = verify(altered, Expectation(sent.url, SECRET.encode()), now=CREATED)
                assert not report.is_genuine, (name, flipped)
                flips += 1
    for position in range(len(request.body)):
        body = bytearray(request.body)
        body[position] ^= 1 << position % 8
        altered = CapturedRequest(request.method, request.target, request.fields, bytes(body))
        assert "content-digest" in failed(verify(altered, Expectation(sent.url, SECRET.encode()), now=CREATED))
        flips += 1
    assert flips > 400


async def test_a_delivery_is_for_one_url_and_one_secret(send: Send) -> None:
    sent = await send("/hook?a=b")
    for url in (sent.url + "c", sent.url.replace("/hook", "/hooks"), sent.url.replace("127.0.0.1", "127.0.0.2")):
        assert failed(judge(sent.raw, url)) == ["signature"]
    assert failed(judge(sent.raw, sent.url, "another secret of sixteen")) == ["signature"]


@pytest.mark.parametrize(
    ("seconds", "is_fresh"), [(-5, True), (-6, False), (0, True), (305, True), (306, False), (86_400, False)]
)
async def test_a_delivery_is_fresh_for_five_minutes_and_clocks_may_differ_by_five_seconds(
    send: Send, seconds: int, is_fresh: bool
) -> None:
    sent = await send()
    report = judge(sent.raw, sent.url, now=CREATED + timedelta(seconds=seconds))
    assert report.is_genuine is is_fresh
    assert failed(report) == ([] if is_fresh else ["created, expires"])


async def test_what_has_expired_is_refused_before_its_greatest_age(send: Send) -> None:
    sent = await send(expires_s=60)
    assert judge(sent.raw, sent.url, now=CREATED + timedelta(seconds=65)).is_genuine
    late = judge(sent.raw, sent.url, now=CREATED + timedelta(seconds=66))
    assert failed(late) == ["created, expires"]
    assert "--at 2026-11-21T13:50:00Z" in (the("created, expires", late).remedy or "")


@pytest.mark.parametrize(
    ("secret", "used", "cause"),
    [
        (SECRET, SECRET + "\n", "a line end around it"),
        (SECRET, f'"{SECRET}"', "quotes around it"),
        (SECRET + "\n", SECRET, "ends in white space"),
        ("MTIzNDU2Nzg5MDEyMzQ1Ng==", "1234567890123456", "not what they decode to"),
        ("1234567890123456", "MTIzNDU2Nzg5MDEyMzQ1Ng==", "was what this one decodes to"),
        (b"1234567890123456".hex(), "1234567890123456", "not what they decode to"),
    ],
)
async def test_a_secret_that_is_nearly_right_is_told(send: Send, secret: str, used: str, cause: str) -> None:
    sent = await send(secret=secret)
    report = judge(sent.raw, sent.url, used)
    assert failed(report) == ["signature"]
    assert cause in (the("signature", report).remedy or "")


@pytest.mark.parametrize("wrong", ["https://{host}/hook?x=1", "http://{host}/hook/?x=1", "http://{host}/hook",
                                   "https://hooks.example.com/hook?x=1", "http://localhost/other"])  # fmt: skip
async def test_the_url_that_the_signature_is_for_is_told(send: Send, wrong: str) -> None:
    sent = await send("/hook?x=1")
    host = sent.url.split("/")[2]
    report = judge(sent.raw, wrong.format(host=host))
    assert failed(report) == ["signature"]
    assert f"the URL is {sent.url} " in (the("signature", report).remedy or "")


async def test_a_url_that_only_the_proxy_knows_is_told(send: Send) -> None:
    sent = await send("/hook")
    original = sent.url.split("/")[2]
    raw = replaced(sent, f"Host: {original}", f"Host: inner:80\r\nX-Forwarded-Host: {original}")
    report = judge(raw, "https://inner/hook")
    assert f"the URL is {sent.url} " in (the("signature", report).remedy or "")


async def test_a_request_that_came_for_another_url_than_the_one_that_is_signed_is_told(send: Send) -> None:
    sent = await send("/hook?a=b")
    assert the("url", judge(sent.raw, sent.url)).says == sent.url
    for old, new, came_as in (
        ("POST /hook?a=b", "POST /admin", "/admin"),
        ("Host: ", "Host: other.example,", "other.example,"),
    ):
        report = judge(replaced(sent, old, new), sent.url)
        assert report.is_genuine, "behind a proxy it is"
        assert f"{sent.url}; it came as " in the("url", report).says
        assert came_as in the("url", report).says


async def test_a_content_type_that_a_proxy_rewrote_is_told(send: Send) -> None:
    sent = await send()
    report = judge(replaced(sent, "application/json", "application/json; charset=utf-8"), sent.url)
    assert "Content-Type was application/json" in (the("signature", report).remedy or "")


def spaced(body: bytes) -> bytes:
    return json.dumps(json.loads(body)).encode()


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        (lambda body: body + b"\n", "a line end was added"),
        (lambda body: body.replace(b"\n", b"\r\n"), "changed to CRLF"),
        (lambda body: b"\xef\xbb\xbf" + body, "byte order mark"),
        (spaced, "parsed and written again"),
        (lambda body: body[:-20], "before anything parses"),
    ],
)
async def test_how_a_body_was_changed_is_told(send: Send, change: Any, cause: str) -> None:
    pretty = b'{"event_id":"evt-1",\n"delivery_attempt":1,"event":"run.completed","run_id":"' + RUN.encode() + b'"}'
    sent = await send(body=pretty if b"\r\n" in change(b"{\n}") else envelope())
    request = from_raw_http(sent.raw)
    fields = tuple((name, value) for name, value in request.fields if name.lower() != "content-length")
    altered = CapturedRequest("POST", request.target, fields, change(request.body))
    report = verify(altered, Expectation(sent.url, SECRET.encode()), now=CREATED)
    assert failed(report)[0] == "content-digest"
    assert cause in (the("content-digest", report).remedy or "")


async def test_a_capture_that_was_cut_off_says_so(send: Send) -> None:
    sent = await send()
    report = judge(sent.raw[:-3], sent.url)
    assert failed(report) == ["content-length", "content-digest", "envelope"]
    assert "cut off" in (the("content-length", report).remedy or "")


async def test_an_event_of_another_run_than_the_signature_says_is_refused(send: Send) -> None:
    sent = await send(key_id="r-another")
    assert failed(judge(sent.raw, sent.url)) == ["envelope"]


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b"\xff", b'{"event_id":1}', b"[" * 100_000])
async def test_a_signed_body_that_is_no_event_is_refused(send: Send, body: bytes) -> None:
    sent = await send(body=body)
    assert failed(judge(sent.raw, sent.url)) == ["envelope"]


async def test_no_report_holds_any_part_of_the_secret(send: Send) -> None:
    secret = "correct-horse-battery-staple"
    sent = await send()
    for report in (judge(sent.raw, sent.url, secret), judge(sent.raw, "http://x/", secret + "\n")):
        assert not any(word in repr(report) for word in ("horse", base64.b64encode(secret.encode()).decode()[:12]))
    assert "horse" not in repr(Expectation(sent.url, secret.encode()))


texts = st.text(st.characters(max_codepoint=255), max_size=60)
names = st.sampled_from(["signature", "signature-input", "content-digest", "content-type", "content-length", "host"])
inputs = st.builds(
    'sig1=("@method" "@target-uri" "@authority" "content-type" "content-digest"){}'.format,
    st.sampled_from([";created=1", ";created=999999999999999", ';created=1;keyid="é"', ';keyid="\\"', ";;=", ""]),
)


@given(
    method=texts,
    target=texts,
    fields=st.lists(st.tuples(names, texts | inputs), max_size=6),
    body=st.binary(max_size=80) | st.sampled_from([b'{"a":' * 50_000, b'{"event_id":"\\ud800"}', b"9" * 5000]),
)
def test_no_request_whatever_breaks_the_verification(
    method: str, target: str, fields: list[tuple[str, str]], body: bytes
) -> None:
    request = CapturedRequest(method, target, tuple(fields), body)
    report = verify(request, Expectation("https://hooks.example.com/hook", SECRET.encode()), now=CREATED)
    assert not report.is_genuine
