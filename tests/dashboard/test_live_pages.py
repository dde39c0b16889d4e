"""Each page follows what others do while it is open: no page is reloaded here."""

from playwright.async_api import Page, expect

from checklist_crds.resources.kinds import MEMBER, TEMPLATE
from checklist_dev.browser.checklists import checklist, step
from checklist_dev.browser.office import Office
from checklist_dev.local.bootstrap import NAMESPACE

from .conftest import SignedIn
from .dashboard_screen import manage
from .template_screen import TemplateScreen, changed, stored

FRIDGE = checklist(step("ok", label="Fridge ok?"), step("note", "text"), name="Fridge check")


async def _live(page: Page) -> None:
    await expect(page.locator(".live-badge")).to_have_text("Live")


async def test_templates_come_change_and_go_while_a_page_is_open(office: Office, signed_in: SignedIn) -> None:
    screen = await signed_in("viewer", at="templates")
    await _live(screen.page)
    form = await (await signed_in("editor")).open("runs/new")
    await _live(form.page)
    await expect(form.main.get_by_text("No templates yet")).to_be_visible()
    template = office.make_template(FRIDGE)
    await form.page.get_by_role("radio", name="Fridge check").check()
    await expect(screen.row("Fridge check")).to_contain_text("here")
    changed(office, template, {"name": "Cellar check"})
    await expect(screen.row("Cellar check")).to_be_visible()
    await manage(office, TEMPLATE, template)
    await expect(screen.row("Cellar check")).to_contain_text("Flux")
    other = office.make_template(checklist(step("clean"), name="Other"))
    await expect(screen.row("Other")).to_be_visible()
    office.call("DELETE", f"/v1/templates/{other}")
    await expect(screen.row("Other")).to_have_count(0)


async def test_an_open_template_shows_what_others_save_manage_or_delete(office: Office, signed_in: SignedIn) -> None:
    template = office.make_template(FRIDGE)
    writer = await signed_in("editor")
    editor, name = await TemplateScreen.opened(writer, template), writer.page.get_by_label("Name", exact=True)
    await _live(writer.page)
    versions = await writer.another_tab(f"templates/{template}?tab=versions")
    changed(office, template, {"name": "Cellar check"})
    await expect(name).to_have_value("Cellar check")
    await writer.says("Another person has changed this template. You see version 2 now.")
    await expect(versions.row("Version 2")).to_contain_text("Current")

    # It stands above what is typed in, and takes neither the focus nor a letter.
    await editor.rename("Mine")
    changed(office, template, {"description": "Theirs"})
    notice = writer.main.get_by_role("status").filter(has_text="Another person has changed this template")
    await expect(notice).to_be_visible()
    await expect(name).to_be_focused()
    await expect(name).to_have_value("Mine")
    await writer.looks_right()
    await notice.get_by_role("button", name="Show the difference").click()
    await writer.button("Keep both").click()
    await editor.save("Saved as version 4.")
    kept = stored(office, template)
    assert (kept["name"], kept["description"]) == ("Mine", "Theirs")

    await manage(office, TEMPLATE, template)
    await expect(writer.main.get_by_text("This template is managed by Flux and is read-only here")).to_be_visible()
    other = office.make_template(FRIDGE)
    editor = await TemplateScreen.opened(writer, other)
    await _live(writer.page)
    office.call("DELETE", f"/v1/templates/{other}")
    deleted = writer.main.get_by_role("alert").filter(has_text="Another person has deleted this template")
    await expect(deleted).to_contain_text("copy it from the JSON view")
    await expect(editor.row("Fridge ok?")).to_be_visible()
    await writer.looks_right()


async def test_settings_follow_what_others_do(office: Office, signed_in: SignedIn) -> None:
    """Members, keys, the audit and usage: four tabs of one browser, and another member at work."""
    members = await signed_in("admin")
    await members.open("settings/members")
    await _live(members.page)
    keys = await members.another_tab("settings/keys")
    audit = await members.another_tab("settings/audit")
    usage = await members.another_tab("settings/usage")
    await expect(usage.main).to_contain_text("0 without a limit")

    other = await office.member("viewer", name="Egon Editor")
    await expect(members.row("Egon Editor")).to_contain_text("Viewer")
    await office.kube.patch(MEMBER, other.member_id, {"spec": {"role": "editor"}}, NAMESPACE)
    await expect(members.row("Egon Editor").get_by_text("Editor", exact=True)).to_be_visible()
    await expect(audit.page.get_by_label("Who", exact=True).get_by_role("option", name="Egon Editor")).to_be_attached()

    elsewhere = await signed_in("admin")
    await elsewhere.open("settings/keys")
    await elsewhere.name_new_key("Billing")
    await elsewhere.button("Make the key").click()
    await expect(keys.row("Billing")).to_be_visible()
    await expect(audit.row("Created an API key")).to_contain_text("Billing")

    office.dispatch(FRIDGE)
    await expect(usage.main).to_contain_text("1 without a limit")
    await expect(audit.row("Created a template")).to_contain_text("Fridge check")
