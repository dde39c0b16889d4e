"""From opening the link to the receipt: conditions, skipping, the review, the signature, the ways out."""

from typing import Any

import pytest
from playwright.async_api import expect

from checklist_dev.browser.checklists import checklist, longest, section, step
from checklist_dev.browser.stage import Stage

from .checklist_screen import ChecklistScreen, answered, answers, until
from .conftest import NewDevice

Json = dict[str, Any]
FOLLOW_UP = (
    step("clean", required=True),
    step("why", "text", required=True, condition={"when": {"step": "s-clean", "op": "eq", "value": False}}),
    step("end", "text"),
)


async def test_a_step_appears_where_it_belongs_is_announced_and_takes_no_focus(
    stage: Stage, new_device: NewDevice
) -> None:
    screen = await ChecklistScreen.opened(await new_device(), stage.dispatch(checklist(*FOLLOW_UP)))
    cards = screen.page.get_by_role("article")
    await expect(cards).to_have_count(2)
    no = screen.card("Clean").get_by_role("radio", name="No")
    await no.check()
    await expect(cards).to_have_count(3)
    await expect(cards.nth(1)).to_have_accessible_name("Why")
    await expect(no).to_be_focused()
    await expect(screen.page.get_by_role("status").filter(has_text="A new step appeared: Why")).to_have_count(1)
    await expect(screen.page.get_by_role("progressbar")).to_have_accessible_name("1 of 3 steps done")


async def test_a_step_that_is_no_longer_needed_goes_and_comes_back_with_its_answer(
    stage: Stage, new_device: NewDevice
) -> None:
    link = stage.dispatch(checklist(*FOLLOW_UP))
    screen = await ChecklistScreen.opened(await new_device(), link)
    await screen.choose("Clean", "No")
    await screen.write("Why", "Spilled milk")
    await screen.saved("Why")
    await screen.choose("Clean", "Yes")
    await expect(screen.card("Why")).to_have_count(0)
    await expect(screen.page.get_by_role("button", name="Check and submit")).to_be_visible()
    await screen.choose("Clean", "No")
    await expect(screen.card("Why").get_by_role("textbox")).to_have_value("Spilled milk")


async def test_a_step_is_skipped_and_answered_after_all(stage: Stage, new_device: NewDevice) -> None:
    link = stage.dispatch(checklist(step("clean"), step("needed", required=True)))
    screen = await ChecklistScreen.opened(await new_device(), link)
    assert await screen.card("Needed").get_by_role("button", name="Skip").count() == 0
    await screen.card("Clean").get_by_role("button", name="Skip: Clean").click()
    await expect(screen.card("Clean").locator(".step-state")).to_have_text("Skipped")
    await expect(screen.card("Clean").get_by_role("button")).to_be_focused()
    await until(lambda: stage.run(link)["skipped_steps"] == ["s-clean"])
    await screen.card("Clean").get_by_role("button", name="Answer it after all").click()
    await screen.choose("Clean", "Yes")
    await screen.saved("Clean")
    assert (stage.run(link)["skipped_steps"], answers(stage, link)) == ([], {"clean": True})


async def test_where_skipping_is_not_allowed_there_is_no_button_for_it(stage: Stage, new_device: NewDevice) -> None:
    link = stage.dispatch(checklist(step("clean"), allow_skip=False))
    screen = await ChecklistScreen.opened(await new_device(), link)
    await expect(screen.card("Clean").get_by_role("button")).to_have_count(0)


async def test_an_answer_is_taken_back(stage: Stage, new_device: NewDevice) -> None:
    link = stage.dispatch(checklist(step("clean")))
    screen = await ChecklistScreen.opened(await new_device(), link)
    await screen.choose("Clean", "Yes")
    await screen.saved("Clean")
    await screen.card("Clean").get_by_role("button", name="Clear answer: Clean").click()
    await until(lambda: answers(stage, link) == {})
    await expect(screen.card("Clean").get_by_role("radio", name="Yes")).not_to_be_checked()
    await expect(screen.card("Clean").get_by_role("radio", name="Yes")).to_be_focused()


