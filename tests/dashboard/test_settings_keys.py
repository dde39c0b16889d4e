"""Settings, API keys: made and shown once, listed, revoked."""

import asyncio

import httpx
from playwright.async_api import expect

from checklist_crds import api_keys
from checklist_crds.kube.kinds import API_KEY, MEMBER
from checklist_dev.bootstrap import NAMESPACE, api_key_object
from checklist_dev.browser.device import PHONE
from checklist_dev.browser.office import Office

from .conftest import SignedIn
from .dashboard_screen import DashboardScreen


async def _make(screen: DashboardScreen, name: str) -> str:
    """The plaintext, from the dialog that shows it."""
    await screen.button("New key").click()
    await screen.dialog("New key").get_by_role("textbox", name="Name").fill(name)
    await screen.button("Make the key").click()
    shown = screen.dialog(f"Key “{name}”")
    return (await shown.locator(".command code").first.inner_text()).strip()


async def test_a_new_key_is_shown_once_opens_the_api_and_is_refused_when_revoked(
    office: Office, signed_in: SignedIn
) -> None:
    screen = await signed_in("admin", permissions=["clipboard-read", "clipboard-write"])
    await screen.open("settings/keys")
    key = await _make(screen, "Billing")
    shown = screen.dialog("Key “Billing”")
    await shown.get_by_role("button", name="Copy the key").click()
    await expect(shown.get_by_role("status").filter(has_text="Copied")).to_have_count(1)
    assert await screen.page.evaluate("navigator.clipboard.readText()") == key
    assert f"Bearer {key}'" in await shown.locator(".command code").nth(1).inner_text()
    await screen.looks_right()

    await screen.page.keyboard.press("Escape")
    await expect(shown).to_contain_text("then close with the button below")
    await screen.button("I have kept the key").click()
    await expect(shown).to_have_count(0)
    await expect(screen.row("Billing")).to_contain_text(f"cds_live_…{key[-4:]}")
    await expect(screen.row("Billing")).to_contain_text("never")
    assert key not in await screen.page.content()

    templates = f"{office.stage.base_url}/v1/templates"
    headers = {"Authorization": f"Bearer {key}"}
    assert httpx.get(templates, headers=headers, trust_env=False).status_code == 200
    await screen.button("Revoke Billing").click()
    confirm = screen.dialog("Revoke the key “Billing”?")
    await expect(confirm).to_contain_text(key[-4:])
    await screen.looks_right()
    await screen.button("Revoke the key").click()
    await screen.told("The key “Billing” is revoked.")
    await expect(screen.row("Billing")).to_contain_text("Revoked")
    await expect(screen.button("Revoke Billing")).to_have_count(0)
    assert httpx.get(templates, headers=headers, trust_env=False).status_code == 401


async def test_a_key_without_a_name_or_with_one_that_is_refused_is_told_beside_the_field(signed_in: SignedIn) -> None:
    screen = await signed_in("admin")
    await screen.open("settings/keys")
    await screen.button("New key").click()
    await screen.button("Make the key").click()
    field = screen.dialog("New key").get_by_role("textbox", name="Name")
    await expect(field).to_be_focused()
    await expect(field).to_have_accessible_description(
        "What the key is for, e.g. “Billing” or “Warehouse tablet”. Give the key a name."
    )
    await screen.looks_right()
    await field.fill("a\u0007b")
    await screen.button("Make the key").click()
    await expect(screen.dialog("New key").locator(".field .error")).to_be_visible()
    await expect(field).to_have_value("a\u0007b")


async def test_keys_are_made_and_revoked_by_keyboard_alone(signed_in: SignedIn) -> None:
    screen = await signed_in("admin")
    await screen.open("settings/keys")
    keyboard = screen.page.keyboard
    await screen.button("New key").focus()
    await keyboard.press("Enter")
    await screen.dialog("New key").wait_for()
    await screen.dialog("New key").get_by_role("textbox", name="Name").focus()
    await keyboard.type("Warehouse tablet")
    await keyboard.press("Enter")
    await expect(screen.dialog("Key “Warehouse tablet”")).to_be_visible()
    await screen.button("I have kept the key").focus()
    await keyboard.press("Enter")
    await screen.button("Revoke Warehouse tablet").focus()
    await keyboard.press("Enter")
    await screen.button("Revoke the key").focus()
    await keyboard.press("Enter")
    await expect(screen.row("Warehouse tablet")).to_contain_text("Revoked")


