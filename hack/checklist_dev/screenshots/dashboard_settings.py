"""The dashboard's frame, sign-in and settings."""

from playwright.async_api import Route

from checklist_crds.ids import new_id
from checklist_crds.resources.kinds import MEMBER
from checklist_crds.secrets.account_links import new_token
from checklist_dev.browser.checklists import checklist, step
from checklist_dev.local.bootstrap import NAMESPACE
from checklist_dev.screenshots.dashboard_states import Desk, desk_state


@desk_state()
async def nothing_here(desk: Desk) -> None:
    await desk.open("no-such-page")


@desk_state(role="viewer")
async def no_permission(desk: Desk) -> None:
    await desk.open("settings/keys")


@desk_state()
async def person_menu(desk: Desk) -> None:
    await desk.open("settings/usage")
    await desk.press("Your account: Ada Example")


@desk_state()
async def navigation(desk: Desk) -> None:
    """The menu of a phone; on a desk it is always there."""
    await desk.open("settings/usage")
    button = desk.page.get_by_role("button", name="Menu", exact=True)
    if await button.is_visible():
        await button.click()


@desk_state()
async def no_organization(desk: Desk) -> None:
    await desk.office.kube.delete(MEMBER, desk.person.member_id, NAMESPACE)
    await desk.open_base("")


async def _key(desk: Desk, name: str) -> None:
    await desk.press("New key")
    await desk.page.get_by_role("textbox", name="Name").fill(name)
    await desk.press("Make the key")
    await desk.page.get_by_role("dialog", name=f"Key “{name}”").wait_for()


@desk_state()
async def keys(desk: Desk) -> None:
    await desk.open("settings/keys")
    for name in ("Billing", "Warehouse tablet"):
        await _key(desk, name)
        await desk.press("I have kept the key")
    await desk.press("Revoke Billing")
    await desk.press("Revoke the key")
    await desk.page.get_by_text("Revoked", exact=True).wait_for()


@desk_state()
async def key_new(desk: Desk) -> None:
    await desk.open("settings/keys")
    await desk.press("New key")
    await desk.press("Make the key")


@desk_state()
async def key_shown(desk: Desk) -> None:
    await desk.open("settings/keys")
    await _key(desk, "Billing")


@desk_state()
async def key_revoke(desk: Desk) -> None:
    await desk.open("settings/keys")
    await desk.press("Revoke make run")


@desk_state(whole=True)
async def members(desk: Desk) -> None:
    await desk.office.member("viewer", name="Vera Viewer")
    await desk.office.member("editor", name="Egon Editor")
    await desk.open("settings/members")


@desk_state()
async def member_invite(desk: Desk) -> None:
    await desk.open("settings/members")
    await desk.press("Invite a member")


@desk_state()
async def member_invited(desk: Desk) -> None:
    await member_invite(desk)
    await desk.page.get_by_role("textbox", name="E-mail address").fill("vera@example.com")
    await desk.page.get_by_role("textbox", name="Name").fill("Vera Viewer")
    await desk.press("Invite")
    await desk.page.get_by_role("dialog", name="Vera Viewer is invited").wait_for()


@desk_state()
async def member_remove(desk: Desk) -> None:
    await desk.office.member("editor", name="Egon Editor")
    await desk.open("settings/members")
    await desk.press("Remove Egon Editor")


@desk_state(whole=True, runs_per_month=20)
async def usage(desk: Desk) -> None:
    template = desk.office.make_template(checklist(step("clean")))
    for _ in range(17):
        desk.office.dispatch(template)
    await desk.open("settings/usage")


@desk_state(whole=True, runs_per_month=2)
async def usage_limit(desk: Desk) -> None:
    template = desk.office.make_template(checklist(step("clean")))
    for _ in range(2):
        desk.office.dispatch(template)
    await desk.open("settings/usage")


@desk_state()
async def audit(desk: Desk) -> None:
    await keys(desk)
    desk.office.make_template(checklist(step("clean")))
    await desk.open("settings/audit")


@desk_state()
async def audit_empty(desk: Desk) -> None:
    await desk.open("settings/audit?outcome=failed")


@desk_state()
async def account(desk: Desk) -> None:
    await desk.open_base("account")


async def _nobody(desk: Desk) -> None:
    await desk.device.context.clear_cookies()


async def _with_provider(desk: Desk) -> None:
    async def ways(route: Route) -> None:
        await route.fulfill(json={"oidc": {"name": "Bright SSO"}, "local": True})

    await desk.device.context.route("**/dashboard/api/sign-in", ways)


@desk_state()
async def sign_in(desk: Desk) -> None:
    await _nobody(desk)
    await desk.open_base("")


@desk_state()
async def sign_in_provider(desk: Desk) -> None:
    await _with_provider(desk)
    await sign_in(desk)


@desk_state()
async def sign_in_refused(desk: Desk) -> None:
    await sign_in(desk)
    await desk.page.get_by_label("E-mail address").fill("ada@example.com")
    await desk.page.get_by_role("textbox", name="Password").fill("not the password")
    await desk.press("Sign in")
    await desk.page.locator(".error").wait_for()


@desk_state()
async def sign_in_throttled(desk: Desk) -> None:
    async def refuse(route: Route) -> None:
        body = {"error": "rate_limited", "message": "Too many requests."}
        await route.fulfill(status=429, headers={"Retry-After": "42", "Content-Type": "application/json"}, json=body)

    await desk.device.context.route("**/dashboard/api/sign-in/password", refuse)
    await sign_in(desk)
    await desk.page.get_by_label("E-mail address").fill("ada@example.com")
    await desk.page.get_by_role("textbox", name="Password").fill("not the password")
    await desk.press("Sign in")
    await desk.page.get_by_role("alert").wait_for()


@desk_state()
async def sign_in_link(desk: Desk) -> None:
    await _nobody(desk)
    await desk.open_base(f"sign-in#link={new_token('ada@example.com')}")


@desk_state()
async def sign_in_link_used(desk: Desk) -> None:
    await sign_in_link(desk)
    await desk.press("Sign in with this link")
    await desk.page.get_by_role("alert").wait_for()


@desk_state()
async def session_ended(desk: Desk) -> None:
    await _with_provider(desk)
    await desk.open("settings/keys")
    await desk.press("New key")
    await desk.page.get_by_role("textbox", name="Name").fill("Billing")
    await _nobody(desk)
    await desk.press("Make the key")
    await desk.page.get_by_role("dialog", name="Your session has ended").wait_for()
    await desk.page.get_by_role("button", name="Sign in with Bright SSO").wait_for()


@desk_state()
async def session_ended_aside(desk: Desk) -> None:
    await session_ended(desk)
    await desk.page.keyboard.press("Escape")
    await desk.press("Back")


@desk_state(whole=True)
async def account_local(desk: Desk) -> None:
    """Somebody who came by an invitation, and chooses a password."""
    await desk.open("settings/members")
    await desk.press("Invite a member")
    await desk.page.get_by_role("textbox", name="E-mail address").fill(f"{new_id('u')}@example.com")
    await desk.page.get_by_role("textbox", name="Name").fill("Vera Viewer")
    await desk.press("Invite")
    invited = desk.page.get_by_role("dialog", name="Vera Viewer is invited")
    link = await invited.locator(".command code").inner_text()
    await _nobody(desk)
    await desk.page.goto("about:blank")
    await desk.page.goto(link)
    await desk.press("Sign in with this link")
    await desk.page.get_by_role("heading", name="Choose a password").wait_for()
    await desk.settled()
