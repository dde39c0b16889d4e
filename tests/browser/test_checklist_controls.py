"""Each control: what the person does on the screen is what the owner reads by the API."""

import re
from typing import Any

import pytest
from playwright.async_api import FilePayload, expect

from checklist_dev.browser.checklists import EVERY_CONTROL, checklist, options, step
from checklist_dev.browser.device import DESKTOP
from checklist_dev.browser.stage import Link, Stage

from .checklist_screen import ChecklistScreen, answered, answers, choosing, picture, until
from .conftest import NewDevice


async def one_step(
    stage: Stage, new_device: NewDevice, kind: str, device: dict[str, Any] | None = None, **fields: Any
) -> tuple[Link, ChecklistScreen]:
    """A checklist of one step with the label `Answer`, opened on a device."""
    link = stage.dispatch(checklist(step("answer", kind, **fields)))
    return link, await ChecklistScreen.opened(await new_device(**(device or {})), link)


@pytest.mark.parametrize("choice", [True, False])
async def test_yes_and_no_are_two_buttons_with_the_words_of_the_template(
    stage: Stage, new_device: NewDevice, choice: bool
) -> None:
    words = {"true_label": "In order", "false_label": "Broken"}
    link, screen = await one_step(stage, new_device, "boolean", config=words)
    await screen.choose("Answer", words["true_label" if choice else "false_label"])
    await screen.saved("Answer")
    await answered(stage, link, {"answer": choice})


@pytest.mark.parametrize(("typed", "kept"), [("21.5", 21.5), ("21,5", 21.5), ("-4", -4), ("0", 0)])
async def test_a_number_is_read_with_a_comma_or_a_point(
    stage: Stage, new_device: NewDevice, typed: str, kept: float
) -> None:
    link, screen = await one_step(stage, new_device, "number", config={"unit": "°C", "min": -30, "max": 30})
    await screen.write("Answer", typed)
    await screen.saved("Answer")
    await answered(stage, link, {"answer": kept})


async def test_a_number_gets_its_minus_from_a_button_since_phones_have_no_key_for_it(
    stage: Stage, new_device: NewDevice
) -> None:
    link, screen = await one_step(stage, new_device, "number")
    await screen.write("Answer", "18")
    await screen.card("Answer").get_by_role("button", name="Plus or minus").click()
    await screen.card("Answer").locator("input").blur()
    await screen.saved("Answer")
    await answered(stage, link, {"answer": -18})


@pytest.mark.parametrize(
    ("typed", "told"), [("31", "from -30 to 30"), ("abc", "Enter a number"), ("1.25", "1 decimal place")]
)
async def test_what_is_no_answer_is_told_beside_the_field_and_not_kept(
    stage: Stage, new_device: NewDevice, typed: str, told: str
) -> None:
    link, screen = await one_step(
        stage, new_device, "number", required=True, config={"min": -30, "max": 30, "decimal": 1}
    )
    await screen.write("Answer", typed)
    card = screen.card("Answer")
    await expect(card.locator(".error")).to_contain_text(told)
    field = card.get_by_role("textbox")
    await expect(field).to_have_attribute("aria-invalid", "true")
    described = (await field.get_attribute("aria-describedby") or "").split()
    assert await card.locator(".error").get_attribute("id") in described
    await expect(screen.page.get_by_role("button", name="1 required left")).to_be_visible()
    await screen.write("Answer", "3")
    await expect(card.locator(".error")).to_have_count(0)
    await screen.saved("Answer")
    await answered(stage, link, {"answer": 3})


async def test_few_options_are_cards_and_the_last_choice_counts(stage: Stage, new_device: NewDevice) -> None:
    few = options("North", "South", "West")
    link, screen = await one_step(stage, new_device, "choice", config={"options": few})
    await screen.choose("Answer", "South")
    await screen.saved("Answer")
    await screen.choose("Answer", "West")
    await answered(stage, link, {"answer": "o-3"})


