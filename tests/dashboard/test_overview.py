"""The first page, the command palette, and filters in one line."""

import re

from playwright.async_api import expect

from checklist_dev.browser.checklists import checklist, step
from checklist_dev.browser.device import PHONE
from checklist_dev.browser.failed_deliveries import make_failed
from checklist_dev.browser.office import Office

from .conftest import SignedIn


async def test_each_number_of_the_overview_leads_to_the_list_that_it_counts(
    office: Office, signed_in: SignedIn
) -> None:
    await make_failed(office, 2)
    template = office.make_template(checklist(step("clean"), name="Opening check"))
    for hours in (1, 48):
        office.dispatch(template, expires_in_hours=hours)
    done = office.dispatch(template, executor_ref="order 7")
    office.stage.execute(done, "PUT", "/answers/s-clean", json={"value": True})
    office.stage.execute(done, "POST", "/submit", json={})
    screen = await signed_in("viewer", at="")
    await expect(screen.heading("Overview")).to_be_visible()
    figures = screen.main.get_by_role("list", name="Figures")
    for title, number, result in (
        ("Dispatched today", "4", "4 runs"),
        ("Completed today", "1", "1 run"),
        ("Open", "3", "3 runs"),
        ("Expire within 24 hours", "1", "1 run"),
        ("Expired in the last 24 hours", "0", None),
        ("Failed deliveries", "2", "2 deliveries"),
    ):
        figure = figures.get_by_role("link", name=re.compile(f"^{title}"))
        await expect(figure.locator(".figure-number")).to_have_text(number)
        await figure.click()
        if result is None:
            await expect(screen.main.get_by_role("heading", name="No run matches these filters")).to_be_visible()
        else:
            await expect(screen.main.locator(".filter-result")).to_have_text(result)
        await screen.page.go_back()
    failing = screen.main.get_by_role("region", name="Failing endpoints")
    await expect(failing.get_by_role("row").last).to_contain_text("503 Server error")
    times = screen.main.get_by_role("region", name="Time to completion")
    await expect(times.get_by_role("row").last).to_contain_text("Opening check")
    await screen.looks_right()
    # It is live.
    office.dispatch(template)
    await expect(figures.get_by_role("link", name=re.compile("^Open")).locator(".figure-number")).to_have_text("4")
    # A filter without a field is shown, and can be removed.
    await figures.get_by_role("link", name=re.compile("^Expire within")).click()
    await screen.button("Remove the filter: Expires within 24 hours").click()
    await expect(screen.main.locator(".filter-result")).to_have_text("4 runs")
    await expect(screen.main.get_by_label("Status")).to_have_value("open")


async def test_anything_is_found_and_opened_by_keyboard_alone(office: Office, signed_in: SignedIn) -> None:
    template = office.make_template(checklist(step("clean"), name="Fridge check"))
    run = office.dispatch(template, executor_ref="Order 4711/B")
    screen = await signed_in("editor", at="deliveries")
    keys = screen.page.keyboard
    await keys.press("Control+k")
    field = screen.dialog("Search").get_by_role("combobox")
    await expect(field).to_be_focused()
    await screen.looks_right()
    await keys.type("4711")
    option = screen.page.get_by_role("option", name=re.compile("Order 4711"))
    await expect(option).to_have_attribute("aria-selected", "true")
    await keys.press("Enter")
    await expect(screen.heading("Fridge check")).to_be_focused()
    await expect(screen.main.locator(".page-head")).to_contain_text(run.run_id)
    # By template: the run first, then the template.
    await keys.press("Control+k")
    await keys.type("fridge")
    await expect(screen.page.get_by_role("option")).to_have_count(2)
    await screen.looks_right()
    await keys.press("ArrowDown")
    await keys.press("Enter")
    await expect(screen.page).to_have_url(re.compile(f"templates/{template}$"))
    # An action; what the role may not do is not offered.
    await keys.press("Control+k")
    await keys.type("key")
    await expect(screen.dialog().get_by_role("status")).to_have_text("Nothing found.")
    await field.fill("dispatch")
    await keys.press("Enter")
    await expect(screen.heading("Dispatch a run")).to_be_focused()
    # Escape returns the focus to where it was.
    search = screen.button("Search")
    await search.focus()
    await keys.press("Enter")
    await expect(field).to_be_focused()
    await keys.press("Escape")
    await expect(search).to_be_focused()


async def test_a_phone_searches_with_a_button(office: Office, signed_in: SignedIn) -> None:
    run = office.dispatch(checklist(step("clean"), name="Fridge check"))
    screen = await signed_in("viewer", **PHONE, at="templates")
    await screen.button("Search").tap()
    await screen.page.get_by_role("combobox").fill(run.run_id)
    option = screen.page.get_by_role("option", name=re.compile("Fridge check"))
    await expect(option).to_be_visible()
    assert not await screen.device.overflows()
    await screen.device.photograph()
    await option.tap()
    await expect(screen.main.locator(".page-head")).to_contain_text(run.run_id)


async def test_filters_are_in_one_line_of_a_small_computer(office: Office, signed_in: SignedIn) -> None:
    office.dispatch(checklist(step("clean")))
    screen = await signed_in("admin")
    await screen.page.set_viewport_size({"width": 1280, "height": 800})
    for path in ("runs?status=open&reference=order", "templates?q=x", "settings/audit"):
        await screen.open(path)
        fields = screen.main.locator(".filter")
        await fields.first.wait_for()
        tops = await fields.evaluate_all("all => all.map((each) => Math.round(each.getBoundingClientRect().bottom))")
        assert len(set(tops)) == 1, (path, tops)
        assert not await screen.device.overflows(), path
