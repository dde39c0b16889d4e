"""WCAG 2.2 AA as far as a program can judge it: in every state, light and dark, and for whoever uses no pointer."""

from collections.abc import Awaitable, Callable
from typing import Any, Final

import pytest
from playwright.async_api import Page, Route, expect

from checklist_dev.browser.checklists import EVERY_CONTROL, checklist, step
from checklist_dev.browser.device import DESKTOP, Device
from checklist_dev.browser.stage import Link, Stage

from .checklist_screen import ChecklistScreen, answers, choosing, noise, picture
from .conftest import NewDevice

Json = dict[str, Any]
Reach = Callable[[Stage, Device], Awaitable[None]]
NARROW: Final[Json] = {"viewport": {"width": 320, "height": 640}}
LONG_WORD: Final = "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft"


async def _open(stage: Stage, device: Device, template: Json, **members: Any) -> tuple[Link, ChecklistScreen]:
    link = stage.dispatch(template, **members)
    return link, await ChecklistScreen.opened(device, link)


async def the_checklist(stage: Stage, device: Device) -> None:
    await _open(stage, device, EVERY_CONTROL, expires_in_hours=3)
    await device.page.get_by_role("article", name="Signature of a witness").wait_for()


async def loading(stage: Stage, device: Device) -> None:
    link = stage.dispatch(checklist(step("clean")))
    # It never answers.
    await device.page.route("**/v1/**", lambda route: None)
    await device.page.goto(link.url)
    await device.page.get_by_text("Loading the checklist").wait_for()


async def the_identity_form(stage: Stage, device: Device) -> None:
    _, screen = await _open(stage, device, checklist(step("clean"), identity="external"))
    await expect(screen.heading("First, who are you?")).to_be_visible()


async def the_checklist_with_answers(stage: Stage, device: Device) -> None:
    _, screen = await _open(stage, device, EVERY_CONTROL)
    await screen.choose("Is the floor clean?", "Dirty")
    await screen.write("Temperature of the cold store", "99")
    await screen.card("How tidy is it?").get_by_role("radio", name="4 of 5").check()
    await screen.choose("What did you use?", "Mop")
    await screen.card("Which door?").get_by_role("button", name="Skip").click()
    await expect(screen.card("Temperature of the cold store").locator(".error")).to_be_visible()
    await screen.saved("What did you use?")


async def the_menu(stage: Stage, device: Device) -> None:
    await _open(stage, device, EVERY_CONTROL)
    await device.page.get_by_role("button", name="Menu").click()
    await device.page.get_by_role("dialog").wait_for()


async def the_way_out(stage: Stage, device: Device) -> None:
    _, screen = await _open(stage, device, EVERY_CONTROL)
    await screen.menu("I can’t finish this")
    await device.page.get_by_role("dialog", name="Stop this checklist?").wait_for()


async def the_list_of_options(stage: Stage, device: Device) -> None:
    _, screen = await _open(stage, device, EVERY_CONTROL)
    await screen.card("Where do the goods come from?").get_by_role("button", name="Choose one").click()
    await device.page.get_by_role("searchbox").fill("1")


async def the_scanner(stage: Stage, device: Device) -> None:
    await device.page.add_init_script("window.BarcodeDetector = class { async detect() { return []; } }")
    await device.context.grant_permissions(["camera"])
    _, screen = await _open(stage, device, checklist(step("code", "scan")))
    await screen.card("Code").get_by_role("button", name="Scan a code").click()
    await device.page.get_by_text("Point the camera at the code").wait_for()


async def photos_to_be_cleared(stage: Stage, device: Device) -> None:
    _, screen = await _open(stage, device, checklist(step("shelf", "photo")))
    await screen.photo("Shelf", picture())
    await screen.saved("Shelf")
    await screen.card("Shelf").get_by_role("button", name="Clear answer: Shelf").click()
    await device.page.get_by_role("dialog", name="Clear answer").wait_for()


async def nothing_is_kept(stage: Stage, device: Device) -> None:
    denied = "() => { throw new DOMException('denied', 'SecurityError'); }"
    await device.page.add_init_script(f"IDBFactory.prototype.open = {denied}")
    await _open(stage, device, checklist(step("clean")))
    await device.page.get_by_text("This browser keeps nothing").wait_for()


async def the_review_with_gaps(stage: Stage, device: Device) -> None:
    _, screen = await _open(stage, device, EVERY_CONTROL)
    await screen.choose("Is the floor clean?", "Clean")
    await screen.menu("Check your answers")
    await screen.submit()
    await device.page.get_by_role("group", name="required steps are missing").wait_for()