async def test_many_options_are_a_list_that_is_searched(stage: Stage, new_device: NewDevice) -> None:
    many = options(*(f"Supplier {number}" for number in range(1, 31)))
    link, screen = await one_step(stage, new_device, "choice", config={"options": many})
    opener = screen.card("Answer").get_by_role("button", name="Answer Choose one")
    await opener.click()
    dialog = screen.page.get_by_role("dialog", name="Answer")
    await dialog.get_by_role("searchbox").fill("SUPPLIER 17")
    await expect(dialog.get_by_role("listitem")).to_have_count(1)
    await dialog.get_by_role("button", name="Supplier 17").click()
    await expect(dialog).to_have_count(0)
    await screen.saved("Answer")
    await expect(screen.card("Answer").get_by_role("button", name="Answer Supplier 17")).to_be_focused()
    assert answers(stage, link) == {"answer": "o-17"}


async def test_several_of_few_options(stage: Stage, new_device: NewDevice) -> None:
    config = {"options": options("Mop", "Bucket", "Gloves"), "max_selected": 2}
    link, screen = await one_step(stage, new_device, "multi_choice", config=config)
    await screen.choose("Answer", "Gloves")
    await screen.choose("Answer", "Mop")
    await screen.saved("Answer")
    await screen.choose("Answer", "Bucket")
    await expect(screen.card("Answer").locator(".error")).to_have_text("Choose at most 2.")
    assert answers(stage, link) == {"answer": ["o-1", "o-3"]}
    await screen.choose("Answer", "Mop")
    await screen.saved("Answer")
    await answered(stage, link, {"answer": ["o-2", "o-3"]})


async def test_several_of_many_options_stay_chosen_while_the_search_hides_them(
    stage: Stage, new_device: NewDevice
) -> None:
    many = options(*(f"Tool {number}" for number in range(1, 21)))
    link, screen = await one_step(stage, new_device, "multi_choice", config={"options": many})
    await screen.card("Answer").get_by_role("button", name="Answer Choose all that apply").click()
    dialog = screen.page.get_by_role("dialog", name="Answer")
    for name in ("Tool 15", "Tool 3"):
        await dialog.get_by_role("searchbox").fill(name)
        await dialog.get_by_text(name, exact=True).click()
    await dialog.get_by_role("button", name="Done").click()
    await screen.saved("Answer")
    await answered(stage, link, {"answer": ["o-3", "o-15"]})


async def test_a_text_is_kept_as_it_was_typed_and_counted_near_its_end(stage: Stage, new_device: NewDevice) -> None:
    link, screen = await one_step(stage, new_device, "text")
    await screen.write("Answer", "a" * 490)
    await expect(screen.card("Answer").locator(".counter")).to_have_text("10 characters left")
    text = "Señor Müller said: <b>“fine”</b> & left 👍"
    await screen.write("Answer", text)
    await screen.saved("Answer")
    await answered(stage, link, {"answer": text})


async def test_a_text_that_is_too_long_is_not_cut_off_but_told(stage: Stage, new_device: NewDevice) -> None:
    link, screen = await one_step(stage, new_device, "text")
    await screen.write("Answer", "b" * 503)
    await expect(screen.card("Answer").locator(".counter")).to_have_text("3 characters too many")
    await expect(screen.card("Answer").locator(".error")).to_be_visible()
    assert answers(stage, link) == {}


async def test_a_text_of_several_lines(stage: Stage, new_device: NewDevice) -> None:
    link, screen = await one_step(stage, new_device, "text", config={"multiline": True})
    await screen.write("Answer", "One line\nand another")
    await screen.saved("Answer")
    await answered(stage, link, {"answer": "One line\nand another"})


async def test_a_grade_is_one_tap_between_two_words(stage: Stage, new_device: NewDevice) -> None:
    words = {"min": 1, "max": 5, "low_label": "Messy", "high_label": "Spotless"}
    link, screen = await one_step(stage, new_device, "rating", config=words)
    await screen.card("Answer").get_by_role("radio", name="5 of 5: Spotless").check()
    await screen.saved("Answer")
    await answered(stage, link, {"answer": 5})


async def test_many_grades_are_a_list(stage: Stage, new_device: NewDevice) -> None:
    link, screen = await one_step(stage, new_device, "rating", config={"min": 0, "max": 100})
    await screen.card("Answer").get_by_role("combobox").select_option("73")
    await screen.saved("Answer")
    await answered(stage, link, {"answer": 73})


