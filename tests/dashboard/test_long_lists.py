"""Thousands of rows by keyboard, and coming back to them. They are made up; the one that is opened is real."""

from typing import Any

import httpx
from playwright.async_api import Route, expect

from checklist_dev.browser.checklists import checklist, step
from checklist_dev.browser.office import Office

from .conftest import SignedIn
from .dashboard_screen import DashboardScreen

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
    for _ in range(45):
        await screen.page.keyboard.press("ArrowDown")
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
