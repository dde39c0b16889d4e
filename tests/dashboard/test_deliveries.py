"""Deliveries in the dashboard: what failed and why, by endpoint, one again, and a thousand again."""

import re

import pytest
from playwright.async_api import expect

from checklist_crds.resources.outcome import OutcomeClass
from checklist_dev.browser.checklists import checklist, step
from checklist_dev.browser.failed_deliveries import make_failed
from checklist_dev.browser.office import Office

from .conftest import SignedIn

A_LONG_TIME = 240_000  # ms; everything on this machine is busy meanwhile


async def test_what_failed_is_found_by_filters_and_by_its_endpoint(office: Office, signed_in: SignedIn) -> None:
    await make_failed(office, 1, outcome=OutcomeClass.TIMEOUT)
    await make_failed(office, 3)
    link = office.dispatch(checklist(step("clean")), webhook=office.webhook())
    office.call("POST", f"/v1/runs/{link.run_id}/cancel", json={})
    screen = await signed_in("viewer", at="deliveries")
    filters = screen.main.get_by_role("search", name="Filter deliveries")
    found = filters.get_by_role("status")
    await expect(found).to_have_text("5 deliveries")
    await screen.looks_right()
    await filters.get_by_label("Last outcome").select_option(label="No answer in time")
    await filters.get_by_label("Status").select_option(label="Failed")
    await expect(found).to_have_text("1 delivery")
    await expect(screen.page).to_have_url(re.compile(r"deliveries\?outcome=timeout&status=failed$"))
    await filters.get_by_label("Endpoint").fill("hooks.elsewhere.example")
    await expect(screen.main.get_by_role("heading", name="No delivery matches these filters")).to_be_visible()
    await screen.button("Show all deliveries").click()
    await filters.get_by_label("Last outcome").select_option(label="Server error (5xx)")
    await expect(found).to_have_text("3 deliveries")
    await screen.row("step.completed").first.get_by_role("link").press("Enter")
    attempts = screen.main.get_by_role("table", name="Attempts to deliver step.completed")
    await expect(attempts.get_by_role("row")).to_have_count(6)
    await expect(attempts).to_contain_text("The endpoint answered with 503.")
    await expect(screen.main.get_by_role("button", name=re.compile("^Replay"))).to_have_count(0)
    await screen.looks_right()

    screen = await signed_in("editor", at="deliveries/endpoints")
    row = screen.row("127.0.0.1")
    await expect(row).to_contain_text("4.8 % of 21")
    await expect(row).to_contain_text("503 Server error")
    await screen.looks_right()
    await screen.main.get_by_label("Window", exact=True).select_option(label="The last hour")
    await expect(screen.page).to_have_url(re.compile(r"\?hours=1$"))
    await row.get_by_role("link", name="Replay what failed at 127.0.0.1").click()
    await expect(screen.main.get_by_label("Endpoint")).to_have_value("127.0.0.1")


@pytest.mark.verify
async def test_a_thousand_deliveries_are_counted_and_sent_again(office: Office, signed_in: SignedIn) -> None:
    link = await make_failed(office, 1_000)
    receiver, screen = office.stage.receiver, await signed_in("editor")
    main = screen.main
    await screen.open("deliveries/replay?host=127.0.0.1")
    await screen.button("Count").press("Enter")
    await expect(main.get_by_role("heading", name="1,000 failed deliveries")).to_be_visible(timeout=A_LONG_TIME)
    assert receiver.of_run(link.run_id) == []
    await screen.looks_right()
    # The endpoint is not quite up yet: of what comes first, a hundred are refused.
    receiver.fail_next(100)
    await screen.button("Replay 1,000 deliveries").press("Enter")
    question = screen.dialog("Replay 1,000 deliveries to 127.0.0.1?")
    await expect(question).to_contain_text("1,000 events are sent to 127.0.0.1 again")
    await question.get_by_role("button", name="Send 1,000 deliveries").click()
    bar = main.get_by_role("progressbar")
    await expect(bar).to_have_attribute("max", "1000", timeout=A_LONG_TIME)
    seen = set()
    while "Finished" not in (await main.locator(".page-title").inner_text()):
        seen.add(await bar.get_attribute("value"))
        await screen.page.wait_for_timeout(200)
    assert len(seen - {"0", "1000"}) >= 2, f"the bar moved: {seen}"
    outcome = re.compile(r"Delivered\s*900\s*Failed again\s*100\s*Not sent\s*0")
    await expect(main.locator(".figures")).to_contain_text(outcome)
    await screen.looks_right()
    await main.get_by_role("link", name="See failed deliveries").click()
    await expect(main.get_by_role("search").get_by_role("status")).to_have_text("100 deliveries")
    await screen.open("deliveries/replays")
    rows = main.get_by_role("table", name="Replays").get_by_role("row")
    await expect(rows.filter(has_text="Finished, not all delivered")).to_contain_text("900")


async def test_a_replay_is_stopped_and_what_was_not_begun_stays_failed(office: Office, signed_in: SignedIn) -> None:
    await make_failed(office, 300)
    screen = await signed_in("editor", at="deliveries/replay")
    await screen.button("Count").click()
    await screen.button("Replay 300 deliveries").click(timeout=A_LONG_TIME)
    question = screen.dialog("Replay 300 deliveries to every endpoint?")
    await question.get_by_role("button", name="Send 300 deliveries").click()
    await screen.button("Stop").click()
    await screen.dialog("Stop this replay?").get_by_role("button", name="Stop").click()
    await expect(screen.main.locator(".page-title")).to_contain_text("Stopped")
    await screen.says("Stopped after")
    assert office.call("GET", "/v1/deliveries?status=failed")["pagination"]["total"] > 0
