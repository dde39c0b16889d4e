"""Accepts, limits and drains connections.

For requests that are refused before routing (malformed HTTP, headers too long), aiohttp would respond in plain text,
disclose the versions of aiohttp and Python, and echo and log what it received, which may be a photo or a key.

At shutdown it would close kept-alive connections at once, including those with a request in transit.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, Final

from aiohttp import HttpVersion11, hdrs, web
from aiohttp.http_exceptions import ContentEncodingError

from checklist_crds.errors import ExpectationFailed, InternalError, InvalidParameter, ServiceError

from .json_body import unknown_encoding
from .middleware import SERVER_NAME, error_response, new_request_id

logger = logging.getLogger(__name__)

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]

_NO_HTTP: Final = "The request is not valid HTTP, or its headers are too long."


# A client whose kept-alive connection is closed while it sends cannot know whether the request was read. Longer than
# clients under load pause between two requests.
_IDLE_S: Final = 2.5
_DRAIN_TIMEOUT_S: Final = 7.5
_POLL_INTERVAL_S: Final = 0.05


class ApiRunner(web.AppRunner):
    """Runs the application with own error responses and connection draining."""

    __slots__ = ("_draining",)

    def __init__(self, app: web.Application, **options: Any) -> None:
        super().__init__(app, **options)
        self._draining = False
        app.on_response_prepare.append(self._close_connection)

    async def drain(self, *, idle_for_s: float = _IDLE_S, within_s: float = _DRAIN_TIMEOUT_S) -> None:
        """Drain connections: `Connection: close` on each response, while requests are still served.

        Returns when all connections have been idle for `idle_for_s` seconds, or after `within_s`.
        """
        self._draining = True
        loop = asyncio.get_running_loop()
        latest = loop.time() + within_s
        while (now := loop.time()) < latest:
            connections = self.server.connections if self.server is not None else []
            received_at = [each.received_at for each in connections if isinstance(each, _Connection)]
            if all(now - at >= idle_for_s for at in received_at):
                return
            await asyncio.sleep(_POLL_INTERVAL_S)

    async def _close_connection(self, _: web.Request, response: web.StreamResponse) -> None:
        if self._draining:
            response.force_close()
            response.headers[hdrs.CONNECTION] = "close"  # aiohttp has set its own header before

    async def _make_server(self) -> web.Server:
        server = await super()._make_server()
        return _Server(
            _with_own_refusal(server.request_handler), request_factory=server.request_factory, **server._kwargs
        )


@contextlib.contextmanager
def on_connection_lost(request: web.Request, handler: Callable[[], None]) -> Iterator[None]:
    """Call `handler` if the client's connection is lost inside the block.

    Raises ConnectionResetError if it is lost already.
    """
    connection = request.protocol
    if request.transport is None or request.transport.is_closing() or not isinstance(connection, _Connection):
        raise ConnectionResetError("the client disconnected")
    connection.on_lost = handler
    try:
        yield
    finally:
        connection.on_lost = None


def _with_own_refusal(handler: Handler) -> Handler:
    """Refuse unknown Expect headers, which aiohttp checks before any middleware, with an own error response."""

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        expected = request.headers.get(hdrs.EXPECT, "")
        if expected and request.version >= HttpVersion11 and expected.lower() != "100-continue":
            return _last_answer(ExpectationFailed(), new_request_id())
        return await handler(request)

    return answer


def _last_answer(error: ServiceError, request_id: str) -> web.Response:
    """Return a response that closes the connection."""
    response = error_response(error, request_id)
    response.headers.update({"X-Request-Id": request_id, "Server": SERVER_NAME})
    response.force_close()
    return response


class _Server(web.Server):
    def __call__(self) -> web.RequestHandler:
        return _Connection(self, loop=self._loop, **self._kwargs)


class _Connection(web.RequestHandler):
    __slots__ = ("on_lost", "received_at")

    def __init__(self, manager: _Server, *, loop: asyncio.AbstractEventLoop, **options: Any) -> None:
        super().__init__(manager, loop=loop, **options)
        self.received_at = loop.time()
        """Loop time of the last bytes received."""
        self.on_lost: Callable[[], None] | None = None
        """Called when the connection is lost; aiohttp notifies a handler only when it writes."""

    def data_received(self, data: bytes) -> None:
        self.received_at = self._loop.time()
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
        """Respond to an unroutable request and close the connection, whose stream position is unknown."""
        request_id = new_request_id()
        error: ServiceError = InternalError()
        if isinstance(exc, ContentEncodingError):  # raised while parsing
            error = unknown_encoding()
        elif status < 500:
            error = InvalidParameter(_NO_HTTP)
        facts: dict[str, Any] = {"request_id": request_id, "reason": type(exc).__name__}
        if status < 500:
            logger.info("http.malformed", extra=facts)
        else:
            logger.error("connection.failed", extra=facts, exc_info=exc)
        if request.writer.output_size > 0:
            raise ConnectionError("The response has been started.")
        return _last_answer(error, request_id)
