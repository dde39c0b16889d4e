"""Pages that follow what happens: by one stream for all tabs, which comes back by itself and misses nothing."""

import asyncio
from typing import Any

from playwright.async_api import BrowserContext, Page, Request, expect

from checklist_api.dashboard.sessions import object_name
from checklist_crds.kube.kinds import DASHBOARD_SESSION, MEMBER
from checklist_crds.secret_digest import digest
from checklist_dev.bootstrap import NAMESPACE
from checklist_dev.browser.checklists import checklist, step
from checklist_dev.browser.office import Office
from checklist_dev.browser.stage import Link, Stage

from .conftest import SignedIn

HIDDEN = """
Object.defineProperty(document, "visibilityState", { get: () => (window.isHidden ? "hidden" : "visible") });
window.hide = (hidden) => { window.isHidden = hidden; document.dispatchEvent(new Event("visibilitychange")); };
"""


def streams_of(context: BrowserContext) -> list[Request]:
    """Every stream that any tab opens from now on."""
    found: list[Request] = []
    context.on("request", lambda request: found.append(request) if "/events" in request.url else None)
    return found


def cancel(office: Office, link: Link) -> None:
    office.call("POST", f"/v1/runs/{link.run_id}/cancel", json={})


async def test_a_page_catches_up_when_the_service_was_away(stage: Stage, office: Office, signed_in: SignedIn) -> None:
    link = office.dispatch(checklist(step("clean")))
    screen = await signed_in("viewer")
    await screen.open("runs")
    await expect(screen.row("Cold store check")).to_contain_text("Pending")
    badge = screen.page.locator(".live-badge")
    await expect(badge).to_have_text("Live")
    await asyncio.to_thread(stage.kill_api)
    await expect(badge).to_contain_text("Reconnecting")
    await screen.looks_right()
    await stage.start_api()
    cancel(office, link)
    await expect(screen.row("Cold store check")).to_contain_text("Cancelled")
    await expect(badge).to_have_text("Live")
    # What the browser says of an address where nobody answered is no fault of the page.
    screen.device.problems.clear()


async def test_tabs_share_one_stream_that_goes_on_where_it_ended(office: Office, signed_in: SignedIn) -> None:
    link, other = office.dispatch(checklist(step("clean"))), office.dispatch(checklist(step("clean"), name="Second"))
    screen = await signed_in("viewer")
    streams = streams_of(screen.device.context)
    await screen.open("runs")
    first, second = screen.page, await screen.device.context.new_page()
    await expect(first.locator(".live-badge")).to_have_text("Live")
    await second.goto(office.address("runs"))
    await expect(second.locator(".live-badge")).to_have_text("Live")
    cancel(office, link)
    for page in (first, second):
        await expect(_row(page, "Cold store check")).to_contain_text("Cancelled")
    assert len(streams) == 1
    await first.close()
    cancel(office, other)
    await expect(_row(second, "Second")).to_contain_text("Cancelled")
    assert len(streams) == 2
    assert "last_event_id=" in streams[1].url


def _row(page: Page, name: str) -> Any:
    return page.get_by_role("row").filter(has=page.get_by_role("rowheader").filter(has_text=name))


async def test_a_new_role_and_the_end_of_the_session_are_shown_at_once(office: Office, signed_in: SignedIn) -> None:
    screen = await signed_in("viewer")
    await screen.open("runs")
    badge = screen.page.locator(".live-badge")
    await expect(badge).to_have_text("Live")
    await expect(screen.navigation.get_by_role("link", name="API keys")).to_have_count(0)
    await office.kube.patch(MEMBER, screen.person.member_id, {"spec": {"role": "admin"}}, NAMESPACE)
    await expect(screen.navigation.get_by_role("link", name="API keys")).to_be_visible()
    await expect(badge).to_have_text("Live")
    await office.kube.delete(DASHBOARD_SESSION, object_name(digest(screen.person.secret)), NAMESPACE)
    await expect(screen.dialog("Your session has ended")).to_be_visible()


async def test_a_tab_that_was_hidden_for_long_catches_up_when_seen(office: Office, signed_in: SignedIn) -> None:
    link = office.dispatch(checklist(step("clean")))
    screen = await signed_in("viewer")
    page = screen.page
    await page.clock.install()
    await page.add_init_script(HIDDEN)
    await screen.open("runs")
    await expect(page.locator(".live-badge")).to_have_text("Live")
    await page.evaluate("hide(true)")
    await page.clock.fast_forward("05:01")
    await expect(page.locator(".live-badge")).to_have_text("Paused")
    cancel(office, link)
    await page.evaluate("hide(false)")
    await expect(page.locator(".live-badge")).to_have_text("Live")
    await expect(screen.row("Cold store check")).to_contain_text("Cancelled")
