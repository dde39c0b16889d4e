"""WCAG 2.2 AA as far as a program can judge it: in every state, light and dark, and without a pointer."""

from collections.abc import AsyncIterator, Callable
from typing import Any, Final

import pytest
from playwright.async_api import Route, expect

from checklist_dev.browser.checklists import EVERY_CONTROL, checklist, options, step
from checklist_dev.browser.device import DESKTOP, Device
from checklist_dev.browser.stage import Stage

from .checklist_screen import (
    ChecklistScreen,
    answers,
    choosing,
    looks_right,
    opened,
    picture,
    tab_to,
    unseen_focus,
)
from .conftest import NewDevice

Story = Callable[[Stage, Device], AsyncIterator[str]]
"""Yields the name of each state that the page is in. What needs a `route` is first: there is no service worker yet."""
NARROW: Final[dict[str, Any]] = {"viewport": {"width": 320, "height": 640}}
LONG_WORD: Final = "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft"
CLEAN: Final = checklist(step("clean"))


async def before_the_checklist(stage: Stage, device: Device) -> AsyncIterator[str]:
    page, link, unopened = device.page, stage.dispatch(CLEAN), stage.dispatch(CLEAN)
    apps = '<meta name="install-apple" content="https://apps.apple.com/app/id1">'

    async def configured(route: Route) -> None:
        response = await route.fetch()
        await route.fulfill(response=response, body=(await response.text()).replace("</title>", f"</title>{apps}", 1))

    await page.route(unopened.bare, configured)
    await page.goto(unopened.bare)
    store = page.locator("#content").get_by_role("link", name="Get the app (App Store)")
    await expect(store).to_have_attribute("href", "https://apps.apple.com/app/id1")
    yield "preview with an app"
    await page.route("**/v1/**", lambda route: None)
    await page.goto(link.url)
    await page.get_by_text("Loading the checklist").wait_for()
    yield "loading"
    await page.unroute_all(behavior="ignoreErrors")
    await page.goto(link.url.replace(link.run_id, "r-00000000-0000-4000-8000-000000000000"))
    await page.get_by_role("heading", name="Checklist not found").wait_for()
    yield "not found"
    _, screen = await opened(stage, device, checklist(step("clean"), identity="external"))
    await expect(screen.heading("First, who are you?")).to_be_visible()
    await page.get_by_role("button", name="Start").click()
    await expect(page.get_by_role("group", name="There are 2 problems")).to_be_focused()
    yield "identity with errors"


async def the_checklist(stage: Stage, device: Device) -> AsyncIterator[str]:
    page = device.page
    _, screen = await opened(stage, device, EVERY_CONTROL, expires_in_hours=3)
    await screen.choose("Is the floor clean?", "Dirty")
    await screen.write("Temperature of the cold store", "99")
    await screen.card("How tidy is it?").get_by_role("radio", name="4 of 5").check()
    await screen.choose("What did you use?", "Mop")
    await screen.card("Which door?").get_by_role("button", name="Skip").click()
    await expect(screen.card("Temperature of the cold store").locator(".error")).to_be_visible()
    await screen.saved("What did you use?")
    yield "answers"
    await page.get_by_role("button", name="Menu").click()
    await page.get_by_role("dialog").wait_for()
    yield "menu"
    await page.get_by_role("dialog").get_by_role("button", name="I can’t finish this").click()
    await page.get_by_role("dialog", name="Stop this checklist?").wait_for()
    yield "way out"
    await page.get_by_role("button", name="Keep going").click()
    await screen.card("Where do the goods come from?").get_by_role("button", name="Choose one").click()
    await page.get_by_role("searchbox").fill("1")
    yield "list of options"
    for _ in range(2):  # the search, and the dialog
        await page.keyboard.press("Escape")
    await screen.write("Temperature of the cold store", "9")
    await screen.menu("Check your answers")
    await screen.submit()
    await page.get_by_role("group", name="required steps still to do").wait_for()
    yield "review with gaps"


