"""Saving a template: what the service refuses, what another member did meanwhile, and what is never lost."""

import json
import re

from playwright.async_api import Dialog, expect

from checklist_crds.resources.kinds import TEMPLATE
from checklist_dev.browser.checklists import EVERY_CONTROL, checklist, step
from checklist_dev.browser.office import Office
from checklist_dev.repository import ROOT

from .conftest import SignedIn
from .dashboard_screen import manage
from .template_screen import TemplateScreen, changed, stored

FRIDGE = checklist(step("ok", label="Fridge ok?"), step("note", "text"), name="Fridge check")


async def test_what_the_service_refuses_is_said_at_its_moved_field(office: Office, signed_in: SignedIn) -> None:
    screen = await signed_in("editor")
    editor = await TemplateScreen.opened(screen, office.make_template(FRIDGE))
    await editor.rename("")
    await editor.row("Note").click()
    await screen.page.get_by_label("Question").fill("")
    await screen.page.get_by_label("Step type").select_option(label="Number")
    await screen.page.get_by_label("Lowest").fill("9")
    await screen.page.get_by_label("Highest").fill("3")
    await screen.button("Save").click()
    refusal = screen.main.get_by_role("alert").filter(has_text="Not saved")
    await expect(refusal).to_contain_text("fix 3 problems")
    await expect(screen.page.get_by_label("Name", exact=True)).to_have_attribute("aria-invalid", "true")
    await expect(screen.page.get_by_label("Lowest")).to_have_attribute("aria-invalid", "true")
    await screen.looks_right()
    await screen.page.get_by_label("Lowest").fill("1")
    await expect(screen.page.get_by_label("Lowest")).to_have_attribute("aria-invalid", "false")
    await screen.page.get_by_role("button", name="Move up: Step without a label").click()
    await expect(screen.page.get_by_label("Question")).to_have_attribute("aria-invalid", "true")
    await screen.page.get_by_label("Question").fill("Heat")
    await refusal.get_by_role("button", name="Template").click()
    await expect(screen.page.get_by_label("Name", exact=True)).to_be_focused()
    await editor.rename("Fridge check")
    await expect(refusal).to_have_count(0)
    await editor.save("Saved as version 2.")


async def test_json_view_and_its_errors(office: Office, signed_in: SignedIn) -> None:
    screen, template = await signed_in("editor"), office.make_template(FRIDGE)
    editor = await TemplateScreen.opened(screen, template)
    wrong = screen.page.get_by_role("region", name="Problems")
    await editor.rename("By the form")
    await editor.tab("JSON")
    text = await editor.json.input_value()
    assert '"name": "By the form"' in text
    await editor.json.fill(text.replace('"config": {}', '"config": {"x-mine": {"deep": [1, 2]}}', 1))
    await editor.tab("Steps")
    await editor.row("Fridge ok?").click()
    await screen.page.get_by_label("Word for yes").fill("Cold")
    await editor.tab("JSON")
    await expect(editor.json).to_have_value(re.compile(r'"x-mine"'))
    text = await editor.json.input_value()
    await editor.json.fill(text.replace('"name": "By the form",', '"name": "By the form"'))
    await expect(wrong).to_contain_text("Line 3")
    await screen.button("Save").click()
    await expect(screen.main.get_by_role("alert")).to_contain_text("The JSON is broken on line 3")
    await editor.tab("Steps")
    await screen.looks_right()
    await screen.button("Discard the JSON").click()
    await expect(editor.row("Fridge ok?")).to_be_visible()
    await editor.save("Saved as version 2.")
    first = stored(office, template)["sections"][0]["steps"][0]
    assert first["config"] == {"true_label": "Cold", "x-mine": {"deep": [1, 2]}}

    await editor.tab("JSON")
    await editor.json.fill(text.replace('"type": "text"', '"type": "poem"'))
    await expect(wrong).to_contain_text("There is no such type of step.")
    await editor.tab("Steps")
    await expect(screen.main.get_by_text("The JSON cannot be shown as steps")).to_be_visible()
    await editor.tab("JSON")
    await editor.json.fill(text.replace('"Note"', '""'))
    await screen.button("Save").click()
    await expect(wrong).to_contain_text("sections[0].steps[1].label")
    line = 1 + text[: text.index('"label": "Note"')].count("\n")
    await expect(editor.page.locator(".json-number.is-wrong")).to_have_text(str(line))
    await screen.looks_right()


