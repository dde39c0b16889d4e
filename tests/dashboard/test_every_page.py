"""What is asked of every page alike: that it says it is loading, and that it can be used in forced colours."""

import asyncio
import re
from dataclasses import dataclass

import pytest
from playwright.async_api import Page, Route, expect

from checklist_dev.browser.checklists import EVERY_CONTROL
from checklist_dev.browser.office import Office

from .conftest import SignedIn
from .dashboard_screen import DashboardScreen


@dataclass(frozen=True)
class Waiting:
    """A page whose data do not come: its path, what it asks for, and what it says meanwhile."""

    path: str
    asks: str
    says: str

    def __str__(self) -> str:
        return self.path.partition("?")[0].replace("/", "-")


WAITING = [
    Waiting("runs", r"/runs\?", "Loading runs …"),
    Waiting("runs/new", r"/templates\?", "Loading templates …"),
    Waiting("runs/{run}", r"/story$", "Loading the run …"),
    Waiting("deliveries", r"/deliveries\?", "Loading deliveries …"),
    Waiting("deliveries/endpoints", r"/endpoints\?", "Loading endpoints …"),
    Waiting("deliveries/replays", r"/replays\?", "Loading replays …"),
    Waiting("templates", r"/templates\?", "Loading templates …"),
    Waiting("templates/{template}", r"/templates/t-[^/]*$", "Loading the template …"),
    Waiting("templates/{template}?tab=versions", r"/versions\?", "Loading versions …"),
    Waiting("settings/keys", r"/keys\?", "Loading the keys …"),
    Waiting("settings/members", r"/members\?", "Loading the members …"),
    Waiting("settings/usage", r"/usage$", "Loading the usage …"),
    Waiting("settings/audit", r"/audit\?", "Loading the audit …"),
]


@pytest.mark.parametrize("waiting", WAITING, ids=str)
async def test_a_page_says_what_it_loads_and_shows_it_when_it_comes(
    office: Office, signed_in: SignedIn, waiting: Waiting
) -> None:
    template = office.make_template(EVERY_CONTROL)
    link = office.dispatch(template)
    screen = await signed_in("admin")
    come = asyncio.Event()

    async def hold(route: Route) -> None:
        await come.wait()
        await route.continue_()

    await screen.page.route(re.compile(rf"/dashboard/api/{office.organization}.*{waiting.asks}"), hold)
    await screen.open(waiting.path.format(template=template, run=link.run_id))
    said = screen.main.get_by_role("status").filter(has_text=waiting.says)
    await expect(said).to_be_visible()
    assert await screen.device.accessibility_findings() == []
    assert not await screen.device.overflows()
    come.set()
    await expect(said).to_have_count(0)
    await expect(screen.main.get_by_role("alert")).to_have_count(0)


async def test_the_account_says_what_it_loads(signed_in: SignedIn) -> None:
    screen = await signed_in("viewer")
    await screen.page.route("**/dashboard/api/sessions", lambda route: None)
    await screen.open_base("account")
    await expect(screen.main.get_by_role("status")).to_contain_text("Loading your sessions …")


async def test_before_anything_is_known_the_dashboard_itself_says_that_it_loads(
    office: Office, signed_in: SignedIn
) -> None:
    screen = await signed_in("viewer")
    await screen.page.route("**/dashboard/api/session", lambda route: None)
    await screen.page.goto(office.address("runs"))
    await expect(screen.page.get_by_role("status")).to_contain_text("Loading the dashboard …")
    assert await screen.device.accessibility_findings() == []


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


async def _focus_is_seen(page: Page) -> None:
    """Whatever the keyboard comes to has an outline, all the way through the page."""
    unseen: list[str] = []
    for _ in range(40):
        await page.keyboard.press("Tab")
        found = await page.evaluate(
            """() => {
                const element = document.activeElement;
                if (element === null || element === document.body) return null;
                const outlined = (one) => {
                    const style = getComputedStyle(one);
                    return style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1.5;
                };
                const around = element.closest("label, .is-link, .json-frame");
                if (outlined(element) || (around !== null && outlined(around))) return null;
                return element.outerHTML.slice(0, 120);
            }"""
        )
        if found is not None:
            unseen.append(found)
    assert unseen == []


@pytest.mark.parametrize(
    "path",
    [
        "runs",
        "runs/{run}",
        "runs/new?template={template}",
        "deliveries",
        "templates",
        "templates/{template}",
        "templates/{template}?tab=json",
        "templates/{template}?tab=versions",
        "settings/keys",
        "settings/members",
        "settings/usage",
        "settings/audit",
    ],
)
async def test_in_forced_colours_controls_have_edges_and_the_focus_is_seen(
    office: Office, signed_in: SignedIn, path: str
) -> None:
    template = office.make_template(EVERY_CONTROL)
    office.call("PATCH", f"/v1/templates/{template}", json={"description": "Changed"})
    link = office.dispatch(template, webhook=office.webhook())
    screen: DashboardScreen = await signed_in("admin", forced_colors="active")
    await screen.open(path.format(template=template, run=link.run_id))
    await expect(screen.main.locator(".loading")).to_have_count(0)
    assert await screen.page.evaluate("matchMedia('(forced-colors: active)').matches")
    assert await screen.page.evaluate(UNMARKED) == []
    assert await screen.device.accessibility_findings() == []
    await _focus_is_seen(screen.page)


async def test_in_forced_colours_what_is_chosen_pressed_and_reached_is_told_by_more_than_a_background(
    office: Office, signed_in: SignedIn
) -> None:
    template = office.make_template(EVERY_CONTROL)
    screen = await signed_in("editor", forced_colors="active")
    await screen.open(f"templates/{template}")

    async def look(of: str) -> str:
        """Edges, lines, weight and colours: what is left of a style in forced colours."""
        return str(
            await screen.page.locator(of).first.evaluate(
                """element => { const style = getComputedStyle(element);
                const edge = (side) => ["Width", "Style", "Color"].map((what) => style[`border${side}${what}`]);
                return [...["Top", "Right", "Bottom", "Left"].flatMap(edge), style.outline, style.textDecoration,
                        style.fontWeight, style.color, style.backgroundColor].join("; "); }"""
            )
        )

    assert await look("[role=tab][aria-selected=true]") != await look("[role=tab][aria-selected=false]")
    assert await look(".shell > nav a[aria-current]") != await look(".shell > nav a:not([aria-current])")
    toggle = screen.button("Preview")
    before = await look(".toggle")
    await toggle.click()
    await expect(toggle).to_have_attribute("aria-pressed", "false")
    assert await look(".toggle") != before
