"""Settings: API keys are made, shown once, revoked; members are invited, changed and removed by admins."""

from playwright.async_api import expect
from tests.browser.checklist_screen import tab_to

from checklist_crds.ids import new_id
from checklist_crds.resources.kinds import MEMBER
from checklist_crds.resources.management import MANAGED_BY_ANNOTATION
from checklist_dev.browser.office import Office
from checklist_dev.local.bootstrap import NAMESPACE

from .conftest import SignedIn
from .dashboard_screen import manage

LONG = "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft"


async def test_a_key_is_shown_once_works_and_is_refused_when_revoked(office: Office, signed_in: SignedIn) -> None:
    screen = await signed_in("admin", permissions=["clipboard-read", "clipboard-write"], at="settings/keys")
    await screen.button("New key").press("Enter")
    form, shown = screen.dialog("New key"), screen.dialog("Key “Billing”")
    field, row = form.get_by_role("textbox", name="Name"), screen.row("Billing")
    await screen.button("Make the key").click()
    await expect(field).to_be_focused()
    await expect(field).to_have_accessible_description(
        "What the key is for, e.g. “Billing” or “Warehouse tablet”. Enter a name."
    )
    await screen.looks_right()
    await field.fill("Billing")
    await screen.page.keyboard.press("Enter")
    key = (await shown.locator(".command code").first.inner_text()).strip()
    await shown.get_by_role("button", name="Copy the key").click()
    assert await screen.page.evaluate("navigator.clipboard.readText()") == key
    assert f"Bearer {key}'" in await shown.locator(".command code").nth(1).inner_text()
    await screen.looks_right()

    await screen.page.keyboard.press("Escape")
    await expect(shown).to_contain_text("then close with the button below")
    await screen.button("I have stored the key").press("Enter")
    await expect(row).to_contain_text(f"cds_live_…{key[-4:]}")
    assert key not in await screen.page.content()

    def answer() -> int:
        return office.stage.anonymous.ask(
            "GET", "/v1/templates", headers={"Authorization": f"Bearer {key}"}
        ).status_code

    assert answer() == 200
    await screen.button("Revoke Billing").press("Enter")
    await expect(screen.dialog("Revoke the key “Billing”?")).to_contain_text(key[-4:])
    await screen.looks_right()
    await screen.button("Revoke the key").press("Enter")
    await screen.says("The key “Billing” is revoked.")
    await expect(row).to_contain_text("Revoked")
    assert answer() == 401


async def test_the_last_admin_stays_and_input_is_kept(office: Office, signed_in: SignedIn) -> None:
    screen = await signed_in("admin")
    for member in (await office.kube.list_all(MEMBER, NAMESPACE))[0]:
        spec = member["spec"]
        if spec["organizationRef"]["name"] == office.organization and spec["name"] == "Olga Owner":
            await office.kube.delete(MEMBER, member["metadata"]["name"], NAMESPACE)
    keys = await screen.another_tab("settings/keys")
    await keys.name_new_key("Billing")
    await screen.open("settings/members")
    await expect(screen.row("Olga Owner")).to_have_count(0)
    await screen.button("Change Ada Example").click()
    form = screen.dialog("Change Ada Example")
    await form.get_by_role("radio", name="Viewer").check()
    await screen.button("Save").click()
    await expect(form.get_by_role("alert")).to_contain_text("admin")
    await expect(form.get_by_role("radio", name="Viewer")).to_be_checked()
    await screen.looks_right()
    await office.member("admin", name="Otto Other")
    await screen.button("Save").click()
    await expect(screen.button("Invite a member")).to_have_count(0)
    await keys.button("Make the key").click()
    await expect(keys.dialog("New key").get_by_role("alert")).to_contain_text("This needs the role admin.")
    await expect(keys.dialog("New key").get_by_role("textbox", name="Name")).to_have_value("Billing")
    await expect(keys.page.locator("nav a", has_text="API keys")).to_have_count(0)


