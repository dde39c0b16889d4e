"""Signing in, signing in again in the midst of work, and one's own account."""

import asyncio
import re

import httpx
import pytest
from playwright.async_api import Route, expect

from checklist_api.dashboard.sessions import object_name
from checklist_crds.account_links import account_name, address, new_token, one_time_link
from checklist_crds.account_types import LinkPurpose, LocalAccountSpec
from checklist_crds.ids import new_id
from checklist_crds.kube.kinds import DASHBOARD_SESSION, LOCAL_ACCOUNT, MEMBER
from checklist_crds.secret_digest import digest
from checklist_crds.times import utc_now
from checklist_dev.bootstrap import NAMESPACE
from checklist_dev.browser.checklists import checklist, step
from checklist_dev.browser.device import PHONE, Device
from checklist_dev.browser.office import Office
from checklist_dev.people import Person, make_member

from .conftest import NewDevice, SignedIn
from .dashboard_screen import DashboardScreen

PASSWORD = "four quiet herons wade upstream"


async def _link(office: Office, email: str, *, invitation: bool = False, name: str = "Lou Local") -> str:
    """The address of a one-time link, for a new account or one that is there."""
    token = new_token(email)
    purpose = LinkPurpose.INVITATION if invitation else LinkPurpose.SIGN_IN
    link = one_time_link(token, now=utc_now(), purpose=purpose)
    spec = LocalAccountSpec(email=email, name=name, link=link).to_kube()
    found, _ = await office.kube.list_all(LOCAL_ACCOUNT, NAMESPACE)
    if account_name(email) in {each["metadata"]["name"] for each in found}:
        await office.kube.patch(LOCAL_ACCOUNT, account_name(email), {"spec": {"link": spec["link"]}}, NAMESPACE)
    else:
        body = {
            "apiVersion": LOCAL_ACCOUNT.api_version,
            "kind": LOCAL_ACCOUNT.kind,
            "metadata": {"name": account_name(email), "namespace": NAMESPACE},
            "spec": spec,
        }
        await office.kube.create(LOCAL_ACCOUNT, body, NAMESPACE)
    return address(office.stage.base_url, token)


async def _member_with_account(office: Office, role: str = "admin") -> str:
    """The e-mail address of a member who can sign in by a link."""
    email = f"{new_id('u')}@example.com"
    await make_member(
        office.kube, organization=office.organization, namespace=NAMESPACE, role=role, name="Lou Local", email=email
    )
    return email


def _screen(office: Office, device: Device) -> DashboardScreen:
    nobody = Person(office.organization, "", "", "", "", "")
    return DashboardScreen(device, office, nobody)


async def _with_password(office: Office, device: Device, role: str = "admin") -> tuple[DashboardScreen, str]:
    """Somebody who came by an invitation, chose PASSWORD, and is signed in; their e-mail address."""
    email, screen = await _member_with_account(office, role), _screen(office, device)
    await device.page.goto(await _link(office, email, invitation=True))
    await screen.button("Sign in with this link").click()
    await screen.page.get_by_label("New password").fill(PASSWORD)
    await screen.button("Set the password").click()
    await screen.told("Your password is set.")
    return screen, email


async def _end_session(screen: DashboardScreen) -> None:
    """On the server, as an administrator or the passing of time does it."""
    [cookie] = [each for each in await screen.device.context.cookies() if "checklists-session" in each["name"]]
    name = object_name(digest(cookie["value"]))
    await screen.office.kube.delete(DASHBOARD_SESSION, name, NAMESPACE)
    headers = {"Cookie": f"{cookie['name']}={cookie['value']}"}
    async with asyncio.timeout(10):
        while httpx.get(f"{screen.office.stage.base_url}/dashboard/api/session", headers=headers).status_code != 401:
            await asyncio.sleep(0.05)


async def _press(screen: DashboardScreen, name: str) -> None:
    """At the moment the session ends: the page may have been told already, and ask above the button."""
    await screen.button(name).dispatch_event("click")