async def test_two_who_change_a_template_lose_nothing_in_silence(office: Office, signed_in: SignedIn) -> None:
    template = office.make_template(FRIDGE)
    mine = await TemplateScreen.opened(await signed_in("editor"), template)
    screen, name = mine.screen, mine.page.get_by_label("Name", exact=True)
    await mine.row("Fridge ok?").click()
    await mine.page.get_by_role("checkbox", name="Required").check()
    await mine.rename("My name")
    sections = stored(office, template)["sections"]
    sections[0]["steps"][1]["label"] = "Their note"
    changed(office, template, {"name": "Their name", "sections": sections})
    await screen.button("Save").click()
    dialog = screen.dialog("Another person has changed this template")
    await expect(dialog.get_by_role("list", name="Their changes")).to_contain_text("Their note")
    await expect(dialog.get_by_role("list", name="Your changes")).to_contain_text("required")
    await expect(dialog.get_by_role("region", name="Changed by both")).to_contain_text("“Fridge check”")
    await screen.looks_right()
    await mine.page.keyboard.press("Escape")
    await screen.button("Show the difference").click()
    await dialog.get_by_label("Theirs").check()
    await screen.button("Keep both").click()
    await expect(name).to_have_value("Their name")
    assert stored(office, template)["v"] == 2
    await mine.save("Saved as version 3.")
    merged = stored(office, template)
    steps = merged["sections"][0]["steps"]
    assert (merged["name"], steps[0]["required"], steps[1]["label"]) == ("Their name", True, "Their note")

    # One overwrites knowingly, or discards.
    await mine.rename("Mine")
    changed(office, template, {"name": "Theirs"})
    await screen.button("Save").click()
    await screen.button("Overwrite with mine …").click()
    await expect(screen.dialog()).to_contain_text("Their changes are undone")
    assert stored(office, template)["name"] == "Theirs"
    await screen.button("Undo their changes").click()
    await screen.says("Saved as version 5.")
    assert stored(office, template)["name"] == "Mine"
    await mine.rename("Mine again")
    changed(office, template, {"name": "Theirs again"})
    await screen.button("Save").click()
    await screen.button("Discard my changes").click()
    await expect(name).to_have_value("Theirs again")
    assert stored(office, template)["v"] == 6


async def test_what_is_not_saved_survives_a_reload_and_a_click_away(office: Office, signed_in: SignedIn) -> None:
    template = office.make_template(FRIDGE)
    screen = await signed_in("editor")
    editor = await TemplateScreen.opened(screen, template)
    name, asked = screen.page.get_by_label("Name", exact=True), list[str]()

    async def answer(dialog: Dialog) -> None:
        asked.append(dialog.type)
        await (dialog.accept() if dialog.type == "beforeunload" else dialog.dismiss())

    screen.page.on("dialog", answer)
    await editor.rename("Not saved")
    # A draft of a version that was left behind shows the difference.
    await screen.page.route("**/events*", lambda route: route.abort())
    changed(office, template, {"description": "Theirs"})
    await screen.page.reload()
    await screen.button("Keep both").click()
    await expect(screen.main.get_by_text("Your unsaved changes are restored")).to_be_visible()
    await expect(name).to_have_value("Not saved")
    await screen.looks_right()
    await screen.navigation.get_by_role("link", name="Templates").click()
    assert asked == ["beforeunload", "confirm"]
    await editor.save("Saved as version 3.")
    assert (stored(office, template)["name"], stored(office, template)["description"]) == ("Not saved", "Theirs")

    editor = await TemplateScreen.begun(screen)
    await editor.rename("Begun")
    await screen.page.reload()
    await expect(name).to_have_value("Begun")
    await screen.page.get_by_label("Section title").fill("Kitchen")
    await editor.save("The template is saved.")
    await screen.open("templates/new")
    await expect(screen.button("Start with an empty template")).to_be_visible()


async def test_an_earlier_version_becomes_the_current_one_again(office: Office, signed_in: SignedIn) -> None:
    template = office.make_template(FRIDGE)
    screen = await signed_in("editor")
    editor = await TemplateScreen.opened(screen, template)
    await editor.row("Fridge ok?").click()
    await screen.page.get_by_role("checkbox", name="Required").check()
    await screen.button("Add a section").click()
    await screen.page.get_by_label("Section title").last.fill("Bar")
    await editor.save("Saved as version 2.")
    # The views are tabs by keyboard, and in the address.
    await screen.page.get_by_role("tab", name="Steps").focus()
    for key, title, query in (
        ("ArrowRight", "JSON", "?tab=json"),
        ("Home", "Steps", ""),
        ("End", "Versions", "?tab=versions"),
    ):
        await screen.page.keyboard.press(key)
        await expect(screen.page.get_by_role("tab", selected=True)).to_have_text(title)
        await expect(screen.page.get_by_role("tabpanel", name=title)).to_be_visible()
        await expect(screen.page).to_have_url(re.compile(rf"/t-[^?]*{re.escape(query)}$"))
    # One stop for all of them: the next one is in the panel.
    await screen.page.keyboard.press("Tab")
    await expect(screen.page.get_by_role("tabpanel", name="Versions")).to_be_focused()
    await screen.page.reload()
    for words in ("Current", "Ada Example"):
        await expect(screen.row("Version 2")).to_contain_text(words)
    changes = screen.page.get_by_role("list", name="From version 1 to version 2")
    await expect(changes.get_by_role("listitem")).to_have_text(
        [re.compile("Added: Section “Bar” added"), re.compile("Changed: Step “Fridge ok\\?”: required.*no.*yes")]
    )
    await screen.page.get_by_text("As JSON").click()
    await expect(screen.page.locator(".json-line.is-added").filter(has_text='"required": true')).to_be_visible()
    await screen.looks_right()
    await screen.row("Version 1").get_by_role("button").click()
    await screen.dialog().get_by_role("button", name="Restore").click()
    await screen.says("Version 1 is restored as version 3.")
    assert [each["title"] for each in stored(office, template)["sections"]] == ["Kitchen"]
    await editor.tab("Steps")
    await expect(screen.page.get_by_label("Section title")).to_have_count(1)


