"""One step at a time: the moves by touch, key and history, and the same guarantees as in the list."""

from typing import Any, Final

import pytest
from playwright.async_api import Page, expect
from tests.waiting import eventually

from checklist_dev.browser.checklists import OPENING_ROUND, checklist, longest, options, section, step
from checklist_dev.browser.stage import Stage

from .checklist_screen import PRETENDED_CAMERA, answered, answers, opened
from .conftest import NewDevice
from .test_offline_answers import installed
from .thumb import Thumb

ONE: Final[dict[str, Any]] = {"layout": "one_at_a_time"}
DIRTY: Final = {"when": {"step": "s-clean", "op": "eq", "value": False}}
AT_MOST: Final = 45


def question(page: Page, label: str) -> Any:
    return page.get_by_role("heading", name=label, level=3)


async def asks(page: Page, label: str) -> None:
    """The step is the only one on the screen, and its question has the focus."""
    await expect(question(page, label)).to_be_focused()
    await expect(page.get_by_role("article")).to_have_count(1)


async def test_a_thumb_finishes_twenty_five_steps_in_at_most_45_interactions(
    stage: Stage, new_device: NewDevice
) -> None:
    device = await new_device()
    await device.page.add_init_script(PRETENDED_CAMERA)
    link, screen = await opened(stage, device, OPENING_ROUND)
    page, thumb = device.page, await Thumb.on(device.page)
    steps = [one for group in OPENING_ROUND["sections"] for one in group["steps"]]
    assert len(steps) == 25

    def button(name: str) -> Any:
        return page.get_by_role("button", name=name, exact=True)

    next_step = page.locator(".move-row").get_by_role("button", name="Next")
    for number, one in enumerate(steps):
        label, card = one["label"], screen.card(one["label"])
        await (expect(card).to_be_visible() if number == 0 else asks(page, label))
        match one["type"]:
            case "boolean":
                await thumb.tap(card.get_by_role("radio", name="Yes"))
            case "choice":
                await thumb.tap(card.get_by_role("radio").first)
            case "rating":
                await thumb.tap(card.get_by_role("radio", name="4 of 5"))
            case "number":
                await thumb.tap(card.get_by_role("textbox"))
                await thumb.press("4", "Enter")
            case "photo":
                camera = page.get_by_role("dialog", name="Take a photo")
                await thumb.tap(card.get_by_role("button", name="Take a photo"))
                for count in (1, 2):
                    await thumb.tap(camera.get_by_role("button", name="Take a photo"))
                    await expect(camera.locator(".shot")).to_have_count(count)
                await thumb.tap(camera.get_by_role("button", name="Done"))
                await expect(camera).to_have_count(0)
                await thumb.tap(next_step)
            case "multi_choice":
                await thumb.tap(card.get_by_role("checkbox", name="Soap"))
                await thumb.tap(next_step)
            case "date":
                await thumb.tap(card.get_by_role("button", name="Today"))
                await thumb.tap(next_step)
            case "text":
                await thumb.tap(card.get_by_role("button", name=f"Skip: {label}"))
            case _:
                await thumb.tap(next_step)
        assert await page.evaluate("scrollY") == 0
    await thumb.tap(button("Check and submit"))
    await expect(screen.heading("Check your answers")).to_be_visible()
    await thumb.tap(button("Submit"))
    await expect(screen.heading("Done. Thank you!")).to_be_visible()
    run = stage.run(link)
    assert (run["status"], len(run["answers"]), run["skipped_steps"]) == ("completed", 23, ["s-note"])
    assert thumb.interactions <= AT_MOST