async def test_keys_with_long_names_fit_on_a_phone(signed_in: SignedIn) -> None:
    screen = await signed_in("admin", **PHONE)
    await screen.open("settings/keys")
    name = "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft " * 2
    await _make(screen, name.strip())
    await screen.button("I have kept the key").click()
    await expect(screen.row("Donaudampf")).to_be_visible()
    assert not await screen.device.overflows()
    assert await screen.device.accessibility_findings() == []


async def test_editors_and_viewers_neither_see_keys_nor_get_them(office: Office, signed_in: SignedIn) -> None:
    for role in ("editor", "viewer"):
        screen = await signed_in(role)
        await screen.open("settings/keys")
        await expect(screen.main).to_contain_text("This page needs the role admin")
        navigation = screen.page.get_by_role("navigation", name="Dashboard")
        await expect(navigation.get_by_role("link", name="Usage")).to_be_visible()
        await expect(navigation.get_by_role("link", name="API keys")).to_have_count(0)
        await screen.looks_right()
        address = f"{office.stage.base_url}/dashboard/api/{office.organization}/keys"
        answer = httpx.get(address, headers=screen.person.headers, trust_env=False)
        assert (answer.status_code, answer.json()["error"]) == (403, "forbidden")


async def test_a_service_that_does_not_answer_is_told_and_asked_again(signed_in: SignedIn) -> None:
    screen = await signed_in("admin")
    await screen.page.route("**/keys?*", lambda route: route.abort())
    await screen.open("settings/keys")
    await expect(screen.main.get_by_role("alert")).to_contain_text("The service cannot be reached")
    await screen.looks_right()
    await screen.page.unroute("**/keys?*")
    await screen.button("Try again").click()
    await expect(screen.row("make run")).to_be_visible()


async def test_more_keys_than_a_page_shows_are_on_the_next_one_which_has_an_address(
    office: Office, signed_in: SignedIn
) -> None:
    for number in range(24):
        key = api_keys.new_key()
        body = api_key_object(key, office.organization, office.organization)
        body["spec"] |= {"name": f"Key {number:02}"}
        del body["spec"]["createdBy"]
        await office.kube.create(API_KEY, body, NAMESPACE)
    screen = await signed_in("admin")
    await screen.open("settings/keys")
    pages = screen.main.get_by_role("navigation", name="Pages of keys")
    await expect(pages).to_contain_text("1–20 of 25")
    await screen.looks_right()
    await pages.get_by_role("link", name="Next").click()
    await expect(pages).to_contain_text("21–25 of 25")
    assert screen.page.url.endswith("?page=2")
    await expect(screen.main.get_by_role("rowheader")).to_have_count(5)
    await screen.page.go_back()
    await expect(pages).to_contain_text("1–20 of 25")
    await screen.open("settings/keys?page=9")
    await expect(pages).to_contain_text("Page 9 is past the end")
    await pages.get_by_role("link", name="Previous").click()
    await expect(pages).to_contain_text("21–25 of 25")


async def test_a_role_that_is_taken_away_is_told_and_takes_nothing_that_was_typed_along(
    office: Office, signed_in: SignedIn
) -> None:
    screen = await signed_in("admin")
    await screen.open("settings/keys")
    await screen.button("New key").click()
    form = screen.dialog("New key")
    await form.get_by_role("textbox", name="Name").fill("Billing")
    await office.kube.patch(MEMBER, screen.person.member_id, {"spec": {"role": "viewer"}}, NAMESPACE)
    navigation = screen.page.get_by_role("navigation", name="Dashboard", include_hidden=True)
    async with asyncio.timeout(20):
        while httpx.get(_keys(office), headers=screen.person.headers, trust_env=False).status_code != 403:
            await asyncio.sleep(0.05)
    await screen.button("Make the key").click()
    await expect(form.get_by_role("alert")).to_contain_text("This needs the role admin.")
    await expect(form.get_by_role("textbox", name="Name")).to_have_value("Billing")
    await expect(navigation.get_by_role("link", name="API keys", include_hidden=True)).to_have_count(0)
    await screen.button("Back").click()
    await screen.go("Members")
    await expect(screen.button("Invite a member")).to_have_count(0)


def _keys(office: Office) -> str:
    return f"{office.stage.base_url}/dashboard/api/{office.organization}/keys"