@pytest.mark.parametrize(
    ("kind", "typed", "kept"),
    [
        ("date", "2026-02-28", "2026-02-28"),
        ("time", "13:50", "13:50"),
        ("datetime", "2026-07-01T13:50", "2026-07-01T11:50:00Z"),
    ],
)
async def test_a_date_and_a_time_are_the_persons_own_a_moment_is_kept_in_utc(
    stage: Stage, new_device: NewDevice, kind: str, typed: str, kept: str
) -> None:
    link, screen = await one_step(stage, new_device, kind)
    await screen.write("Answer", typed)
    await screen.saved("Answer")
    found = answers(stage, link)["answer"]
    assert re.sub(r"\.0+Z$", "Z", found) == kept


async def test_a_date_is_taken_back_by_emptying_its_field(stage: Stage, new_device: NewDevice) -> None:
    link, screen = await one_step(stage, new_device, "date")
    await screen.write("Answer", "2026-02-28")
    await screen.saved("Answer")
    await screen.write("Answer", "")
    await expect(screen.card("Answer").locator(".step-state")).to_have_text("Not answered")
    await answered(stage, link, {})


async def test_a_date_typed_key_by_key_is_one_answer_and_half_a_date_is_none(
    stage: Stage, new_device: NewDevice
) -> None:
    link = stage.dispatch(checklist(step("answer", "date")))
    device = await new_device(**DESKTOP, has_touch=False, is_mobile=False)
    screen = await ChecklistScreen.opened(device, link)
    sent: list[str] = []
    device.page.on("request", lambda request: sent.append(request.method) if "/answers/" in request.url else None)
    field = screen.card("Answer").locator("input")
    await field.focus()
    await device.page.keyboard.type("02022026")  # the same in whichever order the browser asks for day and month
    await screen.saved("Answer")
    await answered(stage, link, {"answer": "2026-02-02"})
    assert sent == ["PUT"]
    await device.page.keyboard.press("Backspace")
    await field.blur()
    await expect(screen.card("Answer").locator(".error")).to_have_text("Enter a date that exists.")
    await answered(stage, link, {})


async def test_now_is_one_tap(stage: Stage, new_device: NewDevice) -> None:
    link, screen = await one_step(stage, new_device, "datetime")
    await screen.card("Answer").get_by_role("button", name="Now").click()
    await screen.saved("Answer")
    assert answers(stage, link)["answer"].startswith("20")


async def test_a_code_is_typed_where_the_browser_cannot_read_it(stage: Stage, new_device: NewDevice) -> None:
    link, screen = await one_step(stage, new_device, "scan")
    await screen.write("Answer", "4006381333931")
    await screen.saved("Answer")
    await answered(stage, link, {"answer": "4006381333931"})


READS_A_CODE = """window.BarcodeDetector = class {
    async detect(video) { return video.videoWidth > 0 ? [{rawValue: "4006381333931"}] : []; }
}"""


@pytest.mark.verify  # the headless shell has no camera
async def test_a_code_is_read_by_the_camera_where_the_browser_can(stage: Stage, new_device: NewDevice) -> None:
    link = stage.dispatch(checklist(step("answer", "scan")))
    device = await new_device(permissions=["camera"])
    # This Chromium has no detector of codes: what it would find is given, the camera is the browser's (fake) one.
    await device.page.add_init_script(READS_A_CODE)
    screen = await ChecklistScreen.opened(device, link)
    await screen.card("Answer").get_by_role("button", name="Scan a code").click()
    await screen.saved("Answer")
    await answered(stage, link, {"answer": "4006381333931"})
    await expect(screen.page.get_by_role("dialog")).to_have_count(0)


async def test_without_a_camera_the_person_is_told_to_type_the_code(stage: Stage, new_device: NewDevice) -> None:
    link = stage.dispatch(checklist(step("answer", "scan")))
    device = await new_device(permissions=[])
    await device.page.add_init_script(READS_A_CODE)
    screen = await ChecklistScreen.opened(device, link)
    await screen.card("Answer").get_by_role("button", name="Scan a code").click()
    await expect(screen.page.get_by_role("dialog")).to_contain_text("Please type the code")


