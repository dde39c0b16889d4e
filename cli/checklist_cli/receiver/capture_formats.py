"""File formats of captured requests: raw HTTP, header lines and a body, or the JSON of `listen --save`.

The head is decoded as ISO 8859-1, as in HTTP. Its line ends may be LF, since editors and mail change them; a body is
never changed.
"""

import base64
import json
import os
import re
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from checklist_crds.times import format_timestamp, parse_timestamp

from .captured_request import CapturedRequest
from .listener import Received

_FORMAT: Final = "checklist_dispatch_capture"
_FORMAT_VERSION: Final = 1
_REQUEST_LINE: Final = re.compile(r"([A-Z]+) (\S+) HTTP/\d(?:\.\d)?")
_FIELD_LINE: Final = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(.*?)[ \t]*")
_END_OF_HEAD: Final = re.compile(rb"\r?\n\r?\n")
# `curl -v` marks what it sent with "> ", and its own messages with "* ".
_CURL_MARK: Final = re.compile(r"^> ?")


class CaptureUnreadable(ValueError):
    """The request cannot be read; the message says why."""


def read(raw: bytes) -> tuple[CapturedRequest, str | None]:
    """Read a request from JSON or raw HTTP, and the configured URL if the file contains it.

    Raises CaptureUnreadable.
    """
    if raw.lstrip()[:1] == b"{":
        return from_json(raw)
    return from_raw_http(raw), None


def from_raw_http(raw: bytes) -> CapturedRequest:
    """Parse a whole request: request line, fields, empty line, body. Raises CaptureUnreadable."""
    end = _END_OF_HEAD.search(raw)
    if end is None:
        raise CaptureUnreadable("no empty line ends the header fields, so there is no body to verify")
    request = from_head(raw[: end.start()].decode("latin-1"), raw[end.end() :])
    if request.field("transfer-encoding") is not None:
        raise CaptureUnreadable(
            "the body has a transfer coding, which a proxy added: capture it after decoding, or give the decoded body "
            "with --body and the fields with --headers"
        )
    length = request.declared_length
    if length is not None and len(request.body) > length and not request.body[length:].strip(b"\r\n"):
        # An editor or `echo` adds a line end to a file; the body ends where Content-Length says.
        return CapturedRequest(request.method, request.target, request.fields, request.body[:length])
    return request


def from_head(head: str, body: bytes, *, method: str = "POST", target: str = "") -> CapturedRequest:
    """Parse header lines, optionally after a request line or marked by `curl -v`. Raises CaptureUnreadable."""
    lines = [_CURL_MARK.sub("", line) for line in head.replace("\r\n", "\n").split("\n")]
    lines = [line for line in lines if line.strip() and not line.startswith("* ")]
    start = _REQUEST_LINE.fullmatch(lines[0].strip()) if lines else None
    if start is not None:
        method, target = start[1], start[2]
        del lines[0]
    fields = []
    for number, line in enumerate(lines, start=1):
        field = _FIELD_LINE.fullmatch(line)
        if field is None:
            raise CaptureUnreadable(f"line {number} of the header fields is not `Name: value`")
        fields.append((field[1], field[2]))
    if not fields:
        raise CaptureUnreadable("there are no header fields")
    return CapturedRequest(method, target, tuple(fields), body)


def to_json(request: CapturedRequest, *, url: str) -> str:
    """The request with the configured URL; `envelope` is for reading, `body_base64` is authoritative."""
    document = {
        _FORMAT: _FORMAT_VERSION,
        "received_at": format_timestamp(request.received_at) if request.received_at else None,
        "url": url,
        "method": request.method,
        "target": request.target,
        "headers": request.fields,
        "body_base64": base64.b64encode(request.body).decode(),
        "envelope": _envelope(request.body),
    }
    return json.dumps(document, indent=2, ensure_ascii=True) + "\n"


def from_json(raw: bytes) -> tuple[CapturedRequest, str | None]:
    """Parse the result of `to_json`. Raises CaptureUnreadable."""
    try:
        document = json.loads(raw)
        if document.get(_FORMAT) != _FORMAT_VERSION:
            raise CaptureUnreadable("this JSON was not written by `checklist-dispatch listen --save`")
        request = CapturedRequest(
            method=_text(document["method"]),
            target=_text(document["target"]),
            fields=tuple(_pairs(document["headers"])),
            body=base64.b64decode(document["body_base64"], validate=True),
            received_at=_moment(document.get("received_at")),
        )
        url = document.get("url")
        return request, None if url is None else _text(url)
    except CaptureUnreadable:
        raise
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise CaptureUnreadable(f"the JSON is damaged: {type(error).__name__}") from None


def _envelope(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("not text")
    return value


def _pairs(headers: Iterable[Any]) -> Iterable[tuple[str, str]]:
    for name, value in headers:
        yield _text(name), _text(value)


def _moment(text: str | None) -> datetime | None:
    return None if text is None else parse_timestamp(text)


_UNFIT: Final = re.compile(r"[^A-Za-z0-9._-]+")


class CaptureFolder:
    """Saves requests of `listen --save` in order of arrival: `0001-run.completed-attempt-1.json`.

    Existing files are kept, and only the owner can read new ones.
    """

    def __init__(self, folder: Path, *, url: str) -> None:
        self._folder = folder
        self._url = url
        self._number = 0

    def prepare(self) -> None:
        """Raises OSError."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)

    def save(self, received: Received) -> Path:
        """Returns the file that was written. Raises OSError."""
        text = to_json(received.request, url=self._url)
        while True:
            self._number += 1
            path = self._folder / f"{self._number:04}-{_about(received)}.json"
            try:
                descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            except FileExistsError:
                continue
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(text)
            return path


def _about(received: Received) -> str:
    event = received.envelope
    if event is None or not received.report.is_genuine:
        return "refused"
    return _UNFIT.sub("_", f"{event['event']}-attempt-{event['delivery_attempt']}")[:64]
