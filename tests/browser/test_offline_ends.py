"""What ends while a device is away: submitted from it, from another one, stopped by the owner, or out of time."""

from playwright.async_api import expect
from tests.waiting import eventually

from checklist_dev.browser.checklists import checklist, step
from checklist_dev.browser.stage import Stage

from .checklist_screen import ChecklistScreen, answers, looks_right
from .conftest import NewDevice
from .test_offline_answers import installed

TWO = checklist(step("clean", required=True), step("note", "text"))
# Two hours ahead.
LATE_CLOCK = """const real = Date.now; class Late extends Date {
    constructor(...given) { given.length ? super(...given) : super(real() + 7200000); }
    static now() { return real() + 7200000; }
} globalThis.Date = Late;"""


async def test_a_submit_without_network_is_taken_back_or_sent_later(stage: Stage, new_device: NewDevice) -> None:
    link = stage.dispatch(TWO, expires_in_hours=1)
    device = await new_device()
    # A clock that is wrong by hours ends nothing before its time.
    await device.context.add_init_script(LATE_CLOCK)
    screen = await installed(device, link)
    await screen.choose("Clean", "No")
    await screen.saved("Clean")
    await device.context.set_offline(True)
    await screen.choose("Clean", "Yes")
    await screen.to_review()
    await screen.submit()
    await expect(screen.heading("Not sent yet")).to_be_visible()
    await looks_right(device)
    await screen.page.get_by_role("button", name="Back to the checklist").click()
    await device.context.set_offline(False)
    await eventually(lambda: answers(stage, link) == {"clean": True})
    assert stage.run(link)["status"] == "in_progress"
    await device.context.set_offline(True)
    await screen.submit()
    await expect(screen.heading("Not sent yet")).to_be_visible()
    await device.page.close()
    assert stage.run(link)["status"] == "in_progress"
    await device.context.set_offline(False)
    device.page = await device.context.new_page()
    screen = await ChecklistScreen.opened(device, link)
    await expect(screen.heading("Done. Thank you!")).to_be_visible()
    assert stage.run(link)["status"] == "completed"


async def test_of_two_devices_the_last_write_wins_and_both_are_shown_it(stage: Stage, new_device: NewDevice) -> None:
    link = stage.dispatch(TWO)
    phone, desk = await new_device(), await new_device()
    at_the_phone, at_the_desk = await installed(phone, link), await installed(desk, link)
    await phone.context.set_offline(True)
    await at_the_phone.write("Note", "from the cellar")
    await expect(at_the_phone.page.locator(".pill")).to_have_text("Offline: 1 waiting")
    await at_the_desk.write("Note", "from the desk")
    await at_the_desk.saved("Note")
    await phone.context.set_offline(False)
    await expect(at_the_phone.page.get_by_text("Answered on another device")).to_be_visible()
    await expect(at_the_phone.page.locator(".pill")).to_have_text("Saved")
    await looks_right(phone)
    assert answers(stage, link) == {"note": "from the cellar"}
    await at_the_desk.page.reload()
    await expect(at_the_desk.card("Note").get_by_role("textbox")).to_have_value("from the cellar")
    await expect(at_the_desk.page.get_by_text("Answered on another device")).to_be_visible()


async def test_a_run_that_ends_elsewhere_shows_what_did_not_arrive(stage: Stage, new_device: NewDevice) -> None:
    link = stage.dispatch(TWO)
    phone, desk = await new_device(), await new_device()
    screen, stopped = await installed(phone, link), stage.dispatch(TWO)
    at_the_desk = await installed(desk, stopped)
    await phone.context.set_offline(True)
    await screen.write("Note", "mice in the cellar")
    await expect(screen.page.locator(".pill")).to_have_text("Offline: 1 waiting")
    stage.execute(link, "PUT", "/answers/s-clean", json={"value": True})
    stage.execute(link, "POST", "/submit", json={})
    await phone.context.set_offline(False)
    await expect(screen.page.get_by_text("Not everything arrived")).to_be_visible()
    await expect(screen.page.get_by_text("mice in the cellar")).to_be_visible()
    await looks_right(phone)
    assert answers(stage, link) == {"clean": True}
    stage.cancel(stopped)
    await at_the_desk.choose("Clean", "Yes")
    await expect(at_the_desk.heading("This checklist was stopped")).to_be_visible()
    await expect(at_the_desk.page.get_by_text("Not everything arrived")).to_be_visible()


async def test_time_that_runs_out_shows_what_did_not_arrive(stage: Stage, new_device: NewDevice) -> None:
    seconds = 8
    link = stage.dispatch(TWO, expires_in_hours=seconds / 3600)
    device = await new_device()
    screen = await installed(device, link)
    await device.context.set_offline(True)
    await screen.write("Note", "just in time")
    await expect(screen.page.locator(".pill")).to_have_text("Offline: 1 waiting")
    await expect(screen.heading("This link has expired")).to_be_visible(timeout=(seconds + 5) * 1000)
    await device.context.set_offline(False)
    await expect(screen.page.get_by_text("Not everything arrived")).to_be_visible()
    await expect(screen.page.get_by_text("just in time")).to_be_visible()
    await looks_right(device)


async def test_two_tabs_of_a_device_show_the_same_and_send_once(stage: Stage, new_device: NewDevice) -> None:
    link = stage.dispatch(TWO)
    device = await new_device()
    first = await installed(device, link)
    second = ChecklistScreen(await device.context.new_page())
    await second.page.goto(link.url)
    await expect(second.card("Note")).to_be_visible()
    sent: list[str] = []
    device.context.on("request", lambda request: sent.append(request.method) if request.method == "PUT" else None)
    await second.write("Note", "from the second tab")
    await second.saved("Note")
    await expect(first.card("Note").get_by_role("textbox")).to_have_value("from the second tab")
    assert sent == ["PUT"]


async def test_a_stop_and_a_new_link_wait_for_the_network(stage: Stage, new_device: NewDevice) -> None:
    first, second = stage.dispatch(TWO), stage.dispatch(TWO)
    device = await new_device()
    screen = await installed(device, first)
    await device.context.set_offline(True)
    await screen.menu("I can’t finish this")
    await device.page.get_by_role("button", name="Stop the checklist").click()
    await device.page.get_by_text("stopped as soon as you are back online").wait_for()
    await looks_right(device)
    await device.page.goto(second.url)
    await expect(screen.heading("You are offline")).to_be_visible()
    await looks_right(device)
    await device.context.set_offline(False)
    await expect(screen.card("Note")).to_be_visible()
