"""What ends while a device is away: submitted from it, from another one, stopped by the owner, or out of time."""

from playwright.async_api import expect

from checklist_dev.browser.checklists import checklist, step
from checklist_dev.browser.stage import Stage

from .checklist_screen import ChecklistScreen, answers, until
from .conftest import NewDevice
from .test_offline_answers import installed

TWO = checklist(step("clean", required=True), step("note", "text"))


async def test_a_submit_without_network_says_that_it_is_not_sent_and_is_when_the_page_is_opened_again(
    stage: Stage, new_device: NewDevice
) -> None:
    link = stage.dispatch(TWO)
    device = await new_device()
    screen = await installed(device, link)
    await device.context.set_offline(True)
    await screen.choose("Clean", "Yes")
    await screen.to_review()
    await screen.submit()
    await expect(screen.heading("Not sent yet")).to_be_visible()
    await device.page.close()
    assert stage.run(link)["status"] == "pending"
    await device.context.set_offline(False)
    device.page = await device.context.new_page()
    screen = await ChecklistScreen.opened(device, link)
    await expect(screen.heading("Done. Thank you!")).to_be_visible()
    run = stage.run(link)
    assert run["status"] == "completed"
    assert run["answers"]["s-clean"]["value"] is True


async def test_a_submit_without_network_can_be_taken_back(stage: Stage, new_device: NewDevice) -> None:
    link = stage.dispatch(TWO)
    device = await new_device()
    screen = await installed(device, link)
    await device.context.set_offline(True)
    await screen.choose("Clean", "Yes")
    await screen.to_review()
    await screen.submit()
    await expect(screen.heading("Not sent yet")).to_be_visible()
    await screen.page.get_by_role("button", name="Back to the checklist").click()
    await device.context.set_offline(False)
    await until(lambda: answers(stage, link) == {"clean": True})
    assert stage.run(link)["status"] == "in_progress"


async def test_two_devices_answer_the_same_step_and_the_last_write_wins_and_is_told(
    stage: Stage, new_device: NewDevice
) -> None:
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
    assert answers(stage, link) == {"note": "from the cellar"}
    await at_the_desk.page.reload()
    await expect(at_the_desk.card("Note").get_by_role("textbox")).to_have_value("from the cellar")
    await expect(at_the_desk.page.get_by_text("Answered on another device")).to_be_visible()


async def test_a_run_submitted_elsewhere_wins_and_the_person_sees_what_did_not_arrive(
    stage: Stage, new_device: NewDevice
) -> None:
    link = stage.dispatch(TWO)
    phone = await new_device()
    screen = await installed(phone, link)
    await phone.context.set_offline(True)
    await screen.write("Note", "mice in the cellar")
    await expect(screen.page.locator(".pill")).to_have_text("Offline: 1 waiting")
    stage.execute(link, "PUT", "/answers/s-clean", json={"value": True})
    stage.execute(link, "POST", "/submit", json={})
    await phone.context.set_offline(False)
    await expect(screen.page.get_by_text("Not everything arrived")).to_be_visible()
    await expect(screen.page.get_by_text("mice in the cellar")).to_be_visible()
    assert answers(stage, link) == {"clean": True}


async def test_a_run_stopped_by_its_owner_is_told_to_whoever_has_it_open(stage: Stage, new_device: NewDevice) -> None:
    link = stage.dispatch(TWO)
    screen = await installed(await new_device(), link)
    stage.cancel(link)
    await screen.choose("Clean", "Yes")
    await expect(screen.heading("This checklist was stopped")).to_be_visible()
    await expect(screen.page.get_by_text("Not everything arrived")).to_be_visible()


async def test_time_runs_out_without_network_and_what_waited_is_shown_as_not_arrived(
    stage: Stage, new_device: NewDevice
) -> None:
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


async def test_a_clock_that_is_wrong_by_hours_ends_nothing_before_its_time(stage: Stage, new_device: NewDevice) -> None:
    link = stage.dispatch(TWO, expires_in_hours=1)
    device = await new_device()
    await device.context.add_init_script(
        "const real = Date.now; class Late extends Date {"
        " constructor(...given) { given.length ? super(...given) : super(real() + 7200000); }"
        " static now() { return real() + 7200000; } }"
        " globalThis.Date = Late;"
    )
    screen = await installed(device, link)
    await screen.choose("Clean", "Yes")
    await screen.saved("Clean")
    assert answers(stage, link) == {"clean": True}


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
