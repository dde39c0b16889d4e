"""The list of runs: what is in it, what can be asked of it, and that it holds thousands without growing."""

import asyncio
import re
from datetime import timedelta

import pytest
from playwright.async_api import Locator, expect
from tests.waiting import eventually

from checklist_crds.ids import new_id
from checklist_crds.kube.kinds import RUN
from checklist_crds.times import format_timestamp, utc_now
from checklist_dev.bootstrap import NAMESPACE
from checklist_dev.browser.checklists import checklist, step
from checklist_dev.browser.office import Office
from checklist_dev.failures import Failure

from .conftest import SignedIn

MANY = 10_000
AT_ONCE = 40
MOST_ROWS = 120
"""In the document at a time, whatever the height of the window."""


async def test_without_runs_the_page_teaches_how_to_dispatch_one(office: Office, signed_in: SignedIn) -> None:
    screen = await signed_in("editor")
    await screen.open("runs")
    await expect(screen.main.get_by_role("heading", name="No runs yet")).to_be_visible()
    await expect(screen.main.locator(".command")).to_contain_text(f"{office.stage.base_url}/v1/runs")
    await screen.looks_right()
    office.dispatch(checklist(step("clean")))
    await screen.open("runs")
    await expect(screen.row("Cold store check")).to_contain_text("Pending")


async def test_filters_stand_in_the_address_and_can_be_sent_as_a_link(office: Office, signed_in: SignedIn) -> None:
    template = office.make_template(checklist(step("clean"), name="Opening check"))
    open_run = office.dispatch(template, executor_ref="order 1")
    cancelled = office.dispatch(template, executor_ref="order 2")
    office.dispatch(checklist(step("clean"), name="Closing check"), executor_ref="order 1")
    office.call("POST", f"/v1/runs/{cancelled.run_id}/cancel", json={})
    screen = await signed_in("viewer")
    await screen.open("runs")
    filters = screen.main.get_by_role("search", name="Filter runs")
    await expect(filters.get_by_role("status")).to_have_text("3 runs")
    await filters.get_by_label("Checklist").select_option(label="Opening check")
    await expect(filters.get_by_role("status")).to_have_text("2 runs")
    await filters.get_by_label("Status").select_option(label="Cancelled")
    await expect(filters.get_by_role("status")).to_have_text("1 run")
    await expect(screen.row("Opening check")).to_contain_text("order 2")
    await expect(screen.page).to_have_url(re.compile(f"runs\\?template={template}&status=cancelled$"))
    await screen.page.reload()
    await expect(screen.row("Opening check")).to_contain_text("order 2")
    await filters.get_by_label("Status").select_option(label="Any")
    await filters.get_by_label("Reference").fill("order 1")
    await expect(filters.get_by_role("status")).to_have_text("1 run")
    await screen.row("Opening check").get_by_role("link").click()
    await expect(screen.main.locator(".page-head")).to_contain_text(open_run.run_id)
    await screen.page.go_back()
    await expect(filters.get_by_label("Reference")).to_have_value("order 1")
    await filters.get_by_label("Reference").fill("nobody's")
    await expect(screen.main.get_by_role("heading", name="No run matches these filters")).to_be_visible()
    await screen.looks_right()
    tomorrow = (utc_now() + timedelta(days=2)).strftime("%Y-%m-%d")
    await screen.open(f"runs?from={tomorrow}")
    await expect(screen.main.get_by_role("heading", name="No run matches these filters")).to_be_visible()
    await screen.button("Show all runs").click()
    await expect(filters.get_by_role("status")).to_have_text("3 runs")


async def test_whoever_reads_only_is_offered_no_dispatch(office: Office, signed_in: SignedIn) -> None:
    office.dispatch(checklist(step("clean")))
    screen = await signed_in("viewer")
    await screen.open("runs")
    await expect(screen.row("Cold store check")).to_be_visible()
    await expect(screen.main.get_by_role("link", name="Dispatch a run")).to_have_count(0)
    await screen.open("runs/new")
    await expect(screen.main.get_by_role("heading", name="Your role does not allow this")).to_be_visible()


async def test_what_changes_is_shown_in_place_and_what_is_new_is_told(office: Office, signed_in: SignedIn) -> None:
    link = office.dispatch(checklist(step("clean")), executor_ref="the first")
    screen = await signed_in("viewer")
    await screen.open("runs")
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


async def test_a_list_that_cannot_be_read_says_so_and_tries_again(office: Office, signed_in: SignedIn) -> None:
    office.dispatch(checklist(step("clean")))
    screen = await signed_in("viewer")
    await screen.page.route(
        "**/runs?*", lambda route: route.fulfill(status=503, json={"error": "e", "message": "Later."})
    )
    await screen.open("runs")
    await expect(screen.main.get_by_role("alert")).to_contain_text("Later.")
    await screen.page.unroute("**/runs?*")
    await screen.button("Try again").click()
    await expect(screen.row("Cold store check")).to_be_visible()


