"""Each control: what the person does on the screen is what the owner reads by the API."""

import re
from typing import Any

import pytest
from playwright.async_api import FilePayload, expect
from tests.waiting import eventually

from checklist_dev.browser.checklists import checklist, options, step
from checklist_dev.browser.device import DESKTOP, Device
from checklist_dev.browser.stage import Link, Stage

from .checklist_screen import PRETENDED_CAMERA, ChecklistScreen, answered, answers, choosing, opened, picture
from .conftest import NewDevice


async def one_step(stage: Stage, device: Device, kind: str, **fields: Any) -> tuple[Link, ChecklistScreen]:
    """A checklist of one step with the label `Answer`."""
    return await opened(stage, device, checklist(step("answer", kind, **fields)))


async def test_answers_of_every_kind_but_photos_are_what_the_owner_reads(stage: Stage, new_device: NewDevice) -> None:
    few, many = options("North", "South", "West"), options(*(f"Item {number}" for number in range(1, 31)))
    words = {"true_label": "In order", "false_label": "Broken"}
    steps = (
        step("read", "instruction", hint="They are at the door."),
        *(step("yes", config=words), step("no", config=words), step("below", "number")),
        step("heat", "number", config={"unit": "°C", "min": -30, "max": 30}),
        step("door", "choice", config={"options": few}),
        *(
            step("supplier", "choice", config={"options": many}),
            step("tools", "multi_choice", config={"options": many}),
        ),
        *(step("note", "text"), step("lines", "text", config={"multiline": True})),
        step("grade", "rating", config={"min": 1, "max": 5, "low_label": "Messy", "high_label": "Spotless"}),
        step("percent", "rating", config={"min": 0, "max": 100}),
        *(step("day", "date"), step("hour", "time"), step("moment", "datetime"), step("begun", "datetime")),
        *(step("code", "scan"), step("witness", "signature")),
    )
    link, screen = await opened(stage, await new_device(), checklist(*steps))
    # An instruction is read, and not counted.
    await expect(screen.card("Read")).to_contain_text("They are at the door.")
    assert await screen.card("Read").locator("input, button, select, textarea").count() == 0
    await expect(screen.page.get_by_role("progressbar")).to_have_accessible_name("0 of 17 steps done")
    dialog = screen.page.get_by_role("dialog")
    await screen.choose("Yes", "In order")
    await screen.choose("No", "Broken")
    await screen.write("Heat", "21,5")
    # Phones have no key for it.
    await screen.write("Below", "18")
    await screen.card("Below").get_by_role("button", name="Plus or minus").click()
    await screen.card("Below").locator("input").blur()
    await screen.choose("Door", "South")
    await screen.choose("Door", "West")
    await screen.card("Supplier").get_by_role("button", name="Supplier Choose one").click()
    await dialog.get_by_role("searchbox").fill("ITEM 17")
    await expect(dialog.get_by_role("listitem")).to_have_count(1)
    await dialog.get_by_role("button", name="Item 17").click()
    await expect(screen.card("Supplier").get_by_role("button", name="Supplier Item 17")).to_be_focused()
    await screen.card("Tools").get_by_role("button", name="Tools Choose all that apply").click()
    for name in ("Item 15", "Item 3"):  # the first stays chosen while the search hides it
        await dialog.get_by_role("searchbox").fill(name)
        await dialog.get_by_text(name, exact=True).click()
    await dialog.get_by_role("button", name="Done").click()
    text = "Señor Müller said: <b>“fine”</b> & left 👍"
    await screen.write("Note", text)
    await screen.write("Lines", "One line\nand another")
    await screen.card("Grade").get_by_role("radio", name="5 of 5: Spotless").check()
    await screen.card("Percent").get_by_role("combobox").select_option("73")
    await screen.write("Day", "2026-02-28")
    await screen.write("Hour", "13:50")
    await screen.write("Moment", "2026-07-01T13:50")
    await screen.card("Begun").get_by_role("button", name="Now").click()
    await screen.write("Code", "4006381333931")
    await screen.write("Witness", "Ida Lindqvist")
    await screen.saved("Witness")
    await screen.draw()
    await eventually(lambda: answers(stage, link)["witness"]["url"] is not None)
    found = answers(stage, link)
    assert found.pop("witness")["name"] == "Ida Lindqvist"
    assert found.pop("begun").startswith("20")
    # The person's own time; a moment is kept in UTC.
    assert found.pop("moment").replace(".000", "") == "2026-07-01T11:50:00Z"
    assert found == {
        **{"yes": True, "no": False, "heat": 21.5, "below": -18, "door": "o-3", "supplier": "o-17"},
        **{"tools": ["o-3", "o-15"], "note": text, "lines": "One line\nand another", "grade": 5, "percent": 73},
        **{"day": "2026-02-28", "hour": "13:50", "code": "4006381333931"},
    }