async def test_the_bar_leads_from_gap_to_gap_and_then_to_the_end(stage: Stage, new_device: NewDevice) -> None:
    steps = [step(f"q{number}", required=number in (7, 14)) for number in range(1, 20)]
    screen = await ChecklistScreen.opened(await new_device(), stage.dispatch(checklist(*steps)))
    bar = screen.page.get_by_role("button", name="2 required left")
    for label in ("Q7", "Q14", "Q7"):
        await bar.click()
        await expect(screen.page.get_by_role("heading", name=label)).to_be_focused()
        await expect(screen.card(label)).to_be_in_viewport()
    await screen.choose("Q7", "Yes")
    await screen.choose("Q14", "Yes")
    await expect(screen.page.get_by_role("button", name="Check and submit")).to_be_visible()


async def test_the_review_names_the_gaps_and_leads_to_them(stage: Stage, new_device: NewDevice) -> None:
    link = stage.dispatch(checklist(*(step(f"q{number}", required=True) for number in range(1, 15))))
    screen = await ChecklistScreen.opened(await new_device(), link)
    await screen.choose("Q1", "Yes")
    await screen.menu("Check your answers")
    await screen.submit()
    summary = screen.page.get_by_role("group", name="13 required steps are missing")
    await expect(summary).to_be_focused()
    await summary.get_by_role("button", name="Q12").click()
    await expect(screen.page.get_by_role("heading", name="Q12")).to_be_focused()
    await expect(screen.card("Q12")).to_be_in_viewport()
    await expect(screen.card("Q12").locator(".error")).to_have_text("This step needs an answer.")
    assert stage.run(link)["status"] == "in_progress"


async def test_what_cannot_be_kept_is_still_there_after_the_review_and_holds_the_end_up(
    stage: Stage, new_device: NewDevice
) -> None:
    link = stage.dispatch(checklist(step("note", "text"), step("degrees", "number", config={"max": 30})))
    screen = await ChecklistScreen.opened(await new_device(), link)
    await screen.write("Degrees", "20")
    await screen.saved("Degrees")
    await screen.write("Note", "n" * 503)
    await screen.write("Degrees", "99")
    await expect(screen.page.get_by_role("button", name="There are 2 problems")).to_be_visible()
    await screen.menu("Check your answers")
    await screen.submit()
    summary = screen.page.get_by_role("group", name="There are 2 problems")
    await expect(summary).to_be_focused()
    await summary.get_by_role("button", name="Degrees").click()
    await expect(screen.card("Degrees").get_by_role("textbox")).to_have_value("99")
    await expect(screen.card("Degrees").locator(".error")).to_contain_text("30 or less")
    await expect(screen.card("Note").get_by_role("textbox")).to_have_value("n" * 503)
    assert stage.run(link)["status"] == "in_progress"


async def test_the_name_below_the_checklist_stays_while_an_answer_is_changed(
    stage: Stage, new_device: NewDevice
) -> None:
    link = stage.dispatch(checklist(step("clean"), signature_on_complete=True))
    screen = await ChecklistScreen.opened(await new_device(), link)
    await screen.to_review()
    await screen.page.get_by_label("Type your full name").fill("Ida Lindqvist")
    await screen.page.get_by_role("button", name="Change: Clean").click()
    await screen.choose("Clean", "Yes")
    await screen.to_review()
    await expect(screen.page.get_by_label("Type your full name")).to_have_value("Ida Lindqvist")
    await screen.submit()
    await expect(screen.heading("Done. Thank you!")).to_be_visible()
    assert stage.run(link)["signature"]["name"] == "Ida Lindqvist"


