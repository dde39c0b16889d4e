"""What ends while a device is away: submitted from it, from another one, stopped by the owner, or out of time."""

from playwright.async_api import expect

from checklist_dev.browser.checklists import checklist, step
from checklist_dev.browser.stage import Stage

from .checklist_screen import ChecklistScreen, answered, answers, looks_right
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
    await device.context.set_offline(True)
    await screen.choose("Clean", "Yes")
    await screen.to_review()
    await screen.submit()
    await expect(screen.heading("Not sent yet")).to_be_visible()
    await looks_right(device)
    await screen.page.get_by_role("button", name="Back to the checklist").click()
    await device.context.set_offline(False)
    await answered(stage, link, {"clean": True})
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


async def test_two_tabs_send_once_and_a_run_that_ends_elsewhere_shows_what_did_not_arrive(
    stage: Stage, new_device: NewDevice
) -> None:
    link, device, sent = stage.dispatch(TWO), await new_device(), list[str]()
    screen = await installed(device, link)
    second = ChecklistScreen(await device.context.new_page())
    await second.page.goto(link.url)
    device.context.on("request", lambda request: sent.append(request.method) if request.method == "PUT" else None)
    await second.write("Note", "from the second tab")
    await second.saved("Note")
    await expect(screen.card("Note").get_by_role("textbox")).to_have_value("from the second tab")
    assert sent == ["PUT"]
    await second.page.close()
    await device.context.set_offline(True)
    await screen.write("Note", "mice in the cellar")
    await expect(screen.page.locator(".pill")).to_have_text("Offline: 1 waiting")
    stage.execute(link, "PUT", "/answers/s-clean", json={"value": True})
    stage.execute(link, "POST", "/submit", json={})
    await device.context.set_offline(False)
    await expect(screen.page.get_by_text("Not everything arrived")).to_be_visible()
    await expect(screen.page.get_by_text("mice in the cellar")).to_be_visible()
    await looks_right(device)
    assert answers(stage, link) == {"clean": True, "note": "from the second tab"}


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