async def test_an_invitation_signs_in_by_a_press_and_asks_for_a_password_that_then_works(
    office: Office, new_device: NewDevice
) -> None:
    email, device = await _member_with_account(office), await new_device()
    link, screen = await _link(office, email, invitation=True), _screen(office, device)
    await device.page.goto(link)
    await expect(screen.button("Sign in with this link")).to_be_visible()
    assert "#" not in device.page.url
    await screen.looks_right()
    await screen.button("Sign in with this link").click()
    await expect(screen.main.get_by_role("heading", name="Choose a password")).to_be_visible()
    await screen.page.get_by_label("New password").fill("short")
    await screen.button("Set the password").click()
    await expect(screen.page.get_by_label("New password")).to_be_focused()
    await expect(screen.main.locator(".error")).to_contain_text("Use at least 12 characters")
    await screen.looks_right()
    await screen.page.get_by_label("New password").fill(PASSWORD)
    await screen.button("Set the password").click()
    await screen.told("Your password is set.")

    other = await new_device()
    theirs = _screen(office, other)
    await other.page.goto(link)
    await theirs.button("Sign in with this link").click()
    await expect(theirs.main.get_by_role("alert")).to_contain_text("was used already")
    await theirs.looks_right()
    await theirs.button("Sign in another way").click()
    await theirs.button("Sign in").click()
    await expect(theirs.page.get_by_label("E-mail address")).to_be_focused()
    await expect(theirs.main.locator(".error")).to_have_count(2)
    await theirs.page.get_by_label("E-mail address").fill(email.upper())
    await theirs.page.get_by_role("textbox", name="Password").fill("not the password at all")
    await theirs.page.keyboard.press("Enter")
    await expect(theirs.page.get_by_role("textbox", name="Password")).to_be_focused()
    await expect(theirs.main.locator(".error")).to_have_text("The e-mail address or the password is not right.")
    await theirs.looks_right()
    await theirs.page.get_by_role("textbox", name="Password").fill(PASSWORD)
    await theirs.page.keyboard.press("Enter")
    await expect(theirs.page.get_by_role("button", name="Your account: Lou Local")).to_be_visible()
    await expect(theirs.page.get_by_role("navigation", name="Dashboard")).to_be_visible()


async def test_opening_a_link_does_not_use_it_up(office: Office, new_device: NewDevice) -> None:
    email = await _member_with_account(office)
    link = await _link(office, email)
    scanner = await new_device()
    sent: list[str] = []
    scanner.page.on("request", lambda request: sent.append(request.method) if request.method == "POST" else None)
    await scanner.page.goto(link)
    await expect(_screen(office, scanner).button("Sign in with this link")).to_be_visible()
    await scanner.page.wait_for_load_state("networkidle")
    assert sent == []
    device = await new_device(**PHONE)
    await device.page.goto(link)
    await _screen(office, device).button("Sign in with this link").click()
    await expect(device.page.get_by_role("button", name="Your account: Lou Local")).to_be_visible()


async def test_whoever_is_not_signed_in_gets_to_the_page_that_they_wanted(
    office: Office, new_device: NewDevice
) -> None:
    screen, email = await _with_password(office, await new_device())
    await screen.page.context.clear_cookies()
    await screen.page.goto(office.address("settings/usage"))
    await expect(screen.heading("Sign in")).to_be_visible()
    await screen.page.get_by_label("E-mail address").fill(email)
    await screen.page.get_by_role("textbox", name="Password").fill(PASSWORD)
    await screen.button("Sign in").click()
    await expect(screen.heading("Usage")).to_be_visible()
    assert screen.page.url == office.address("settings/usage")


async def test_too_many_attempts_are_told_with_the_seconds_to_wait(office: Office, new_device: NewDevice) -> None:
    email, device = await _member_with_account(office), await new_device()
    screen = _screen(office, device)
    sign_in = f"{office.stage.base_url}/dashboard/api/sign-in/password"
    for attempt in range(12):
        answer = httpx.post(
            sign_in,
            json={"email": email, "password": f"wrong {attempt}"},
            headers={"Sec-Fetch-Site": "same-origin"},
            trust_env=False,
        )
    assert answer.status_code == 429
    await device.page.goto(f"{office.stage.base_url}/dashboard/")
    await screen.page.get_by_label("E-mail address").fill(email)
    await screen.page.get_by_role("textbox", name="Password").fill("wrong again")
    await screen.button("Sign in").click()
    await expect(screen.main.get_by_role("alert")).to_have_text("Too many attempts.")
    await expect(screen.main).to_contain_text(re.compile(r"Try again in \d+ seconds?\."))
    await expect(screen.page.get_by_role("textbox", name="Password")).to_have_value("wrong again")
    await screen.looks_right()