@pytest.mark.parametrize("locale", ["en-GB", "ar-EG"])
async def test_swipes_and_the_browsers_back_lead_from_step_to_step(
    stage: Stage, new_device: NewDevice, locale: str
) -> None:
    device = await new_device(locale=locale)
    _, screen = await opened(stage, device, checklist(*(step(f"q{number}") for number in range(1, 5)), **ONE))
    page, thumb = device.page, await Thumb.on(device.page)
    left, right = {"from_x": 300, "to_x": 90}, {"from_x": 90, "to_x": 300}
    forward, back = (left, right) if locale == "en-GB" else (right, left)
    await expect(screen.card("Q1")).to_be_visible()
    await thumb.swipe(**forward)
    await asks(page, "Q2")
    await thumb.swipe(**forward)
    await asks(page, "Q3")
    await screen.layers("step", "step")
    await thumb.swipe(**back)
    await asks(page, "Q2")
    await screen.layers("step")
    await page.go_back()
    await asks(page, "Q1")
    await screen.layers()
    await thumb.swipe(**back)
    await page.go_forward()
    await asks(page, "Q2")
    await page.locator(".move-row .button-wide").click()
    await asks(page, "Q3")
    await screen.layers("step", "step")


async def test_a_person_chooses_the_layout_and_the_device_remembers_it(stage: Stage, new_device: NewDevice) -> None:
    device, template = await new_device(), checklist(step("q1"), step("q2"), step("q3"))
    _, screen = await opened(stage, device, template)
    cards = screen.page.get_by_role("article")
    await expect(cards).to_have_count(3)
    await screen.menu("Show one step at a time")
    await asks(screen.page, "Q1")
    await screen.choose("Q1", "Yes")
    await asks(screen.page, "Q2")
    await screen.page.reload()
    await expect(screen.card("Q2")).to_be_visible()
    await expect(cards).to_have_count(1)
    _, screen = await opened(stage, device, template)
    await expect(cards).to_have_count(1)
    await screen.menu("Show all steps in a list")
    await expect(cards).to_have_count(3)
    # The choice on the device also overrides a template that asks for the other layout.
    await opened(stage, device, checklist(step("q1"), step("q2"), **ONE))
    await expect(cards).to_have_count(2)


async def test_a_step_that_begins_to_apply_comes_next_and_a_wrong_answer_stays(
    stage: Stage, new_device: NewDevice
) -> None:
    heat = step("heat", "number", required=True, condition=DIRTY, config={"min": -30, "max": 30})
    link, screen = await opened(stage, await new_device(), checklist(step("clean"), heat, step("end"), **ONE))
    page, next_step = screen.page, screen.page.get_by_role("button", name="Next", exact=True)
    await screen.choose("Clean", "No")
    await asks(page, "Heat")
    await screen.card("Heat").get_by_role("textbox").fill("99")
    await next_step.click()
    await expect(screen.card("Heat").locator(".error")).to_contain_text("from -30 to 30")
    await expect(screen.card("Heat").get_by_role("textbox")).to_have_value("99")
    await screen.card("Heat").get_by_role("textbox").fill("9")
    await page.keyboard.press("Enter")
    await asks(page, "End")
    await answered(stage, link, {"clean": False, "heat": 9})
    # What was answered already does not move on by itself.
    await page.get_by_role("button", name="Previous step").click()
    await page.get_by_role("button", name="Previous step").click()
    await asks(page, "Clean")
    await screen.choose("Clean", "Yes")
    await answered(stage, link, {"clean": True, "heat": 9})
    await expect(question(page, "Clean")).to_be_visible()
    await next_step.click()
    await asks(page, "End")


async def test_without_network_all_steps_are_answered_and_submitted(stage: Stage, new_device: NewDevice) -> None:
    link = stage.dispatch(checklist(step("q1", required=True), step("q2", "rating", required=True), **ONE))
    device = await new_device()
    screen = await installed(device, link)
    await device.context.set_offline(True)
    await screen.choose("Q1", "Yes")
    await asks(screen.page, "Q2")
    await screen.card("Q2").get_by_role("radio", name="3 of 5").check()
    await expect(screen.page.locator(".pill")).to_have_text("Offline: 2 waiting")
    await screen.to_review()
    # The review leads to a step, and the step back to the review.
    await screen.page.get_by_role("button", name="Change: Q1").click()
    await asks(screen.page, "Q1")
    await screen.choose("Q1", "No")
    await screen.to_review()
    await screen.submit()
    await expect(screen.heading("Not sent yet")).to_be_visible()
    assert answers(stage, link) == {}
    await device.context.set_offline(False)
    await expect(screen.heading("Done. Thank you!")).to_be_visible()
    assert answers(stage, link) == {"q1": False, "q2": 3}


