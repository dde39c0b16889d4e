"""Saving a template: what the service refuses, what somebody else did meanwhile, and what is never lost."""

import asyncio
import re

import httpx
from playwright.async_api import Dialog, expect

from checklist_api.dashboard.sessions import object_name
from checklist_crds.kube.kinds import DASHBOARD_SESSION, TEMPLATE
from checklist_crds.management import MANAGED_BY_ANNOTATION
from checklist_crds.secret_digest import digest
from checklist_dev.bootstrap import NAMESPACE
from checklist_dev.browser.checklists import EVERY_CONTROL, checklist, step
from checklist_dev.browser.office import Office

from .conftest import SignedIn
from .dashboard_screen import DashboardScreen
from .template_screen import TemplateScreen, changed, stored

FRIDGE = checklist(step("ok", label="Fridge ok?"), step("note", "text"), name="Fridge check")


async def test_what_the_service_refuses_is_said_at_its_field_and_stays_there_when_the_step_is_moved(
    office: Office, signed_in: SignedIn
) -> None:
    screen = await signed_in("editor")
    editor = await TemplateScreen.opened(screen, office.make_template(FRIDGE))
    await editor.rename("")
    await editor.row("Note").click()
    await screen.page.get_by_label("What is asked").fill("")
    await screen.page.get_by_label("Kind").select_option(label="Number")
    await screen.page.get_by_label("Lowest").fill("9")
    await screen.page.get_by_label("Highest").fill("3")
    await screen.button("Save").click()
    refusal = screen.main.get_by_role("alert").filter(has_text="Nothing is saved yet")
    await expect(refusal).to_contain_text("3 things are to be mended")
    await expect(screen.page.get_by_label("Name", exact=True)).to_have_attribute("aria-invalid", "true")
    await expect(screen.page.get_by_label("Lowest")).to_have_attribute("aria-invalid", "true")
    await screen.looks_right()
    await screen.page.get_by_label("Lowest").fill("1")
    await expect(screen.page.get_by_label("Lowest")).to_have_attribute("aria-invalid", "false")
    await screen.page.get_by_role("button", name="Move up: Step without a label").click()
    await expect(screen.page.get_by_label("What is asked")).to_have_attribute("aria-invalid", "true")
    await screen.page.get_by_label("What is asked").fill("Heat")
    await refusal.get_by_role("button", name="Template").click()
    await expect(screen.page.get_by_label("Name", exact=True)).to_be_focused()
    await editor.rename("Fridge check")
    await expect(refusal).to_have_count(0)
    await editor.save("Saved as version 2.")


async def test_the_json_shows_the_services_errors_at_their_lines(office: Office, signed_in: SignedIn) -> None:
    screen = await signed_in("editor")
    editor = await TemplateScreen.opened(screen, office.make_template(FRIDGE), "?tab=json")
    text = (await editor.json.input_value()).replace('"Note"', '""').replace('"type": "text"', '"type": "poem"')
    await editor.json.fill(text)
    wrong = screen.page.get_by_role("region", name="What is wrong")
    await expect(wrong).to_contain_text("There is no such type of step.")
    await editor.tab("Steps")
    await expect(screen.main.get_by_text("The JSON cannot be shown as steps")).to_be_visible()
    await editor.tab("JSON")
    await expect(editor.json).to_have_value(text)
    await editor.json.fill(text.replace('"poem"', '"text"'))
    await expect(wrong).to_have_count(0)
    await screen.button("Save").click()
    await expect(wrong).to_contain_text("sections[0].steps[1].label")
    line = 1 + text.split("\n").index(next(one for one in text.split("\n") if '"label": ""' in one))
    await expect(editor.page.locator(".json-number.is-wrong")).to_have_text(str(line))
    await wrong.get_by_role("button", name=f"Line {line}").click()
    selected = await editor.json.evaluate("field => field.value.slice(field.selectionStart, field.selectionEnd)")
    assert selected.strip() == '"label": "",'
    await screen.looks_right()


