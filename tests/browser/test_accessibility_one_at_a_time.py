"""One step at a time, the sheet of all steps and the camera: accessible in every state, and on every screen."""

from collections.abc import AsyncIterator
from typing import Any, Final

from playwright.async_api import expect

from checklist_dev.browser.checklists import EVERY_CONTROL, checklist, step
from checklist_dev.browser.device import Device
from checklist_dev.browser.stage import Stage

from .checklist_screen import PRETENDED_CAMERA, looks_right, opened
from .conftest import NewDevice
from .test_accessibility import LONG_WORD, NARROW, is_accessible_on_a_computer, is_large_and_still

LOW: Final[dict[str, Any]] = {"viewport": {"width": 740, "height": 360}}


async def states(stage: Stage, device: Device) -> AsyncIterator[str]:
    page = device.page
    await page.add_init_script(PRETENDED_CAMERA)
    template = {**EVERY_CONTROL, "settings": {**EVERY_CONTROL["settings"], "layout": "one_at_a_time"}}
    _, screen = await opened(stage, device, template, expires_in_hours=3)
    next_step, steps = page.locator(".move-row .button-wide"), page.get_by_role("dialog", name="All steps")

    async def jump(label: str) -> None:
        await page.locator(".meter-open").click()
        await page.get_by_role("searchbox").fill(label)
        await page.locator(".sheet-row").first.click()
        await expect(page.get_by_role("heading", name=label, level=3)).to_be_focused()

    await expect(screen.card("Put on your gloves before you begin.")).to_be_visible()
    yield "first step, an instruction"
    await next_step.click()
    await screen.choose("Is the floor clean?", "Dirty")
    await expect(screen.card("What is dirty?")).to_be_visible()
    await page.get_by_role("button", name="Previous step").click()
    await screen.saved("Is the floor clean?")
    yield "answered"
    await jump("Temperature of the cold store")
    await screen.write("Temperature of the cold store", "99")
    await next_step.click()
    await expect(screen.card("Temperature of the cold store").locator(".error")).to_be_visible()
    yield "rejected"
    await page.locator(".meter-open").click()
    await expect(steps.get_by_role("button", name="First look")).to_have_attribute("aria-expanded", "true")
    yield "all steps"
    await steps.get_by_role("searchbox").fill("delivery")
    await steps.get_by_role("checkbox", name="Only steps still to do").check()
    yield "steps found"
    await page.keyboard.press("Escape")  # the search, and the dialog
    await page.keyboard.press("Escape")
    for label in ("How tidy is it?", "Which door?", "What did you use?", "Are you at the store?"):
        await jump(label)
        yield label
    await jump("Photos of the shelves")
    await screen.card("Photos of the shelves").get_by_role("button", name="Take a photo").click()
    camera = page.get_by_role("dialog", name="Take a photo")
    await camera.get_by_role("button", name="Take a photo").click()
    await camera.locator(".shot").click()
    yield "camera, one to take again"
    await camera.get_by_role("button", name="Done").click()
    await expect(screen.card("Photos of the shelves").locator(".thumb.is-sent")).to_be_visible()
    yield "photos"
    await page.get_by_role("button", name="Menu").click()
    await page.get_by_role("dialog").get_by_label("Language").select_option("ar")
    await expect(page.locator("html")).to_have_attribute("dir", "rtl")
    await page.keyboard.press("Escape")
    yield "right to left"
    await page.locator(".meter-open").click()
    yield "all steps, right to left"


async def test_every_state_is_accessible_and_fits_a_small_phone(stage: Stage, new_device: NewDevice) -> None:
    device = await new_device(reduced_motion="reduce")
    before = device.page.viewport_size
    assert before is not None
    async for _ in states(stage, device):
        await looks_right(device)
        await is_large_and_still(device)
        await is_accessible_on_a_computer(device)
        await device.page.set_viewport_size(before)


async def test_one_step_at_a_time_fits_a_small_a_low_and_an_enlarged_screen(
    stage: Stage, new_device: NewDevice
) -> None:
    words = {"low_label": LONG_WORD, "high_label": LONG_WORD}
    template = checklist(
        step("a", label=LONG_WORD, hint=LONG_WORD, config={"true_label": LONG_WORD, "false_label": "No"}),
        step("b", "rating", label=LONG_WORD, config=words),
        name=LONG_WORD,
        layout="one_at_a_time",
    )
    for window in (NARROW, LOW):
        device = await new_device(**window)
        _, screen = await opened(stage, device, template)
        for _ in range(2):
            assert not await device.overflows()
            await device.page.evaluate("document.documentElement.style.fontSize = '200%'")
            assert not await device.overflows()
            await device.page.evaluate("document.documentElement.style.fontSize = ''")
            await (
                screen.page.get_by_role("button", name="Next", exact=True)
                .or_(screen.page.get_by_role("button", name="Check and submit"))
                .click()
            )
    device = await new_device(**LOW)
    _, screen = await opened(stage, device, checklist(step("clean"), step("end"), layout="one_at_a_time"))
    for name in ("Yes", "No"):
        await expect(screen.card("Clean").get_by_role("radio", name=name)).to_be_in_viewport(ratio=1)
    await expect(screen.page.get_by_role("button", name="Next", exact=True)).to_be_in_viewport(ratio=1)
