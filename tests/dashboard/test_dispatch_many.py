"""Dispatching many runs from a table: problems at their cells, a lost network, a reload, links, messages, QR codes."""

import csv
import io
import re
from pathlib import Path

from playwright.async_api import Route, expect

from checklist_dev.browser.checklists import checklist, step
from checklist_dev.browser.device import PHONE
from checklist_dev.browser.office import Office

from .conftest import SignedIn
from .dashboard_screen import DashboardScreen

SHARE = """() => { window.shared = []; Object.defineProperty(navigator, "share", {
    configurable: true, value: (given) => { window.shared.push(given); return Promise.resolve(); } }); }"""


def rooms(count: int, *, first: int = 1) -> str:
    return "reference;name\n" + "".join(f"room {number};Ida\n" for number in range(first, first + count))


async def enter(screen: DashboardScreen, table: str) -> None:
    await screen.main.get_by_label("Or paste the table").fill(table)


def references(office: Office) -> list[str]:
    page, found = 1, list[str]()
    while page:
        answer = office.call("GET", f"/v1/runs?page={page}&per_page=100")
        found += [run["executor_ref"] for run in answer["data"]]
        page = answer["pagination"]["next_page"]
    return sorted(found)


async def test_a_table_is_checked_in_place_and_dispatched_and_its_links_given_away(
    office: Office, signed_in: SignedIn, tmp_path: Path
) -> None:
    template = office.make_template(checklist(step("clean"), name="Room check"))
    screen = await signed_in("editor", at=f"runs/new?template={template}")
    await screen.main.get_by_role("link", name="Dispatch many runs from a table").click()
    await expect(screen.heading("Dispatch many runs")).to_be_visible()
    await expect(screen.main.locator(".chosen-template")).to_contain_text("Room check")
    await screen.button("Dispatch").click()
    await expect(screen.main.get_by_label("Or paste the table")).to_be_focused()
    await enter(screen, "reference;name;expires\nroom 1;Ida;2d\nroom 2;Sam;tomorrow\nroom 3\n")
    checked = screen.main.locator(".many-table [role=status]")
    await expect(checked).to_contain_text("Fix 2 problems in the table")
    await expect(screen.main.locator(".error").filter(has_text="Enter a table")).to_have_count(0)
    wrong = checked.get_by_role("row").filter(has=screen.page.get_by_role("rowheader", name=re.compile("^3")))
    await expect(wrong.get_by_role("cell").nth(2)).to_contain_text("tomorrowmust be a positive duration")
    await expect(checked.get_by_role("rowheader").nth(1)).to_contain_text("has 1 of 3 cells")
    await screen.looks_right()
    await screen.button("Dispatch").click()
    assert references(office) == []

    file = tmp_path / "rooms.csv"
    file.write_bytes(("\ufeff" + rooms(30)).replace("\n", "\r\n").encode())
    await screen.main.get_by_label("CSV file").set_input_files(file)
    await expect(checked).to_contain_text("30 rows checked, no problems")
    await screen.main.get_by_label("The link expires").select_option(label="In 24 hours")
    await screen.looks_right()
    await screen.page.evaluate(SHARE)
    await screen.button("Dispatch 30 runs").press("Enter")
    await expect(screen.heading("The runs are dispatched")).to_be_focused()
    assert references(office) == sorted(f"room {number}" for number in range(1, 31))
    await screen.looks_right()

    async with screen.page.expect_download() as download:
        await screen.button("Save as CSV").click()
    saved = Path(await (await download.value).path()).read_bytes().decode("utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(saved, newline=""), delimiter=";"))
    assert {row["link"].partition("#")[0] for row in rows} == {
        f"{office.stage.base_url}/r/{row['run_id']}" for row in rows
    }
    await screen.page.get_by_role("button", name="Share the message for room 2, Ida", exact=True).click()
    link = rows[1]["link"]
    text = f"Hello Ida, please fill in “Room check”: {link}"
    assert await screen.page.evaluate("window.shared") == [{"title": "Room check", "text": text}]
    await screen.main.get_by_label("Message", exact=True).fill("{reference}: {link}")
    await screen.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    await screen.button("Copy the message for room 2, Ida").click()
    await expect(screen.main.get_by_role("status").filter(has_text="Copied")).to_have_count(1)
    assert await screen.page.evaluate("navigator.clipboard.readText()") == f"room 2: {link}"
    await screen.main.get_by_role("link", name="Next").click()
    await expect(screen.main.get_by_role("rowheader", name="room 30, Ida")).to_be_visible()

    await screen.button("Make 30 codes").click()
    await expect(screen.page.get_by_role("img", name=re.compile("^QR code for room"))).to_have_count(30)
    await screen.looks_right()
    await screen.page.emulate_media(media="print")
    await expect(screen.main.get_by_role("heading")).to_have_count(0)
    await expect(screen.page.get_by_role("img", name="QR code for room 30, Ida")).to_be_visible()
    await screen.device.photograph()


async def test_a_lost_network_and_a_reload_make_no_second_run(office: Office, signed_in: SignedIn) -> None:
    template = office.make_template(checklist(step("clean")))
    screen = await signed_in("editor", at=f"runs/new/many?template={template}")
    requests, is_away = 0, True

    async def lose_answers(route: Route) -> None:
        nonlocal requests
        requests += 1
        if requests > 6 and is_away:
            await route.fetch()  # the run is made, and its answer lost
            await route.abort()
        else:
            await route.continue_()

    await screen.page.route(re.compile(r"/runs$"), lose_answers)
    await enter(screen, rooms(16))
    await screen.button("Dispatch 16 runs").click()
    waiting = screen.main.get_by_role("status").filter(has_text="The service cannot be reached")
    await expect(waiting).to_contain_text("no row is dispatched twice")
    await expect(screen.button("Try now")).to_be_visible()
    await screen.looks_right()
    await screen.button("Stop").click()
    await expect(screen.heading("Dispatch of many runs, stopped")).to_be_visible()
    await screen.page.reload()
    await expect(screen.heading("Dispatch of many runs, stopped")).to_be_visible()
    is_away = False
    await screen.page.get_by_role("button", name=re.compile(r"^Continue with \d+ rows")).click()
    await expect(screen.heading("The runs are dispatched")).to_be_visible()
    assert references(office) == sorted(f"room {number}" for number in range(1, 17))
    await screen.button("New table").click()
    await screen.dialog("Close this table?").get_by_role("button", name="Close the table").click()
    await expect(screen.heading("Dispatch many runs")).to_be_focused()


async def test_the_limit_of_the_plan_ends_it_on_a_phone_and_it_goes_on_later(
    office: Office, signed_in: SignedIn
) -> None:
    small = await Office.opened(office.stage, office.kube, name="Small", runs_per_month=5)
    template = small.make_template(checklist(step("clean")))
    screen = await signed_in(person=await small.member("editor"), **PHONE)
    await screen.page.goto(small.address(f"runs/new/many?template={template}"))
    await enter(screen, rooms(8))
    await expect(screen.main).to_contain_text("The plan has 5 runs left this month: the job will stop there.")
    await screen.button("Dispatch 8 runs").click()
    alert = screen.main.get_by_role("alert")
    await expect(alert).to_contain_text("3 rows are left. What is dispatched is kept.")
    await expect(screen.main.get_by_role("rowheader", name=re.compile("^room"))).to_have_count(5)
    await screen.looks_right()
    assert len(references(small)) == 5
    await expect(screen.button("Continue with 3 rows")).to_be_visible()
