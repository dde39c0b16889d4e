"""The list of runs: what is in it, what can be asked of it, and that it holds thousands without growing."""

import re
from datetime import timedelta

import pytest
from playwright.async_api import expect
from tests.waiting import eventually

from checklist_crds.ids import new_id
from checklist_crds.times import utc_now
from checklist_dev.browser.checklists import checklist, step
from checklist_dev.browser.office import Office
from checklist_dev.failures import Failure

from .conftest import SignedIn


async def test_filters_stand_in_the_address_and_can_be_sent_as_a_link(office: Office, signed_in: SignedIn) -> None:
    template = office.make_template(checklist(step("clean"), name="Opening check"))
    open_run = office.dispatch(template, executor_ref="order 1")
    cancelled = office.dispatch(template, executor_ref="order 2")
    office.dispatch(checklist(step("clean"), name="Closing check"), executor_ref="order 1")
    office.call("POST", f"/v1/runs/{cancelled.run_id}/cancel", json={})
    screen = await signed_in("viewer", at="runs")
    filters = screen.main.get_by_role("search", name="Filter runs")
    await expect(filters.get_by_role("status")).to_have_text("3 runs")
    await filters.get_by_label("Checklist").select_option(label="Opening check")
    await filters.get_by_label("Status").select_option(label="Cancelled")
    await expect(filters.get_by_role("status")).to_have_text("1 run")
    await expect(screen.row("Opening check")).to_contain_text("order 2")
    await expect(screen.page).to_have_url(re.compile(f"runs\\?template={template}&status=cancelled$"))
    await screen.page.reload()
    await filters.get_by_label("Status").select_option(label="Any")
    await filters.get_by_label("Reference").fill("order 1")
    await expect(filters.get_by_role("status")).to_have_text("1 run")
    await screen.row("Opening check").get_by_role("link").click()
    await expect(screen.main.locator(".page-head")).to_contain_text(open_run.run_id)
    await screen.page.go_back()
    await expect(filters.get_by_label("Reference")).to_have_value("order 1")
    tomorrow = (utc_now() + timedelta(days=2)).strftime("%Y-%m-%d")
    await screen.open(f"runs?from={tomorrow}")
    await expect(screen.main.get_by_role("heading", name="No run matches these filters")).to_be_visible()
    await screen.looks_right()
    await screen.button("Show all runs").click()
    await expect(filters.get_by_role("status")).to_have_text("3 runs")


async def test_what_changes_is_shown_in_place_and_what_is_new_is_announced(office: Office, signed_in: SignedIn) -> None:
    link = office.dispatch(checklist(step("clean")), executor_ref="the first")
    screen = await signed_in("viewer", at="runs")
    row = screen.row("Cold store check")
    await expect(row).to_contain_text("Pending")
    office.stage.execute(link, "PUT", "/answers/s-clean", json={"value": True})
    await expect(row).to_contain_text("In progress")
    await expect(row).to_contain_text("1 of 1")
    for number in range(3):
        office.dispatch(checklist(step("clean"), name="Another check"), executor_ref=f"new {number}")
    await expect(screen.button("3 new runs")).to_be_visible()
    await expect(screen.row("Another check")).to_have_count(0)
    await screen.button("3 new runs").press("Enter")
    await expect(screen.row("Another check")).to_have_count(3)
    await expect(screen.button("3 new runs")).to_have_count(0)


async def test_that_archived_runs_may_be_missing_is_said_above_the_list(office: Office, signed_in: SignedIn) -> None:
    office.dispatch(checklist(step("clean")))
    screen = await signed_in("viewer", at="runs")
    note = screen.main.locator(".runs-missing")
    await expect(note).to_have_count(0)
    archive = office.stage.service._folder / "photos" / "archive"
    broken = archive / office.organization / "2026-01" / f"20260101T000000Z-{'0' * 32}.manifest.json"
    broken.parent.mkdir(parents=True)
    broken.write_text("{")
    try:
        await eventually(lambda: _damaged(office))
        await screen.open("runs")
        await expect(note).to_contain_text("A part of the archive is damaged")
        await expect(screen.row("Cold store check")).to_be_visible()
        await screen.looks_right()
    finally:
        broken.unlink()


def _damaged(office: Office) -> bool:
    """Whether the service has seen it. A run that it does not know makes it look, unless it has in the last second."""
    with pytest.raises(Failure):
        office.call("GET", f"/v1/runs/{new_id('r')}")
    return bool("archive" in office.call("GET", "/v1/runs"))
