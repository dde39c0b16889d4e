"""A proxy that adds a path prefix, like an ingress for several services.

async with PrefixProxy() as proxy:
    proxy.service = "http://127.0.0.1:8080"
    await device.page.goto(f"{proxy.address}/dashboard/")   # http://127.0.0.1:41234/tools/checklists/dashboard/
"""

from types import TracebackType
from typing import Final, Self

import aiohttp
from aiohttp import web

from checklist_dev.failures import Failure

_OF_ONE_CONNECTION: Final = ("transfer-encoding", "connection", "keep-alive")


class PrefixProxy:
    """Removes `prefix` and answers 404 outside it; responses are streamed."""

    def __init__(self, prefix: str = "/tools/checklists", *, host: str = "127.0.0.1") -> None:
        self.prefix = prefix
        self.service = ""
        """The base URL of the service behind it."""
        self._host = host
        self._session: aiohttp.ClientSession | None = None
        app = web.Application(client_max_size=64 * 1024 * 1024)
        app.router.add_route("*", f"{prefix}/{{path:.*}}", self._forward)
        # Shutdown waits for short requests, and cuts streams.
        self._runner = web.AppRunner(app, shutdown_timeout=0.5)

    @property
    def address(self) -> str:
        """The URL with the prefix, without a trailing slash."""
        return f"http://{self._host}:{self._runner.addresses[0][1]}{self.prefix}"

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(auto_decompress=False, timeout=aiohttp.ClientTimeout(total=None))
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._runner.cleanup()
        if self._session is not None:
            await self._session.close()

    async def _forward(self, request: web.Request) -> web.StreamResponse:
        if self._session is None:
            raise Failure("the proxy has not been started")
        headers = [(name, value) for name, value in request.headers.items() if name.lower() != "host"]
        url = self.service + request.raw_path.removeprefix(self.prefix)
        async with self._session.request(
            request.method, url, headers=headers, data=await request.read(), allow_redirects=False
        ) as answer:
            kept = [(name, value) for name, value in answer.headers.items() if name.lower() not in _OF_ONE_CONNECTION]
            response = web.StreamResponse(status=answer.status, headers=kept)
            await response.prepare(request)
            async for piece in answer.content.iter_any():
                await response.write(piece)
            await response.write_eof()
            return response