async def the_receipt(stage: Stage, device: Device) -> None:
    link, screen = await _open(stage, device, checklist(step("clean")))
    await screen.choose("Clean", "Yes")
    await screen.to_review()
    await screen.submit()
    await expect(screen.heading("Done. Thank you!")).to_be_visible()
    assert stage.run(link)["status"] == "completed"


async def stopped(stage: Stage, device: Device) -> None:
    link = stage.dispatch(checklist(step("clean")))
    stage.cancel(link)
    screen = await ChecklistScreen.opened(device, link)
    await expect(screen.heading("This checklist was stopped")).to_be_visible()


async def the_identity_form_with_errors(stage: Stage, device: Device) -> None:
    await _open(stage, device, checklist(step("clean"), identity="external"))
    await device.page.get_by_role("button", name="Start").click()
    await device.page.get_by_role("group", name="There are 2 problems").wait_for()


async def sign_in_to_answer(stage: Stage, device: Device) -> None:
    _, screen = await _open(stage, device, checklist(step("clean"), identity="member"))
    await expect(screen.heading("Sign in to answer")).to_be_visible()


async def the_preview(stage: Stage, device: Device) -> None:
    link = stage.dispatch(checklist(step("clean")), expires_in_hours=30)
    await device.page.goto(link.bare)
    await device.page.get_by_role("main").get_by_text("open the complete link").wait_for()


async def the_preview_with_an_app(stage: Stage, device: Device) -> None:
    link = stage.dispatch(checklist(step("clean")))
    apps = '<meta name="install-apple" content="https://apps.apple.com/app/id1">'

    async def configured(route: Route) -> None:
        response = await route.fetch()
        await route.fulfill(response=response, body=(await response.text()).replace("</title>", f"</title>{apps}", 1))

    await device.page.route(link.bare, configured)
    await device.page.goto(link.bare)
    store = device.page.locator("#content").get_by_role("link", name="Get the app (App Store)")
    await expect(store).to_have_attribute("href", "https://apps.apple.com/app/id1")


async def not_found(stage: Stage, device: Device) -> None:
    link = stage.dispatch(checklist(step("clean")))
    await device.page.goto(link.url.replace(link.run_id, "r-00000000-0000-4000-8000-000000000000"))
    await device.page.get_by_role("heading", name="There is no checklist here").wait_for()


async def expired(stage: Stage, device: Device) -> None:
    link = stage.dispatch(checklist(step("clean")), expires_in_hours=0.0002)
    await device.page.wait_for_timeout(1_000)
    await device.page.goto(link.url)
    await device.page.locator("#content").get_by_role("heading", name="This link has expired").wait_for()


async def unreachable(stage: Stage, device: Device) -> None:
    link = stage.dispatch(checklist(step("clean")))
    await device.page.route("**/v1/**", lambda route: route.fulfill(status=503, json={"error": "service_unavailable"}))
    await device.page.goto(link.url)
    await device.page.get_by_role("heading", name="Not available right now").last.wait_for()


async def offline_at_first(stage: Stage, device: Device) -> None:
    link = stage.dispatch(checklist(step("clean")))
    # The page has come, and then the network went: that is what a service worker's copy looks like, too.
    await device.page.add_init_script("Object.defineProperty(navigator, 'onLine', {get: () => false})")
    await device.page.route("**/v1/**", lambda route: route.abort("internetdisconnected"))
    await device.page.goto(link.url)
    await device.page.get_by_role("heading", name="You are offline").wait_for()


async def submitted_without_a_network(stage: Stage, device: Device) -> None:
    _, screen = await _open(stage, device, checklist(step("clean")))
    await screen.choose("Clean", "Yes")
    await screen.saved("Clean")
    await screen.to_review()
    await device.context.set_offline(True)
    await screen.submit()
    await expect(screen.heading("Not sent yet")).to_be_visible()


async def stopped_without_a_network(stage: Stage, device: Device) -> None:
    _, screen = await _open(stage, device, checklist(step("clean")))
    await device.context.set_offline(True)
    await screen.menu("I can’t finish this")
    await device.page.get_by_role("button", name="Stop the checklist").click()
    await device.page.get_by_text("stopped as soon as you are back online").wait_for()


