"""Every page says that it is loading and works in forced colours; long lists by keyboard."""

import asyncio
import re
from functools import partial
from typing import Any

import httpx
from playwright.async_api import Route, expect
from tests.browser.checklist_screen import unseen_focus

from checklist_dev.browser.checklists import EVERY_CONTROL, checklist, step
from checklist_dev.browser.office import Office

from .conftest import SignedIn
from .dashboard_screen import DashboardScreen

PAGES = {
    "overview": (r"/overview\?", "Loading the overview …"),
    "runs": (r"/runs\?", "Loading runs …"),
    "runs/new?template={template}": (r"/templates\?", "Loading templates …"),
    "runs/new/many?template={template}": (r"/templates\?", "Loading templates …"),
    "runs/{run}": (r"/story$", "Loading the run …"),
    "deliveries": (r"/deliveries\?", "Loading deliveries …"),
    "deliveries/endpoints": (r"/endpoints\?", "Loading endpoints …"),
    "deliveries/replays": (r"/replays\?", "Loading replays …"),
    "templates": (r"/templates\?", "Loading templates …"),
    "templates/{template}": (r"/templates/t-[^/]*$", "Loading the template …"),
    "templates/{template}?tab=json": (r"/templates/t-[^/]*$", "Loading the template …"),
    "templates/{template}?tab=versions": (r"/versions\?", "Loading versions …"),
    "settings/keys": (r"/keys\?", "Loading the keys …"),
    "settings/members": (r"/members\?", "Loading the members …"),
    "settings/usage": (r"/usage$", "Loading the usage …"),
    "settings/audit": (r"/audit\?", "Loading the audit …"),
}
"""What each asks for, and what it says until that comes."""


# In forced colours a browser takes backgrounds and shadows away: a control has to have an edge, a line under it, or
# something in it that tells it from plain text.
UNMARKED = """() => {
    const paints = (style) => ["Top", "Right", "Bottom", "Left"].some(
        (side) => parseFloat(style[`border${side}Width`]) > 0 && style[`border${side}Style`] !== "none"
            && !/^rgba.*, 0\\)$|transparent/.test(style[`border${side}Color`]));
    const marked = (element) => {
        const style = getComputedStyle(element);
        if (paints(style) || style.textDecorationLine.includes("underline")) return true;
        if (element.querySelector("svg") || element.closest(".json-frame")) return true;
        // The system's own colours of links and buttons, which plain text does not have.
        const text = getComputedStyle(document.body).color;
        return style.color !== text || style.forcedColorAdjust === "none";
    };
    return [...document.querySelectorAll("main button, main .button, main input, main select, main textarea")]
        .filter((element) => element.checkVisibility() && !element.closest(".vh, .skip-link") && !element.disabled)
        .filter((element) => !["checkbox", "radio"].includes(element.type) && !marked(element))
        .map((element) => element.outerHTML.slice(0, 120));
}"""


# What is left of a style in forced colours.
LOOK = """element => { const style = getComputedStyle(element);
    return [style.borderWidth, style.borderColor, style.outline, style.fontWeight, style.color].join("; "); }"""


async def _held(come: asyncio.Event, route: Route) -> None:
    await come.wait()
    await route.continue_()


async def test_each_page_says_what_it_loads_and_works_in_forced_colours(office: Office, signed_in: SignedIn) -> None:
    template = office.make_template(EVERY_CONTROL)
    run = office.dispatch(template, webhook=office.webhook()).run_id
    screen = await signed_in("admin")
    page, chosen = screen.page, screen.main.locator("[role=tab][aria-selected=true]")
    other = screen.main.locator("[role=tab][aria-selected=false]").first
    for path, (asks, says) in PAGES.items():
        come = asyncio.Event()
        asked = re.compile(rf"/dashboard/api/{office.organization}.*{asks}")
        await page.route(asked, partial(_held, come))
        await screen.open(path.format(template=template, run=run))
        said = screen.main.get_by_role("status").filter(has_text=says)
        await expect(said).to_be_visible()
        assert await screen.device.accessibility_findings() == [], path
        assert not await screen.device.overflows(), path
        come.set()
        await expect(said).to_have_count(0)
        await expect(screen.main.get_by_role("alert")).to_have_count(0)
        await page.unroute(asked)
        await expect(screen.main.locator(".loading")).to_have_count(0)
        await page.emulate_media(forced_colors="active")
        assert await page.evaluate(UNMARKED) == [], path
        if await chosen.count():
            assert await chosen.evaluate(LOOK) != await other.evaluate(LOOK), path
        assert await screen.device.accessibility_findings() == [], path
        assert await unseen_focus(page, presses=40) == [], path
        await page.emulate_media(forced_colors="none")


TOTAL = 10_000
REAL = 5_003


async def _ten_thousand(office: Office, screen: DashboardScreen) -> None:
    """The list of runs as if there were so many, all of them copies of one, which is number REAL itself."""
    link = office.dispatch(checklist(step("clean"), name="Row"))
    [real] = office.call("GET", "/v1/runs")["data"]

    def row(number: int) -> dict[str, Any]:
        run_id = link.run_id if number == REAL else f"r-{number:08}-0000-4000-8000-000000000000"
        return {**real, "run_id": run_id, "executor_ref": f"number {number}"}

    async def answer(route: Route) -> None:
        asked = httpx.URL(route.request.url).params
        page, per_page = int(asked.get("page", 1)), int(asked.get("per_page", 20))
        total = 0 if "created_after" in asked else TOTAL
        rows = [row(number) for number in range((page - 1) * per_page, min(total, page * per_page))]
        pagination = {"total": total, "page": page, "per_page": per_page, "next_page": page + 1}
        await route.fulfill(json={"data": rows, "pagination": pagination})

    await screen.page.route(lambda url: "/dashboard/api/" in url and "/runs?" in url, answer)


async def test_long_lists_by_keyboard_keep_their_position(office: Office, signed_in: SignedIn) -> None:
    screen = await signed_in("viewer")
    await _ten_thousand(office, screen)
    await screen.open("runs")
    table = screen.main.get_by_role("table", name="Runs")
    await expect(table).to_have_attribute("aria-rowcount", str(TOTAL + 1))
    await table.locator("[aria-rowindex='2'] .row-link").focus()
    for key in ["ArrowDown", "j"] * 23 + ["k"]:
        await screen.page.keyboard.press(key)
    focused = table.locator("[aria-rowindex='47'] .row-link")
    await expect(focused).to_be_focused()
    await expect(focused).to_be_in_viewport()
    await screen.page.evaluate("scrollTo(0, 5000 * 48)")
    row = table.locator(f"[aria-rowindex='{REAL + 2}']")
    await expect(row).to_contain_text(f"number {REAL}")
    await expect(focused).to_be_focused()
    assert await table.locator("[role=row]").count() < 120
    before = await screen.page.evaluate("scrollY")
    await row.get_by_role("link").click()
    await expect(screen.heading("Row")).to_be_focused()
    await screen.page.go_back()
    await expect(row).to_be_in_viewport()
    await expect(row.get_by_role("link")).to_be_focused()
    assert abs(await screen.page.evaluate("scrollY") - before) <= 1
    await screen.looks_right()
