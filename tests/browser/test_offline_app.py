"""The app on the device: new versions, the sudden death of the browser, and what stays when a checklist is over."""

import json
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
from aiohttp import web
from playwright.async_api import BrowserContext, async_playwright, expect

from checklist_dev.browser.checklists import checklist, step
from checklist_dev.browser.chromium import find_chromium
from checklist_dev.browser.device import PHONE, Device
from checklist_dev.browser.prefix_proxy import PrefixProxy
from checklist_dev.browser.stage import Link, Stage

from .checklist_screen import ChecklistScreen, answered, answers, looks_right, noise, picture
from .conftest import NewDevice
from .test_offline_answers import installed

TWO = checklist(step("note", "text"), step("shelf", "photo", config={"min": 1, "max": 3}))


class UpdatedProxy(PrefixProxy):
    """Can give out a newer service worker than the service's."""

    newer = False

    async def _forward(self, request: web.Request) -> web.StreamResponse:
        if not (self.newer and request.path.endswith("/sw.js")):
            return await super()._forward(request)
        async with httpx.AsyncClient(trust_env=False) as client:
            script = await client.get(self.service + request.path.removeprefix(self.prefix))
        return web.Response(text=f"{script.text}\n// newer", content_type="text/javascript")


async def test_behind_a_path_the_app_is_updated_and_works_offline(stage: Stage, new_device: NewDevice) -> None:
    async with UpdatedProxy() as proxy:
        proxy.service = stage.base_url
        link = stage.dispatch(TWO)
        moved = Link(link.run_id, link.url.replace(stage.base_url, proxy.address))
        device = await new_device()
        strays: list[str] = []
        device.context.on(
            "request", lambda request: strays.append(request.url) if proxy.prefix not in request.url else None
        )
        screen = await installed(device, moved)
        await screen.write("Note", "before the update")
        await screen.saved("Note")
        scope = "navigator.serviceWorker.ready.then(worker => new URL(worker.scope).pathname)"
        assert await device.page.evaluate(scope) == f"{proxy.prefix}/r/"

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
        assert [address for address in strays if address.startswith("http")] == []
    assert len(stage.run(link)["answers"]["s-shelf"]["photos"]) == 1


@asynccontextmanager
async def lasting_browser(folder: Path) -> AsyncIterator[BrowserContext]:
    """A phone whose storage is in `folder`."""
    phone = {**PHONE, "executable_path": find_chromium(), "args": ["--disable-gpu"], "locale": "en-GB"}
    async with async_playwright() as playwright:
        yield await playwright.chromium.launch_persistent_context(folder, **phone)


async def test_nothing_shown_as_kept_is_lost_when_the_browser_is_killed(stage: Stage, tmp_path: Path) -> None:
    link = stage.dispatch(TWO)
    async with lasting_browser(tmp_path) as context:
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

    async with lasting_browser(tmp_path) as context:
        page = context.pages[0]
        await page.goto(link.bare)
        await expect(page.locator(".pill")).to_have_text("Saved", timeout=30_000)
        await expect(ChecklistScreen(page).card("Note").get_by_role("textbox")).to_have_value("kept")
        await context.close()
    assert answers(stage, link)["note"] == "kept"
    assert len(stage.run(link)["answers"]["s-shelf"]["photos"]) == 1


async def test_a_browser_that_blocks_site_data_answers_all_the_same_and_says_what_that_means(
    stage: Stage, tmp_path: Path
) -> None:
    link = stage.dispatch(TWO)
    blocked = {"profile": {"default_content_setting_values": {"cookies": 2}}}
    (tmp_path / "Default").mkdir()
    (tmp_path / "Default" / "Preferences").write_text(json.dumps(blocked))
    async with lasting_browser(tmp_path) as context:
        page = context.pages[0]
        await page.goto(link.url)
        assert await page.evaluate("() => { try { return localStorage === null } catch { return true } }")
        screen = ChecklistScreen(page)
        await expect(page.get_by_text("This browser does not save answers")).to_be_visible()
        await looks_right(Device(context, page))
        await screen.photo("Shelf", picture())
        await screen.saved("Shelf")
        await context.set_offline(True)
        await screen.write("Note", "in the tab only")
        waiting = "Waiting to be sent. Keep this page open."
        await expect(screen.card("Note").locator(".step-state")).to_have_text(waiting)
        await context.set_offline(False)
        await screen.saved("Note")
        await context.close()
    await answered(stage, link, {"note": "in the tab only", "shelf": None})