async def test_a_session_that_ends_in_the_midst_of_work_loses_nothing(office: Office, new_device: NewDevice) -> None:
    screen, email = await _with_password(office, await new_device())
    await screen.open("settings/members")
    await screen.button("Invite a member").click()
    form = screen.dialog("Invite a member")
    await form.get_by_label("E-mail address").fill("vera@example.com")
    await form.get_by_role("textbox", name="Name").fill("Vera Viewer")
    await _end_session(screen)
    await _press(screen, "Invite")
    again = screen.dialog("Your session has ended")
    await expect(again).to_contain_text(email)
    await screen.looks_right()

    await screen.page.keyboard.press("Escape")
    await expect(again).to_have_count(0)
    await expect(form.get_by_role("textbox", name="Name")).to_have_value("Vera Viewer")
    await screen.button("Back").click()
    await screen.looks_right()
    await screen.button("Sign in again").click()
    await again.get_by_role("textbox", name="Password").fill("a wrong one at first")
    await again.get_by_role("button", name="Sign in", exact=True).click()
    await expect(again.locator(".error")).to_be_visible()
    await again.get_by_role("textbox", name="Password").fill(PASSWORD)
    await again.get_by_role("button", name="Sign in", exact=True).click()
    # What was refused is done now, by itself.
    await expect(screen.dialog("Vera Viewer is invited")).to_be_visible()
    members, _ = await office.kube.list_all(MEMBER, NAMESPACE)
    invited = [each for each in members if each["spec"]["organizationRef"]["name"] == office.organization]
    assert [each["spec"]["name"] for each in invited].count("Vera Viewer") == 1


async def _signed_in_anew(screen: DashboardScreen) -> None:
    """The browser has a new session of the same person, as a sign-in with the provider gives it one."""
    office, person = screen.office, screen.person
    anew = await office.member("admin")
    name = object_name(digest(anew.secret))
    session = await office.kube.get(DASHBOARD_SESSION, name, NAMESPACE)
    await office.kube.delete(DASHBOARD_SESSION, name, NAMESPACE)
    session["spec"] |= {"email": person.email, "subject": person.subject}
    session["metadata"] = {"name": name, "namespace": NAMESPACE}
    await office.kube.create(DASHBOARD_SESSION, session, NAMESPACE)
    await screen.device.context.add_cookies([anew.cookie(office.stage.base_url)])  # type: ignore[list-item]


async def _with_provider(route: Route) -> None:
    await route.fulfill(json={"oidc": {"name": "Bright SSO"}, "local": False})


async def test_signing_in_with_the_provider_in_another_tab_lets_the_first_go_on(signed_in: SignedIn) -> None:
    screen = await signed_in("admin")
    await screen.open("settings/keys")
    await screen.button("New key").click()
    await screen.dialog("New key").get_by_role("textbox", name="Name").fill("Billing")
    await screen.page.route("**/dashboard/api/sign-in", _with_provider)

    async def provider(route: Route) -> None:
        await _signed_in_anew(screen)
        back = httpx.URL(route.request.url).params["return_to"]
        await route.fulfill(status=303, headers={"Location": back})

    await screen.device.context.route("**/dashboard/api/sign-in/oidc?*", provider)
    await _end_session(screen)
    await _press(screen, "Make the key")
    await expect(screen.dialog("Your session has ended")).to_be_visible()
    await screen.looks_right()
    async with screen.page.expect_popup() as popup:
        await screen.button("Sign in with Bright SSO (in a new tab)").click()
    await expect(screen.dialog("Key “Billing”")).to_be_visible()
    tab = await popup.value
    if not tab.is_closed():
        await tab.wait_for_event("close")