async def test_a_section_without_a_step_that_applies_is_not_shown(stage: Stage, new_device: NewDevice) -> None:
    condition = {"when": {"step": "s-clean", "op": "eq", "value": False}}
    template = checklist(step("clean"))
    template["sections"].append(section("Repairs", step("who", "text", condition=condition)))
    screen = await ChecklistScreen.opened(await new_device(), stage.dispatch(template))
    repairs = screen.page.get_by_role("heading", name="Repairs")
    await expect(screen.card("Clean")).to_be_visible()
    await expect(repairs).to_have_count(0)
    await screen.choose("Clean", "No")
    await expect(repairs).to_be_visible()
    await screen.choose("Clean", "Yes")
    await expect(repairs).to_have_count(0)
    await screen.to_review()
    await expect(repairs).to_have_count(0)


async def test_the_browsers_way_back_leads_from_the_review_to_the_checklist(
    stage: Stage, new_device: NewDevice
) -> None:
    link = stage.dispatch(checklist(step("clean")))
    screen = await ChecklistScreen.opened(await new_device(), link)
    await screen.to_review()
    await screen.page.go_back()
    await expect(screen.card("Clean")).to_be_visible()
    await screen.page.go_forward()
    await expect(screen.heading("Check your answers")).to_be_visible()
    await screen.page.reload()
    await expect(screen.card("Clean")).to_be_visible()
    assert screen.page.url == link.url
    await screen.to_review()
    await screen.page.go_back()
    await expect(screen.card("Clean")).to_be_visible()


async def test_a_checklist_is_signed_submitted_and_receipted(stage: Stage, new_device: NewDevice) -> None:
    link = stage.dispatch(checklist(step("clean", required=True), signature_on_complete=True))
    screen = await ChecklistScreen.opened(await new_device(), link)
    await screen.choose("Clean", "Yes")
    await screen.to_review()
    await screen.submit()
    name = screen.page.get_by_label("Type your full name")
    await expect(name).to_have_attribute("aria-invalid", "true")
    await name.fill("Ida Lindqvist")
    await screen.submit()
    await expect(screen.heading("Done. Thank you!")).to_be_focused()
    run = stage.run(link)
    assert run["status"] == "completed"
    assert run["signature"]["name"] == "Ida Lindqvist"
    receipt = stage.execute(link, "GET", "")["receipt"]
    for text in (receipt["run_id"], receipt["digest"], "Ida Lindqvist"):
        await expect(screen.page.get_by_role("main")).to_contain_text(text)
    events = await stage.events(link, last="run.completed")
    assert [one.event for one in events] == ["step.completed", "run.completed"]


async def test_the_drawing_of_the_signature_arrives_with_the_run(stage: Stage, new_device: NewDevice) -> None:
    link = stage.dispatch(checklist(step("clean"), signature_on_complete=True))
    screen = await ChecklistScreen.opened(await new_device(), link)
    await screen.to_review()
    await screen.page.get_by_label("Type your full name").fill("Ida Lindqvist")
    canvas = screen.page.get_by_role("img", name="Drawing area")
    await canvas.scroll_into_view_if_needed()
    box = await canvas.bounding_box()
    assert box is not None
    await screen.page.mouse.move(box["x"] + 40, box["y"] + 80)
    await screen.page.mouse.down()
    await screen.page.mouse.move(box["x"] + 200, box["y"] + 50, steps=8)
    await screen.page.mouse.up()
    await screen.submit()
    await expect(screen.heading("Done. Thank you!")).to_be_visible()
    assert stage.run(link)["signature"]["url"] is not None


async def test_the_person_can_stop_and_say_why(stage: Stage, new_device: NewDevice) -> None:
    link = stage.dispatch(checklist(step("clean"), step("end")))
    screen = await ChecklistScreen.opened(await new_device(), link)
    await screen.choose("Clean", "No")
    await screen.menu("I can’t finish this")
    dialog = screen.page.get_by_role("dialog", name="Stop this checklist?")
    await dialog.get_by_label("Why? (optional)").fill("The gate is locked.")
    await dialog.get_by_role("button", name="Keep going").click()
    assert stage.run(link)["status"] == "in_progress"
    await screen.menu("I can’t finish this")
    await dialog.get_by_label("Why? (optional)").fill("The gate is locked.")
    await dialog.get_by_role("button", name="Stop the checklist").click()
    await expect(screen.heading("This checklist was stopped")).to_be_focused()
    await expect(screen.page.get_by_role("main")).to_contain_text("The gate is locked.")
    events = await stage.events(link, last="run.cancelled")
    assert events[-1].envelope["data"]["reason"] == "The gate is locked."


