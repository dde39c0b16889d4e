"""The endpoint of `listen`: receives requests as sent, verifies them, and answers by the script.

It behaves like a correct receiver: 401 if a request is not genuine, 2xx for duplicates; only genuine new deliveries
follow the script. An event counts as taken once a 2xx is decided, even if that is too late for the sender: therefore
receivers must deduplicate by event_id.
"""

import asyncio
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from aiohttp import web

from checklist_crds.times import Clock

from .answer_script import Answer, AnswerScript
from .captured_request import CapturedRequest
from .seen_deliveries import Novelty, SeenDeliveries
from .verification import Expectation, Report, envelope_of, verify

MAX_BODY: Final = 2 * 1024 * 1024
_REFUSED: Final = Answer(401)
_DUPLICATE: Final = Answer(204)


@dataclass(frozen=True, slots=True)
class Received:
    """A request and its result. `novelty` and `envelope` are None if it is not genuine."""

    request: CapturedRequest
    report: Report
    novelty: Novelty | None
    envelope: dict[str, Any] | None
    answer: Answer


Reporter = Callable[[Received], None]


class Listener:
    """Verifies and answers requests; calls `report` with each before it is answered."""

    def __init__(self, expected: Expectation, script: AnswerScript, *, report: Reporter, clock: Clock) -> None:
        self._expected = expected
        self._script = script
        self._report = report
        self._clock = clock
        self._seen = SeenDeliveries()
        self._under_way = 0
        self.answered = asyncio.Event()
        """Set while no request is being answered."""
        self.answered.set()

    def receive(self, request: CapturedRequest) -> Received:
        """Verify `request` and decide on the answer."""
        report = verify(request, self._expected, now=request.received_at or self._clock())
        envelope = envelope_of(request.body)
        if not report.is_genuine or report.input is None or envelope is None:
            return Received(request, report, None, None, _REFUSED)
        event_id = envelope["event_id"]
        novelty = self._seen.meet(report.input.key_id, report.input.nonce, event_id)
        if novelty is Novelty.COPIED:
            answer = _REFUSED
        elif novelty is Novelty.DUPLICATE:
            answer = _DUPLICATE
        else:
            answer = self._script.for_attempt(envelope["delivery_attempt"])
            if answer.accepts:
                self._seen.take(event_id)
        return Received(request, report, novelty, envelope, answer)

    async def handle(self, http: web.BaseRequest) -> web.StreamResponse:
        """The handler for aiohttp."""
        self._under_way += 1
        self.answered.clear()
        try:
            return await self._answer(http)
        finally:
            self._under_way -= 1
            if not self._under_way:
                self.answered.set()

    async def _answer(self, http: web.BaseRequest) -> web.Response:
        if http.method != "POST":
            return web.Response(status=405, headers={"Allow": "POST"})
        body = await _body(http)
        if body is None:
            return web.Response(status=413, headers={"Connection": "close"})
        fields = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in http.raw_headers)
        received = self.receive(CapturedRequest(http.method, http.raw_path, fields, body, self._clock()))
        self._report(received)
        await asyncio.sleep(received.answer.delay_s)
        if received.answer.status is None:
            if http.transport is not None:
                http.transport.abort()
            return web.Response()  # not sent: the connection is closed
        return web.Response(status=received.answer.status)


async def _body(http: web.BaseRequest) -> bytes | None:
    """The bytes of the body, None if there are too many."""
    parts, length = [], 0
    async for part in http.content.iter_any():
        length += len(part)
        if length > MAX_BODY:
            return None
        parts.append(part)
    return b"".join(parts)


class Endpoint:
    """A Listener on a bound socket, since signatures cover the URL with its port."""

    def __init__(self, listener: Listener, bound: socket.socket, tls: ssl.SSLContext | None = None) -> None:
        self._listener = listener
        self._bound = bound
        self._tls = tls
        self._runner: web.ServerRunner | None = None

    async def start(self) -> None:
        # The signature covers the bytes as sent, so Content-Encoding is not decoded.
        server = web.Server(self._listener.handle, access_log=None, auto_decompress=False)
        self._runner = web.ServerRunner(server, shutdown_timeout=1.0)
        await self._runner.setup()
        await web.SockSite(self._runner, self._bound, ssl_context=self._tls).start()

    async def stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()


def bind(host: str, port: int) -> socket.socket:
    """A socket on `host`; port 0 selects a free one. Raises OSError."""
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    bound = socket.socket(family, kind, protocol)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
    except OSError:
        bound.close()
        raise
    return bound