async def test_photos_are_chosen_shown_and_counted(stage: Stage, new_device: NewDevice) -> None:
    link, screen = await one_step(stage, new_device, "photo", required=True, config={"min": 2, "max": 3})
    card = screen.card("Answer")
    await expect(card.locator(".photo-count")).to_have_text("2 photos needed")
    await screen.photo("Answer", picture("red"))
    await expect(card.locator(".photo-count")).to_have_text("1 of 2 needed")
    await screen.photo("Answer", picture("green"), picture("blue"))
    await expect(card.locator(".thumb.is-sent")).to_have_count(3)
    await expect(card.get_by_role("button", name="Take a photo")).to_have_count(0)
    await screen.saved("Answer")
    assert len(stage.run(link)["answers"]["s-answer"]["photos"]) == 3


async def test_a_photo_is_looked_at_and_taken_away(stage: Stage, new_device: NewDevice) -> None:
    link, screen = await one_step(stage, new_device, "photo", config={"min": 1, "max": 3})
    await screen.photo("Answer", picture("red"), picture("green"))
    card = screen.card("Answer")
    await expect(card.locator(".thumb.is-sent")).to_have_count(2)
    await card.get_by_role("button", name="View photo 1").click()
    await screen.page.get_by_role("dialog", name="Photo 1").get_by_role("button", name="Remove photo 1").click()
    await expect(card.locator(".thumb")).to_have_count(1)
    await screen.saved("Answer")
    await expect(screen.page.get_by_role("button", name="Saved")).to_be_visible()
    assert len(stage.run(link)["answers"]["s-answer"]["photos"]) == 1


@pytest.mark.verify  # the headless shell has no camera
async def test_a_desktop_takes_a_photo_with_the_camera_in_the_page(stage: Stage, new_device: NewDevice) -> None:
    desktop = {**DESKTOP, "permissions": ["camera"], "has_touch": False, "is_mobile": False}
    link, screen = await one_step(stage, new_device, "photo", device=desktop, config={"min": 1, "max": 1})
    await screen.card("Answer").get_by_role("button", name="Take a photo").click()
    await screen.page.get_by_role("dialog").get_by_role("button", name="Take a photo").click()
    await screen.saved("Answer")
    [photo] = stage.run(link)["answers"]["s-answer"]["photos"]
    assert photo["width"] >= 320


async def test_a_photo_is_retaken_where_no_more_fit(stage: Stage, new_device: NewDevice) -> None:
    link, screen = await one_step(stage, new_device, "photo", config={"min": 1, "max": 1})
    await screen.photo("Answer", picture("red"))
    card = screen.card("Answer")
    await expect(card.locator(".thumb.is-sent")).to_have_count(1)
    [old] = stage.run(link)["answers"]["s-answer"]["photos"]
    await card.get_by_role("button", name="View photo 1").click()
    async with choosing(screen.page, {"name": "new.png", "mimeType": "image/png", "buffer": picture("green")}):
        await screen.page.get_by_role("dialog").get_by_role("button", name="Retake photo 1").click()
    await expect(screen.page.get_by_role("dialog")).to_have_count(0)
    await expect(card.locator(".thumb")).to_have_count(1)
    await screen.saved("Answer")
    await expect(screen.page.locator(".pill")).to_have_text("Saved")
    [new] = stage.run(link)["answers"]["s-answer"]["photos"]
    assert new["sha256"] != old["sha256"]


async def test_photos_beyond_the_most_are_not_taken_and_that_is_said(stage: Stage, new_device: NewDevice) -> None:
    link, screen = await one_step(stage, new_device, "photo", config={"min": 1, "max": 2})
    await screen.photo("Answer", picture("red"), picture("green"), picture("blue"))
    await expect(screen.card("Answer").locator(".error")).to_have_text("At most 2 photos fit here.")
    await expect(screen.card("Answer").locator(".thumb.is-sent")).to_have_count(2)
    assert len(stage.run(link)["answers"]["s-answer"]["photos"]) == 2


async def test_what_is_no_photo_is_refused_before_it_is_sent(stage: Stage, new_device: NewDevice) -> None:
    link, screen = await one_step(stage, new_device, "photo")
    wrong: FilePayload = {"name": "notes.pdf", "mimeType": "application/pdf", "buffer": b"%PDF-1.7"}
    await screen.card("Answer").locator("input[type=file]:not([capture])").set_input_files([wrong])
    await expect(screen.card("Answer").locator(".error")).to_contain_text("not a photo")
    assert answers(stage, link) == {}


