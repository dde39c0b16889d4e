"""What stays on a device of a checklist that is over, and what becomes of answers where nothing may stay."""

import json
from pathlib import Path

from playwright.async_api import async_playwright, expect

from checklist_dev.browser.checklists import checklist, step
from checklist_dev.browser.chromium import find_chromium
from checklist_dev.browser.device import PHONE
from checklist_dev.browser.stage import Stage

from .checklist_screen import ChecklistScreen, answered, picture
from .conftest import NewDevice

# As if the run had been opened for the last time eight days ago.
LAST_WEEK = """runId => new Promise((done, failed) => {
    const opening = indexedDB.open(`checklist-${runId}`);
    opening.onerror = failed;
    opening.onsuccess = () => {
        const change = opening.result.transaction("run", "readwrite");
        change.objectStore("run").put(new Date(Date.now() - 8 * 86_400_000).toISOString(), ["seen"]);
        change.onabort = failed;
        change.oncomplete = () => { opening.result.close(); done(); };
    };
})"""
GONE = "async runId => !(await indexedDB.databases()).some(found => found.name === `checklist-${runId}`)"


async def test_a_checklist_that_is_over_leaves_the_device_after_a_week(stage: Stage, new_device: NewDevice) -> None:
    over, still_open, newest = (stage.dispatch(checklist(step("clean"))) for _ in range(3))
    device = await new_device()
    screen = await ChecklistScreen.opened(device, still_open)
    await screen.choose("Clean", "Yes")
    await screen.saved("Clean")
    screen = await ChecklistScreen.opened(device, over)
    await screen.to_review()
    await screen.submit()
    await expect(screen.heading("Done. Thank you!")).to_be_visible()
    await ChecklistScreen.opened(device, newest)
    for link in (over, still_open):
        await device.page.evaluate(LAST_WEEK, link.run_id)
    await device.page.reload()
    await device.page.wait_for_function(GONE, arg=over.run_id)
    assert not await device.page.evaluate(GONE, still_open.run_id)
    assert not await device.page.evaluate(GONE, newest.run_id)


async def test_a_browser_that_blocks_site_data_answers_all_the_same_and_says_what_that_means(
    stage: Stage, tmp_path: Path
) -> None:
    link = stage.dispatch(checklist(step("clean"), step("note", "text"), step("shelf", "photo")))
    profile = tmp_path / "Default"
    profile.mkdir()
    blocked = {"profile": {"default_content_setting_values": {"cookies": 2}}}
    (profile / "Preferences").write_text(json.dumps(blocked))
    phone = {**PHONE, "executable_path": find_chromium(), "args": ["--disable-gpu"], "locale": "en-GB"}
    async with async_playwright() as playwright:
        context = await playwright.chromium.launch_persistent_context(tmp_path, **phone)
        page = context.pages[0]
        await page.goto(link.url)
        assert await page.evaluate("() => { try { return localStorage === null } catch { return true } }")
        screen = ChecklistScreen(page)
        await expect(page.get_by_text("This browser keeps nothing")).to_be_visible()
        await screen.choose("Clean", "Yes")
        await screen.saved("Clean")
        await screen.photo("Shelf", picture())
        await screen.saved("Shelf")
        await context.set_offline(True)
        await screen.write("Note", "in the tab only")
        await expect(screen.card("Note").locator(".step-state")).to_have_text(
            "Waiting to be sent. Keep this page open."
        )
        await context.set_offline(False)
        await screen.saved("Note")
        await context.close()
    await answered(stage, link, {"clean": True, "note": "in the tab only", "shelf": None})
    assert len(stage.run(link)["answers"]["s-shelf"]["photos"]) == 1