async def photos_and_codes(stage: Stage, device: Device) -> AsyncIterator[str]:
    page = device.page
    await page.add_init_script("window.BarcodeDetector = class { async detect() { return []; } }")
    await device.context.grant_permissions(["camera"])
    _, screen = await opened(stage, device, checklist(step("shelf", "photo"), step("code", "scan")))
    shelf = screen.card("Shelf")
    await screen.card("Code").get_by_role("button", name="Scan a code").click()
    await page.get_by_text("Point the camera at the code").wait_for()
    yield "scanner"
    await page.keyboard.press("Escape")
    await screen.photo("Shelf", picture())
    await screen.saved("Shelf")
    await shelf.get_by_role("button", name="View photo 1").click()
    await page.get_by_role("dialog", name="Photo 1").wait_for()
    yield "photo"
    await page.keyboard.press("Escape")
    await shelf.get_by_role("button", name="Clear answer: Shelf").click()
    await page.get_by_role("dialog", name="Clear answer").wait_for()
    yield "photos to be cleared"
    await page.keyboard.press("Escape")
    _, screen = await opened(stage, device, checklist(step("shelf", "photo")))
    await screen.photo("Shelf", picture()[:200])
    await page.get_by_role("button", name="Needs attention").wait_for()
    yield "photo refused"


async def the_end(stage: Stage, device: Device) -> AsyncIterator[str]:
    late = stage.dispatch(CLEAN, expires_in_hours=0.0002)
    await device.page.route("**/v1/**", lambda route: route.fulfill(status=503, json={"error": "service_unavailable"}))
    await device.page.goto(stage.dispatch(CLEAN).url)
    await device.page.get_by_role("heading", name="Not available right now").last.wait_for()
    yield "unreachable"
    await device.page.unroute_all()
    _, screen = await opened(stage, device, CLEAN)
    await screen.choose("Clean", "Yes")
    await screen.to_review()
    await screen.submit()
    await expect(screen.heading("Done. Thank you!")).to_be_visible()
    yield "receipt"
    link = stage.dispatch(CLEAN)
    stage.cancel(link)
    await ChecklistScreen.opened(device, link)
    await expect(screen.heading("This checklist was stopped")).to_be_visible()
    yield "stopped"
    await device.page.goto(late.url)
    await device.page.locator("#content").get_by_role("heading", name="This link has expired").wait_for()
    yield "expired"


# What is inside of a card that is itself a label counts with it.
SMALL_TARGETS: Final = """() => {
    const cards = "label.choice, label.grade, label.photo-file";
    return [...document.querySelectorAll(`button, a[href], select, input, textarea, ${cards}`)]
        .filter(e => e.checkVisibility() && !e.matches(".vh, .skip-link") && !(e.closest(cards) && !e.matches("label")))
        .map(e => [e.outerHTML.slice(0, 90), e.getBoundingClientRect()])
        .filter(([, box]) => box.width < 43.5 || box.height < 43.5)
        .map(([html, box]) => `${html} ${box.width}x${box.height}`);
}"""
MOVING: Final = "document.getAnimations().filter(a => a.effect.getComputedTiming().duration > 1).length"


@pytest.mark.parametrize(
    "story",
    [before_the_checklist, the_checklist, photos_and_codes, the_end],
    ids=lambda story: story.__name__,
)
async def test_every_state_is_accessible_and_fits_a_small_phone(
    stage: Stage, new_device: NewDevice, story: Story
) -> None:
    device = await new_device(reduced_motion="reduce")
    async for _ in story(stage, device):
        await looks_right(device)
        if story in (the_checklist, the_end):
            await is_large_and_still(device)
        if story is the_checklist:
            await is_accessible_on_a_computer(device)


async def is_large_and_still(device: Device) -> None:
    assert await device.page.evaluate(SMALL_TARGETS) == []
    assert await device.page.evaluate(MOVING) == 0, "with reduced motion"


async def is_accessible_on_a_computer(device: Device) -> None:
    await device.page.set_viewport_size(DESKTOP["viewport"])
    assert await device.accessibility_findings() == []
    await device.page.emulate_media(forced_colors="active")
    assert await device.accessibility_findings() == []
    await device.page.emulate_media(forced_colors="none")


async def test_long_words_wrap_and_text_twice_as_large_fits(stage: Stage, new_device: NewDevice) -> None:
    words = {"low_label": LONG_WORD, "high_label": LONG_WORD}
    template = checklist(
        step("a", label=LONG_WORD, hint=LONG_WORD, config={"true_label": LONG_WORD, "false_label": "No"}),
        step("b", "number", label=LONG_WORD, config={"unit": LONG_WORD[:50]}),
        step("c", "rating", label=LONG_WORD, config=words),
        name=LONG_WORD,
    )
    device = await new_device(**NARROW)
    _, screen = await opened(stage, device, template)
    assert not await device.overflows()
    await device.page.evaluate("document.documentElement.style.fontSize = '200%'")
    assert not await device.overflows()
    await screen.menu("Check your answers")
    assert not await device.overflows()


