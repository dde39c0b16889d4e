"""Pages that follow what happens: by one stream for all tabs, which comes back by itself and misses nothing."""

import asyncio

from playwright.async_api import expect

from checklist_api.dashboard.sessions.store import object_name
from checklist_crds.resources.kinds import DASHBOARD_SESSION, MEMBER
from checklist_crds.secrets.digest import digest
from checklist_dev.browser.checklists import checklist, step
from checklist_dev.browser.office import Office
from checklist_dev.browser.stage import Stage
from checklist_dev.local.bootstrap import NAMESPACE

from .conftest import SignedIn

HIDDEN = """
Object.defineProperty(document, "visibilityState", { get: () => (window.isHidden ? "hidden" : "visible") });
window.hide = (hidden) => { window.isHidden = hidden; document.dispatchEvent(new Event("visibilitychange")); };
"""


async def test_a_page_catches_up_when_the_service_was_away(stage: Stage, office: Office, signed_in: SignedIn) -> None:
    link = office.dispatch(checklist(step("clean")))
    screen = await signed_in("viewer", at="runs")
    await expect(screen.row("Cold store check")).to_contain_text("Pending")
    badge = screen.page.locator(".live-badge")
    await expect(badge).to_have_text("Live")
    await asyncio.to_thread(stage.kill_api)
    await expect(badge).to_contain_text("Reconnecting")
    await screen.looks_right()
    await stage.start_api()
    office.call("POST", f"/v1/runs/{link.run_id}/cancel", json={})
    await expect(screen.row("Cold store check")).to_contain_text("Cancelled")
    await expect(badge).to_have_text("Live")
    # What the browser says of an address without a server is no fault of the page.
    screen.device.problems.clear()


async def test_tabs_share_one_stream_that_goes_on_where_it_ended(office: Office, signed_in: SignedIn) -> None:
    link, other = office.dispatch(checklist(step("clean"))), office.dispatch(checklist(step("clean"), name="Second"))
    screen, streams = await signed_in("viewer"), list[str]()
    screen.device.context.on("request", lambda asked: streams.append(asked.url) if "/events" in asked.url else None)
    await screen.open("runs")
    await expect(screen.page.locator(".live-badge")).to_have_text("Live")
    second = await screen.another_tab("runs")
    await expect(second.page.locator(".live-badge")).to_have_text("Live")
    office.call("POST", f"/v1/runs/{link.run_id}/cancel", json={})
    for tab in (screen, second):
        await expect(tab.row("Cold store check")).to_contain_text("Cancelled")
    assert len(streams) == 1
    await screen.page.close()
    office.call("POST", f"/v1/runs/{other.run_id}/cancel", json={})
    await expect(second.row("Second")).to_contain_text("Cancelled")
    assert len(streams) == 2
    assert "last_event_id=" in streams[1]


async def test_hidden_tabs_catch_up(office: Office, signed_in: SignedIn) -> None:
    link = office.dispatch(checklist(step("clean")))
    screen = await signed_in("viewer")
    page, badge = screen.page, screen.page.locator(".live-badge")
    await page.clock.install()
    await page.add_init_script(HIDDEN)
    await screen.open("runs")
    await expect(badge).to_have_text("Live")
    # A request that is still under way would be abandoned when the clock is put forward.
    await expect(screen.row("Cold store check")).to_be_visible()
    await page.evaluate("hide(true)")
    await page.clock.fast_forward("05:01")
    await expect(badge).to_have_text("Paused")
    office.call("POST", f"/v1/runs/{link.run_id}/cancel", json={})
    await page.evaluate("hide(false)")
    await expect(screen.row("Cold store check")).to_contain_text("Cancelled")
    await expect(badge).to_have_text("Live")
    # A new role, and the end of the session, are shown at once.
    await office.kube.patch(MEMBER, screen.person.member_id, {"spec": {"role": "admin"}}, NAMESPACE)
    await expect(screen.navigation.get_by_role("link", name="API keys")).to_be_visible()
    await expect(badge).to_have_text("Live")
    await office.kube.delete(DASHBOARD_SESSION, object_name(digest(screen.person.secret)), NAMESPACE)
    await expect(screen.dialog("Your session has ended")).to_be_visible()
