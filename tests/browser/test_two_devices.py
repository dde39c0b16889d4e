"""One checklist on two devices: whose answer was replaced learns it at once; and answers have the time of giving."""

from datetime import timedelta

from playwright.async_api import expect
from tests.waiting import eventually

from checklist_crds.times import parse_timestamp, utc_now
from checklist_dev.browser.checklists import checklist, step
from checklist_dev.browser.stage import Stage

from .checklist_screen import ChecklistScreen, answered, looks_right
from .conftest import NewDevice
from .test_offline_answers import installed
from .test_offline_ends import LATE_CLOCK

TWO = checklist(step("clean", required=True), step("note", "text"))
LEARNS_WITHIN_MS = 15_000
"""Two seconds on a machine with time; half of the thirty that polling takes on a busy one."""


async def test_the_device_whose_answer_was_replaced_learns_it_at_once_and_with_the_submit(
    stage: Stage, new_device: NewDevice
) -> None:
    link, waits = stage.dispatch(TWO), list[str]()
    one, other = await new_device(), await new_device()
    one.context.on("request", lambda request: waits.append(request.url) if "/changes?" in request.url else None)
    mine = await installed(one, link)
    await mine.choose("Clean", "No")
    await mine.write("Note", "two mice")
    await answered(stage, link, {"clean": False, "note": "two mice"})
    theirs = await ChecklistScreen.opened(other, link)
    await theirs.write("Note", "no mice at all")
    notice = mine.page.locator(".notices")
    await expect(notice.get_by_text("Answered on another device", exact=True)).to_be_visible(timeout=LEARNS_WITHIN_MS)
    await expect(notice.get_by_role("button", name="Note")).to_be_visible()
    await expect(notice).to_contain_text("“two mice” was replaced by “no mice at all”.")
    await expect(mine.card("Note").get_by_role("textbox")).to_have_value("no mice at all")
    await looks_right(one)
    await notice.get_by_role("button", name="OK").click()
    await expect(notice.get_by_text("Answered on another device", exact=True)).to_have_count(0)

    await theirs.choose("Clean", "Yes")
    await theirs.to_review()
    await theirs.submit()
    await expect(theirs.heading("Done. Thank you!")).to_be_visible()
    await expect(mine.heading("Done. Thank you!")).to_be_visible(timeout=LEARNS_WITHIN_MS)
    await expect(notice).to_contain_text("This checklist was submitted from another device.")
    await expect(notice).to_contain_text("“No” was replaced by “Yes”.")
    await expect(notice.get_by_role("button", name="Clean")).to_have_count(0)  # nowhere to go any more
    await looks_right(one)
    await expect(theirs.page.locator(".notices")).not_to_contain_text("another device")
    assert 0 < len(waits) < 30, "it waits, and asks no more often than something happens"


async def test_answers_given_without_network_have_the_times_of_giving_also_with_a_wrong_clock(
    stage: Stage, new_device: NewDevice
) -> None:
    link, device = stage.dispatch(TWO), await new_device()
    await device.context.add_init_script(LATE_CLOCK)
    screen = await installed(device, link)
    await device.context.set_offline(True)
    began = utc_now()
    await screen.choose("Clean", "Yes")
    await expect(screen.page.locator(".pill")).to_have_text("Offline: 1 waiting")
    given = utc_now()
    await eventually(lambda: utc_now() - given > timedelta(seconds=4))
    await device.page.close()
    await device.context.set_offline(False)
    device.page = await device.context.new_page()
    await device.page.goto(link.bare)
    await answered(stage, link, {"clean": True})
    answer = stage.run(link)["answers"]["s-clean"]
    at, received_at = parse_timestamp(answer["at"]), parse_timestamp(answer["received_at"])
    second = timedelta(seconds=1)
    assert began - second <= at <= given + second
    assert received_at - at > timedelta(seconds=2)
