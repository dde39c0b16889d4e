"""Each page follows what others do while it is open: nobody reloads anything here."""

from playwright.async_api import Page, expect

from checklist_crds.kube.kinds import MEMBER, TEMPLATE
from checklist_crds.management import MANAGED_BY_ANNOTATION
from checklist_dev.bootstrap import NAMESPACE
from checklist_dev.browser.checklists import checklist, step
from checklist_dev.browser.office import Office

from .conftest import SignedIn
from .template_screen import TemplateScreen, changed, stored

FRIDGE = checklist(step("ok", label="Fridge ok?"), step("note", "text"), name="Fridge check")


async def _live(page: Page) -> None:
    await expect(page.locator(".live-badge")).to_have_text("Live")


async def test_templates_come_change_and_go_in_the_list(office: Office, signed_in: SignedIn) -> None:
    screen = await signed_in("viewer")
    await screen.open("templates")
    await _live(screen.page)
    await expect(screen.main.get_by_role("heading", name="There is no template yet")).to_be_visible()
    template = office.make_template(FRIDGE)
    await expect(screen.row("Fridge check")).to_contain_text("here")
    changed(office, template, {"name": "Cellar check"})
    await expect(screen.row("Cellar check")).to_be_visible()
    annotations = {"metadata": {"annotations": {MANAGED_BY_ANNOTATION: "Flux"}}}
    await office.kube.patch(TEMPLATE, template, annotations, NAMESPACE)
    await expect(screen.row("Cellar check")).to_contain_text("Flux")
    other = office.make_template(checklist(step("clean"), name="Other"))
    await expect(screen.row("Other")).to_be_visible()
    office.call("DELETE", f"/v1/templates/{other}")
    await expect(screen.row("Other")).to_have_count(0)


async def test_an_open_template_shows_what_somebody_else_saved(office: Office, signed_in: SignedIn) -> None:
    template = office.make_template(FRIDGE)
    reader, writer = await signed_in("viewer"), await signed_in("editor")
    for screen in (reader, writer):
        await TemplateScreen.opened(screen, template)
        await _live(screen.page)
    versions = await reader.another_tab(f"templates/{template}?tab=versions")
    changed(office, template, {"name": "Cellar check"})
    for screen in (reader, writer):
        await expect(screen.heading("Cellar check")).to_be_visible()
        await expect(screen.page.get_by_label("Name", exact=True)).to_have_value("Cellar check")
        await screen.told("Somebody else has changed this template. You see version 2 now.")
    await expect(versions.row("Version 2")).to_contain_text("Current")
    # What follows is a change of the newer one, and nobody has to be asked about it.
    editor = TemplateScreen(writer)
    await editor.rename("Attic check")
    await editor.save("Saved as version 3.")
    await expect(reader.heading("Attic check")).to_be_visible()
    await expect(writer.page.locator(".toasts")).not_to_contain_text("You see version 3")


async def test_whoever_types_is_told_of_a_newer_version_before_saving_and_keeps_all_of_it(
    office: Office, signed_in: SignedIn
) -> None:
    template = office.make_template(FRIDGE)
    screen = await signed_in("editor")
    editor = await TemplateScreen.opened(screen, template)
    await _live(screen.page)
    await editor.rename("Mine")
    changed(office, template, {"description": "Theirs"})
    notice = screen.main.get_by_role("status").filter(has_text="Somebody else has changed this template")
    await expect(notice).to_be_visible()
    # It stands above what is typed in, and takes neither the focus nor a letter.
    await expect(screen.dialog()).to_have_count(0)
    await expect(screen.page.get_by_label("Name", exact=True)).to_be_focused()
    await expect(screen.page.get_by_label("Name", exact=True)).to_have_value("Mine")
    await screen.looks_right()
    await notice.get_by_role("button", name="Show the difference").click()
    dialog = screen.dialog("Somebody else has changed this template")
    await expect(dialog.get_by_role("list", name="What they changed")).to_contain_text("description")
    await dialog.get_by_role("button", name="Keep both and go on").click()
    await screen.button("Save").click()
    await screen.told("Saved as version 3.")
    kept = stored(office, template)
    assert (kept["name"], kept["description"]) == ("Mine", "Theirs")


async def test_a_template_that_is_deleted_while_it_is_open_says_so_and_stays_to_be_read(
    office: Office, signed_in: SignedIn
) -> None:
    template = office.make_template(FRIDGE)
    screen = await signed_in("editor")
    editor = await TemplateScreen.opened(screen, template)
    await _live(screen.page)
    office.call("DELETE", f"/v1/templates/{template}")
    told = screen.main.get_by_role("alert").filter(has_text="Somebody has deleted this template")
    await expect(told).to_contain_text("copy it from the JSON view")
    await expect(editor.row("Fridge ok?")).to_be_visible()
    await screen.looks_right()


async def test_a_template_that_gitops_takes_over_becomes_read_only_while_it_is_open(
    office: Office, signed_in: SignedIn
) -> None:
    template = office.make_template(FRIDGE)
    screen = await signed_in("editor")
    await TemplateScreen.opened(screen, template)
    await _live(screen.page)
    annotations = {"metadata": {"annotations": {MANAGED_BY_ANNOTATION: "Flux"}}}
    await office.kube.patch(TEMPLATE, template, annotations, NAMESPACE)
    await expect(screen.main.get_by_text("This template is managed by Flux and is read-only here")).to_be_visible()
    await expect(screen.button("Save")).to_have_count(0)


async def test_a_new_template_can_be_dispatched_from_a_form_that_was_open_before(
    office: Office, signed_in: SignedIn
) -> None:
    screen = await signed_in("editor")
    await screen.open("runs/new")
    await _live(screen.page)
    await expect(screen.main.get_by_text("There is no template yet")).to_be_visible()
    office.make_template(FRIDGE)
    await screen.page.get_by_role("radio", name="Fridge check").check()


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
    await elsewhere.button("New key").click()
    await elsewhere.dialog("New key").get_by_role("textbox", name="Name").fill("Billing")
    await elsewhere.button("Make the key").click()
    await expect(keys.row("Billing")).to_be_visible()
    await expect(audit.row("Made an API key")).to_contain_text("Billing")

    link = office.dispatch(FRIDGE)
    await expect(usage.main).to_contain_text("1 without a limit")
    await expect(audit.row("Made a template")).to_contain_text("Fridge check")
    office.call("POST", f"/v1/runs/{link.run_id}/cancel", json={})
    await expect(audit.row("Cancelled a run")).to_be_visible()
