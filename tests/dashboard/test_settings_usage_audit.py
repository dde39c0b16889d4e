"""Settings, usage and audit: what was used of the month, and who did what."""

import json
import re
from pathlib import Path

import pytest
from playwright.async_api import expect
from tests.browser.checklist_screen import tab_to

from checklist_crds.kube.client import KubeClient
from checklist_dev.browser.checklists import checklist, step
from checklist_dev.browser.office import Office
from checklist_dev.browser.stage import Stage
from checklist_dev.failures import Failure

from .conftest import SignedIn


async def test_usage_shows_chart_table_and_limit(stage: Stage, kube: KubeClient, signed_in: SignedIn) -> None:
    small = await Office.opened(stage, kube, name="Small Plan", runs_per_month=2)
    template = small.make_template(checklist(step("clean")))
    for _ in range(2):
        small.dispatch(template)
    with pytest.raises(Failure, match="quota_exceeded") as refused:
        small.dispatch(template)
    screen = await signed_in(person=await small.member("viewer"))
    await screen.page.goto(small.address("settings/usage"))
    await expect(screen.main).to_contain_text("2 of 2")
    # The limit is shown as programs are refused.
    said = json.loads(await screen.main.get_by_role("alert").locator("pre").inner_text())
    assert said["message"] in str(refused.value)
    await expect(screen.main.get_by_role("img")).to_have_accessible_name(re.compile("The most on one day: 2 runs"))
    await screen.looks_right()
    await screen.button("Show as a table").click()
    today = screen.main.get_by_role("row").nth(1)
    await expect(today.get_by_role("cell")).to_have_text("2")
    await screen.looks_right()


async def test_the_audit_is_filtered_paged_and_exported_by_keyboard_alone(office: Office, signed_in: SignedIn) -> None:
    template = office.make_template(checklist(step("clean")))
    for number in range(52):
        office.call("PATCH", f"/v1/templates/{template}", json={"description": str(number)})
    screen = await signed_in("admin", at="settings/audit")
    page, keyboard = screen.page, screen.page.keyboard
    await expect(screen.main.locator(".filter-result")).to_have_text("53 entries")
    await tab_to(page, "Next", "Enter")
    await expect(screen.row("Created a template")).to_be_visible()
    await expect(screen.main.get_by_role("rowheader")).to_have_count(3)
    await tab_to(page, "What", text="Created a t")
    await expect(screen.main.locator(".filter-result")).to_have_text("1 entry")
    await expect(page.get_by_label("What", exact=True)).to_be_focused()
    assert "action=template.created" in page.url
    await screen.looks_right()
    await page.reload()
    await expect(screen.main.locator(".filter-result")).to_have_text("1 entry")
    await tab_to(page, "Outcome", text="Failed")
    await expect(screen.main).to_contain_text("No entry matches these filters")
    await tab_to(page, "Clear filters", "Enter")
    await expect(screen.main.locator(".filter-result")).to_have_text("53 entries")
    await tab_to(page, "Export as JSON lines")
    async with page.expect_download() as download:
        await keyboard.press("Enter")
    assert len(Path(await (await download.value).path()).read_text().splitlines()) == 53
