"""Captured requests in the forms in which people have them."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checklist_cli.receiver import capture_formats
from checklist_cli.receiver.capture_formats import CaptureUnreadable
from checklist_cli.receiver.captured_request import CapturedRequest

BODY = b'{"a":1}'
RAW = b"POST /hook?x=1 HTTP/1.1\r\nHost: a.example\r\nContent-Length: 7\r\nX-Two: 1\r\nx-two:  2 \r\n\r\n" + BODY


def test_a_raw_request_is_read_as_it_is_but_for_what_an_editor_added_to_its_end() -> None:
    request = capture_formats.from_raw_http(RAW)
    assert (request.method, request.target, request.body) == ("POST", "/hook?x=1", BODY)
    assert [request.field(name) for name in ("HOST", "X-Two", "absent")] == ["a.example", "1, 2", None]
    for end in (b"\n", b"\r\n", b"\r\n\r\n"):
        assert capture_formats.from_raw_http(RAW + end).body == BODY
    request = capture_formats.from_raw_http(RAW + b"GET ")
    assert (len(request.body), request.declared_length) == (11, 7), "other bytes are kept"
    # A head with bare line feeds is read, and the body is not touched.
    raw = RAW.partition(b"\r\n\r\n")[0].replace(b"\r\n", b"\n").replace(b": 7", b": 4") + b"\n\n" + b"\r\n\r\n"
    request = capture_formats.from_raw_http(raw)
    assert (request.field("host"), request.body) == ("a.example", b"\r\n\r\n")


def test_header_lines_may_bear_the_marks_of_curl_and_need_no_request_line() -> None:
    head = "* Connected to a.example\n> POST /hook HTTP/1.1\n> Host: a.example\n> X-Two: 1\n> \n"
    request = capture_formats.from_head(head, BODY)
    assert (request.method, request.target) == ("POST", "/hook")
    assert request.fields == (("Host", "a.example"), ("X-Two", "1"))
    request = capture_formats.from_head("Host: a.example", BODY, method="PUT")
    assert (request.method, request.target) == ("PUT", "")


def test_what_is_no_request_is_refused_with_the_reason() -> None:
    for raw, why in (
        (b"POST / HTTP/1.1\r\nHost: x", "no empty line"),
        (b"POST / HTTP/1.1\r\n\r\n", "no header fields"),
        (b"POST / HTTP/1.1\r\nHost x\r\n\r\n", "line 1"),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "transfer coding"),
        (b'{"some": "json"}', "not written by"),
        (b"{" * 100_000, "damaged"),
        (b'{"checklist_dispatch_capture": 1}', "damaged"),
        (b'{"checklist_dispatch_capture": 1, "method": 1, "target": "", "headers": [], "body_base64": ""}', "damaged"),
    ):
        with pytest.raises(CaptureUnreadable, match=why):
            capture_formats.read(raw)


texts = st.text(st.characters(max_codepoint=255))


@given(
    method=texts,
    target=texts,
    fields=st.lists(st.tuples(texts, texts)),
    body=st.binary(),
    at=st.none() | st.just(datetime(2026, 11, 21, 13, 50, 0, 123000, tzinfo=UTC)),
    url=texts,
)
def test_what_was_saved_is_read_back_byte_for_byte(
    *, method: str, target: str, fields: list[tuple[str, str]], body: bytes, at: datetime | None, url: str
) -> None:
    request = CapturedRequest(method, target, tuple(fields), body, at)
    assert capture_formats.read(capture_formats.to_json(request, url=url).encode()) == (request, url)


@given(
    st.binary(max_size=200)
    | st.text().map(lambda text: ("{" + text).encode("utf-8", "replace"))
    | st.binary(max_size=50).map(lambda raw: b"POST / HTTP/1.1\r\nHost: a\r\n" + raw + b"\r\n\r\nbody")
)
def test_bytes_are_a_request_or_are_refused_and_nothing_else(raw: bytes) -> None:
    try:
        request, _ = capture_formats.read(raw)
    except CaptureUnreadable as reason:
        assert str(reason)
    else:
        assert request.fields
