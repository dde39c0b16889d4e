"""Deliveries as the real sender puts them on a socket, byte for byte; and a service that answers as a test says."""

import json
import ssl
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from tests.raw_receiver import raw_receiver
from tests.signatures.recording import no_content

from checklist_operator.transport.addresses import AddressPolicy
from checklist_operator.transport.outcome import Outcome
from checklist_operator.transport.sender import Sender, tls_context

SECRET = "a secret of sixteen characters or more"
RUN = "r-0b9c7a52-6f0e-4f58-9a0c-3c1c9a9f2f10"
CREATED = datetime(2026, 11, 21, 13, 50, 0, tzinfo=UTC)
KEY = "cds_live_of_the_test"
TEMPLATE = "t-0b9c7a52-6f0e-4f58-9a0c-3c1c9a9f2f10"
LINK = f"https://checklists.example/r/{RUN}#token"
DISPATCHED = {"run_id": RUN, "link": LINK, "expires_at": None, "assigned_to": None}
Capture = pytest.CaptureFixture[str]


def envelope(**changes: Any) -> bytes:
    """An event as it is sent: compact, in UTF-8."""
    event = {
        "event_id": "evt-1",
        "delivery_attempt": 1,
        "event": "run.completed",
        "run_id": RUN,
        "ts": "2026-11-21T13:49:59.000Z",
        "seq": 3,
        "data": {"note": "☃ snow, 4 °C", "list": [1, 2.5, None]},
    }
    return json.dumps(event | changes, ensure_ascii=False, separators=(",", ":")).encode()


async def send_to(
    url: str, body: bytes | None = None, *, secret: str = SECRET, tls: ssl.SSLContext | None = None, **settings: Any
) -> Outcome:
    """What comes of a transmission of the real sender."""
    key_id = settings.pop("key_id", RUN)
    async with Sender(AddressPolicy(allow_insecure=True), ssl_context=tls or tls_context(), **settings) as sender:
        return await sender.send(url, envelope() if body is None else body, secret.encode(), key_id)


@dataclass(frozen=True)
class Sent:
    """What one transmission put on the wire."""

    url: str
    head: bytes
    body: bytes

    @property
    def raw(self) -> bytes:
        return self.head + b"\r\n\r\n" + self.body


Send = Callable[..., Awaitable[Sent]]


@pytest.fixture
async def send() -> AsyncIterator[Send]:
    """`await send(path="/hook", body=..., secret=...)`: a delivery of the real sender, created at CREATED."""
    async with raw_receiver(no_content) as receiver:

        async def once(path: str = "/hook", body: bytes | None = None, **settings: Any) -> Sent:
            url = f"http://127.0.0.1:{receiver.port}{path}"
            outcome = await send_to(url, body, **{"clock": lambda: CREATED, **settings})
            assert outcome.ok, outcome
            head, _, content = receiver.requests.pop().raw.partition(b"\r\n\r\n")
            return Sent(url, head, content)

        yield once


@dataclass
class Answer:
    """`content` in chunks, the last of which is missing where it `breaks`."""

    content: bytes
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    breaks: bool = False


def said(document: Any, status: int = 200, **headers: str) -> Answer:
    """`Retry_After` stands for `Retry-After`."""
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    return Answer(json.dumps(document).encode(), status, named)


def refused(status: int, code: str, message: str = "Not now.", **headers: str) -> Answer:
    return said({"error": code, "message": message}, status, **headers)


@dataclass(frozen=True)
class Asked:
    path: str
    query: dict[str, str]
    authorization: str | None
    body: Any
    idempotency_key: str | None = None


class Service(ThreadingHTTPServer):
    """Gives one answer after the other, the last one for ever, and keeps what it was asked."""

    daemon_threads = True
    answers: list[Answer]
    asked: list[Asked]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Service

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"null")
        key = self.headers["Idempotency-Key"]
        asked = Asked(parts.path, dict(parse_qsl(parts.query)), self.headers["Authorization"], body, key)
        self.server.asked.append(asked)
        answers = self.server.answers
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        self.send_response(answer.status)
        for name, value in {"Transfer-Encoding": "chunked", **answer.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(b"%x\r\n%b\r\n" % (len(answer.content), answer.content))
        if answer.breaks:
            self.close_connection = True
        else:
            self.wfile.write(b"0\r\n\r\n")

    do_POST = do_GET

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def service() -> Iterator[Service]:
    server = Service(("127.0.0.1", 0), _Handler)
    server.answers, server.asked = [Answer(b"run_id\r\nr-1\r\n")], []
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()
