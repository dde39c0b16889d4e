"""`make web-dev`: the sources as they are, against a running service."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
from playwright.async_api import expect

from checklist_dev.binaries import cache_folder
from checklist_dev.browser.checklists import checklist, step
from checklist_dev.browser.stage import Stage
from checklist_dev.failures import say
from checklist_dev.ports import free_ports
from checklist_dev.repository import ROOT
from checklist_dev.web.build import Workspace

from .checklist_screen import ChecklistScreen, answered
from .conftest import NewDevice


@asynccontextmanager
async def development_server(service: str) -> AsyncIterator[str]:
    """Its address. What it serves are the sources of the working tree."""
    web = Workspace(ROOT, cache=cache_folder(), report=say)
    (port,) = free_ports(1)
    vite = Path("node_modules/vite/bin/vite.js")
    process = await asyncio.create_subprocess_exec(
        str(web.node.program),
        *(str(vite), "--host", "127.0.0.1", "--port", str(port), "--strictPort"),
        cwd=web.sources,
        env=web.node.env({"CHECKLISTS_SERVICE": service}),
        stdout=asyncio.subprocess.DEVNULL,
    )
    address = f"http://127.0.0.1:{port}"
    try:
        async with httpx.AsyncClient(trust_env=False) as client, asyncio.timeout(30):
            while not await _answers(client, f"{address}/r/"):
                await asyncio.sleep(0.1)
        yield address
    finally:
        process.terminate()
        await process.wait()


async def _answers(client: httpx.AsyncClient, address: str) -> bool:
    try:
        return (await client.get(address)).is_success
    except httpx.TransportError:
        return False


async def test_the_development_server_shows_the_sources_against_a_running_service(
    stage: Stage, new_device: NewDevice
) -> None:
    link = stage.dispatch(checklist(step("clean")))
    async with development_server(stage.base_url) as address:
        device = await new_device()
        device.context.set_default_timeout(30_000)  # the packages are prepared at the first visit
        connected: list[str] = []
        device.page.on("websocket", lambda socket: connected.append(socket.url))
        await device.page.goto(link.url.replace(stage.base_url, address))
        screen = ChecklistScreen(device.page)
        await screen.choose("Clean", "Yes")
        await screen.saved("Clean")
        await answered(stage, link, {"clean": True})
        assert connected, "nothing would be told of changed sources"
        assert await device.page.evaluate("navigator.serviceWorker.getRegistrations().then(found => found.length)") == 0
        await expect(device.page.locator("vite-error-overlay")).to_have_count(0)
        device.problems.clear()  # the server's own talk on the console
        await device.page.close()
