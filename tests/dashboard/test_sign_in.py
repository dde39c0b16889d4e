"""Signing in, signing in again in the midst of work, and one's own account."""

import re

import httpx
from playwright.async_api import Route, expect
from tests.browser.local_accounts import (
    PASSWORD,
    choose_password,
    end_session,
    enter_password,
    make_invited,
    make_link,
    make_with_password,
    renew_session,
    secret_of,
)

from checklist_api.dashboard.access import COOKIE
from checklist_crds.resources.account import LinkPurpose
from checklist_crds.resources.kinds import MEMBER
from checklist_dev.browser.checklists import checklist, step
from checklist_dev.browser.device import PHONE, Device
from checklist_dev.browser.office import Office
from checklist_dev.local.bootstrap import NAMESPACE
from checklist_dev.local.people import Person

from .conftest import NewDevice, SignedIn
from .dashboard_screen import DashboardScreen


def _screen(office: Office, device: Device) -> DashboardScreen:
    return DashboardScreen(device, office, Person(office.organization, "", "", "", "", ""))


async def _with_password(office: Office, device: Device, path: str = "runs") -> tuple[DashboardScreen, str]:
    """A member with PASSWORD who has signed in on the way to `path`; their e-mail address."""
    _, email = await make_with_password(office)
    await device.page.goto(office.address(path))
    await enter_password(device, email)
    await expect(device.page.get_by_role("navigation", name="Dashboard")).to_be_visible()
    return _screen(office, device), email


async def _press(screen: DashboardScreen, name: str) -> None:
    """At the moment the session ends: the page may know of it already, and ask above the button."""
    await screen.button(name).dispatch_event("click")
    await expect(screen.dialog("Your session has ended")).to_be_visible()


async def test_choosing_among_accounts_of_one_address(office: Office, new_device: NewDevice) -> None:
    (_, email), device = await make_with_password(office), await new_device()
    link = await make_link(office, email, LinkPurpose.INVITATION, organization=office.organization)
    await choose_password(office, link)
    screen = _screen(office, device)
    await device.page.goto(office.address("runs"))
    await enter_password(device, email)
    await expect(screen.main.get_by_text("Several accounts have this address and password")).to_be_visible()
    await expect(screen.page.get_by_role("group", name="Accounts").get_by_role("button")).to_have_count(2)
    await screen.looks_right()
    await screen.button("All organizations").click()
    await expect(device.page.get_by_role("navigation", name="Dashboard")).to_be_visible()


async def test_an_invitation_signs_in_and_its_password_works(office: Office, new_device: NewDevice) -> None:
    (_, email), device = await make_invited(office), await new_device()
    link, screen = await make_link(office, email, LinkPurpose.INVITATION), _screen(office, device)
    sent: list[str] = []
    device.page.on("request", lambda request: sent.append(request.method) if request.method == "POST" else None)
    await device.page.goto(link)
    await expect(screen.button("Sign in with this link")).to_be_visible()
    await device.page.wait_for_load_state("networkidle")
    assert sent == [], "opening a link, as scanners of mail do, does not use it up"
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
    await screen.says("Your password is set.")

    other = await new_device()
    theirs = _screen(office, other)
    await other.page.goto(link)
    await theirs.button("Sign in with this link").click()
    await expect(theirs.main.get_by_role("alert")).to_contain_text("was used already")
    await theirs.looks_right()
    await theirs.button("Sign in another way").click()
    await enter_password(other, email.upper(), "not the password at all")
    await expect(other.page.get_by_role("textbox", name="Password")).to_be_focused()
    await expect(theirs.main.locator(".error")).to_have_text("The e-mail address or the password is wrong.")
    await enter_password(other, email.upper())
    await expect(theirs.button("Your account: Lou Local")).to_be_visible()


