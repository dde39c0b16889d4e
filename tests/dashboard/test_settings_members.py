"""Settings, members: invited, changed, removed by admins; seen by all."""

import httpx
from playwright.async_api import expect

from checklist_crds.ids import new_id
from checklist_crds.kube.kinds import MEMBER
from checklist_crds.management import MANAGED_BY_ANNOTATION
from checklist_dev.bootstrap import NAMESPACE
from checklist_dev.browser.office import Office

from .conftest import NewDevice, SignedIn
from .dashboard_screen import tab_to


async def test_somebody_is_invited_with_a_role_and_gets_in_by_the_link(
    signed_in: SignedIn, new_device: NewDevice
) -> None:
    email = f"{new_id('u')}@example.com"
    screen = await signed_in("admin")
    await screen.open("settings/members")
    await screen.button("Invite a member").click()
    form = screen.dialog("Invite a member")
    await screen.button("Invite").click()
    await expect(form.get_by_role("textbox", name="E-mail address")).to_be_focused()
    await expect(form.locator(".error")).to_have_count(2)
    await screen.looks_right()
    await form.get_by_role("textbox", name="E-mail address").fill(email.upper())
    await form.get_by_role("textbox", name="Name").fill("Vera Viewer")
    await form.get_by_role("radio", name="Viewer").check()
    await screen.button("Invite").click()
    told = screen.dialog("Vera Viewer is invited")
    first = await told.locator(".command code").inner_text()
    await screen.looks_right()
    await told.get_by_role("button", name="Done").click()
    row = screen.row("Vera Viewer")
    await expect(row).to_contain_text(email)
    await expect(row).to_contain_text("Invited")
    await expect(row).to_contain_text("Viewer")

    await screen.button("New link for Vera Viewer").click()
    second = await told.locator(".command code").inner_text()
    assert first != second
    await told.get_by_role("button", name="Done").click()
    theirs = await new_device()
    await theirs.page.goto(first)
    await theirs.page.get_by_role("button", name="Sign in with this link").click()
    await expect(theirs.page.get_by_role("alert")).to_contain_text("replaced by a newer one")
    await theirs.page.goto(second)
    await theirs.page.get_by_role("button", name="Sign in with this link").click()
    await expect(theirs.page.get_by_role("heading", name="Choose a password")).to_be_visible()
    await theirs.page.get_by_role("link", name="Not now").click()
    await expect(theirs.page.get_by_role("navigation", name="Dashboard")).to_be_visible()
    await screen.page.reload()
    await expect(row).to_contain_text("Local account")

    await screen.button("Invite a member").click()
    await form.get_by_role("textbox", name="E-mail address").fill(email)
    await form.get_by_role("textbox", name="Name").fill("Vera again")
    await screen.button("Invite").click()
    await expect(form.get_by_role("alert")).to_be_visible()
    await expect(form.get_by_role("textbox", name="Name")).to_have_value("Vera again")


async def test_a_role_is_changed_and_a_member_removed_by_typing_the_name(office: Office, signed_in: SignedIn) -> None:
    other = await office.member("viewer", name="Egon Editor")
    screen = await signed_in("admin")
    await screen.open("settings/members")
    await screen.button("Change Egon Editor").click()
    await screen.dialog("Change Egon Editor").get_by_role("radio", name="Editor").check()
    await screen.button("Save").click()
    await screen.told("Egon Editor is Editor now.")
    await expect(screen.row("Egon Editor").get_by_text("Editor", exact=True)).to_be_visible()
    member = await office.kube.get(MEMBER, other.member_id, NAMESPACE)
    assert member["spec"]["role"] == "editor"

    await screen.button("Remove Egon Editor").click()
    confirm = screen.dialog("Remove Egon Editor?")
    await screen.button("Remove the member").click()
    await expect(confirm.locator(".error")).to_have_text("This is not the same text.")
    await screen.looks_right()
    await confirm.get_by_role("textbox").fill("Egon Editor")
    await screen.button("Remove the member").click()
    await screen.told("Egon Editor is no member any more.")
    await expect(screen.row("Egon Editor")).to_have_count(0)
    address = f"{office.stage.base_url}/dashboard/api/{office.organization}/runs"
    assert httpx.get(address, headers=other.headers, trust_env=False).status_code == 404