async def test_somebody_else_who_signs_in_meanwhile_does_not_act_on_the_page_of_the_first(
    office: Office, signed_in: SignedIn
) -> None:
    screen = await signed_in("admin")
    await screen.open("settings/keys")
    await screen.button("New key").click()
    await screen.dialog("New key").get_by_role("textbox", name="Name").fill("Billing")
    await _end_session(screen)
    await _press(screen, "Make the key")
    await expect(screen.dialog("Your session has ended")).to_be_visible()
    other = await office.member("admin", name="Otto Other")
    await screen.device.context.add_cookies([other.cookie(office.stage.base_url)])  # type: ignore[list-item]
    tab = await screen.device.context.new_page()
    await tab.goto(f"{office.stage.base_url}/dashboard/account")
    await expect(screen.page.get_by_role("button", name="Your account: Otto Other")).to_be_visible()
    await expect(screen.dialog()).to_have_count(0)
    await expect(screen.row("Billing")).to_have_count(0)


async def test_the_provider_is_offered_by_its_name_and_leads_back_to_where_one_was(
    office: Office, new_device: NewDevice
) -> None:
    device = await new_device()
    await device.page.route("**/dashboard/api/sign-in", _with_provider)
    await device.page.goto(office.address("settings/usage?a=1"))
    button = device.page.get_by_role("link", name="Sign in with Bright SSO")
    wanted = f"/dashboard/{office.organization}/settings/usage?a=1"
    await expect(button).to_have_attribute(
        "href", f"{office.stage.base_url}/dashboard/api/sign-in/oidc?{httpx.QueryParams(return_to=wanted)}"
    )
    await _screen(office, device).looks_right()


@pytest.mark.parametrize("asked", ["https://evil.example/", "//evil.example/", "/r/../../evil", "javascript:alert(1)"])
async def test_the_sign_in_page_sends_nobody_to_another_place(
    office: Office, new_device: NewDevice, asked: str
) -> None:
    device = await new_device()
    await device.page.route("**/dashboard/api/sign-in", _with_provider)
    await device.page.goto(f"{office.stage.base_url}/dashboard/sign-in?{httpx.QueryParams(return_to=asked)}")
    address = await device.page.get_by_role("link", name="Sign in with Bright SSO").get_attribute("href")
    assert httpx.URL(str(address)).params["return_to"] == "/dashboard/"


async def test_a_page_of_a_run_that_asked_who_one_is_gets_the_person_back(
    office: Office, new_device: NewDevice
) -> None:
    screen, email = await _with_password(office, await new_device())
    other = await _member_with_account(office)
    link = office.dispatch(checklist(step("clean")))
    back = httpx.QueryParams(return_to=f"/r/{link.run_id}")
    sign_in = f"{office.stage.base_url}/dashboard/sign-in"
    await screen.page.goto(f"{sign_in}?{back}")
    await screen.page.wait_for_url(link.bare)

    await screen.page.goto(f"{sign_in}?as=other&{back}")
    await expect(screen.main).to_contain_text(f"You are signed in as {email}")
    await screen.looks_right()
    away = await _link(office, other, invitation=True)
    await screen.page.goto(away.replace("/sign-in#", f"/sign-in?{back}#"))
    await screen.button("Sign in with this link").click()
    await expect(screen.main.get_by_role("heading", name="Choose a password")).to_be_visible()
    await screen.main.get_by_role("link", name="Not now").click()
    await screen.page.wait_for_url(link.bare)
    [cookie] = [each for each in await screen.device.context.cookies() if "checklists-session" in each["name"]]
    headers = {"Cookie": f"{cookie['name']}={cookie['value']}"}
    session = httpx.get(f"{office.stage.base_url}/dashboard/api/session", headers=headers, trust_env=False)
    assert session.json()["email"] == other


async def test_a_service_that_is_down_is_told_on_the_sign_in_page(office: Office, new_device: NewDevice) -> None:
    device = await new_device()

    async def down(route: Route) -> None:
        body = {"error": "service_unavailable", "message": "The service cannot answer now.", "request_id": "1"}
        await route.fulfill(status=503, json=body)

    await device.page.route("**/dashboard/api/sign-in", down)
    await device.page.goto(f"{office.stage.base_url}/dashboard/")
    screen = _screen(office, device)
    await expect(screen.main.get_by_role("alert")).to_contain_text("The service cannot answer now.")
    await screen.looks_right()
    await device.page.unroute("**/dashboard/api/sign-in")
    await screen.button("Try again").click()
    await expect(screen.button("Sign in")).to_be_visible()


