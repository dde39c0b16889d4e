"""`make web-dev ARGS=dashboard`: the sources as they are, against a running service."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
from playwright.async_api import expect

from checklist_dev.binaries import cache_folder
from checklist_dev.browser.office import Office
from checklist_dev.failures import say
from checklist_dev.ports import free_ports
from checklist_dev.repository import ROOT
from checklist_dev.web.build import Workspace

from .conftest import SignedIn


@asynccontextmanager
async def development_server(service: str) -> AsyncIterator[str]:
    """Its address."""
    web = Workspace(ROOT, cache=cache_folder(), report=say)
    (port,) = free_ports(1)
    process = await asyncio.create_subprocess_exec(
        str(web.node.program),
        *("node_modules/vite/bin/vite.js", "--host", "127.0.0.1", "--port", str(port), "--strictPort"),
        cwd=web.sources,
        env=web.node.env({"CHECKLISTS_SERVICE": service, "CHECKLISTS_SURFACE": "dashboard"}),
        stdout=asyncio.subprocess.DEVNULL,
    )
    address = f"http://127.0.0.1:{port}"
    try:
        async with httpx.AsyncClient(trust_env=False) as client, asyncio.timeout(30):
            while not await _answers(client, f"{address}/dashboard/"):
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


async def test_the_development_server_shows_the_dashboard_deep_below_and_takes_writes(
    office: Office, signed_in: SignedIn
) -> None:
    screen = await signed_in("admin")
    async with development_server(office.stage.base_url) as address:
        await screen.page.goto(office.address("settings/keys").replace(office.stage.base_url, address))
        await screen.button("New key").click()
        await screen.dialog("New key").get_by_role("textbox", name="Name").fill("Billing")
        await screen.button("Make the key").click()
        await expect(screen.dialog("Key “Billing”")).to_be_visible()
        await expect(screen.page.locator("vite-error-overlay")).to_have_count(0)
        screen.device.problems.clear()  # the server's own talk on the console
        await screen.page.close()
