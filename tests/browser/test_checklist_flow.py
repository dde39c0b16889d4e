"""From opening the link to the receipt: conditions, skipping, the review, the signature, the ways out."""

import re
from typing import Any

from playwright.async_api import expect
from tests.waiting import eventually

from checklist_dev.browser.checklists import checklist, longest, options, section, step
from checklist_dev.browser.stage import Stage

from .checklist_screen import ChecklistScreen, answered, answers, opened, picture
from .conftest import NewDevice

Json = dict[str, Any]
DIRTY = {"when": {"step": "s-clean", "op": "eq", "value": False}}


async def test_a_step_appears_and_comes_back_with_its_answer(stage: Stage, new_device: NewDevice) -> None:
    why = step("why", "text", required=True, condition=DIRTY)
    template = checklist(step("clean", required=True), why, step("end", "text"), allow_skip=False)
    template["sections"].append(section("Repairs", step("who", "text", condition=DIRTY)))
    _, screen = await opened(stage, await new_device(), template)
    cards, repairs = screen.page.get_by_role("article"), screen.page.get_by_role("heading", name="Repairs")
    await expect(cards).to_have_count(2)
    await expect(repairs).to_have_count(0)
    await expect(screen.card("End").get_by_role("button")).to_have_count(0)  # skipping is not allowed
    no = screen.card("Clean").get_by_role("radio", name="No")
    await no.check()
    await expect(cards).to_have_count(4)
    await expect(cards.nth(1)).to_have_accessible_name("Why")
    await expect(repairs).to_be_visible()
    await expect(no).to_be_focused()
    await expect(screen.page.get_by_role("status").filter(has_text="new step")).to_have_count(1)
    await expect(screen.page.get_by_role("progressbar")).to_have_accessible_name("1 of 4 steps done")
    await screen.write("Why", "Spilled milk")
    await screen.saved("Why")
    await screen.choose("Clean", "Yes")
    await expect(screen.card("Why")).to_have_count(0)
    # The browser's own way back leads from the review, and a reload to the checklist.
    await screen.to_review()
    await expect(repairs).to_have_count(0)
    await screen.page.go_back()
    await expect(screen.card("Clean")).to_be_visible()
    await screen.page.go_forward()
    await expect(screen.heading("Check your answers")).to_be_visible()
    await screen.page.reload()
    await screen.choose("Clean", "No")
    await expect(screen.card("Why").get_by_role("textbox")).to_have_value("Spilled milk")


async def test_back_closes_what_is_open_and_does_not_leave_the_checklist(stage: Stage, new_device: NewDevice) -> None:
    colours = step("colour", "choice", config={"options": options(*(f"Colour {number}" for number in range(9)))})
    _, screen = await opened(stage, await new_device(), checklist(colours, step("photo", "photo")))
    page, dialog = screen.page, screen.page.get_by_role("dialog")
    await screen.photo("Photo", picture())
    await screen.saved("Photo")
    for card, button in (("Colour", "Colour"), ("Photo", "View photo 1"), (None, "Menu")):
        opener = (screen.card(card) if card else page).get_by_role("button", name=re.compile(f"^{button}"))
        await opener.click()
        await expect(dialog).to_be_visible()
        await screen.layers("dialog")
        await page.go_back()
        await expect(dialog).to_have_count(0)
        await expect(opener).to_be_focused()
    # One dialog that replaces another, and one that is closed by its button, leave nothing to go back through.
    await screen.menu("I can’t finish this")
    await expect(page.get_by_role("dialog", name="Stop this checklist?")).to_be_visible()
    await screen.layers("dialog")
    await page.get_by_role("button", name="Keep going").click()
    await screen.layers()
    await screen.to_review()
    await page.go_back()
    await expect(screen.card("Colour")).to_be_visible()
    await screen.layers()