@pytest.mark.parametrize("language", ["de", "es", "fr", "ar-EG"])
async def test_every_language_fits_a_small_phone(stage: Stage, new_device: NewDevice, language: str) -> None:
    device = await new_device(**NARROW, locale=language)
    page, menu = device.page, device.page.locator(".status-row > .button-icon")
    await page.goto(stage.dispatch(EVERY_CONTROL).url)
    await page.get_by_role("article").first.wait_for()
    await expect(page.locator("html")).to_have_attribute("lang", language)
    right_to_left = language == "ar-EG"
    assert (await page.evaluate("document.dir") == "rtl") == right_to_left
    button, meter = await menu.bounding_box(), await page.locator(".meter").bounding_box()
    assert button is not None and meter is not None
    assert (button["x"] < meter["x"]) == right_to_left
    assert not await device.overflows()
    await menu.click()
    await page.locator("dialog .button:not(.button-quiet)").last.click()
    await page.locator("main.review button[type=submit]").click()
    await page.locator(".summary").wait_for()
    assert not await device.overflows()
    assert await device.accessibility_findings() == []


async def test_a_whole_checklist_by_keyboard_alone(stage: Stage, new_device: NewDevice) -> None:
    template = checklist(
        step("clean", required=True),
        step("why", "text", required=True, condition={"when": {"step": "s-clean", "op": "eq", "value": False}}),
        step("degrees", "number", required=True),
        step("supplier", "choice", config={"options": options(*(f"Firm {number}" for number in range(1, 10)))}),
        step("tools", "multi_choice", config={"options": options("Tool 1", "Tool 2", "Tool 3")}),
        step("day", "date", required=True),
        step("shelf", "photo", required=True),
        step("tidy", "rating", required=True),
        step("extra"),
        signature_on_complete=True,
        identity="external",
    )
    device = await new_device(**DESKTOP, has_touch=False, is_mobile=False)
    page = device.page
    link, screen = await opened(stage, device, template)
    await tab_to(page, "Your name", text="Ida Lindqvist")
    await tab_to(page, "Your email address", "Enter", text="ida@example.com")
    await expect(screen.heading("Cold store check")).to_be_focused()

    await tab_to(page, "Yes", "ArrowRight")
    await tab_to(page, "Why", text="Spilled milk")
    await tab_to(page, "Degrees", text="4")
    await tab_to(page, "Supplier", "Enter")
    await tab_to(page, "Search options", text="firm 7")
    await tab_to(page, "Firm 7", "Enter")
    await expect(page.get_by_role("button", name="Supplier Firm 7")).to_be_focused()
    await tab_to(page, "Tool 2", "Space")
    await tab_to(page, "Day", text="11112026")
    await tab_to(page, "Choose a photo")
    async with choosing(page, {"name": "1.png", "mimeType": "image/png", "buffer": picture()}):
        await page.keyboard.press("Space")
    await tab_to(page, "1 of 5", "Space", "ArrowRight", "ArrowRight")
    await tab_to(page, "Skip: Extra", "Enter")
    await tab_to(page, "Check and submit", "Enter")
    await expect(screen.heading("Check your answers")).to_be_focused()
    await tab_to(page, "Type your full name", text="Ida Lindqvist")
    await tab_to(page, "Submit", "Enter")
    await expect(screen.heading("Done. Thank you!")).to_be_focused()
    run, who = stage.run(link), {"mode": "external", "name": "Ida Lindqvist", "email": "ida@example.com"}
    assert (run["status"], run["executor_identity"]) == ("completed", who)
    assert answers(stage, link) == {
        **{"clean": False, "why": "Spilled milk", "degrees": 4, "supplier": "o-7", "tools": ["o-2"]},
        **{"day": "2026-11-11", "shelf": None, "tidy": 3},
    }


async def test_the_focus_is_always_seen_and_never_behind_the_bars(stage: Stage, new_device: NewDevice) -> None:
    device = await new_device(viewport={"width": 390, "height": 700}, has_touch=False, is_mobile=False)
    _, screen = await opened(stage, device, EVERY_CONTROL, expires_in_hours=3)
    await screen.card("Signature of a witness").wait_for()
    assert await unseen_focus(device.page, presses=60) == []