async def test_what_is_no_answer_is_shown_and_holds_the_end_up(stage: Stage, new_device: NewDevice) -> None:
    tools = {"options": options("Mop", "Bucket", "Gloves"), "max_selected": 2}
    heat = step("heat", "number", required=True, config={"min": -30, "max": 30})
    link, screen = await opened(
        stage, await new_device(), checklist(heat, step("tools", "multi_choice", config=tools), step("note", "text"))
    )
    card, note = screen.card("Heat"), screen.card("Note")
    field = card.get_by_role("textbox")
    await screen.write("Heat", "31")
    await expect(card.locator(".error")).to_contain_text("from -30 to 30")
    await expect(field).to_have_attribute("aria-invalid", "true")
    await expect(field).to_have_accessible_description(re.compile("from -30 to 30"))
    await screen.write("Note", "a" * 490)
    await expect(note.locator(".counter")).to_have_text("10 characters left")
    await screen.saved("Note")
    await screen.write("Note", "b" * 503)
    await expect(note.locator(".counter")).to_have_text("3 characters too many")
    for tool in ("Gloves", "Mop"):
        await screen.choose("Tools", tool)
    await screen.saved("Tools")
    await screen.choose("Tools", "Bucket")
    await expect(screen.card("Tools").locator(".error")).to_have_text("Choose no more than 2.")
    assert answers(stage, link) == {"note": "a" * 490, "tools": ["o-1", "o-3"]}
    # It holds the end up, and is still there after the review.
    await screen.menu("Check your answers")
    await screen.submit()
    summary = screen.page.get_by_role("group", name="There are 3 problems")
    await expect(summary.get_by_role("button", name="Heat")).to_be_focused()
    await summary.get_by_role("button", name="Heat").click()
    await expect(field).to_have_value("31")
    await expect(note.get_by_role("textbox")).to_have_value("b" * 503)
    assert stage.run(link)["status"] == "in_progress"
    await screen.choose("Tools", "Mop")
    await screen.write("Heat", "3")
    await expect(card.locator(".error")).to_have_count(0)
    await answered(stage, link, {"heat": 3, "note": "a" * 490, "tools": ["o-2", "o-3"]})


async def test_options_of_both_directions_are_aligned_with_the_page(stage: Stage, new_device: NewDevice) -> None:
    both = options("Clean, no ice", "نظيف، بلا جليد")
    _, screen = await one_step(stage, await new_device(), "choice", config={"options": both})
    labels = screen.card("Answer").locator(".choice-label")
    for language, side in (("en", "left"), ("ar", "right")):
        await screen.page.get_by_label(re.compile("^(Language|اللغة)$")).select_option(language)
        await expect(screen.page.locator("html")).to_have_attribute("lang", re.compile(f"^{language}"))
        for place, direction in enumerate(("ltr", "rtl")):
            await expect(labels.nth(place)).to_have_css("text-align", side)
            await expect(labels.nth(place)).to_have_css("direction", direction)