async def test_a_step_is_skipped_answered_after_all_and_cleared_and_the_checklist_stopped(
    stage: Stage, new_device: NewDevice
) -> None:
    link, screen = await opened(stage, await new_device(), checklist(step("clean"), step("needed", required=True)))
    card = screen.card("Clean")
    assert await screen.card("Needed").get_by_role("button", name="Skip").count() == 0
    await card.get_by_role("button", name="Skip: Clean").click()
    await expect(card.locator(".step-state")).to_have_text("Skipped")
    await expect(card.get_by_role("button")).to_be_focused()
    await eventually(lambda: stage.run(link)["skipped_steps"] == ["s-clean"])
    await card.get_by_role("button", name="Undo skip").click()
    await screen.choose("Clean", "Yes")
    await screen.saved("Clean")
    assert (stage.run(link)["skipped_steps"], answers(stage, link)) == ([], {"clean": True})
    await card.get_by_role("button", name="Clear answer: Clean").click()
    await answered(stage, link, {})
    await expect(card.get_by_role("radio", name="Yes")).not_to_be_checked()
    await expect(card.get_by_role("radio", name="Yes")).to_be_focused()

    dialog = screen.page.get_by_role("dialog", name="Stop this checklist?")
    for button in ("Keep going", "Stop the checklist"):
        assert stage.run(link)["status"] == "in_progress"
        await screen.menu("I can’t finish this")
        await dialog.get_by_label("Why? (optional)").fill("The gate is locked.")
        await dialog.get_by_role("button", name=button).click()
    await expect(screen.heading("This checklist was stopped")).to_be_focused()
    await expect(screen.page.get_by_role("main")).to_contain_text("The gate is locked.")
    events = await stage.events(link, last="run.cancelled")
    assert events[-1].envelope["data"]["reason"] == "The gate is locked."


async def test_the_bar_and_the_review_lead_to_the_gaps(stage: Stage, new_device: NewDevice) -> None:
    link, screen = await opened(
        stage,
        await new_device(),
        checklist(*(step(f"q{number}", required=number in (7, 14)) for number in range(1, 20))),
    )
    for label in ("Q7", "Q14", "Q7"):
        await screen.page.get_by_role("button", name="2 required steps left").click()
        await expect(screen.page.get_by_role("heading", name=label)).to_be_focused()
    await screen.choose("Q1", "Yes")
    await screen.menu("Check your answers")
    await screen.submit()
    summary = screen.page.get_by_role("group", name="2 required steps still to do")
    await expect(summary.get_by_role("button", name="Q7")).to_be_focused()
    await summary.get_by_role("button", name="Q14").click()
    await expect(screen.page.get_by_role("heading", name="Q14")).to_be_focused()
    await expect(screen.card("Q14")).to_be_in_viewport()
    await expect(screen.card("Q14").locator(".error")).to_have_text("This step needs an answer.")
    await screen.choose("Q7", "Yes")
    # The last open step is in view: the way on is into its field.
    await screen.page.get_by_role("button", name="1 required step left").click()
    await expect(screen.card("Q14").get_by_role("radio").first).to_be_focused()
    assert stage.run(link)["status"] == "in_progress"


async def test_a_checklist_is_signed_submitted_and_receipted(stage: Stage, new_device: NewDevice) -> None:
    link, screen = await opened(
        stage, await new_device(), checklist(step("clean", required=True), signature_on_complete=True)
    )
    await screen.choose("Clean", "No")
    await screen.to_review()
    await screen.submit()
    name = screen.page.get_by_label("Type your full name")
    await expect(name).to_have_attribute("aria-invalid", "true")
    await name.fill("Ida Lindqvist")
    await name.blur()
    await screen.page.get_by_role("button", name="Change: Clean").click()
    await screen.choose("Clean", "Yes")
    await screen.saved("Clean")
    await screen.to_review()
    await expect(name).to_have_value("Ida Lindqvist")
    await screen.draw()
    await screen.submit()
    await expect(screen.heading("Done. Thank you!")).to_be_focused()
    run = stage.run(link)
    assert (run["status"], run["signature"]["name"]) == ("completed", "Ida Lindqvist")
    assert run["signature"]["url"] is not None
    receipt = stage.execute(link, "GET", "")["receipt"]
    for text in (receipt["run_id"], receipt["digest"], "Ida Lindqvist"):
        await expect(screen.page.get_by_role("main")).to_contain_text(text)
    events = await stage.events(link, last="run.completed")
    assert [one.event for one in events][-2:] == ["step.completed", "run.completed"]


async def test_a_reload_shows_what_was_typed_here_and_elsewhere(stage: Stage, new_device: NewDevice) -> None:
    link, screen = await opened(stage, await new_device(), checklist(step("clean"), step("tidy"), step("end", "text")))
    await screen.page.get_by_label("Language").select_option("de")
    await expect(screen.page.locator("html")).to_have_attribute("lang", "de")
    await screen.choose("Clean", "Ja")
    stage.execute(link, "PUT", "/answers/s-tidy", json={"value": False})
    await screen.card("End").get_by_role("textbox").fill("typed, and the page closed at once")
    await screen.page.reload()
    await expect(screen.page.get_by_label("Sprache")).to_have_value("de")
    await expect(screen.card("Clean").get_by_role("radio", name="Ja")).to_be_checked()
    await expect(screen.card("Tidy").get_by_role("radio", name="Nein")).to_be_checked()
    await expect(screen.card("End").get_by_role("textbox")).to_have_value("typed, and the page closed at once")