async def test_json_and_steps_are_two_views_of_one_and_broken_json_is_kept(office: Office, signed_in: SignedIn) -> None:
    screen = await signed_in("editor")
    template = office.make_template(FRIDGE)
    editor = await TemplateScreen.opened(screen, template)
    await editor.rename("By the form")
    await editor.tab("JSON")
    text = await editor.json.input_value()
    assert '"name": "By the form"' in text
    written = text.replace('"config": {}', '"config": {"x-mine": {"deep": [1, 2]}}', 1)
    await editor.json.fill(written)
    await editor.tab("Steps")
    await editor.row("Fridge ok?").click()
    await screen.page.get_by_label("Word for yes").fill("Cold")
    await editor.tab("JSON")
    await expect(editor.json).to_have_value(re.compile(r'"x-mine"'))
    broken = (await editor.json.input_value()).replace('"name": "By the form",', '"name": "By the form"')
    await editor.json.fill(broken)
    await expect(screen.page.get_by_role("region", name="What is wrong")).to_contain_text("Line 3")
    await screen.button("Save").click()
    await expect(screen.main.get_by_role("alert")).to_contain_text("The JSON is broken on line 3")
    await editor.tab("Steps")
    await expect(screen.main.get_by_text(re.compile("^Line 3: A comma or } is missing"))).to_be_visible()
    await screen.looks_right()
    await screen.button("Give up what I typed as JSON").click()
    await expect(editor.row("Fridge ok?")).to_be_visible()
    await editor.save("Saved as version 2.")
    first = stored(office, template)["sections"][0]["steps"][0]
    assert first["config"] == {"true_label": "Cold", "x-mine": {"deep": [1, 2]}}


async def test_the_views_of_a_template_are_tabs_by_keyboard_and_in_the_address(
    office: Office, signed_in: SignedIn
) -> None:
    screen = await signed_in("editor")
    await TemplateScreen.opened(screen, office.make_template(FRIDGE))
    keyboard = screen.page.keyboard

    async def opened(title: str, query: str) -> None:
        tab = screen.page.get_by_role("tab", name=title)
        await expect(tab).to_be_focused()
        await expect(tab).to_have_attribute("aria-selected", "true")
        await expect(screen.page.get_by_role("tab", selected=True)).to_have_count(1)
        await expect(screen.page.get_by_role("tabpanel", name=title)).to_be_visible()
        await expect(screen.page).to_have_url(re.compile(rf"/t-[^?]*{re.escape(query)}$"))

    await screen.page.get_by_role("tab", name="Steps").focus()
    for key, title, query in (
        ("ArrowRight", "JSON", "?tab=json"),
        ("ArrowRight", "Versions", "?tab=versions"),
        ("ArrowRight", "Steps", ""),
        ("ArrowLeft", "Versions", "?tab=versions"),
        ("Home", "Steps", ""),
        ("End", "Versions", "?tab=versions"),
    ):
        await keyboard.press(key)
        await opened(title, query)
    # One stop for all of them: the next one is in the panel.
    await keyboard.press("Tab")
    await expect(screen.page.get_by_role("tabpanel", name="Versions")).to_be_focused()
    await screen.page.reload()
    await expect(screen.row("Version 1")).to_be_visible()


async def test_two_tabs_that_change_the_same_template_lose_nothing_of_each_other(
    office: Office, signed_in: SignedIn
) -> None:
    template = office.make_template(FRIDGE)
    mine = await TemplateScreen.opened(await signed_in("editor"), template)
    theirs = await TemplateScreen.opened(await signed_in("editor"), template)
    await mine.row("Fridge ok?").click()
    await mine.page.get_by_role("checkbox", name="Required").check()
    await mine.rename("My name")

    await theirs.rename("Their name")
    await theirs.row("Note").click()
    await theirs.page.get_by_label("What is asked").fill("Their note")
    await theirs.save("Saved as version 2.")

    await mine.screen.button("Save").click()
    dialog = mine.screen.dialog("Somebody else has changed this template")
    await expect(dialog).to_contain_text("version 2")
    await expect(dialog.get_by_role("list", name="What they changed")).to_contain_text("Their note")
    await expect(dialog.get_by_role("list", name="What you changed")).to_contain_text("required")
    both = dialog.get_by_role("region", name="Changed by both")
    await expect(both.get_by_role("radio")).to_have_count(2)
    await expect(both).to_contain_text("“Fridge check”")
    assert stored(office, template)["v"] == 2
    await mine.screen.looks_right()
    await mine.page.keyboard.press("Escape")
    await mine.screen.button("Show the difference").click()
    await dialog.get_by_label("Theirs").check()
    await mine.screen.button("Keep both and go on").click()
    await expect(mine.page.get_by_label("Name", exact=True)).to_have_value("Their name")
    await expect(mine.row("Their note")).to_be_visible()
    assert stored(office, template)["v"] == 2
    await mine.save("Saved as version 3.")
    merged = stored(office, template)
    steps = merged["sections"][0]["steps"]
    assert (merged["name"], steps[0]["required"], steps[1]["label"]) == ("Their name", True, "Their note")