async def test_sign_in_survives_outages_and_limits_and_leads_to_the_page(office: Office, new_device: NewDevice) -> None:
    (_, email), device = await make_with_password(office), await new_device()
    screen, password = _screen(office, device), device.page.get_by_role("textbox", name="Password")
    down = {"error": "service_unavailable", "message": "The service cannot answer now.", "request_id": "1"}
    limited = {"error": "rate_limited", "message": "Too many attempts.", "request_id": "1"}
    await device.page.route("**/dashboard/api/sign-in", lambda route: route.fulfill(status=503, json=down))
    await device.page.goto(office.address("settings/usage"))
    await expect(screen.main.get_by_role("alert")).to_contain_text("The service cannot answer now.")
    await screen.looks_right()
    await device.page.unroute("**/dashboard/api/sign-in")
    await screen.button("Try again").click()
    await expect(screen.heading("Sign in")).to_be_visible()
    # Passwords are hidden, may be pasted, and are known to password managers.
    await expect(password).to_have_attribute("type", "password")
    await expect(password).to_have_attribute("autocomplete", "current-password")
    await expect(device.page.get_by_label("E-mail address")).to_have_attribute("autocomplete", "username")
    pasted = 'field => field.dispatchEvent(new ClipboardEvent("paste", { bubbles: true, cancelable: true }))'
    assert await password.evaluate(pasted), "the page refuses pasting"
    await device.page.route(
        "**/dashboard/api/sign-in/password",
        lambda route: route.fulfill(status=429, json=limited, headers={"Retry-After": "7"}),
    )
    await enter_password(device, email, "wrong again")
    await expect(screen.main.get_by_role("alert")).to_have_text("Too many attempts.")
    await expect(screen.main).to_contain_text(re.compile(r"Try again in \d+ seconds?\."))
    await expect(password).to_have_value("wrong again")
    await screen.looks_right()
    await device.page.reload()
    await device.page.unroute("**/dashboard/api/sign-in/password")
    await enter_password(device, email)
    await expect(screen.heading("Usage")).to_be_visible()
    assert screen.page.url == office.address("settings/usage")


async def test_a_session_that_ends_in_the_midst_of_work_loses_nothing(office: Office, new_device: NewDevice) -> None:
    screen, email = await _with_password(office, await new_device(), "settings/members")
    await screen.button("Invite a member").click()
    form = screen.dialog("Invite a member")
    await form.get_by_label("E-mail address").fill("vera@example.com")
    await form.get_by_role("textbox", name="Name").fill("Vera Viewer")
    await end_session(office, screen.device)
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
    await again.get_by_role("textbox", name="Password").fill(PASSWORD)
    await again.get_by_role("button", name="Sign in", exact=True).click()
    await expect(screen.dialog("Vera Viewer is invited")).to_be_visible()
    members, _ = await office.kube.list_all(MEMBER, NAMESPACE)
    ours = [each["spec"] for each in members if each["spec"]["organizationRef"]["name"] == office.organization]
    assert [spec["name"] for spec in ours].count("Vera Viewer") == 1


async def _with_provider(route: Route) -> None:
    await route.fulfill(json={"oidc": {"name": "Bright SSO"}, "local": False})


async def test_sign_in_in_another_tab_continues_the_first(office: Office, signed_in: SignedIn) -> None:
    screen = await signed_in("admin", at="settings/keys")
    await screen.name_new_key("Billing")
    await screen.page.route("**/dashboard/api/sign-in", _with_provider)

    async def provider(route: Route) -> None:
        await renew_session(office, screen.device, screen.person)
        back = httpx.URL(route.request.url).params["return_to"]
        await route.fulfill(status=303, headers={"Location": back})

    await screen.device.context.route("**/dashboard/api/sign-in/oidc?*", provider)
    await end_session(office, screen.device)
    await _press(screen, "Make the key")
    await screen.looks_right()
    async with screen.page.expect_popup() as popup:
        await screen.button("Sign in with Bright SSO (in a new tab)").click()
    await expect(screen.dialog("Key “Billing”")).to_be_visible()
    tab = await popup.value
    if not tab.is_closed():
        await tab.wait_for_event("close")

    # Another person who signs in does not continue the act of the first.
    await screen.button("I have stored the key").click()
    await screen.name_new_key("Wages")
    await end_session(office, screen.device)
    await _press(screen, "Make the key")
    other = await office.member("admin", name="Otto Other")
    await screen.device.context.add_cookies([other.cookie(office.stage.base_url)])  # type: ignore[list-item]
    tab = await screen.device.context.new_page()
    await tab.goto(f"{office.stage.base_url}/dashboard/account")
    await expect(screen.page.get_by_role("button", name="Your account: Otto Other")).to_be_visible()
    await expect(screen.dialog()).to_have_count(0)
    await expect(screen.row("Wages")).to_have_count(0)