async def test_a_person_who_is_asked_for_it_says_first_who_they_are(stage: Stage, new_device: NewDevice) -> None:
    link = stage.dispatch(checklist(step("clean"), identity="external"))
    screen = await ChecklistScreen.opened(await new_device(), link)
    await expect(screen.heading("First, who are you?")).to_be_visible()
    await screen.page.get_by_label("Your email address").fill("ida@")
    await screen.page.get_by_role("button", name="Start").click()
    summary = screen.page.get_by_role("group", name="There are 2 problems")
    await expect(summary).to_be_focused()
    await summary.get_by_role("button", name="Enter your name.").click()
    await expect(screen.page.get_by_label("Your name")).to_be_focused()
    await screen.page.get_by_label("Your name").fill("Ida Lindqvist")
    await screen.page.get_by_label("Your email address").fill("ida@example.com")
    await screen.page.get_by_role("button", name="Start").click()
    await screen.choose("Clean", "Yes")
    await screen.saved("Clean")
    identity = {"mode": "external", "name": "Ida Lindqvist", "email": "ida@example.com"}
    assert stage.run(link)["executor_identity"] == identity


async def test_an_answer_from_another_device_is_shown_and_told(stage: Stage, new_device: NewDevice) -> None:
    link = stage.dispatch(checklist(step("clean"), step("end", "text")))
    screen = await ChecklistScreen.opened(await new_device(), link)
    await screen.write("End", "From here")
    await screen.saved("End")
    stage.execute(link, "PUT", "/answers/s-clean", json={"value": False})
    await screen.page.reload()
    await expect(screen.card("Clean").get_by_role("radio", name="No")).to_be_checked()


@pytest.mark.parametrize("ending", ["cancelled", "completed"])
async def test_a_run_that_ended_elsewhere_says_so(stage: Stage, new_device: NewDevice, ending: str) -> None:
    link = stage.dispatch(checklist(step("clean")))
    if ending == "cancelled":
        stage.cancel(link)
    else:
        stage.execute(link, "PUT", "/answers/s-clean", json={"value": True})
        stage.execute(link, "POST", "/submit", json={})
    screen = await ChecklistScreen.opened(await new_device(), link)
    await expect(
        screen.heading("This checklist was stopped" if ending == "cancelled" else "Done. Thank you!")
    ).to_be_visible()


async def test_an_unknown_link_and_a_link_without_its_secret_say_what_to_do(
    stage: Stage, new_device: NewDevice
) -> None:
    link = stage.dispatch(checklist(step("clean"), name="Opening check"))
    device = await new_device()
    await device.page.goto(link.bare)
    await expect(device.page.get_by_role("main")).to_contain_text("open the complete link")
    await device.page.goto(link.url.replace(link.run_id, "r-00000000-0000-4000-8000-000000000000"))
    await expect(device.page.get_by_role("heading", name="There is no checklist here")).to_be_visible()


async def test_a_wrong_secret_opens_nothing_and_takes_nothing_from_who_had_the_right_one(
    stage: Stage, new_device: NewDevice
) -> None:
    link = stage.dispatch(checklist(step("clean", label="The secret question")))
    wrong = f"{link.bare}#{'A' * 43}"
    stranger, person = await new_device(), await new_device()
    await stranger.page.goto(wrong)
    await expect(stranger.page.get_by_role("heading", name="There is no checklist here")).to_be_visible()
    assert "The secret question" not in await stranger.page.content()
    screen = await ChecklistScreen.opened(person, link)
    await expect(screen.card("The secret question")).to_be_visible()
    await person.page.goto("about:blank")
    await person.page.goto(wrong)
    await screen.choose("The secret question", "Yes")
    await screen.saved("The secret question")
    assert answers(stage, link) == {"clean": True}


