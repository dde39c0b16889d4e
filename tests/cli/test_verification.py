"""The verification that `listen` and `verify` share: what it says about what it refuses.

What it accepts and refuses is what all verifiers do (tests/signatures/).
"""

import base64
import json
from datetime import datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st
from tests.cli.conftest import CREATED, RUN, SECRET, Send, Sent, envelope

from checklist_cli.receiver.capture_formats import from_raw_http
from checklist_cli.receiver.captured_request import CapturedRequest
from checklist_cli.receiver.verification import Expectation, Report, Verdict, verify


def judge(raw: bytes, url: str, secret: str = SECRET, *, now: datetime = CREATED + timedelta(seconds=1)) -> Report:
    return verify(from_raw_http(raw), Expectation(url, secret.encode()), now=now)


def failed(report: Report) -> list[str]:
    return [check.name for check in report.checks if check.verdict is Verdict.FAILED]


def remedy(name: str, report: Report) -> str:
    return next(check.remedy or "" for check in report.checks if check.name == name)


def replaced(sent: Sent, old: str, new: str) -> bytes:
    """The request with a text of its head replaced; it must be there exactly once."""
    assert sent.head.count(old.encode()) == 1, sent.head
    return sent.head.replace(old.encode(), new.encode()) + b"\r\n\r\n" + sent.body


async def test_a_secret_that_is_nearly_right_is_noticed_and_not_repeated(send: Send) -> None:
    for secret, used, cause in (
        (SECRET, SECRET + "\n", "line end around the secret"),
        (SECRET, f'"{SECRET}"', "quotes around the secret"),
        (SECRET + "\n", SECRET, "ends in white space"),
        ("MTIzNDU2Nzg5MDEyMzQ1Ng==", "1234567890123456", "not what they decode to"),
        ("1234567890123456", "MTIzNDU2Nzg5MDEyMzQ1Ng==", "was what this one decodes to"),
        (b"1234567890123456".hex(), "1234567890123456", "not what they decode to"),
    ):
        sent = await send(secret=secret)
        report = judge(sent.raw, sent.url, used)
        assert failed(report) == ["signature"], used
        assert cause in remedy("signature", report)
        for text in (secret, used):
            parts = (text[3:15], base64.b64encode(text.encode()).decode()[:12])
            assert not any(part in repr(report) for part in parts)


async def test_the_url_that_the_signature_is_for_is_named(send: Send) -> None:
    sent = await send("/hook?x=1")
    host = sent.url.split("/")[2]
    here = (f"https://{host}/hook?x=1", f"http://{host}/hook/?x=1", f"http://{host}/hook")
    for wrong in (*here, "https://hooks.example.com/hook?x=1", "http://localhost/other"):
        report = judge(sent.raw, wrong)
        assert failed(report) == ["signature"], wrong
        assert f"the URL is {sent.url} " in remedy("signature", report)
    # Also one that only the proxy knows.
    report = judge(replaced(sent, f"Host: {host}", f"Host: inner:80\r\nX-Forwarded-Host: {host}"), "https://inner/hook")
    assert f"the URL is {sent.url} " in remedy("signature", report)


async def test_a_request_that_came_for_another_url_than_the_one_that_is_signed_is_named(send: Send) -> None:
    sent = await send("/hook?a=b")
    for old, new, came_as in (
        ("POST /hook?a=b", "POST /admin", "/admin"),
        ("Host: ", "Host: other.example,", "other.example,"),
        ("Host: ", "Host: ", None),
    ):
        report = judge(replaced(sent, old, new), sent.url)
        assert report.is_genuine, "behind a proxy it is"
        said = next(check.says for check in report.checks if check.name == "url")
        assert said == sent.url if came_as is None else (f"{sent.url}; it arrived as " in said and came_as in said)


async def test_how_a_body_was_changed_is_named(send: Send) -> None:
    plain = envelope()
    pretty = b'{"event_id":"evt-1",\n"delivery_attempt":1,"event":"run.completed","run_id":"' + RUN.encode() + b'"}'
    for body, changed, cause in (
        (plain, plain + b"\n", "a line end was added"),
        (pretty, pretty.replace(b"\n", b"\r\n"), "changed to CRLF"),
        (plain, b"\xef\xbb\xbf" + plain, "byte order mark"),
        (plain, json.dumps(json.loads(plain)).encode(), "parsed and written again"),
        (plain, plain[:-20], "before anything parses"),
    ):
        sent = await send(body=body)
        request = from_raw_http(sent.raw)
        fields = tuple((name, value) for name, value in request.fields if name.lower() != "content-length")
        altered = CapturedRequest("POST", request.target, fields, changed)
        report = verify(altered, Expectation(sent.url, SECRET.encode()), now=CREATED)
        assert failed(report)[0] == "content-digest"
        assert cause in remedy("content-digest", report)


async def test_a_changed_content_type_a_capture_cut_off_and_age_are_named(send: Send) -> None:
    sent = await send(expires_s=60)
    report = judge(replaced(sent, "application/json", "application/json; charset=utf-8"), sent.url)
    assert "Content-Type was application/json" in remedy("signature", report)
    report = judge(sent.raw[:-3], sent.url)
    assert failed(report) == ["content-length", "content-digest", "envelope"]
    assert "truncated" in remedy("content-length", report)
    report = judge(sent.raw, sent.url, now=CREATED + timedelta(seconds=66))
    assert failed(report) == ["created, expires"]
    assert "--at 2026-11-21T13:50:00Z" in remedy("created, expires", report)


async def test_a_signed_body_that_is_no_event_of_that_run_is_refused(send: Send) -> None:
    sent = await send(key_id="r-another")
    assert failed(judge(sent.raw, sent.url)) == ["envelope"]
    for body in (b"", b"[]", b"{}", b"\xff", b'{"event_id":1}', b"[" * 100_000):
        sent = await send(body=body)
        assert failed(judge(sent.raw, sent.url)) == ["envelope"]


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
def test_no_request_breaks_verification(method: str, target: str, fields: list[tuple[str, str]], body: bytes) -> None:
    request = CapturedRequest(method, target, tuple(fields), body)
    report = verify(request, Expectation("https://hooks.example.com/hook", SECRET.encode()), now=CREATED)
    assert not report.is_genuine