async def test_a_photo_that_the_service_refuses_is_said_to_be_refused(stage: Stage, new_device: NewDevice) -> None:
    link, screen = await one_step(stage, new_device, "photo")
    broken = picture()[:200]
    await screen.photo("Answer", broken)
    await expect(screen.card("Answer").locator(".thumb.is-refused")).to_be_visible()
    await expect(screen.page.get_by_role("button", name="Needs attention")).to_be_visible()
    assert answers(stage, link) == {}


async def test_a_signature_is_a_typed_name_and_a_drawing_if_one_likes(stage: Stage, new_device: NewDevice) -> None:
    link, screen = await one_step(stage, new_device, "signature")
    card = screen.card("Answer")
    await screen.write("Answer", "Ida Lindqvist")
    await screen.saved("Answer")
    assert answers(stage, link)["answer"]["name"] == "Ida Lindqvist"
    box = await card.locator("canvas").bounding_box()
    assert box is not None
    await screen.page.mouse.move(box["x"] + 40, box["y"] + 80)
    await screen.page.mouse.down()
    await screen.page.mouse.move(box["x"] + 140, box["y"] + 40, steps=8)
    await screen.page.mouse.up()
    await expect(card.get_by_role("button", name="Clear drawing")).to_be_visible()
    await until(lambda: stage.run(link)["answers"]["s-answer"]["value"]["url"] is not None)
    await screen.saved("Answer")


AT_THE_STORE = {"latitude": 59.3293, "longitude": 18.0686, "accuracy": 12.0}


async def test_the_place_is_asked_for_on_use_and_kept_with_its_accuracy(stage: Stage, new_device: NewDevice) -> None:
    there = {"permissions": ["geolocation"], "geolocation": AT_THE_STORE}
    link, screen = await one_step(stage, new_device, "boolean", device=there, geo=True)
    card = screen.card("Answer")
    await expect(card.locator(".location")).to_contain_text("asks where you are")
    await screen.choose("Answer", "Yes")
    await expect(card.locator(".location")).to_contain_text("Location added")
    await expect(card.locator(".location")).to_contain_text("12 m")
    await screen.saved("Answer")
    assert stage.run(link)["answers"]["s-answer"]["geo"] == {"lat": 59.3293, "lng": 18.0686, "accuracy_m": 12}


async def test_who_does_not_share_the_place_can_answer_all_the_same(stage: Stage, new_device: NewDevice) -> None:
    link, screen = await one_step(stage, new_device, "boolean", geo=True)
    await screen.choose("Answer", "Yes")
    await expect(screen.card("Answer").locator(".location")).to_contain_text("You can go on without it")
    await screen.saved("Answer")
    answer = stage.run(link)["answers"]["s-answer"]
    assert (answer["value"], answer["geo"]) == (True, None)


async def test_where_the_place_is_required_an_answer_without_it_is_not_kept(
    stage: Stage, new_device: NewDevice
) -> None:
    link = stage.dispatch(checklist(step("answer", geo=True, geo_required=True, required=True)))
    device = await new_device()
    screen = await ChecklistScreen.opened(device, link)
    card = screen.card("Answer")
    await screen.choose("Answer", "Yes")
    await expect(card.locator(".location")).to_contain_text("Allow it for this page")
    await expect(card.locator(".step-state")).to_contain_text("Not kept yet")
    assert answers(stage, link) == {}
    await device.context.grant_permissions(["geolocation"])
    await device.context.set_geolocation({"latitude": 1.5, "longitude": 2.5, "accuracy": 8})
    await card.get_by_role("button", name="Try again").click()
    await screen.saved("Answer")
    assert stage.run(link)["answers"]["s-answer"]["geo"] == {"lat": 1.5, "lng": 2.5, "accuracy_m": 8}


async def test_an_instruction_is_read_and_not_counted(stage: Stage, new_device: NewDevice) -> None:
    link = stage.dispatch(EVERY_CONTROL)
    screen = await ChecklistScreen.opened(await new_device(), link)
    card = screen.card("Put on your gloves before you begin.")
    await expect(card).to_contain_text("They are at the door.")
    assert await card.locator("input, button, select, textarea").count() == 0
    await expect(screen.page.get_by_role("progressbar")).to_have_accessible_name("0 of 14 steps done")