async def test_the_last_admin_stays_and_is_told_why(office: Office, signed_in: SignedIn) -> None:
    screen = await signed_in("admin")
    for member in (await office.kube.list_all(MEMBER, NAMESPACE))[0]:
        spec = member["spec"]
        if spec["organizationRef"]["name"] == office.organization and spec["name"] == "Olga Owner":
            await office.kube.delete(MEMBER, member["metadata"]["name"], NAMESPACE)
    await screen.open("settings/members")
    await expect(screen.row("Olga Owner")).to_have_count(0)
    await screen.button("Change Ada Example").click()
    form = screen.dialog("Change Ada Example")
    await form.get_by_role("radio", name="Viewer").check()
    await screen.button("Save").click()
    await expect(form.get_by_role("alert")).to_contain_text("admin")
    await expect(form.get_by_role("radio", name="Viewer")).to_be_checked()
    await screen.looks_right()


async def test_ones_own_role_when_given_away_takes_the_pages_of_admins_along(
    office: Office, signed_in: SignedIn
) -> None:
    screen = await signed_in("admin")
    await screen.open("settings/members")
    await screen.button("Change Ada Example").click()
    await screen.dialog("Change Ada Example").get_by_role("radio", name="Viewer").check()
    await screen.button("Save").click()
    await expect(screen.button("Invite a member")).to_have_count(0)
    navigation = screen.page.get_by_role("navigation", name="Dashboard")
    await expect(navigation.get_by_role("link", name="API keys")).to_have_count(0)


async def test_a_viewer_sees_names_and_roles_and_no_address(office: Office, signed_in: SignedIn) -> None:
    other = await office.member("editor", name="Egon Editor")
    screen = await signed_in("viewer")
    await screen.open("settings/members")
    await expect(screen.row("Egon Editor")).to_contain_text("Editor")
    await expect(screen.row("Ada Example")).to_contain_text("(you)")
    await expect(screen.main).not_to_contain_text(other.email)
    await expect(screen.button("Invite a member")).to_have_count(0)
    await expect(screen.button("Remove Egon Editor")).to_have_count(0)
    await screen.looks_right()
    base = f"{office.stage.base_url}/dashboard/api"
    session = httpx.get(f"{base}/session", headers=screen.person.headers, trust_env=False).json()
    answer = httpx.delete(
        f"{base}/{office.organization}/members/{other.member_id}",
        headers=screen.person.csrf_headers(session["csrf_token"]),
        trust_env=False,
    )
    assert (answer.status_code, answer.json()["error"]) == (403, "forbidden")


