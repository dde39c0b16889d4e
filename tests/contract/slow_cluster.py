"""A Kubernetes API that takes its time: a proxy on loopback, in front of the session's API server."""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import aiohttp
from aiohttp import web
from yarl import URL

from checklist_crds.kube.client import KubeConnection


class SlowCluster:
    """Each call but a watch takes between `delay_s`, and no more than `at_a_time` do so at once."""

    def __init__(self, upstream: KubeConnection) -> None:
        self._upstream = upstream
        self._random = random.Random(1)
        self.delay_s = (0.0, 0.0)
        self.at_a_time = asyncio.Semaphore(1000)

    @asynccontextmanager
    async def standing(self) -> AsyncIterator[KubeConnection]:
        """The way through the proxy."""
        app = web.Application(client_max_size=2**24)
        app.router.add_route("*", "/{path:.*}", self._serve)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        connector = aiohttp.TCPConnector(limit=0, ssl=self._upstream.tls or True)
        async with aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(None)) as session:
            self._session = session
            await runner.setup()
            try:
                await web.TCPSite(runner, "127.0.0.1", 0).start()
                yield replace(self._upstream, server=f"http://127.0.0.1:{runner.addresses[0][1]}", tls=None)
            finally:
                await runner.cleanup()

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        if "watch" not in request.query:
            async with self.at_a_time:
                await asyncio.sleep(self._random.uniform(*self.delay_s))
        names = ("Authorization", "Accept", "Content-Type")
        headers = {name: request.headers[name] for name in names if name in request.headers}
        url = URL(self._upstream.server + request.raw_path, encoded=True)
        async with self._session.request(request.method, url, data=body or None, headers=headers) as answer:
            response = web.StreamResponse(status=answer.status, headers={"Content-Type": answer.content_type})
            await response.prepare(request)
            with contextlib.suppress(ConnectionError):
                async for chunk in answer.content.iter_any():
                    await response.write(chunk)
            return response
