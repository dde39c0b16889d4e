"""The frame of every page: where one is, how one gets elsewhere, and who one is."""

import pytest
from playwright.async_api import Response, expect

from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.kinds import MEMBER
from checklist_dev.bootstrap import NAMESPACE
from checklist_dev.browser.checklists import EVERY_CONTROL
from checklist_dev.browser.device import PHONE
from checklist_dev.browser.office import Office
from checklist_dev.browser.stage import Stage

from .conftest import SignedIn


async def test_without_a_membership_one_is_told_which_address_to_have_invited(
    office: Office, signed_in: SignedIn
) -> None:
    person = await office.member("viewer")
    screen = await signed_in(person=person)
    await office.kube.delete(MEMBER, person.member_id, NAMESPACE)
    await screen.open_base()
    await expect(screen.heading("No organization has you as a member")).to_be_visible()
    await expect(screen.main.locator(".command")).to_contain_text(person.email)
    await screen.looks_right()


async def test_one_gets_to_ones_own_account_and_out_again_by_keyboard_alone(
    office: Office, signed_in: SignedIn
) -> None:
    screen = await signed_in("editor")
    await screen.open("nothing-of-this-name")
    await expect(screen.heading("There is nothing at this address")).to_be_visible()
    await screen.page.keyboard.press("Tab")
    await expect(screen.page.get_by_role("link", name="Skip to the content")).to_be_focused()
    await screen.button("Your account: Ada Example").focus()
    await screen.page.keyboard.press("Enter")
    await screen.page.keyboard.press("ArrowDown")
    await expect(screen.page.get_by_role("link", name="Your account")).to_be_focused()
    await screen.page.keyboard.press("Enter")
    await expect(screen.heading("Your account")).to_be_focused()
    await expect(screen.page).to_have_title("Your account · Checklist Dispatch")
    await expect(screen.row("Bright Kitchens")).to_contain_text("Editor")
    await screen.looks_right()
    await screen.button("Your account: Ada Example").focus()
    await screen.page.keyboard.press("Enter")
    await screen.page.keyboard.press("ArrowUp")
    await screen.page.keyboard.press("Enter")
    await expect(screen.heading("Sign in")).to_be_visible()


async def test_going_to_a_page_gives_its_heading_the_focus_and_coming_back_the_link(
    office: Office, signed_in: SignedIn
) -> None:
    screen = await signed_in("admin")
    await screen.open("settings/usage")
    await expect(screen.heading("Usage")).not_to_be_focused()
    await screen.go("Members")
    await expect(screen.heading("Members")).to_be_focused()
    await expect(screen.page).to_have_title("Members · Bright Kitchens · Checklist Dispatch")
    current = screen.page.get_by_role("navigation", name="Dashboard").locator("[aria-current=page]")
    await expect(current).to_have_text("Members")
    await screen.open_base("account")
    await screen.main.get_by_role("link", name="Bright Kitchens").click()
    await expect(screen.page.get_by_role("navigation", name="Dashboard")).to_be_visible()
    await screen.page.go_back()
    await expect(screen.heading("Your account")).to_be_visible()
    await expect(screen.main.get_by_role("link", name="Bright Kitchens")).to_be_focused()


async def test_a_person_of_two_organizations_goes_from_one_to_the_other(
    office: Office, signed_in: SignedIn, stage: Stage, kube: KubeClient
) -> None:
    person = await office.member("viewer")
    other = await Office.opened(stage, kube, name="Dark Cellars")
    await other.member("admin", subject=person.subject)
    screen = await signed_in(person=person)
    await screen.open("settings/usage")
    navigation = screen.page.get_by_role("navigation", name="Dashboard")
    await expect(navigation.get_by_role("link", name="API keys")).to_have_count(0)
    await screen.button("Organization: Bright Kitchens").click()
    await screen.looks_right()
    await screen.page.get_by_role("link", name="Dark Cellars").click()
    await expect(screen.button("Organization: Dark Cellars")).to_be_visible()
    await expect(navigation.get_by_role("link", name="API keys")).to_be_visible()
    assert other.organization in screen.page.url
    await screen.open_base()
    await expect(screen.button("Organization: Dark Cellars")).to_be_visible()


async def test_a_phone_has_the_navigation_behind_a_button(signed_in: SignedIn) -> None:
    screen = await signed_in("admin", **PHONE)
    await screen.open("settings/usage")
    navigation = screen.page.get_by_role("navigation", name="Dashboard")
    await expect(navigation).to_have_count(0)
    await screen.button("Menu").click()
    await expect(navigation).to_be_visible()
    assert await screen.device.accessibility_findings() == []
    await screen.page.keyboard.press("Escape")
    await expect(navigation).to_have_count(0)
    await expect(screen.button("Menu")).to_be_focused()
    await screen.button("Menu").click()
    await screen.go("Members")
    await expect(navigation).to_have_count(0)
    await expect(screen.heading("Members")).to_be_focused()


async def test_an_organization_of_others_looks_like_one_that_is_not(
    signed_in: SignedIn, stage: Stage, kube: KubeClient
) -> None:
    other = await Office.opened(stage, kube, name="Dark Cellars")
    screen = await signed_in("admin")
    await screen.page.goto(other.address("settings/usage"))
    await expect(screen.heading("There is nothing at this address")).to_be_visible()
    await expect(screen.main).not_to_contain_text("Dark Cellars")
    await screen.looks_right()


@pytest.mark.parametrize("path", ["", "templates/{template}", "templates/{template}?tab=json", "runs/{run}"])
async def test_a_first_load_is_at_most_150_kilobytes_compressed(office: Office, signed_in: SignedIn, path: str) -> None:
    """Of the heaviest page, too, when somebody comes to it straight: the editor with its preview."""
    template = office.make_template(EVERY_CONTROL)
    run = office.dispatch(template).run_id
    screen = await signed_in("admin")
    sizes: list[int] = []

    async def weigh(response: Response) -> None:
        if response.request.resource_type in ("document", "script", "stylesheet", "image", "font"):
            sizes.append((await response.request.sizes())["responseBodySize"])

    screen.page.on("response", weigh)
    await screen.open(path.format(template=template, run=run))
    await expect(screen.main.locator(".loading")).to_have_count(0)
    await screen.page.wait_for_load_state("networkidle")
    assert len(sizes) >= 3
    assert sum(sizes) <= 150_000, sizes