async def _make_many(office: Office) -> None:
    """As the API writes them, without the time that dispatching each would take."""
    link = office.dispatch(checklist(step("clean")))
    body = await office.kube.get(RUN, link.run_id, NAMESPACE)
    began = utc_now() - timedelta(days=30)
    numbers = iter(range(1, MANY))

    async def make() -> None:
        for number in numbers:
            made = {
                "apiVersion": body["apiVersion"],
                "kind": body["kind"],
                "metadata": {"name": new_id("r"), "namespace": NAMESPACE, "labels": body["metadata"]["labels"]},
                "spec": {
                    **body["spec"],
                    "executorRef": f"number {number}",
                    "createdAt": format_timestamp(began + timedelta(seconds=number)),
                },
            }
            await office.kube.create(RUN, made, NAMESPACE)

    async with asyncio.TaskGroup() as group:
        for _ in range(AT_ONCE):
            group.create_task(make())


@pytest.mark.verify
async def test_ten_thousand_runs_are_scrolled_through_with_few_rows_in_the_document(
    office: Office, signed_in: SignedIn
) -> None:
    await _make_many(office)
    screen = await signed_in("viewer")
    page = screen.page
    await screen.open("runs")
    table = screen.main.get_by_role("table", name="Runs")
    result = screen.main.locator(".filter-result")
    await expect(result).to_have_text("10,000 runs", timeout=60_000)
    await expect(table).to_have_attribute("aria-rowcount", "10001")
    rows = table.locator(".windowed-body [role=row]")
    for share in (0.1, 0.5, 0.9):
        await page.evaluate("share => scrollTo(0, document.body.scrollHeight * share)", share)
        first = rows.filter(has_text=re.compile(r"number \d+")).first

        async def shows_this_part(first: Locator = first, wanted: float = MANY * share) -> bool:
            number = re.search(r"number (\d+)", await first.inner_text())
            return number is not None and abs((MANY - int(number[1])) - wanted) < MANY * 0.02

        await eventually(shows_this_part)
        assert await rows.count() <= MOST_ROWS
    await page.keyboard.press("End")
    oldest = table.locator(f"[aria-rowindex='{MANY + 1}']")
    await expect(oldest.get_by_role("cell", name="number 1", exact=True)).to_be_visible()
    assert await rows.count() <= MOST_ROWS
    # New ones on top do not move what one looks at.
    before = await oldest.bounding_box()
    office.dispatch(checklist(step("clean"), name="New above"))
    await expect(screen.button("1 new run")).to_be_visible()
    assert await oldest.bounding_box() == before
    # All the way in steps of a wheel: how long the page needs for a step.
    slowest = await page.evaluate(
        """async () => {
            const longest = [];
            scrollTo(0, 0);
            for (let top = 0; top < 48000; top += 600) {
                const started = performance.now();
                scrollTo(0, top);
                await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)));
                longest.push(performance.now() - started);
            }
            return longest.sort((one, other) => one - other)[Math.floor(longest.length * 0.9)];
        }"""
    )
    assert slowest < 200, f"nine of ten steps are drawn within {slowest:.0f} ms"
    await page.evaluate("scrollTo(0, 0)")
    await screen.main.get_by_role("search").get_by_label("Reference").fill("number 4711")
    await expect(result).to_have_text("1 run")


@pytest.mark.parametrize("kind", ["long", "phone"])
async def test_long_texts_and_small_screens_leave_the_list_in_order(
    office: Office, signed_in: SignedIn, kind: str
) -> None:
    name = "Playground inspection of all the equipment " * 4 if kind == "long" else "Cold store check"
    reference = "x" * 200 if kind == "long" else "order 1"
    office.dispatch(checklist(step("clean"), name=name.strip()), executor_ref=reference, expires_in_hours=24)
    screen = await signed_in("editor", **({"viewport": {"width": 390, "height": 800}} if kind == "phone" else {}))
    await screen.open("runs")
    await expect(screen.row(name.strip())).to_be_visible()
    await screen.looks_right()


async def test_that_archived_runs_may_be_missing_is_said_above_the_list(office: Office, signed_in: SignedIn) -> None:
    office.dispatch(checklist(step("clean")))
    screen = await signed_in("viewer")
    await screen.open("runs")
    await expect(screen.row("Cold store check")).to_be_visible()
    note = screen.main.locator(".runs-missing")
    await expect(note).to_have_count(0)
    folder = office.stage.service._folder / "photos" / "archive" / office.organization / "2026-01"
    folder.mkdir(parents=True)
    broken = folder / f"20260101T000000Z-{'0' * 32}.manifest.json"
    broken.write_text("{")
    try:
        with pytest.raises(Failure):
            office.call("GET", f"/v1/runs/{new_id('r')}")  # whoever asks for what is nowhere makes the service look
        await screen.open("runs")
        await expect(note).to_contain_text("A part of the archive cannot be read")
        await expect(screen.row("Cold store check")).to_be_visible()
        await screen.looks_right()
    finally:
        broken.unlink()