async def test_what_one_may_not_change_is_read_only_with_the_reason(office: Office, signed_in: SignedIn) -> None:
    template, other = office.make_template(EVERY_CONTROL), office.make_template(EVERY_CONTROL)
    late = await TemplateScreen.opened(await signed_in("admin"), template)
    await late.rename("Too late")
    await manage(office, TEMPLATE, template)
    await late.screen.button("Save").click()
    await expect(late.screen.main.get_by_text("This template is managed by Flux and is read-only here")).to_be_visible()
    await expect(late.page.get_by_label("Name", exact=True)).to_have_value("Too late")
    await late.screen.looks_right()
    managed = await TemplateScreen.opened(await signed_in("editor"), template)
    reader = await TemplateScreen.opened(await signed_in("viewer"), other)
    for editor in (managed, reader):
        await expect(editor.screen.button("Dispatch")).to_have_count(int(editor is managed))
        await expect(editor.screen.button("Save")).to_have_count(0)
        await expect(editor.page.get_by_label("Name", exact=True)).to_be_disabled()
        await expect(editor.page.get_by_role("button", name="Add a step")).to_have_count(0)
        await editor.row("Which door?").click()
        await expect(editor.page.get_by_label("Question")).to_be_disabled()
        await editor.tab("JSON")
        await expect(editor.json).to_have_js_property("readOnly", True)
    changed(office, other, {"name": "Every control, again"})
    await reader.tab("Versions")
    await expect(reader.screen.row("Version 1")).to_be_visible()
    await expect(reader.page.get_by_role("button", name="Restore")).to_have_count(0)


async def test_deleting_a_template_says_what_stays(office: Office, signed_in: SignedIn) -> None:
    template = office.make_template(FRIDGE)
    link = office.dispatch(template)
    screen = await signed_in("editor")
    await TemplateScreen.opened(screen, template)
    await screen.button("Dispatch").click()
    await expect(screen.page).to_have_url(office.address(f"runs/new?template={template}"))
    await screen.page.go_back()
    await screen.button("More for this template").click()
    await screen.button("Delete the template").click()
    dialog = screen.dialog("Delete the template “Fridge check”?")
    await expect(dialog).to_contain_text("1 open run of it goes on, and its link works")
    await screen.looks_right()
    await dialog.get_by_role("button", name="Delete the template").click()
    await screen.says("The template “Fridge check” is deleted.")
    assert office.call("GET", f"/v1/runs/{link.run_id}")["status"] == "pending"


async def test_an_example_of_the_gallery_is_the_beginning_of_a_template(office: Office, signed_in: SignedIn) -> None:
    screen = await signed_in("editor", at="templates/new")
    gallery = screen.main.get_by_role("region", name="Start from an example")
    examples = sorted((ROOT / "examples" / "templates").glob("*.json"))
    await expect(gallery.get_by_role("listitem")).to_have_count(len(examples))
    await screen.looks_right()
    await gallery.get_by_role("button", name="Use the example Forklift").click()
    await expect(screen.page.get_by_label("Name", exact=True)).to_have_value("Forklift, before each shift")
    await TemplateScreen(screen).save("The template is saved.")
    (summary,) = office.call("GET", "/v1/templates")["data"]
    shipped = json.loads((ROOT / "examples" / "templates" / "forklift-pre-use.json").read_text())
    assert stored(office, summary["id"])["sections"][0]["title"] == shipped["sections"][0]["title"]
    assert summary["name"] == shipped["name"]


async def test_a_new_template_without_a_name_gets_the_suggested_one(office: Office, signed_in: SignedIn) -> None:
    screen = await signed_in("editor")
    await screen.open("templates/new")
    await screen.button("Start with an empty template").click()
    await screen.dialog("Add the first question").locator(".type-name").get_by_text("Yes or no", exact=True).click()
    await expect(screen.page.get_by_label("Question")).to_be_focused()
    await screen.page.keyboard.type("Is the emergency exit free?")
    await screen.looks_right()
    await TemplateScreen(screen).save("The template is saved.")
    await expect(screen.heading("Is the emergency exit free")).to_be_visible()
