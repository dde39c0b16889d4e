"""The API in this process, on loopback: the one rig of all tests that do not need it as a process of its own."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web, web_app

from checklist_api.app import create_app
from checklist_api.http.server import ApiRunner
from checklist_api.wiring.services import Services


@asynccontextmanager
async def serving(services: Services, *, port: int = 0) -> AsyncIterator[str]:
    """Serve the API until the block ends; the value is its base URL. All informers are synced by then."""
    runner = ApiRunner(create_app(services), shutdown_timeout=1.0)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", port).start()
        await asyncio.gather(*(informer.synced.wait() for informer in services.informers.values()))
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()
        # aiohttp caches the handler chains of 1,024 routes for the life of the process, and with them whole
        # applications: some hundreds of tests later that is gigabytes, and seconds for each garbage collection.
        web_app._cached_build_middleware.cache_clear()