async def test_a_typed_date_is_one_answer_and_half_a_date_is_none(stage: Stage, new_device: NewDevice) -> None:
    link, screen = await one_step(stage, await new_device(**DESKTOP, has_touch=False, is_mobile=False), "date")
    sent: list[str] = []
    screen.page.on("request", lambda request: sent.append(request.method) if "/answers/" in request.url else None)
    field = screen.card("Answer").locator("input")
    await field.focus()
    await screen.page.keyboard.type("02022026")  # the same in whichever order the browser asks for day and month
    await screen.saved("Answer")
    await answered(stage, link, {"answer": "2026-02-02"})
    assert sent == ["PUT"]
    await screen.page.keyboard.press("Backspace")
    await field.blur()
    await expect(screen.card("Answer").locator(".error")).to_have_text("Enter a valid date.")
    await answered(stage, link, {})
    await screen.write("Answer", "2026-02-28")
    await answered(stage, link, {"answer": "2026-02-28"})
    await screen.write("Answer", "")
    await answered(stage, link, {})


READS_A_CODE = """window.BarcodeDetector = class {
    async detect(video) { return video.videoWidth > 0 ? [{rawValue: "4006381333931"}] : []; }
}"""


@pytest.mark.verify  # the headless shell has no camera
async def test_the_camera_reads_a_code_and_takes_a_photo(stage: Stage, new_device: NewDevice) -> None:
    device = await new_device(**DESKTOP, permissions=["camera"], has_touch=False, is_mobile=False)
    # This Chromium has no detector of codes: what it would find is given, the camera is the browser's (fake) one.
    await device.page.add_init_script(READS_A_CODE)
    template = checklist(step("code", "scan"), step("shelf", "photo", config={"min": 1, "max": 1}))
    link, screen = await opened(stage, device, template)
    await screen.card("Code").get_by_role("button", name="Scan a code").click()
    await screen.saved("Code")
    await expect(screen.page.get_by_role("dialog")).to_have_count(0)
    await screen.card("Shelf").get_by_role("button", name="Take a photo").click()
    await screen.page.get_by_role("dialog").get_by_role("button", name="Take a photo").click()
    await screen.page.get_by_role("dialog").get_by_role("button", name="Done").click()
    await screen.saved("Shelf")
    assert answers(stage, link)["code"] == "4006381333931"
    [photo] = stage.run(link)["answers"]["s-shelf"]["photos"]
    assert photo["width"] >= 320


async def test_without_a_camera_a_code_is_typed(stage: Stage, new_device: NewDevice) -> None:
    device = await new_device()
    await device.page.add_init_script(READS_A_CODE)
    _, screen = await one_step(stage, device, "scan")
    await screen.card("Answer").get_by_role("button", name="Scan a code").click()
    await expect(screen.page.get_by_role("dialog")).to_contain_text("Please type the code")


async def test_photos_are_chosen_counted_looked_at_and_taken_away(stage: Stage, new_device: NewDevice) -> None:
    link, screen = await one_step(stage, await new_device(), "photo", required=True, config={"min": 2, "max": 3})
    card, dialog = screen.card("Answer"), screen.page.get_by_role("dialog", name="Photo 1")
    thumbs = card.locator(".thumb.is-sent")

    def kept() -> list[str]:
        return [photo["sha256"] for photo in stage.run(link)["answers"]["s-answer"]["photos"]]

    await expect(card.locator(".photo-count")).to_have_text("2 photos needed")
    await screen.photo("Answer", picture("red"))
    await expect(card.locator(".photo-count")).to_have_text("1 of 2 needed")
    await screen.photo("Answer", *(picture(colour) for colour in ("green", "blue", "black")))
    await expect(card.locator(".error")).to_have_text("You can add up to 3 photos here.")
    await expect(thumbs).to_have_count(3)
    await screen.saved("Answer")
    red, *others = kept()
    assert len(others) == 2
    await card.get_by_role("button", name="View photo 1").click()
    await dialog.get_by_role("button", name="Retake photo 1").click()
    # The page may not use the camera here, and offers the camera app of the phone.
    async with choosing(screen.page, {"name": "new.png", "mimeType": "image/png", "buffer": picture("white")}):
        await screen.page.get_by_role("button", name="Use the camera app").click()
    await expect(dialog).to_have_count(0)
    await expect(thumbs).to_have_count(3)
    await eventually(lambda: red not in kept() and len(kept()) == 3)  # the pill may still say what was saved before
    assert set(others) < set(kept())
    await card.get_by_role("button", name="View photo 1").click()
    await dialog.get_by_role("button", name="Remove photo 1").click()
    await expect(thumbs).to_have_count(2)
    await eventually(lambda: len(kept()) == 2)