async def answered_on_another_device(stage: Stage, device: Device) -> None:
    link, screen = await _open(stage, device, checklist(step("clean"), step("note", "text")))
    await device.context.set_offline(True)
    await screen.write("Note", "from the cellar")
    await expect(device.page.locator(".pill")).to_have_text("Offline: 1 waiting")
    stage.execute(link, "PUT", "/answers/s-note", json={"value": "from the desk"})
    await device.context.set_offline(False)
    await device.page.get_by_text("Answered on another device").wait_for()


async def without_a_network(stage: Stage, device: Device) -> None:
    _, screen = await _open(stage, device, EVERY_CONTROL)
    await device.context.set_offline(True)
    await screen.choose("Is the floor clean?", "Clean")
    await screen.photo("Photos of the shelves", picture())
    await device.page.get_by_role("button", name="Offline: 2 waiting").wait_for()


async def a_photo_looked_at(stage: Stage, device: Device) -> None:
    _, screen = await _open(stage, device, checklist(step("shelf", "photo")))
    await screen.photo("Shelf", picture())
    await screen.saved("Shelf")
    await screen.card("Shelf").get_by_role("button", name="View photo 1").click()
    await device.page.get_by_role("dialog", name="Photo 1").wait_for()


async def a_photo_refused(stage: Stage, device: Device) -> None:
    _, screen = await _open(stage, device, checklist(step("shelf", "photo")))
    await screen.photo("Shelf", picture()[:200])
    await device.page.get_by_role("button", name="Needs attention").wait_for()


async def no_room_on_the_device(stage: Stage, device: Device) -> None:
    storage = await device.context.new_cdp_session(device.page)
    await storage.send("Storage.overrideQuotaForOrigin", {"origin": stage.base_url, "quotaSize": 4_000_000})
    _, screen = await _open(stage, device, checklist(step("clean"), step("shelf", "photo")))
    await screen.choose("Clean", "Yes")
    await screen.saved("Clean")
    await device.context.set_offline(True)
    await screen.photo("Shelf", noise(1_600, 1_100))
    await device.page.get_by_text("This device is full").wait_for()
    await expect(screen.card("Shelf").locator(".error")).to_be_visible()


async def too_late(stage: Stage, device: Device) -> None:
    link, screen = await _open(stage, device, checklist(step("clean"), step("note", "text")))
    await device.context.set_offline(True)
    await screen.write("Note", "mice in the cellar")
    await expect(device.page.locator(".pill")).to_have_text("Offline: 1 waiting")
    stage.cancel(link)
    await device.context.set_offline(False)
    await device.page.get_by_text("mice in the cellar").wait_for()


STATES: Final[tuple[Reach, ...]] = (
    loading,
    the_identity_form,
    the_checklist,
    the_checklist_with_answers,
    the_menu,
    the_way_out,
    the_list_of_options,
    the_scanner,
    photos_to_be_cleared,
    nothing_is_kept,
    the_review_with_gaps,
    the_receipt,
    stopped,
    the_identity_form_with_errors,
    sign_in_to_answer,
    the_preview,
    the_preview_with_an_app,
    not_found,
    expired,
    unreachable,
    offline_at_first,
    submitted_without_a_network,
    stopped_without_a_network,
    answered_on_another_device,
    without_a_network,
    a_photo_looked_at,
    a_photo_refused,
    no_room_on_the_device,
    too_late,
)


@pytest.mark.parametrize("reach", STATES, ids=lambda reach: reach.__name__)
async def test_axe_finds_nothing_and_nothing_is_wider_than_a_small_phone(
    stage: Stage, new_device: NewDevice, reach: Reach
) -> None:
    device = await new_device(**NARROW, reduced_motion="reduce")
    await reach(stage, device)
    # All of it, also what the browser would not lay out before it is scrolled to.
    await device.page.evaluate("document.querySelectorAll('.slot').forEach(e => e.style.contentVisibility = 'visible')")
    found = {}
    for scheme in ("light", "dark"):
        await device.page.emulate_media(color_scheme=scheme)
        found[scheme] = await device.accessibility_findings()
    assert found == {"light": [], "dark": []}
    assert not await device.overflows()


@pytest.mark.parametrize("reach", [the_checklist_with_answers, the_review_with_gaps], ids=lambda reach: reach.__name__)
async def test_axe_finds_nothing_on_a_desktop_and_in_forced_colours(
    stage: Stage, new_device: NewDevice, reach: Reach
) -> None:
    device = await new_device(**DESKTOP, has_touch=False, is_mobile=False)
    await reach(stage, device)
    assert await device.accessibility_findings() == []
    await device.page.emulate_media(forced_colors="active")
    assert await device.accessibility_findings() == []