async def test_one_overwrites_knowingly_or_discards_but_never_in_silence(office: Office, signed_in: SignedIn) -> None:
    template = office.make_template(FRIDGE)
    editor = await TemplateScreen.opened(await signed_in("editor"), template)
    await editor.rename("Mine")
    changed(office, template, {"name": "Theirs"})
    await editor.screen.button("Save").click()
    await editor.screen.button("Overwrite with mine …").click()
    await expect(editor.screen.dialog()).to_contain_text("What they changed is undone")
    assert stored(office, template)["name"] == "Theirs"
    await editor.screen.button("Yes, undo what they did").click()
    await editor.screen.told("Saved as version 3.")
    assert stored(office, template)["name"] == "Mine"

    await editor.rename("Mine again")
    changed(office, template, {"name": "Theirs again"})
    await editor.screen.button("Save").click()
    await editor.screen.button("Discard my changes").click()
    await expect(editor.page.get_by_label("Name", exact=True)).to_have_value("Theirs again")
    await expect(editor.page.locator(".editor-state")).to_have_text("Saved")
    assert stored(office, template)["v"] == 4


async def test_what_is_not_saved_is_there_after_a_reload_and_asked_about_before_leaving(
    office: Office, signed_in: SignedIn
) -> None:
    template = office.make_template(FRIDGE)
    screen = await signed_in("editor")
    editor = await TemplateScreen.opened(screen, template)
    asked: list[str] = []

    async def answer(dialog: Dialog) -> None:
        asked.append(dialog.type)
        await (dialog.accept() if dialog.type == "beforeunload" or len(asked) > 2 else dialog.dismiss())

    screen.page.on("dialog", answer)
    await editor.rename("Not saved")
    await screen.page.reload()
    await expect(screen.main.get_by_text("Your changes from before are here again")).to_be_visible()
    await expect(screen.page.get_by_label("Name", exact=True)).to_have_value("Not saved")
    await screen.looks_right()
    await screen.page.get_by_role("navigation", name="Dashboard").get_by_role("link", name="Templates").click()
    assert asked == ["beforeunload", "confirm"]
    await expect(screen.page.get_by_label("Name", exact=True)).to_have_value("Not saved")
    await screen.page.get_by_role("navigation", name="Dashboard").get_by_role("link", name="Templates").click()
    await expect(screen.row("Fridge check")).to_be_visible()
    await screen.row("Fridge check").get_by_role("link").click()
    await expect(screen.page.get_by_label("Name", exact=True)).to_have_value("Fridge check")


async def test_a_draft_of_a_version_that_was_left_behind_shows_the_difference(
    office: Office, signed_in: SignedIn
) -> None:
    template = office.make_template(FRIDGE)
    screen = await signed_in("editor")
    editor = await TemplateScreen.opened(screen, template)
    screen.page.on("dialog", lambda dialog: dialog.accept())
    await editor.rename("Not saved")
    changed(office, template, {"description": "Theirs"})
    await screen.page.reload()
    dialog = screen.dialog("Somebody else has changed this template")
    await expect(dialog.get_by_role("list", name="What they changed")).to_contain_text("description")
    await screen.button("Keep both and go on").click()
    await editor.save("Saved as version 3.")
    assert (stored(office, template)["name"], stored(office, template)["description"]) == ("Not saved", "Theirs")


