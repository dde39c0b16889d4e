"""`make web-dev`: the sources as they are, against a running service."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
from playwright.async_api import expect
from tests.waiting import eventually

from checklist_dev.browser.checklists import checklist, step
from checklist_dev.browser.office import Office
from checklist_dev.failures import say
from checklist_dev.repository import ROOT
from checklist_dev.system.cache import cache_folder
from checklist_dev.system.ports import free_ports
from checklist_dev.web.build import Workspace

from .checklist_screen import ChecklistScreen, answered
from .conftest import NewDevice


@asynccontextmanager
async def development_server(service: str, surface: str, path: str) -> AsyncIterator[str]:
    """Its address. What it serves are the sources of the working tree."""
    web = Workspace(ROOT, cache=cache_folder(), report=say)
    (port,) = free_ports(1)
    vite = ("node_modules/vite/bin/vite.js", "--host", "127.0.0.1", "--port", str(port), "--strictPort")
    given = web.node.env({"CHECKLISTS_SERVICE": service, "CHECKLISTS_SURFACE": surface})
    process = await asyncio.create_subprocess_exec(
        str(web.node.program), *vite, cwd=web.sources, env=given, stdout=asyncio.subprocess.DEVNULL
    )
    address = f"http://127.0.0.1:{port}"

    async def answers() -> bool:
        async with httpx.AsyncClient(trust_env=False) as client:
            try:
                return (await client.get(f"{address}/{path}/")).is_success
            except httpx.TransportError:
                return False

    try:
        await eventually(answers, every_s=0.1)
        yield address
    finally:
        process.terminate()
        await process.wait()


async def test_the_development_server_shows_both_apps(office: Office, new_device: NewDevice) -> None:
    link = office.stage.dispatch(checklist(step("clean")))
    async with development_server(office.stage.base_url, "executor", "r") as address:
        device, connected = await new_device(), list[str]()
        device.page.on("websocket", lambda socket: connected.append(socket.url))
        await device.page.goto(link.url.replace(office.stage.base_url, address))
        screen = ChecklistScreen(device.page)
        await screen.choose("Clean", "Yes")
        await answered(office.stage, link, {"clean": True})
        assert connected, "changed sources are not pushed"
        assert await device.page.evaluate("navigator.serviceWorker.getRegistrations().then(found => found.length)") == 0
    async with development_server(office.stage.base_url, "dashboard", "dashboard") as address:
        await device.page.goto(f"{address}/dashboard/")
        await expect(device.page.get_by_role("heading", name="Sign in")).to_be_visible()
        device.problems.clear()  # the server's own talk on the console
        await device.page.close()