async def test_members_are_invited_changed_and_removed_by_keyboard_alone(signed_in: SignedIn) -> None:
    email, screen = f"{new_id('u')}@example.com", await signed_in("admin")
    await screen.open("settings/members")
    page, keyboard, row = screen.page, screen.page.keyboard, screen.row("Vera Viewer")
    form, invited = screen.dialog("Invite a member"), screen.dialog("Vera Viewer is invited")
    code, done = invited.locator(".command code"), invited.get_by_role("button", name="Done")
    await tab_to(page, "Invite a member", "Enter")
    await form.wait_for()
    await screen.button("Invite").press("Enter")
    await expect(form.get_by_role("textbox", name="E-mail address")).to_be_focused()
    await expect(form.locator(".error")).to_have_count(2)
    await screen.looks_right()
    await tab_to(page, "E-mail address", text=email.upper())
    await tab_to(page, "Name", text="Vera Viewer")
    await tab_to(page, "Editor", "ArrowUp")
    await expect(form.get_by_role("radio", name="Viewer")).to_be_checked()
    await keyboard.press("Enter")
    first = await code.inner_text()
    await screen.looks_right()
    await done.press("Enter")
    for text in (email, "Invited", "Viewer"):
        await expect(row).to_contain_text(text)
    # What closed the dialogs leaves the keyboard where it was.
    await expect(screen.button("Invite a member")).to_be_focused()

    await screen.button("New link for Vera Viewer").click()
    assert await code.inner_text() != first
    await done.click()

    await tab_to(page, "Change Vera Viewer", "Enter")
    await screen.dialog("Change Vera Viewer").wait_for()
    await tab_to(page, "Viewer", "ArrowDown")
    await tab_to(page, "Save", "Enter")
    await screen.says("Vera Viewer is Editor now.")
    await expect(screen.button("Change Vera Viewer")).to_be_focused()
    await expect(row.get_by_text("Editor", exact=True)).to_be_visible()

    await tab_to(page, "Remove Vera Viewer", "Enter")
    confirm = screen.dialog("Remove Vera Viewer?")
    await tab_to(page, "Type “Vera Viewer” to confirm", "Enter", text="Vera")
    await expect(confirm.locator(".error")).to_have_text("The text does not match.")
    await screen.looks_right()
    await confirm.get_by_role("textbox").fill("Vera Viewer")
    await keyboard.press("Enter")
    await screen.says("Vera Viewer is no member any more.")
    await expect(row).to_have_count(0)


async def test_members_are_reset_managed_and_viewed(office: Office, signed_in: SignedIn) -> None:
    other = await office.member("viewer", name="Vera Viewer")
    screen = await signed_in("admin", at="settings/members")
    row = screen.row("Vera Viewer")
    await screen.button("Reset sign-in Vera Viewer").click()
    await expect(screen.dialog("Reset the sign-in of Vera Viewer?")).to_contain_text(other.email)
    await screen.button("Reset the sign-in").click()
    await expect(row).to_contain_text("Invited")
    member = await office.kube.get(MEMBER, other.member_id, NAMESPACE)
    assert not (member.get("status") or {}).get("binding")

    await manage(office, MEMBER, other.member_id)
    await expect(row).to_contain_text("Managed by Flux")
    await expect(row).to_contain_text(f"The annotation {MANAGED_BY_ANNOTATION} says that Flux manages it.")
    await expect(row.get_by_role("button")).to_have_count(0)
    await screen.looks_right()

    viewer = await signed_in("viewer")
    await viewer.open("settings/members")
    await expect(viewer.main.get_by_role("row").filter(has_text="(you)")).to_have_count(1)
    await expect(viewer.main).not_to_contain_text(other.email)
    await expect(viewer.main).not_to_contain_text("Managed by")
    await expect(viewer.button("Invite a member")).to_have_count(0)
    await viewer.looks_right()