# What is inside of a card that is itself a label counts with it.
SMALL_TARGETS: Final = """() => {
    const cards = "label.choice, label.grade, label.photo-file";
    return [...document.querySelectorAll(`button, a[href], select, input, textarea, ${cards}`)]
        .filter(e => e.checkVisibility() && !e.matches(".vh, .skip-link") && !(e.closest(cards) && !e.matches("label")))
        .map(e => [e.outerHTML.slice(0, 90), e.getBoundingClientRect()])
        .filter(([, box]) => box.width < 43.5 || box.height < 43.5)
        .map(([html, box]) => `${html} ${box.width}x${box.height}`);
}"""


@pytest.mark.parametrize(
    "reach", [the_checklist_with_answers, the_menu, the_review_with_gaps, the_receipt], ids=lambda reach: reach.__name__
)
async def test_every_target_is_large_enough_for_a_thumb(stage: Stage, new_device: NewDevice, reach: Reach) -> None:
    device = await new_device()
    await reach(stage, device)
    assert await device.page.evaluate(SMALL_TARGETS) == []


async def test_long_words_wrap_and_text_twice_as_large_fits(stage: Stage, new_device: NewDevice) -> None:
    template = checklist(
        step(
            "a", label=LONG_WORD, hint=LONG_WORD, required=True, config={"true_label": LONG_WORD, "false_label": "No"}
        ),
        step("b", "number", label=LONG_WORD, config={"unit": LONG_WORD[:50]}),
        step("c", "rating", label=LONG_WORD, config={"low_label": LONG_WORD, "high_label": LONG_WORD}),
        name=LONG_WORD,
    )
    device = await new_device(**NARROW)
    _, screen = await _open(stage, device, template)
    assert not await device.overflows()
    await device.page.evaluate("document.documentElement.style.fontSize = '200%'")
    assert not await device.overflows()
    await screen.menu("Check your answers")
    assert not await device.overflows()


@pytest.mark.parametrize("language", ["de", "es", "fr", "ar"])
async def test_every_language_fits_a_small_phone(stage: Stage, new_device: NewDevice, language: str) -> None:
    device = await new_device(**NARROW, locale=language)
    await device.page.goto(stage.dispatch(EVERY_CONTROL).url)
    await device.page.get_by_role("article").first.wait_for()
    await expect(device.page.locator("html")).to_have_attribute("lang", language)
    assert not await device.overflows()
    await device.page.locator(".status-row > .button-icon").click()
    await device.page.locator("dialog .button:not(.button-quiet)").click()
    await device.page.locator("main.review button[type=submit]").click()
    await device.page.locator(".summary").wait_for()
    assert not await device.overflows()
    assert await device.accessibility_findings() == []


async def test_right_to_left_turns_the_whole_page(stage: Stage, new_device: NewDevice) -> None:
    device = await new_device(**NARROW, locale="ar-EG")
    await device.page.goto(stage.dispatch(EVERY_CONTROL).url)
    await device.page.get_by_role("article").first.wait_for()
    assert await device.page.evaluate("[document.dir, document.documentElement.lang]") == ["rtl", "ar-EG"]
    assert not await device.overflows()
    assert await device.accessibility_findings() == []
    menu = await device.page.locator(".status-row > .button-icon").bounding_box()
    meter = await device.page.locator(".meter").bounding_box()
    assert menu is not None
    assert meter is not None
    assert menu["x"] < meter["x"]


async def test_with_reduced_motion_nothing_moves(stage: Stage, new_device: NewDevice) -> None:
    device = await new_device(reduced_motion="reduce")
    template = checklist(step("a"), step("b", condition={"when": {"step": "s-a", "op": "eq", "value": True}}))
    _, screen = await _open(stage, device, template)
    await screen.choose("A", "Yes")
    await screen.card("B").wait_for()
    running = "document.getAnimations().filter(a => a.effect.getComputedTiming().duration > 1).length"
    assert await device.page.evaluate(running) == 0


async def press(page: Page, *keys: str) -> None:
    for key in keys:
        await page.keyboard.press(key)