async def test_ones_own_sessions_are_listed_and_ended(office: Office, new_device: NewDevice) -> None:
    first, email = await _with_password(office, await new_device())
    second = _screen(office, await new_device(**PHONE))
    await second.page.goto(f"{office.stage.base_url}/dashboard/account")
    await second.page.get_by_label("E-mail address").fill(email)
    await second.page.get_by_role("textbox", name="Password").fill(PASSWORD)
    await second.button("Sign in").click()
    await expect(second.heading("Your account")).to_be_visible()

    await first.open_base("account")
    table = first.page.get_by_role("table", name="Where you are signed in")
    await expect(table.get_by_role("rowheader")).to_have_count(2)
    await expect(table.get_by_role("row").filter(has_text="This one")).to_have_count(1)
    await first.looks_right()
    await first.button("Sign out all others").click()
    await expect(table.get_by_role("rowheader")).to_have_count(1)
    await second.page.reload()
    await expect(second.heading("Sign in")).to_be_visible()
    await first.button("Sign out everywhere").click()
    await first.dialog("Sign out everywhere?").get_by_role("button", name="Sign out everywhere").click()
    await expect(first.heading("Sign in")).to_be_visible()
    await first.page.reload()
    await expect(first.heading("Sign in")).to_be_visible()


async def test_one_other_browser_is_signed_out_and_the_others_stay(office: Office, new_device: NewDevice) -> None:
    first, email = await _with_password(office, await new_device())
    phone = "Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) AppleWebKit/605.1 Version/17.0 Mobile Safari/604.1"
    lost, kept = _screen(office, await new_device(**PHONE, user_agent=phone)), _screen(office, await new_device())
    for other in (lost, kept):
        await other.page.goto(f"{office.stage.base_url}/dashboard/account")
        await other.page.get_by_label("E-mail address").fill(email)
        await other.page.get_by_role("textbox", name="Password").fill(PASSWORD)
        await other.button("Sign in").click()
        await expect(other.heading("Your account")).to_be_visible()
    await first.open_base("account")
    table = first.page.get_by_role("table", name="Where you are signed in")
    await expect(table.get_by_role("rowheader")).to_have_count(3)
    await expect(table.get_by_role("button")).to_have_count(2)
    one = table.get_by_role("button", name=re.compile("Sign out .*(iPhone|iOS)"))
    await one.focus()
    await first.page.keyboard.press("Enter")
    await first.told("is signed out.")
    await expect(table.get_by_role("rowheader")).to_have_count(2)
    await expect(table.get_by_role("row").filter(has_text="This one")).to_have_count(1)
    # Both were looking at a page: the one that was signed out learns it with the next thing that it asks for.
    await lost.page.reload()
    await expect(lost.heading("Sign in")).to_be_visible()
    await kept.page.reload()
    await expect(kept.heading("Your account")).to_be_visible()


async def test_a_password_is_changed_only_by_whoever_knows_the_present_one(
    office: Office, new_device: NewDevice
) -> None:
    screen, _ = await _with_password(office, await new_device())
    await screen.open_base("account")
    await screen.page.get_by_role("textbox", name="Present password").fill("not the present one")
    await screen.page.get_by_role("textbox", name="New password").fill("another set of quiet herons")
    await screen.button("Set the password").click()
    await expect(screen.main.locator(".error")).to_have_text("This is not your present password.")
    await expect(screen.page.get_by_role("textbox", name="Present password")).to_be_focused()
    await screen.looks_right()
    await screen.page.get_by_role("textbox", name="Present password").fill(PASSWORD)
    await screen.button("Set the password").click()
    await screen.told("Your password is set.")
    # The session is a new one, and the page knows it: a write works.
    await screen.open("settings/keys")
    await screen.button("New key").click()
    await screen.dialog("New key").get_by_role("textbox", name="Name").fill("Billing")
    await screen.button("Make the key").click()
    await expect(screen.dialog("Key “Billing”")).to_be_visible()
