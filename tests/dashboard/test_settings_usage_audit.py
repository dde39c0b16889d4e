"""Settings, usage and audit: what was used of the month, and who did what."""

import json
import re
from pathlib import Path

from playwright.async_api import expect

from checklist_crds.kube.client import KubeClient
from checklist_dev.browser.checklists import checklist, step
from checklist_dev.browser.office import Office
from checklist_dev.browser.stage import Stage
from checklist_dev.failures import Failure

from .conftest import SignedIn
from .dashboard_screen import tab_to


async def test_usage_tells_the_month_the_days_and_the_same_numbers_as_a_table(
    office: Office, signed_in: SignedIn
) -> None:
    template = office.make_template(checklist(step("clean")))
    for _ in range(3):
        office.dispatch(template)
    screen = await signed_in("viewer")
    await screen.open("settings/usage")
    await expect(screen.main).to_contain_text("3 without a limit")
    chart = screen.main.get_by_role("img")
    await expect(chart).to_have_accessible_name(re.compile("The most on one day: 3 runs"))
    await screen.looks_right()
    await screen.button("Show as a table").click()
    today = screen.main.get_by_role("row").nth(1)
    await expect(today.get_by_role("cell")).to_have_text("3")
    await screen.looks_right()


async def test_a_limit_that_is_reached_is_told_as_programs_are_told(
    stage: Stage, kube: KubeClient, signed_in: SignedIn, office: Office
) -> None:
    small = await Office.opened(stage, kube, name="Small Plan", runs_per_month=2)
    template = small.make_template(checklist(step("clean")))
    for _ in range(2):
        small.dispatch(template)
    try:
        small.dispatch(template)
        refused = ""
    except Failure as failure:
        refused = str(failure)
    assert "quota_exceeded" in refused
    screen = await signed_in(person=await small.member("viewer"))
    await screen.page.goto(small.address("settings/usage"))
    await expect(screen.main).to_contain_text("2 of 2")
    said = json.loads(await screen.main.get_by_role("alert").locator("pre").inner_text())
    assert said["error"] == "quota_exceeded"
    assert said["message"] in refused
    assert (said["details"]["limit"], said["details"]["used"]) == (2, 2)
    await screen.looks_right()


async def test_the_audit_lists_filters_and_exports_what_was_done(
    office: Office, signed_in: SignedIn, tmp_path: Path
) -> None:
    screen = await signed_in("admin")
    await screen.open("settings/audit")
    await expect(screen.main).to_contain_text("Nothing was done yet")
    await screen.looks_right()
    await screen.go("API keys")
    await screen.button("New key").click()
    await screen.dialog("New key").get_by_role("textbox", name="Name").fill("Billing")
    await screen.button("Make the key").click()
    await screen.button("I have kept the key").click()
    await screen.button("Revoke Billing").click()
    await screen.button("Revoke the key").click()
    await screen.told("revoked")
    await screen.go("Audit")
    await expect(screen.row("Revoked an API key")).to_contain_text("Billing")
    await expect(screen.row("Made an API key")).to_contain_text("Ada Example")
    await expect(screen.main.locator(".filter-result")).to_have_text("2 entries")
    await screen.looks_right()

    await screen.page.get_by_label("What", exact=True).select_option(label="Revoked an API key")
    await expect(screen.main.locator(".filter-result")).to_have_text("1 entry")
    assert "action=api_key.revoked" in screen.page.url
    await expect(screen.row("Made an API key")).to_have_count(0)
    async with screen.page.expect_download() as download:
        await screen.page.get_by_role("link", name="Export as JSON lines").click()
    file = tmp_path / "audit.jsonl"
    await (await download.value).save_as(file)
    [entry] = [json.loads(line) for line in file.read_text().splitlines()]
    assert (entry["action"], entry["actor"]["email"]) == ("api_key.revoked", screen.person.email)

    await screen.page.reload()
    await expect(screen.main.locator(".filter-result")).to_have_text("1 entry")
    await screen.page.get_by_label("Outcome").select_option(label="Failed")
    await expect(screen.main).to_contain_text("Nothing fits these filters")
    await screen.button("Clear filters").click()
    await expect(screen.main.locator(".filter-result")).to_have_text("2 entries")


async def test_the_audit_is_filtered_paged_and_exported_by_keyboard_alone(office: Office, signed_in: SignedIn) -> None:
    template = office.make_template(checklist(step("clean")))
    for number in range(52):
        office.call("PATCH", f"/v1/templates/{template}", json={"description": str(number)})
    screen = await signed_in("admin")
    await screen.open("settings/audit")
    page, keyboard = screen.page, screen.page.keyboard
    await expect(screen.main.locator(".filter-result")).to_have_text("53 entries")
    await tab_to(page, "Next")
    await keyboard.press("Enter")
    await expect(screen.row("Made a template")).to_be_visible()
    await expect(screen.main.get_by_role("rowheader")).to_have_count(3)
    await screen.page.reload()
    await expect(screen.main.get_by_role("rowheader")).to_have_count(3)
    await tab_to(page, "What")
    await keyboard.type("Made a t")
    await expect(screen.main.locator(".filter-result")).to_have_text("1 entry")
    await expect(page.get_by_label("What", exact=True)).to_be_focused()
    await tab_to(page, "Outcome")
    await keyboard.type("Failed")
    await expect(screen.main).to_contain_text("Nothing fits these filters")
    await tab_to(page, "Clear filters")
    await keyboard.press("Enter")
    await expect(screen.main.locator(".filter-result")).to_have_text("53 entries")
    await page.evaluate("document.activeElement.blur()")
    await tab_to(page, "Export as JSON lines")
    async with page.expect_download() as download:
        await keyboard.press("Enter")
    lines = Path(await (await download.value).path()).read_text().splitlines()
    assert len(lines) == 53


async def test_editors_do_not_get_the_audit(signed_in: SignedIn) -> None:
    screen = await signed_in("editor")
    await screen.open("settings/audit")
    await expect(screen.main).to_contain_text("This page needs the role admin")
