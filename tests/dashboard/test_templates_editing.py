"""The visual editor: a template is made, rearranged and tried out."""

import re
import time

from playwright.async_api import expect

from checklist_dev.browser.checklists import checklist, longest, options, section, step
from checklist_dev.browser.device import PHONE
from checklist_dev.browser.office import Office

from .conftest import SignedIn
from .template_screen import TemplateScreen, stored

ASKS_WHY = step("why", "text", label="What is wrong?", condition={"when": {"step": "s-ok", "op": "eq", "value": False}})
FRIDGE = checklist(step("ok", label="Fridge ok?"), ASKS_WHY, step("note", "text"), name="Fridge check")
KINDS = {
    **{"Yes or no": "boolean", "Number": "number", "Choice of one": "choice", "Choice of several": "multi_choice"},
    **{"Text": "text", "Rating": "rating", "Photo": "photo", "Date": "date", "Time": "time"},
    **{"Date and time": "datetime", "Signature": "signature", "Scan": "scan", "Instruction": "instruction"},
}


async def test_a_whole_template_is_made_by_keyboard_alone(office: Office, signed_in: SignedIn) -> None:
    screen = await signed_in("editor")
    page, keys, editor = screen.page, screen.page.keyboard, TemplateScreen(screen)
    asked = page.get_by_label("Question")

    async def type_into(label: str, text: str) -> None:
        await page.get_by_label(label, exact=True).focus()
        await keys.type(text)

    async def press(name: str) -> None:
        await page.get_by_role("button", name=re.compile(f"^{name}")).press("Enter")

    await screen.open("templates/new")
    await press("Start with an empty template")
    await expect(screen.dialog("Add the first question")).to_be_visible()
    await press("Yes or no")
    await expect(asked).to_be_focused()
    await keys.type("Fridge ok?")
    await expect(screen.main.get_by_text("it is saved as “Fridge ok”")).to_be_visible()
    await type_into("Name", "Fridge check")
    await type_into("Section title", "Kitchen")
    await page.get_by_role("checkbox", name="Required").press("Space")
    await press("Add a step to Kitchen")
    await press("Choice of one")
    await expect(asked).to_be_focused()
    await keys.type("What is wrong?")
    await type_into("Option 1", "Too warm")
    await keys.press("Enter")
    await expect(page.get_by_role("textbox", name="Option 2", exact=True)).to_be_focused()
    await keys.type("Door open")
    await keys.press("Enter")
    await expect(page.get_by_role("textbox", name="Option 3", exact=True)).to_be_focused()
    await keys.type("Dirty")
    await keys.press("Alt+ArrowUp")
    await expect(page.get_by_role("textbox", name="Option 2", exact=True)).to_have_value("Dirty")
    await press("Only show it when")
    await expect(editor.row("What is wrong?")).to_contain_text("when “Fridge ok?” is …")
    await type_into("Compared value", "No")
    await expect(editor.row("What is wrong?")).to_contain_text("when “Fridge ok?” is No")
    await press("Save")
    await screen.says("The template is saved.")
    (summary,) = office.call("GET", "/v1/templates")["data"]
    made = stored(office, summary["id"])
    first, second = made["sections"][0]["steps"]
    assert (first["id"], first["required"]) == ("s-fridge-ok", True)
    assert second["condition"] == {"when": {"step": "s-fridge-ok", "op": "eq", "value": False}}
    assert [option["label"] for option in second["config"]["options"]] == ["Too warm", "Dirty", "Door open"]
    await expect(screen.page).to_have_url(office.address(f"templates/{summary['id']}"))