async def test_a_wrong_link_opens_nothing_and_takes_nothing_away(stage: Stage, new_device: NewDevice) -> None:
    link = stage.dispatch(checklist(step("clean", label="The secret question")))
    wrong, device = f"{link.bare}#{'A' * 43}", await new_device()
    for address in (wrong, link.url.replace(link.run_id, "r-00000000-0000-4000-8000-000000000000")):
        await device.page.goto(address)
        await expect(device.page.get_by_role("heading", name="Checklist not found")).to_be_visible()
        assert "The secret question" not in await device.page.content()
        await device.page.goto("about:blank")
    screen = await ChecklistScreen.opened(device, link)
    await expect(screen.card("The secret question")).to_be_visible()
    await device.page.goto("about:blank")
    await device.page.goto(wrong)
    await screen.choose("The secret question", "Yes")
    await answered(stage, link, {"clean": True})


async def test_the_last_of_five_hundred_steps_is_answered(stage: Stage, new_device: NewDevice) -> None:
    link, screen = await opened(stage, await new_device(), longest())
    await expect(screen.page.get_by_role("article")).to_have_count(250)
    await screen.choose("Is item 499 in order?", "No")
    await expect(screen.page.get_by_role("article")).to_have_count(251)
    await screen.write("What is wrong with item 499?", "Broken")
    await screen.saved("What is wrong with item 499?")
    await answered(stage, link, {"q499": False, "q500": "Broken"})


HOSTILE = '</script><img src=x onerror="window.ran=true"><script>window.ran=true</script>{{7*7}}${7*7}&lt;b&gt;\'"'


def hostile_template() -> Json:
    """The hostile text wherever an author can write one, in a step of each kind."""
    nine = options(*(f"{HOSTILE}{number}" for number in range(9)))

    config: Json = {
        "boolean": {"true_label": HOSTILE + "1", "false_label": HOSTILE + "2"},
        **{"number": {"unit": HOSTILE[:50]}, "text": {"placeholder": HOSTILE}},
        "rating": {"low_label": HOSTILE, "high_label": HOSTILE},
        **{"choice": {"options": nine}, "multi_choice": {"options": nine[:3]}},
    }
    kinds = ("instruction", *config, "photo", "date", "time", "datetime", "signature", "scan")
    steps = [
        step(kind.replace("_", "-"), kind, label=f"{HOSTILE} {kind}", hint=HOSTILE, config=config.get(kind, {}))
        for kind in kinds
    ]
    template = checklist(*steps, name=HOSTILE, signature_on_complete=True)
    template["sections"][0]["title"] = HOSTILE
    return {**template, "description": HOSTILE}


async def test_what_authors_and_persons_write_is_text_wherever_it_is_shown(stage: Stage, new_device: NewDevice) -> None:
    link, screen = await opened(stage, await new_device(), hostile_template())
    page = screen.page
    await expect(screen.heading(HOSTILE)).to_be_visible()
    await expect(page.get_by_role("heading", level=2)).to_have_text(HOSTILE)
    await screen.write(f"{HOSTILE} text", HOSTILE)
    await screen.saved(f"{HOSTILE} text")
    await screen.choose(f"{HOSTILE} boolean", HOSTILE + "1")
    await screen.card(f"{HOSTILE} choice").get_by_role("button", name="Choose one").click()
    await page.get_by_role("dialog").get_by_role("button", name=HOSTILE + "4").click()
    await screen.to_review()
    await expect(page.locator(".given", has_text=HOSTILE)).to_have_count(3)
    await page.get_by_label("Type your full name").fill(HOSTILE)
    await screen.submit()
    await expect(screen.heading("Done. Thank you!")).to_be_visible()
    await expect(page.get_by_role("main")).to_contain_text(HOSTILE)
    assert await page.evaluate("window.ran === undefined")
    assert await page.locator("img[src='x'], script:not([src])").count() == 0
    assert answers(stage, link)["text"] == HOSTILE
