"""The app on the device: its new versions, its place behind a proxy, and the sudden death of the whole browser."""

import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from aiohttp import ClientSession, web
from playwright.async_api import async_playwright, expect

from checklist_dev.browser.checklists import checklist, step
from checklist_dev.browser.chromium import find_chromium
from checklist_dev.browser.device import PHONE
from checklist_dev.browser.stage import Link, Stage

from .checklist_screen import ChecklistScreen, answers
from .conftest import NewDevice
from .test_offline_answers import installed, noise

# And what would make an unchanged file of a changed one.
NOT_FORWARDED = {
    "host",
    "connection",
    "content-length",
    "content-encoding",
    "transfer-encoding",
    "accept-encoding",
    "if-none-match",
    "etag",
}
TWO = checklist(step("note", "text"), step("shelf", "photo", config={"min": 1, "max": 3}))


class Proxy:
    """Stands in front of the service, as others do, with a path of its own; and can give out a newer service worker."""

    PREFIX = "/behind/a/proxy"

    def __init__(self, service: str) -> None:
        self._service = service
        self.newer = False

    async def forward(self, request: web.Request) -> web.Response:
        address = self._service + request.path_qs.removeprefix(self.PREFIX)
        headers = {name: value for name, value in request.headers.items() if name.lower() not in NOT_FORWARDED}
        async with (
            ClientSession() as client,
            client.request(request.method, address, headers=headers, data=await request.read()) as response,
        ):
            body = await response.read()
            if self.newer and request.path.endswith("/sw.js"):
                body += b"\n// newer"
            kept = {name: value for name, value in response.headers.items() if name.lower() not in NOT_FORWARDED}
            return web.Response(status=response.status, body=body, headers=kept)

    @asynccontextmanager
    async def at_work(self) -> AsyncIterator[str]:
        """Its address, with the path."""
        app = web.Application(client_max_size=16 * 2**20)
        app.router.add_route("*", self.PREFIX + "/{rest:.*}", self.forward)
        runner = web.AppRunner(app)
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            yield f"http://127.0.0.1:{runner.addresses[0][1]}{self.PREFIX}"
        finally:
            await runner.cleanup()


async def test_behind_a_path_the_app_works_without_network_and_takes_a_new_version_with_all_answers(
    stage: Stage, new_device: NewDevice
) -> None:
    proxy = Proxy(stage.base_url)
    async with proxy.at_work() as address:
        link = stage.dispatch(TWO)
        moved = Link(link.run_id, link.url.replace(stage.base_url, address))
        device = await new_device()
        screen = await installed(device, moved)
        await screen.write("Note", "before the update")
        await screen.saved("Note")

        proxy.newer = True
        await screen.page.evaluate("navigator.serviceWorker.getRegistration().then((found) => found.update())")
        await expect(screen.page.get_by_text("A new version is ready")).to_be_visible()
        async with screen.page.expect_navigation():
            await screen.page.get_by_role("button", name="Update now").click()
        await expect(screen.card("Note").get_by_role("textbox")).to_have_value("before the update")
        await expect(screen.page.get_by_text("A new version is ready")).to_have_count(0)

        await device.context.set_offline(True)
        await screen.page.reload()
        await screen.photo("Shelf", noise(40, 40))
        await expect(screen.page.locator(".pill")).to_have_text("Offline: 1 waiting")
        await device.context.set_offline(False)
        await expect(screen.page.locator(".pill")).to_have_text("Saved")
    assert len(stage.run(link)["answers"]["s-shelf"]["photos"]) == 1


async def test_a_checklist_that_was_never_opened_here_says_that_it_needs_a_network_once_and_goes_on_by_itself(
    stage: Stage, new_device: NewDevice
) -> None:
    first, second = stage.dispatch(TWO), stage.dispatch(TWO)
    device = await new_device()
    screen = await installed(device, first)
    await device.context.set_offline(True)
    await device.page.goto(second.url)
    await expect(screen.heading("You are offline")).to_be_visible()
    await device.context.set_offline(False)
    await expect(screen.card("Note")).to_be_visible()


async def test_nothing_shown_as_kept_is_lost_when_the_browser_is_killed(stage: Stage, tmp_path: Path) -> None:
    link = stage.dispatch(TWO)
    phone = {**PHONE, "executable_path": find_chromium(), "args": ["--disable-gpu"], "locale": "en-GB"}
    async with async_playwright() as playwright:
        context = await playwright.chromium.launch_persistent_context(tmp_path, **phone)
        page = context.pages[0]
        await page.goto(link.url)
        screen = ChecklistScreen(page)
        await expect(screen.card("Note")).to_be_visible()
        await context.set_offline(True)
        await screen.write("Note", "kept")
        await screen.photo("Shelf", noise(300, 300))
        await expect(page.locator(".pill")).to_have_text("Offline: 2 waiting")
        assert context.browser is not None
        session = await context.browser.new_browser_cdp_session()
        processes = (await session.send("SystemInfo.getProcessInfo"))["processInfo"]
        (browser,) = [process["id"] for process in processes if process["type"] == "browser"]
        os.kill(int(browser), signal.SIGKILL)

    async with async_playwright() as playwright:
        context = await playwright.chromium.launch_persistent_context(tmp_path, **phone)
        page = context.pages[0]
        await page.goto(link.bare)
        await expect(page.locator(".pill")).to_have_text("Saved", timeout=30_000)
        await expect(ChecklistScreen(page).card("Note").get_by_role("textbox")).to_have_value("kept")
        await context.close()
    assert answers(stage, link)["note"] == "kept"
    assert len(stage.run(link)["answers"]["s-shelf"]["photos"]) == 1