async def test_a_reload_in_the_middle_shows_everything_again(stage: Stage, new_device: NewDevice) -> None:
    link = stage.dispatch(checklist(step("clean"), step("end", "text")))
    screen = await ChecklistScreen.opened(await new_device(), link)
    await screen.choose("Clean", "Yes")
    await screen.card("End").get_by_role("textbox").fill("typed, and the page closed at once")
    await screen.page.reload()
    await expect(screen.card("Clean").get_by_role("radio", name="Yes")).to_be_checked()
    await expect(screen.card("End").get_by_role("textbox")).to_have_value("typed, and the page closed at once")


async def test_the_language_is_chosen_and_remembered(stage: Stage, new_device: NewDevice) -> None:
    link = stage.dispatch(checklist(step("clean", required=True)))
    screen = await ChecklistScreen.opened(await new_device(), link)
    await screen.page.get_by_label("Language").select_option("de")
    await expect(screen.page.locator("html")).to_have_attribute("lang", "de")
    await screen.page.reload()
    await expect(screen.page.get_by_label("Sprache")).to_have_value("de")
    await expect(screen.card("Clean")).to_contain_text("Ja")


async def test_five_hundred_steps_are_all_there_and_the_last_one_is_answered(
    stage: Stage, new_device: NewDevice
) -> None:
    link = stage.dispatch(longest())
    screen = await ChecklistScreen.opened(await new_device(), link)
    await expect(screen.page.get_by_role("article")).to_have_count(250)
    await screen.choose("Is item 499 in order?", "No")
    await expect(screen.page.get_by_role("article")).to_have_count(251)
    await screen.write("What is wrong with item 499?", "Broken")
    await screen.saved("What is wrong with item 499?")
    await answered(stage, link, {"q499": False, "q500": "Broken"})


HOSTILE = '</script><img src=x onerror="window.ran=true"><script>window.ran=true</script>{{7*7}}${7*7}&lt;b&gt;\'"'


def hostile_template() -> Json:
    """The hostile text wherever an author can write one, in a step of each kind."""
    bounds = {"min": 0, "max": 2}
    config: Json = {
        "boolean": {"true_label": HOSTILE + "1", "false_label": HOSTILE + "2"},
        "number": {"unit": HOSTILE[:50]},
        "text": {"placeholder": HOSTILE},
        "rating": {"low_label": HOSTILE, "high_label": HOSTILE},
        "choice": {"options": [{"id": f"o-{number}", "label": f"{HOSTILE}{number}"} for number in range(9)]},
        "multi_choice": {"options": [{"id": f"o-{number}", "label": f"{HOSTILE}{number}"} for number in range(3)]},
    }
    kinds = ("instruction", *config, "photo", "date", "time", "datetime", "signature", "scan")
    steps = [
        step(
            kind.replace("_", "-"),
            kind,
            label=f"{HOSTILE} {kind}",
            hint=HOSTILE,
            config=config.get(kind, {}),
            photo=bounds,
        )
        if kind not in ("photo", "instruction")
        else step(kind, kind, label=f"{HOSTILE} {kind}", hint=HOSTILE)
        for kind in kinds
    ]
    return {
        "name": HOSTILE,
        "description": HOSTILE,
        "settings": {"allow_skip": True, "signature_on_complete": True},
        "sections": [{"id": "g-all", "title": HOSTILE, "steps": steps}],
    }


async def test_what_authors_and_persons_write_is_text_wherever_it_is_shown(stage: Stage, new_device: NewDevice) -> None:
    link = stage.dispatch(hostile_template())
    screen = await ChecklistScreen.opened(await new_device(), link)
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