async def test_the_provider_leads_back_to_the_page_and_nowhere_else(office: Office, new_device: NewDevice) -> None:
    device = await new_device()
    button = device.page.get_by_role("link", name="Sign in with Bright SSO")

    async def leads_to(return_to: str) -> None:
        query = httpx.QueryParams(return_to=return_to)
        await expect(button).to_have_attribute("href", f"{office.stage.base_url}/dashboard/api/sign-in/oidc?{query}")

    await device.page.route("**/dashboard/api/sign-in", _with_provider)
    await device.page.goto(office.address("settings/usage?a=1"))
    await leads_to(f"/dashboard/{office.organization}/settings/usage?a=1")
    await _screen(office, device).looks_right()
    for evil in ("https://evil.example/", "//evil.example/", "/r/../../evil", "javascript:alert(1)"):
        await device.page.goto(f"{office.stage.base_url}/dashboard/sign-in?{httpx.QueryParams(return_to=evil)}")
        await leads_to("/dashboard/")


async def test_the_page_of_a_run_gets_the_person_back(office: Office, new_device: NewDevice) -> None:
    (_, email), (_, other), device = await make_invited(office), await make_invited(office), await new_device()
    screen, link = _screen(office, device), office.dispatch(checklist(step("clean")))
    back = httpx.QueryParams(return_to=f"/r/{link.run_id}")
    sign_in = f"{office.stage.base_url}/dashboard/sign-in"
    await screen.page.goto(f"{sign_in}?{back}")
    # The link comes by mail, and is opened in a tab of its own; the first one goes on by itself.
    second = await device.context.new_page()
    await second.goto(await make_link(office, email))
    await second.get_by_role("button", name="Sign in with this link").click()
    await screen.page.wait_for_url(link.bare)
    await second.close()

    await screen.page.goto(f"{sign_in}?as=other&{back}")
    await expect(screen.main).to_contain_text(f"You are signed in as {email}")
    await screen.looks_right()
    away = await make_link(office, other, LinkPurpose.INVITATION)
    await screen.page.goto(away.replace("/sign-in#", f"/sign-in?{back}#"))
    await screen.button("Sign in with this link").click()
    await expect(screen.main.get_by_role("heading", name="Choose a password")).to_be_visible()
    await screen.main.get_by_role("link", name="Not now").click()
    await screen.page.wait_for_url(link.bare)
    headers = {"Cookie": f"{COOKIE}={await secret_of(screen.device)}"}
    assert office.stage.anonymous.ask("GET", "/dashboard/api/session", headers=headers).json()["email"] == other


async def test_sessions_are_ended_and_the_password_changed(office: Office, new_device: NewDevice) -> None:
    first, email = await _with_password(office, await new_device(), "settings/usage")
    phone = "Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) AppleWebKit/605.1 Version/17.0 Mobile Safari/604.1"
    lost, kept = _screen(office, await new_device(**PHONE, user_agent=phone)), _screen(office, await new_device())
    for other in (lost, kept):
        await other.page.goto(f"{office.stage.base_url}/dashboard/account")
        await enter_password(other.device, email)
        await expect(other.heading("Your account")).to_be_visible()
    await first.open_base("account")
    table = first.page.get_by_role("table", name="Where you are signed in")
    # And the one in which the password was set.
    await expect(table.get_by_role("rowheader")).to_have_count(4)
    await expect(table.get_by_role("row").filter(has_text="This browser")).to_have_count(1)
    await first.looks_right()
    await table.get_by_role("button", name=re.compile("Sign out .*(iPhone|iOS)")).press("Enter")
    await first.says("is signed out.")
    # Both were looking at a page: the one that was signed out learns it with the next thing that it asks for.
    await lost.page.reload()
    await expect(lost.heading("Sign in")).to_be_visible()
    await kept.page.reload()
    await expect(kept.heading("Your account")).to_be_visible()
    await first.button("Sign out all others").click()
    await expect(table.get_by_role("rowheader")).to_have_count(1)

    present = first.page.get_by_role("textbox", name="Current password")
    await present.fill("not the present one")
    await first.page.get_by_role("textbox", name="New password").fill("another set of quiet herons")
    await first.button("Set the password").click()
    await expect(first.main.locator(".error")).to_have_text("This is not your current password.")
    await expect(present).to_be_focused()
    await first.looks_right()
    await present.fill(PASSWORD)
    await first.button("Set the password").click()
    await first.says("Your password is set.")
    # The session is a new one, and the page knows it: a write works.
    await first.button("Sign out everywhere").click()
    await first.dialog("Sign out everywhere?").get_by_role("button", name="Sign out everywhere").click()
    await expect(first.heading("Sign in")).to_be_visible()
    await first.page.reload()
    await expect(first.heading("Sign in")).to_be_visible()