async def test_the_camera_takes_several_photos_in_a_row_and_one_of_them_again(
    stage: Stage, new_device: NewDevice
) -> None:
    device = await new_device()
    await device.page.add_init_script(PRETENDED_CAMERA)
    link, screen = await one_step(stage, device, "photo", required=True, config={"min": 2, "max": 3})
    camera = screen.page.get_by_role("dialog", name="Take a photo")
    shots, shutter = camera.locator(".shot"), camera.get_by_role("button", name="Take a photo")

    def kept() -> list[str]:
        photos = stage.run(link)["answers"].get("s-answer", {"photos": []})["photos"]
        return [photo["sha256"] for photo in photos]

    await screen.card("Answer").get_by_role("button", name="Take a photo").click()
    for count in (1, 2, 3):
        await shutter.click()
        await expect(shots).to_have_count(count)
        await screen.moved()
    await expect(shutter).to_be_disabled()
    await expect(camera.get_by_role("status")).to_have_text("No more photos can be added here.")
    # They are sent while the camera is open.
    await eventually(lambda: len(kept()) == 3)
    first, *others = kept()
    await shots.first.click()
    await camera.get_by_role("button", name="Retake photo 1").last.click()
    await eventually(lambda: first not in kept() and len(kept()) == 3)
    assert set(others) < set(kept())
    await camera.get_by_role("button", name="Done").click()
    await expect(screen.card("Answer").locator(".thumb.is-sent")).to_have_count(3)
    photos = stage.run(link)["answers"]["s-answer"]["photos"]
    assert all(photo["captured_at"] is not None for photo in photos)


async def test_what_is_no_photo_is_refused_or_marked(stage: Stage, new_device: NewDevice) -> None:
    link, screen = await one_step(stage, await new_device(), "photo")
    card = screen.card("Answer")
    wrong: FilePayload = {"name": "notes.pdf", "mimeType": "application/pdf", "buffer": b"%PDF-1.7"}
    await card.locator("input[type=file]:not([capture])").set_input_files([wrong])
    await expect(card.locator(".error")).to_contain_text("cannot be used as a photo")
    await screen.photo("Answer", picture()[:200])
    await expect(card.locator(".thumb.is-refused")).to_be_visible()
    assert answers(stage, link) == {}


async def test_only_a_required_place_holds_an_answer_up(stage: Stage, new_device: NewDevice) -> None:
    device = await new_device()
    link, screen = await opened(
        stage, device, checklist(step("free", geo=True), step("bound", geo=True, geo_required=True, required=True))
    )
    place, bound = screen.card("Free").locator(".location"), screen.card("Bound")
    await expect(place).to_contain_text("asks where you are")
    await screen.choose("Free", "Yes")
    await expect(place).to_contain_text("You can continue without it")
    await screen.saved("Free")
    await screen.choose("Bound", "Yes")
    await expect(bound.locator(".location")).to_contain_text("Allow it for this page")
    await expect(bound.locator(".step-state")).to_contain_text("Not saved yet")
    assert answers(stage, link) == {"free": True}
    assert stage.run(link)["answers"]["s-free"]["geo"] is None
    await device.context.grant_permissions(["geolocation"])
    await device.context.set_geolocation({"latitude": 59.3293, "longitude": 18.0686, "accuracy": 12})
    await bound.get_by_role("button", name="Try again").click()
    await screen.saved("Bound")
    await expect(bound.locator(".location")).to_contain_text("Location added")
    await expect(bound.locator(".location")).to_contain_text("12 m")
    assert stage.run(link)["answers"]["s-bound"]["geo"] == {"lat": 59.3293, "lng": 18.0686, "accuracy_m": 12}