async def test_the_answer_of_another_device_appears_on_the_step(stage: Stage, new_device: NewDevice) -> None:
    template = checklist(step("clean"), step("why", condition=DIRTY), step("end"), **ONE)
    link, screen = await opened(stage, await new_device(), template)
    await screen.choose("Clean", "No")
    await asks(screen.page, "Why")
    await answered(stage, link, {"clean": False})
    stage.execute(link, "PUT", "/answers/s-clean", json={"value": True})
    # The step no longer applies: the next one is shown.
    await expect(question(screen.page, "End")).to_be_visible()
    await expect(screen.page.locator(".notices")).to_contain_text("Answered on another device")
    await screen.page.locator(".notices").get_by_role("button", name="Clean").click()
    await asks(screen.page, "Clean")
    await expect(screen.card("Clean").get_by_role("radio", name="Yes")).to_be_checked()


async def test_all_steps_are_searched_filtered_and_jumped_to(stage: Stage, new_device: NewDevice) -> None:
    for layout in ("one_at_a_time", "list"):
        template = longest(300)
        template["settings"]["layout"] = layout
        link, screen = await opened(stage, await new_device(), template)
        page, sheet = screen.page, screen.page.get_by_role("dialog", name="All steps")
        await page.get_by_role("button", name="0 of 150 done: show all steps").click()
        await expect(sheet.get_by_role("button", name="Items 251 to 300 0 of 25")).to_be_visible()
        await sheet.get_by_role("searchbox").fill("item 299")
        await expect(sheet.locator(".sheet-row")).to_have_count(1)
        await sheet.get_by_role("button", name="Is item 299 in order?").click()
        await expect(question(page, "Is item 299 in order?")).to_be_focused()
        await screen.choose("Is item 299 in order?", "No")
        await screen.write("What is wrong with item 299?", "Broken")
        await answered(stage, link, {"q299": False, "q300": "Broken"})
        await page.get_by_role("button", name="2 of 151 done: show all steps").click()
        await sheet.get_by_role("checkbox", name="Only steps still to do").check()
        await expect(sheet.get_by_role("button", name="Items 251 to 300 2 of 26")).to_be_visible()
        await expect(sheet.locator(".sheet-row")).to_have_count(149)
        await screen.top_layer("dialog")
        await page.go_back()
        await expect(sheet).to_have_count(0)


async def test_a_whole_checklist_by_keyboard_alone_one_at_a_time(stage: Stage, new_device: NewDevice) -> None:
    template = checklist(
        step("clean", required=True),
        step("tools", "multi_choice", config={"options": options("A", "B")}),
        step("degrees", "number", required=True),
        **ONE,
    )
    template["sections"].append(section("End", step("tidy", "rating", required=True)))
    link, screen = await opened(stage, await new_device(has_touch=False, is_mobile=False), template)
    page, keys = screen.page, screen.page.keyboard
    await screen.card("Clean").get_by_role("radio", name="Yes").focus()
    # An arrow key chooses, and does not leave the step.
    await keys.press("ArrowRight")
    await answered(stage, link, {"clean": False})
    await keys.press("ArrowLeft")
    await answered(stage, link, {"clean": True})
    await keys.press("Enter")
    await asks(page, "Tools")
    for _ in range(2):  # to skip it, or the first option
        await keys.press("Tab")
    await keys.press("Space")
    await keys.press("Enter")
    await asks(page, "Degrees")
    await screen.card("Degrees").get_by_role("textbox").focus()
    await keys.type("4")
    await keys.press("Enter")
    await asks(page, "Tidy")
    await keys.press("Tab")
    await keys.press("Space")
    await page.get_by_role("button", name="Check and submit").focus()
    await keys.press("Enter")
    await expect(screen.heading("Check your answers")).to_be_focused()
    await eventually(lambda: answers(stage, link) == {"clean": True, "tools": ["o-1"], "degrees": 4, "tidy": 1})
