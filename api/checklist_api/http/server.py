"""Accepts, limits and drains connections.

What is refused before there is a request, bytes that are no HTTP or heads that are too long, aiohttp would answer in
its own words, tell its own and Python's exact version, repeat what it was sent, and log it: be that a photo whose
length was wrong, or somebody's key.

And at the end it would close kept connections at once, also those that bear a request at that very moment, which
nobody would answer.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, Final

from aiohttp import HttpVersion11, hdrs, web
from aiohttp.http_exceptions import ContentEncodingError

from checklist_crds.errors import ExpectationFailed, InternalError, InvalidParameter, ServiceError

from .middleware import SERVER_NAME, error_response, new_request_id
from .request_body import unknown_encoding

logger = logging.getLogger(__name__)

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]

_NO_HTTP: Final = "The request is no HTTP that can be understood, or its head is too long."


# A caller that sends while its kept connection is closed cannot know whether the request was read. Longer than callers
# under load pause between two requests.
_SILENT_FOR_S: Final = 2.5
_LET_GO_WITHIN_S: Final = 7.5
_LOOKED_AGAIN_AFTER_S: Final = 0.05


class ApiRunner(web.AppRunner):
    """Runs the application on connections that speak for the service."""

    __slots__ = ("_lets_go",)

    def __init__(self, app: web.Application, **options: Any) -> None:
        super().__init__(app, **options)
        self._lets_go = False
        app.on_response_prepare.append(self._tell_the_end)

    async def let_go(self, *, silent_for_s: float = _SILENT_FOR_S, within_s: float = _LET_GO_WITHIN_S) -> None:
        """Tells each caller with the next answer that the connection ends; requests are served as before.

        Returns when no connection has brought anything for `silent_for_s` seconds, or after `within_s`.
        """
        self._lets_go = True
        loop = asyncio.get_running_loop()
        latest = loop.time() + within_s
        while (now := loop.time()) < latest:
            connections = self.server.connections if self.server is not None else []
            heard_at = [each.heard_at for each in connections if isinstance(each, _Connection)]
            if all(now - at >= silent_for_s for at in heard_at):
                return
            await asyncio.sleep(_LOOKED_AGAIN_AFTER_S)

    async def _tell_the_end(self, _: web.Request, response: web.StreamResponse) -> None:
        if self._lets_go:
            response.force_close()
            response.headers[hdrs.CONNECTION] = "close"  # aiohttp has written its own headers by now

    async def _make_server(self) -> web.Server:
        server = await super()._make_server()
        return _Server(
            _with_own_refusal(server.request_handler), request_factory=server.request_factory, **server._kwargs
        )


@contextlib.contextmanager
def on_connection_lost(request: web.Request, lost: Callable[[], None]) -> Iterator[None]:
    """While the block runs, `lost` is called when the caller's connection is lost.

    Raises ConnectionResetError where that has happened already.
    """
    connection = request.protocol
    if request.transport is None or request.transport.is_closing() or not isinstance(connection, _Connection):
        raise ConnectionResetError("the caller has gone")
    connection.on_lost = lost
    try:
        yield
    finally:
        connection.on_lost = None


def _with_own_refusal(handler: Handler) -> Handler:
    """aiohttp looks at Expect before any middleware, and would refuse in plain text, with its own version; or fail,
    where the text has letters that it cannot repeat."""

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        expected = request.headers.get(hdrs.EXPECT, "")
        if expected and request.version >= HttpVersion11 and expected.lower() != "100-continue":
            return _last_answer(ExpectationFailed(), new_request_id())
        return await handler(request)

    return answer


def _last_answer(error: ServiceError, request_id: str) -> web.Response:
    """The connection ends with it."""
    response = error_response(error, request_id)
    response.headers.update({"X-Request-Id": request_id, "Server": SERVER_NAME})
    response.force_close()
    return response


class _Server(web.Server):
    def __call__(self) -> web.RequestHandler:
        return _Connection(self, loop=self._loop, **self._kwargs)


class _Connection(web.RequestHandler):
    __slots__ = ("heard_at", "on_lost")

    def __init__(self, manager: _Server, *, loop: asyncio.AbstractEventLoop, **options: Any) -> None:
        super().__init__(manager, loop=loop, **options)
        self.heard_at = loop.time()
        """When the last bytes came, by the loop's clock."""
        self.on_lost: Callable[[], None] | None = None
        """Called when the connection is lost: aiohttp tells a handler only when it writes."""

    def data_received(self, data: bytes) -> None:
        self.heard_at = self._loop.time()
        super().data_received(data)

    def connection_lost(self, exc: BaseException | None) -> None:
        super().connection_lost(exc)
        if self.on_lost is not None:
            self.on_lost()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """The answer to what no route has seen. The connection ends with it: its position in the stream is unknown."""
        request_id = new_request_id()
        error: ServiceError = InternalError()
        if isinstance(exc, ContentEncodingError):  # raised before there is a request
            error = unknown_encoding()
        elif status < 500:
            error = InvalidParameter(_NO_HTTP)
        facts: dict[str, Any] = {"request_id": request_id, "reason": type(exc).__name__}
        if status < 500:
            logger.info("http.malformed", extra=facts)
        else:
            logger.error("connection.failed", extra=facts, exc_info=exc)
        if request.writer.output_size > 0:
            raise ConnectionError("The answer has begun already, and cannot become another one.")
        return _last_answer(error, request_id)