async def test_members_are_invited_changed_and_removed_by_keyboard_alone(office: Office, signed_in: SignedIn) -> None:
    screen = await signed_in("admin")
    await screen.open("settings/members")
    page, keyboard = screen.page, screen.page.keyboard
    await tab_to(page, "Invite a member")
    await keyboard.press("Enter")
    form = screen.dialog("Invite a member")
    await form.wait_for()
    await tab_to(page, "E-mail address")
    await keyboard.type(f"{new_id('u')}@example.com")
    await tab_to(page, "Name")
    await keyboard.type("Vera Viewer")
    await tab_to(page, "Editor")
    await keyboard.press("ArrowUp")
    await expect(form.get_by_role("radio", name="Viewer")).to_be_checked()
    await keyboard.press("Enter")
    told = screen.dialog("Vera Viewer is invited")
    await expect(told).to_be_visible()
    await tab_to(page, "Done")
    await keyboard.press("Enter")
    await expect(screen.row("Vera Viewer")).to_contain_text("Viewer")
    # What closed the dialogs leaves the keyboard where it was.
    await expect(screen.button("Invite a member")).to_be_focused()

    await tab_to(page, "Change Vera Viewer")
    await keyboard.press("Enter")
    await screen.dialog("Change Vera Viewer").wait_for()
    await tab_to(page, "Viewer")
    await keyboard.press("ArrowDown")
    await tab_to(page, "Save")
    await keyboard.press("Enter")
    await screen.told("Vera Viewer is Editor now.")
    await expect(screen.button("Change Vera Viewer")).to_be_focused()

    await tab_to(page, "Remove Vera Viewer")
    await keyboard.press("Enter")
    confirm = screen.dialog("Remove Vera Viewer?")
    await confirm.wait_for()
    await keyboard.press("Escape")
    await expect(confirm).to_have_count(0)
    await expect(screen.button("Remove Vera Viewer")).to_be_focused()
    await keyboard.press("Enter")
    await confirm.wait_for()
    await tab_to(page, "Type “Vera Viewer” to confirm")
    await keyboard.type("Vera Viewer")
    await keyboard.press("Enter")
    await screen.told("Vera Viewer is no member any more.")
    await expect(screen.row("Vera Viewer")).to_have_count(0)


async def test_a_member_that_gitops_manages_is_read_only_with_the_reason(office: Office, signed_in: SignedIn) -> None:
    other = await office.member("viewer", name="Vera Viewer")
    screen = await signed_in("admin")
    await screen.open("settings/members")
    await expect(screen.button("Change Vera Viewer")).to_be_visible()
    annotations = {"metadata": {"annotations": {MANAGED_BY_ANNOTATION: "Flux"}}}
    await office.kube.patch(MEMBER, other.member_id, annotations, NAMESPACE)
    row = screen.row("Vera Viewer")
    await expect(row).to_contain_text("Managed by Flux")
    await expect(row).to_contain_text(f"The annotation {MANAGED_BY_ANNOTATION} says that Flux manages it.")
    await expect(row.get_by_role("button")).to_have_count(0)
    await expect(screen.button("Change Ada Example")).to_be_visible()
    await screen.looks_right()

    # Whoever sees buttons from before is refused by the service, and told by whom it is managed.
    base = f"{office.stage.base_url}/dashboard/api"
    session = httpx.get(f"{base}/session", headers=screen.person.headers, trust_env=False).json()
    headers = screen.person.csrf_headers(session["csrf_token"])
    address = f"{base}/{office.organization}/members/{other.member_id}"
    for answer in (
        httpx.patch(address, json={"role": "admin"}, headers=headers, trust_env=False),
        httpx.delete(address, headers=headers, trust_env=False),
    ):
        assert (answer.status_code, answer.json()["error"]) == (409, "member_managed")
        assert answer.json()["details"]["managed_by"]["manager"] == "Flux"
    await screen.page.goto(office.address("runs"))
    viewer = await signed_in("viewer")
    await viewer.open("settings/members")
    await expect(viewer.row("Vera Viewer")).to_be_visible()
    await expect(viewer.main).not_to_contain_text("Managed by")


async def test_a_sign_in_is_reset_for_an_account_that_was_made_anew(office: Office, signed_in: SignedIn) -> None:
    other = await office.member("viewer", name="Vera Viewer")
    screen = await signed_in("admin")
    await screen.open("settings/members")
    await screen.button("Reset sign-in Vera Viewer").click()
    await expect(screen.dialog("Reset the sign-in of Vera Viewer?")).to_contain_text(other.email)
    await screen.button("Reset the sign-in").click()
    await expect(screen.row("Vera Viewer")).to_contain_text("Invited")
    member = await office.kube.get(MEMBER, other.member_id, NAMESPACE)
    assert not (member.get("status") or {}).get("binding")