async def test_steps_are_moved_by_keys_deleted_restored_and_fixed(office: Office, signed_in: SignedIn) -> None:
    template = {**FRIDGE, "sections": [*FRIDGE["sections"], section("Bar", step("c"))]}
    editor = await TemplateScreen.opened(await signed_in("editor"), office.make_template(template))
    labels, page = editor.outline.locator(".row-label"), editor.page

    async def do(act: str, label: str) -> None:
        await page.get_by_role("button", name=f"More for {label}").click()
        await page.get_by_role("button", name=act, exact=True).click()

    await editor.row("Note").focus()
    for place in ("1 of 2 in “Bar”", "2 of 2 in “Bar”"):
        await page.keyboard.press("Alt+ArrowDown")
        await editor.voice(f"Moved Note to position {place}.")
        await expect(editor.row("Note")).to_be_focused()
    await page.keyboard.press("Alt+ArrowDown")
    await editor.voice("Note is the last step already.")
    await page.get_by_role("button", name="Move up: Note").press("Enter")
    await page.get_by_role("button", name="Move the section up: Bar").click()
    await expect(labels).to_have_text(["Note", "C", "Fridge ok?", "What is wrong?"])
    await do("Move to “Kitchen”", "Note")
    await expect(editor.row("Note")).to_be_focused()

    await do("Delete", "Note")
    await editor.voice("Deleted Note. Undo brings it back.")
    await page.keyboard.press("Control+z")
    await expect(editor.row("Note")).to_be_visible()
    await page.get_by_role("button", name="Delete the section: Kitchen").click()
    await expect(labels).to_have_count(1)
    await editor.screen.button("Undo").click()
    await do("Duplicate", "Note")
    await expect(labels).to_have_text(["C", "Fridge ok?", "What is wrong?", "Note", "Note"])
    await expect(page.get_by_label("Question")).to_be_focused()

    await page.get_by_role("button", name="Move down: Fridge ok?").click()
    await expect(editor.broken_conditions).to_contain_text("depends on “Fridge ok?”, which comes later now")
    await editor.screen.looks_right()
    await editor.screen.button("Move it after").click()
    await expect(labels).to_have_text(["C", "Fridge ok?", "What is wrong?", "Note", "Note"])
    await do("Delete", "Fridge ok?")
    await expect(editor.broken_conditions).to_contain_text("which is not in the template any more")
    await editor.screen.button("Remove the condition").click()
    await expect(editor.broken_conditions).to_have_count(0)
    await expect(editor.row("What is wrong?")).not_to_contain_text("when")


async def test_steps_are_dragged_and_escape_leaves_them_where_they_were(office: Office, signed_in: SignedIn) -> None:
    two = {"name": "Two", "sections": [section("Kitchen", step("a"), step("b")), section("Bar", step("c"))]}
    editor = await TemplateScreen.opened(await signed_in("editor"), office.make_template(two))
    mouse, labels = editor.page.mouse, editor.outline.locator(".row-label")
    # High enough for all of it: near an edge the page scrolls under the pointer, further the slower the machine is.
    await editor.page.set_viewport_size({"width": 1280, "height": 1600})

    async def drag(label: str, onto: str) -> None:
        grip = await editor.card(label).locator(".grip").bounding_box()
        box = await editor.card(onto).bounding_box()
        assert grip is not None and box is not None
        await mouse.move(grip["x"] + 10, grip["y"] + grip["height"] / 2)
        await mouse.down()
        await mouse.move(box["x"] + 80, box["y"] + box["height"] * 0.9, steps=5)
        await expect(editor.page.locator(".drop-line")).to_be_visible()

    await drag("A", onto="C")
    await mouse.up()
    await expect(labels).to_have_text(["B", "C", "A"])
    await expect(editor.section("Bar").locator(".row-label")).to_have_text(["C", "A"])
    await drag("B", onto="A")
    await editor.page.keyboard.press("Escape")
    await mouse.up()
    await expect(labels).to_have_text(["B", "C", "A"])


async def test_conditions_are_sentences_of_what_fits(office: Office, signed_in: SignedIn) -> None:
    heat = step("heat", "number", label="Heat", config={"unit": "°C"})
    door = step("door", "choice", label="Door", config={"options": options("Red", "Blue", "Green")})
    template = office.make_template(checklist(heat, door, step("last", label="Last one")))
    editor = await TemplateScreen.opened(await signed_in("editor"), template)
    page, how = editor.page, editor.page.get_by_label("Operator")
    await editor.row("Last one").click()
    await editor.screen.button("Only show it when …").click()
    await how.select_option(label="is one of")
    await page.get_by_role("checkbox", name="Blue").check()
    await expect(editor.row("Last one")).to_contain_text("when “Door” is one of Blue")
    await page.get_by_label("Compared step").select_option(label="Heat")
    await how.select_option(label="is more than")
    await page.get_by_label("Compared value").fill("5.5")
    await editor.screen.button("A group").click()
    await how.last.select_option(label="is not answered")
    await expect(editor.row("Last one")).to_contain_text("when “Heat” is more than 5.5 °C and “Door” is not answered")
    await editor.screen.button("Another one in this group").click()
    await editor.screen.looks_right()
    await editor.screen.button("Save").click()
    await expect(page.locator(".condition .error")).to_have_text("Finish this condition, or remove it.")
    await page.get_by_label("Compared value").last.select_option(label="Red")
    await editor.save("Saved as version 2.")
    either = [{"step": "s-door", "op": "exists", "value": False}, {"step": "s-door", "op": "eq", "value": "o-1"}]
    when = {"all": [{"step": "s-heat", "op": "gt", "value": 5.5}, {"any": either}]}
    assert stored(office, template)["sections"][0]["steps"][2]["condition"] == {"when": when}