async def test_a_new_template_survives_a_reload_too(office: Office, signed_in: SignedIn) -> None:
    screen = await signed_in("editor")
    editor = await TemplateScreen.begun(screen)
    screen.page.on("dialog", lambda dialog: dialog.accept())
    await editor.rename("Begun")
    await screen.page.reload()
    await expect(screen.page.get_by_label("Name", exact=True)).to_have_value("Begun")
    await screen.page.get_by_label("Section 1", exact=True).fill("Kitchen")
    await editor.save("The template is saved.")
    await screen.open("templates/new")
    await expect(screen.button("Start with an empty template")).to_be_visible()


async def test_a_session_that_ends_while_one_edits_takes_nothing_away(office: Office, signed_in: SignedIn) -> None:
    template = office.make_template(FRIDGE)
    screen = await signed_in("editor")
    editor = await TemplateScreen.opened(screen, template)
    await editor.rename("Typed before the end")
    await _end_session(screen)
    # The page may have been told already, and ask above the button.
    await screen.button("Save").dispatch_event("click")
    await expect(screen.dialog("Your session has ended")).to_be_visible()
    await screen.page.keyboard.press("Escape")
    await expect(screen.page.get_by_label("Name", exact=True)).to_have_value("Typed before the end")
    anew = await office.member("editor")
    session = await office.kube.get(DASHBOARD_SESSION, object_name(digest(anew.secret)), NAMESPACE)
    await office.kube.delete(DASHBOARD_SESSION, session["metadata"]["name"], NAMESPACE)
    session["spec"] |= {"email": screen.person.email, "subject": screen.person.subject}
    session["metadata"] = {"name": session["metadata"]["name"], "namespace": NAMESPACE}
    await office.kube.create(DASHBOARD_SESSION, session, NAMESPACE)
    await screen.device.context.add_cookies([anew.cookie(office.stage.base_url)])  # type: ignore[list-item]
    await screen.page.evaluate("dispatchEvent(new Event('focus'))")
    await screen.told("Saved as version 2.")
    assert stored(office, template)["name"] == "Typed before the end"


async def test_versions_are_told_apart_in_words_and_an_earlier_one_becomes_current_again(
    office: Office, signed_in: SignedIn
) -> None:
    template = office.make_template(FRIDGE)
    screen = await signed_in("editor")
    editor = await TemplateScreen.opened(screen, template)
    await editor.row("Fridge ok?").click()
    await screen.page.get_by_role("checkbox", name="Required").check()
    await screen.button("Add a section").click()
    await screen.page.get_by_label("Section 2", exact=True).fill("Bar")
    await editor.save("Saved as version 2.")
    await editor.tab("Versions")
    await expect(screen.row("Version 2")).to_contain_text("Current")
    await expect(screen.row("Version 2")).to_contain_text("Ada Example")
    changes = screen.page.get_by_role("list", name="From version 1 to version 2")
    await expect(changes.get_by_role("listitem")).to_have_text(
        [re.compile("Added: Section “Bar” added"), re.compile("Changed: Step “Fridge ok\\?”: required.*no.*yes")]
    )
    await screen.page.get_by_text("As JSON").click()
    await expect(screen.page.locator(".json-line.is-added").filter(has_text='"required": true')).to_be_visible()
    await screen.looks_right()
    await screen.row("Version 1").get_by_role("button").click()
    await screen.dialog().get_by_role("button", name="Make it the current one").click()
    await screen.told("Version 1 is the current one again, as version 3.")
    await expect(screen.row("Version 3")).to_contain_text("Current")
    assert [each["title"] for each in stored(office, template)["sections"]] == ["Kitchen"]
    await editor.tab("Steps")
    await expect(screen.page.get_by_label("Section 2", exact=True)).to_have_count(0)
    await editor.rename("After it")
    await editor.save("Saved as version 4.")