async def tab_to(page: Page, name: str) -> None:
    """Presses Tab until what has the focus is called so, as somebody without a pointer would."""
    named = """name => {
        const e = document.activeElement;
        const ids = (e.getAttribute("aria-labelledby") ?? "").split(" ");
        const by = ids.map(id => document.getElementById(id)?.textContent).join(" ");
        const texts = [e.getAttribute("aria-label"), by, e.labels?.[0]?.textContent, e.textContent];
        return texts.some(text => text?.trim().startsWith(name));
    }"""
    for _ in range(80):
        await page.keyboard.press("Tab")
        if await page.evaluate(named, name):
            return
    raise AssertionError(f"Tab does not lead to {name}")


async def test_a_whole_checklist_by_keyboard_alone(stage: Stage, new_device: NewDevice) -> None:
    template = checklist(
        step("clean", required=True),
        step("why", "text", required=True, condition={"when": {"step": "s-clean", "op": "eq", "value": False}}),
        step("degrees", "number", required=True),
        step("supplier", "choice", config={"options": [{"id": f"o-{n}", "label": f"Firm {n}"} for n in range(1, 10)]}),
        step("tools", "multi_choice", config={"options": [{"id": f"o-{n}", "label": f"Tool {n}"} for n in (1, 2, 3)]}),
        step("day", "date", required=True),
        step("shelf", "photo", required=True),
        step("tidy", "rating", required=True),
        step("extra"),
        signature_on_complete=True,
        identity="external",
    )
    device = await new_device(**DESKTOP, has_touch=False, is_mobile=False)
    page = device.page
    link, screen = await _open(stage, device, template)
    await tab_to(page, "Your name")
    await page.keyboard.type("Ida Lindqvist")
    await press(page, "Tab")
    await page.keyboard.type("ida@example.com")
    await press(page, "Enter")
    await expect(screen.heading("Cold store check")).to_be_focused()

    await tab_to(page, "Yes")
    await press(page, "ArrowRight")
    await tab_to(page, "Why")
    await page.keyboard.type("Spilled milk")
    await tab_to(page, "Degrees")
    await page.keyboard.type("4")
    await tab_to(page, "Supplier")
    await press(page, "Enter")
    await tab_to(page, "Search the options")
    await page.keyboard.type("firm 7")
    await tab_to(page, "Firm 7")
    await press(page, "Enter")
    await expect(page.get_by_role("button", name="Supplier Firm 7")).to_be_focused()
    await tab_to(page, "Tool 2")
    await press(page, "Space")
    await tab_to(page, "Day")
    await page.keyboard.type("11112026")
    await tab_to(page, "Choose a photo")
    async with choosing(page, {"name": "1.png", "mimeType": "image/png", "buffer": picture()}):
        await press(page, "Space")
    await tab_to(page, "1 of 5")
    await press(page, "Space", "ArrowRight", "ArrowRight")
    await tab_to(page, "Skip: Extra")
    await press(page, "Enter")
    await tab_to(page, "Check and submit")
    await press(page, "Enter")
    await expect(screen.heading("Check your answers")).to_be_focused()
    await tab_to(page, "Type your full name")
    await page.keyboard.type("Ida Lindqvist")
    await tab_to(page, "Submit")
    await press(page, "Enter")
    await expect(screen.heading("Done. Thank you!")).to_be_focused()
    assert stage.run(link)["status"] == "completed"
    expected = {
        "clean": False,
        "why": "Spilled milk",
        "degrees": 4,
        "supplier": "o-7",
        "tools": ["o-2"],
        "day": "2026-11-11",
        "shelf": None,
        "tidy": 3,
    }
    assert answers(stage, link) == expected


async def test_the_focus_is_always_seen_and_never_behind_the_bars(stage: Stage, new_device: NewDevice) -> None:
    device = await new_device(viewport={"width": 390, "height": 700}, has_touch=False, is_mobile=False)
    await the_checklist(stage, device)
    hidden = """() => {
        const e = document.activeElement, shown = e.closest("label.choice, label.grade, label.button") ?? e;
        const box = shown.getBoundingClientRect(), style = getComputedStyle(shown);
        const covered = [...document.querySelectorAll(".status-bar, .next-bar")].some(bar => {
            const { top, bottom } = bar.getBoundingClientRect();
            return !bar.contains(e) && !e.matches('.skip-link') && box.top >= top - 1 && box.bottom <= bottom + 1;
        });
        const ring = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
        return e === document.body || (ring && !covered) ? null : `${e.outerHTML.slice(0, 120)} ${ring} ${covered}`;
    }"""
    seen = []
    for _ in range(60):
        await device.page.keyboard.press("Tab")
        seen.append(await device.page.evaluate(hidden))
    assert [one for one in seen if one is not None] == []