async def test_the_preview_is_the_executor_app(office: Office, signed_in: SignedIn) -> None:
    template = office.make_template(FRIDGE)
    editor = await TemplateScreen.opened(await signed_in("editor", viewport={"width": 1440, "height": 900}), template)
    why = editor.preview.get_by_role("article", name="What is wrong?")
    await expect(editor.preview.get_by_role("article", name="Fridge ok?")).to_be_visible()
    await expect(why).to_have_count(0)
    await editor.preview.get_by_text("No", exact=True).click()
    await editor.row("Note").click()
    await editor.page.get_by_label("Question").fill("Anything else?")
    await editor.page.get_by_label("Step type").select_option(label="Rating")
    await expect(editor.preview.get_by_role("article", name="Anything else?").get_by_role("radio")).to_have_count(5)
    await expect(why).to_be_visible()
    await editor.screen.button("Start over").click()
    await expect(why).to_have_count(0)
    await editor.screen.looks_right()

    editor = await TemplateScreen.opened(await signed_in("editor", **PHONE), template)
    await expect(editor.preview).to_have_count(0)
    await editor.screen.button("Preview").click()
    await expect(editor.preview.get_by_role("article").first).to_be_visible()
    assert await editor.screen.device.accessibility_findings() == []
    await editor.screen.button("Preview").click()
    await editor.row("Note").tap()
    await expect(editor.page.get_by_label("Question")).to_have_value("Note")
    assert not await editor.screen.device.overflows()


async def test_every_kind_of_step_is_added_and_taken_by_the_service(office: Office, signed_in: SignedIn) -> None:
    screen = await signed_in("editor")
    editor = await TemplateScreen.begun(screen)
    await editor.rename("Every kind")
    await screen.page.get_by_label("Section title").fill("All of them")
    for kind in KINDS:
        await screen.page.get_by_role("button", name="Add a step to All of them").click()
        await screen.dialog().locator(".type-name").get_by_text(kind, exact=True).click()
        await screen.page.get_by_label(re.compile("^(Question|Text)$")).fill(f"A {kind}")
        if kind.startswith("Choice"):
            await screen.page.get_by_role("textbox", name="Option 1", exact=True).fill("One")
            await screen.page.get_by_role("textbox", name="Option 2", exact=True).fill("Two")
    await editor.save("The template is saved.")
    (summary,) = office.call("GET", "/v1/templates")["data"]
    types = [each["type"] for each in stored(office, summary["id"])["sections"][0]["steps"]]
    assert types == list(KINDS.values())


async def test_five_hundred_steps_are_edited_without_waiting(office: Office, signed_in: SignedIn) -> None:
    screen = await signed_in("editor", viewport={"width": 1440, "height": 900})
    editor = await TemplateScreen.opened(screen, office.make_template(longest()))
    await expect(editor.outline.locator(".row")).to_have_count(500)
    await expect(screen.page.get_by_text("A template has at most 500 steps.").first).to_be_visible()
    await expect(screen.page.get_by_role("button", name="Add a step to Items 1 to 50")).to_be_disabled()
    await editor.card("Is item 251 in order?").locator(".row-open").click()
    await screen.page.get_by_label("Question").focus()
    before = time.perf_counter()
    await screen.page.keyboard.type(" Look closely, please")
    await screen.page.evaluate("new Promise(requestAnimationFrame)")
    assert time.perf_counter() - before < 21 * 0.4, "on a machine that is busy with other tests"
    await expect(editor.card("Is item 251 in order? Look closely, please")).to_be_visible()
    await editor.save("Saved as version 2.")