async def test_what_gitops_manages_is_read_only_with_the_reason(office: Office, signed_in: SignedIn) -> None:
    template = office.make_template(EVERY_CONTROL)
    screen = await signed_in("admin")
    late = await TemplateScreen.opened(await signed_in("editor"), template)
    await late.rename("Too late")
    annotations = {"metadata": {"annotations": {MANAGED_BY_ANNOTATION: "Flux"}}}
    await office.kube.patch(TEMPLATE, template, annotations, NAMESPACE)
    await late.screen.button("Save").click()
    await expect(late.screen.main.get_by_text("This template is managed by Flux and is read-only here")).to_be_visible()
    await expect(late.page.get_by_label("Name", exact=True)).to_have_value("Too late")

    editor = await TemplateScreen.opened(screen, template)
    await expect(screen.main.get_by_text("This template is managed by Flux and is read-only here")).to_be_visible()
    await _is_read_only(editor)
    await expect(screen.button("Dispatch")).to_be_visible()
    await screen.looks_right()


async def test_who_only_reads_sees_everything_and_changes_nothing(office: Office, signed_in: SignedIn) -> None:
    template = office.make_template(EVERY_CONTROL)
    changed(office, template, {"name": "Every control, again"})
    editor = await TemplateScreen.opened(await signed_in("viewer"), template)
    await _is_read_only(editor)
    await expect(editor.screen.button("Dispatch")).to_have_count(0)
    await editor.screen.looks_right()
    await editor.tab("Versions")
    await expect(editor.screen.row("Version 1")).to_be_visible()
    await expect(editor.page.get_by_role("button", name="Make this the current one")).to_have_count(0)


async def _is_read_only(editor: TemplateScreen) -> None:
    await expect(editor.screen.button("Save")).to_have_count(0)
    await expect(editor.page.get_by_label("Name", exact=True)).to_be_disabled()
    await expect(editor.page.get_by_role("button", name="Add a step")).to_have_count(0)
    await editor.row("Which door?").click()
    await expect(editor.page.get_by_label("What is asked")).to_be_disabled()
    await expect(editor.page.get_by_label("What is asked")).to_have_value("Which door?")
    await editor.tab("JSON")
    await expect(editor.json).to_have_js_property("readOnly", True)
    await editor.tab("Steps")


async def test_deleting_says_what_goes_and_what_stays(office: Office, signed_in: SignedIn) -> None:
    template = office.make_template(FRIDGE)
    link = office.dispatch(template)
    screen = await signed_in("editor")
    await TemplateScreen.opened(screen, template)
    await screen.button("More for this template").click()
    await screen.button("Delete the template").click()
    dialog = screen.dialog("Delete the template “Fridge check”?")
    await expect(dialog).to_contain_text("1 open run of it goes on, and its link works")
    await screen.looks_right()
    await dialog.get_by_role("button", name="Delete the template").click()
    await expect(screen.heading("Templates")).to_be_visible()
    await screen.told("The template “Fridge check” is deleted.")
    assert office.call("GET", "/v1/templates")["data"] == []
    assert office.call("GET", f"/v1/runs/{link.run_id}")["status"] == "pending"


async def test_a_template_leads_to_its_dispatch_and_an_unknown_one_is_said(office: Office, signed_in: SignedIn) -> None:
    template = office.make_template(FRIDGE)
    screen = await signed_in("editor")
    await TemplateScreen.opened(screen, template)
    await screen.button("Dispatch").click()
    await expect(screen.page).to_have_url(office.address(f"runs/new?template={template}"))
    await screen.open("templates/t-00000000-0000-4000-8000-000000000000")
    await expect(screen.main.get_by_role("alert")).to_contain_text("There is no such template")
    await screen.looks_right()


async def _end_session(screen: DashboardScreen) -> None:
    """On the server; every process knows it when this returns."""
    office, person = screen.office, screen.person
    await office.kube.delete(DASHBOARD_SESSION, object_name(digest(person.secret)), NAMESPACE)
    async with asyncio.timeout(10):
        while True:
            answer = httpx.get(f"{office.stage.base_url}/dashboard/api/session", headers=person.headers)
            if answer.status_code == 401:
                return
            await asyncio.sleep(0.05)
