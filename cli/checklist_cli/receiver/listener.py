"""The endpoint of `listen`: takes a request as it is on the wire, has it judged, answers as it was told.

It answers like a good receiver: 401 to what is not genuine, 2xx to duplicates, and only genuine new deliveries follow
the script. An event counts as taken when a 2xx is decided on, even if that comes too late for the sender: this is the
case for which receivers must know event_id.
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
    """One request and what became of it. `novelty` and `envelope` are None when it is not genuine."""

    request: CapturedRequest
    report: Report
    novelty: Novelty | None
    envelope: dict[str, Any] | None
    answer: Answer


Tell = Callable[[Received], None]


class Listener:
    """Judges and answers requests; `tell` hears of each one before it is answered."""

    def __init__(self, expected: Expectation, script: AnswerScript, *, tell: Tell, clock: Clock) -> None:
        self._expected = expected
        self._script = script
        self._tell = tell
        self._clock = clock
        self._seen = SeenDeliveries()
        self._under_way = 0
        self.answered = asyncio.Event()
        """Set while no request waits for its answer."""
        self.answered.set()

    def receive(self, request: CapturedRequest) -> Received:
        """Judge `request` and decide on the answer."""
        report = verify(request, self._expected, now=request.received_at or self._clock())
        envelope = envelope_of(request.body)
        if not report.is_genuine or report.input is None or envelope is None:
            return Received(request, report, None, None, _REFUSED)
        event_id = envelope["event_id"]
        novelty = self._seen.meet(report.input.key_id, report.input.nonce, event_id)
        if novelty is Novelty.REPLAYED:
            answer = _REFUSED
        elif novelty is Novelty.DUPLICATE:
            answer = _DUPLICATE
        else:
            answer = self._script.for_attempt(envelope["delivery_attempt"])
            if answer.accepts:
                self._seen.take(event_id)
        return Received(request, report, novelty, envelope, answer)

    async def handle(self, http: web.BaseRequest) -> web.StreamResponse:
        """As aiohttp wants it."""
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
        self._tell(received)
        await asyncio.sleep(received.answer.delay_s)
        if received.answer.status is None:
            if http.transport is not None:
                http.transport.abort()
            return web.Response()  # nobody hears it
        return web.Response(status=received.answer.status)


async def _body(http: web.BaseRequest) -> bytes | None:
    """The bytes of the body, None when there are too many."""
    parts, length = [], 0
    async for part in http.content.iter_any():
        length += len(part)
        if length > MAX_BODY:
            return None
        parts.append(part)
    return b"".join(parts)


class Endpoint:
    """A Listener on a socket that is bound already, because signatures cover the URL with its port."""

    def __init__(self, listener: Listener, bound: socket.socket, tls: ssl.SSLContext | None = None) -> None:
        self._listener = listener
        self._bound = bound
        self._tls = tls
        self._runner: web.ServerRunner | None = None

    async def start(self) -> None:
        # The bytes that were signed are those on the wire, whatever Content-Encoding says.
        server = web.Server(self._listener.handle, access_log=None, auto_decompress=False)
        self._runner = web.ServerRunner(server, shutdown_timeout=1.0)
        await self._runner.setup()
        await web.SockSite(self._runner, self._bound, ssl_context=self._tls).start()

    async def stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()


def bind(host: str, port: int) -> socket.socket:
    """A socket on `host`, for port 0 on a free one. Raises OSError."""
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    bound = socket.socket(family, kind, protocol)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
    except OSError:
        bound.close()
        raise
    return bound
