"""The frame of every page: where one is, how one gets elsewhere, and who one is."""

import pytest
from playwright.async_api import Response, expect

from checklist_crds.kube.client import KubeClient
from checklist_crds.resources.kinds import MEMBER
from checklist_dev.browser.checklists import EVERY_CONTROL, checklist, step
from checklist_dev.browser.device import PHONE
from checklist_dev.browser.office import Office
from checklist_dev.browser.stage import Stage
from checklist_dev.local.bootstrap import NAMESPACE

from .conftest import SignedIn


async def test_one_gets_to_ones_own_account_and_out_again_by_keyboard_alone(signed_in: SignedIn) -> None:
    screen = await signed_in("editor", at="nothing-of-this-name")
    await expect(screen.heading("Page not found")).to_be_visible()
    await screen.page.keyboard.press("Tab")
    await expect(screen.page.get_by_role("link", name="Skip to the content")).to_be_focused()
    await screen.button("Your account: Ada Example").press("Enter")
    await screen.page.keyboard.press("ArrowDown")
    await expect(screen.page.get_by_role("link", name="Your account")).to_be_focused()
    await screen.page.keyboard.press("Enter")
    await expect(screen.heading("Your account")).to_be_focused()
    await expect(screen.page).to_have_title("Your account · Checklist Dispatch")
    await expect(screen.row("Bright Kitchens")).to_contain_text("Editor")
    await screen.looks_right()
    await screen.button("Your account: Ada Example").press("Enter")
    for key in ("ArrowUp", "Enter"):
        await screen.page.keyboard.press(key)
    await expect(screen.heading("Sign in")).to_be_visible()


async def test_switching_organizations(office: Office, signed_in: SignedIn, stage: Stage, kube: KubeClient) -> None:
    person = await office.member("viewer")
    other = await Office.opened(stage, kube, name="Dark Cellars")
    second = await other.member("admin", subject=person.subject)
    screen = await signed_in(person=person)
    link = screen.main.get_by_role("link", name="Bright Kitchens")
    await screen.open_base("account")
    await link.click()
    await expect(screen.heading("Overview")).to_be_focused()
    await screen.page.go_back()
    await expect(link).to_be_focused()
    await link.click()
    await expect(screen.navigation.get_by_role("link", name="API keys")).to_have_count(0)
    await screen.button("Organization: Bright Kitchens").click()
    await screen.looks_right()
    await screen.page.get_by_role("link", name="Dark Cellars").click()
    await expect(screen.navigation.get_by_role("link", name="API keys")).to_be_visible()
    assert other.organization in screen.page.url
    await screen.open_base()
    await expect(screen.button("Organization: Dark Cellars")).to_be_visible()
    for member in (person, second):
        await office.kube.delete(MEMBER, member.member_id, NAMESPACE)
    await screen.open_base()
    await expect(screen.heading("You are not a member of an organization")).to_be_visible()
    await expect(screen.main.locator(".command")).to_contain_text(person.email)
    await screen.looks_right()


async def test_a_phone_has_the_navigation_behind_a_button(signed_in: SignedIn) -> None:
    screen = await signed_in("admin", **PHONE, at="settings/usage")
    await expect(screen.navigation).to_have_count(0)
    await screen.button("Menu").click()
    await expect(screen.navigation).to_be_visible()
    await screen.page.keyboard.press("Escape")
    await expect(screen.button("Menu")).to_be_focused()
    await screen.button("Menu").click()
    await screen.go("Members")
    await expect(screen.navigation).to_have_count(0)


async def test_without_data_each_page_says_what_will_be_there(office: Office, signed_in: SignedIn) -> None:
    screen = await signed_in("admin")
    for path, title in (
        ("runs", "No runs yet"),
        ("deliveries", "No deliveries yet"),
        ("deliveries/endpoints", "No endpoints yet"),
        ("deliveries/replays", "No replays yet"),
        ("settings/audit", "No entries yet"),
        ("templates", "No templates yet"),
    ):
        await screen.open(path)
        await expect(screen.main.get_by_role("heading", name=title)).to_be_visible()
        await screen.looks_right()
    commands = screen.main.locator(".command")
    await expect(commands.first).to_contain_text(f"curl {office.stage.base_url}/v1/templates")
    await expect(commands.last).to_contain_text("kubectl apply")
    await screen.page.get_by_role("link", name="Create the first template").click()
    await expect(screen.heading("New template")).to_be_focused()
    await screen.looks_right()
    await screen.open("deliveries/replay?host=hooks.example.com&event=run.completed")
    await screen.button("Count").click()
    nothing = screen.main.get_by_role("region", name="Nothing to replay")
    await expect(nothing).to_contain_text("There are no failed deliveries of run.completed to hooks.example.com.")


async def test_who_only_reads_is_offered_nothing_to_write(office: Office, signed_in: SignedIn) -> None:
    screen = await signed_in("viewer")
    for path, role in (
        ("runs/new", "editor"),
        ("templates/new", "editor"),
        ("deliveries/replay", "editor"),
        ("settings/keys", "admin"),
        ("settings/audit", "admin"),
    ):
        await screen.open(path)
        await expect(screen.main.get_by_role("heading", name="Your role does not allow this")).to_be_visible()
        await expect(screen.main).to_contain_text(f"This page needs the role {role}")
    await screen.looks_right()
    await expect(screen.navigation.get_by_role("link", name="Usage")).to_be_visible()
    await expect(screen.navigation.get_by_role("link", name="API keys")).to_have_count(0)
    await screen.open("templates")
    await expect(screen.main.get_by_role("heading", name="No templates yet")).to_be_visible()
    await expect(screen.button("New template")).to_have_count(0)
    await expect(screen.page.get_by_role("link", name="Create the first template")).to_have_count(0)
    office.dispatch(checklist(step("clean")))
    await screen.open("runs")
    await expect(screen.row("Cold store check")).to_be_visible()
    await expect(screen.main.get_by_role("link", name="Dispatch a run")).to_have_count(0)


async def test_unknown_and_foreign_pages_are_not_found(signed_in: SignedIn, stage: Stage, kube: KubeClient) -> None:
    other = await Office.opened(stage, kube, name="Dark Cellars")
    screen = await signed_in("admin")
    end = "00000000-0000-4000-8000-000000000000"
    for path, title in (
        (f"runs/{other.dispatch(checklist(step('clean'))).run_id}", "Run not found"),
        (f"deliveries/evt-{end}", "Delivery not found"),
        (f"deliveries/replays/rp-{end}", "Replay not found"),
        (f"templates/t-{end}", "There is no such template"),
    ):
        await screen.open(path)
        await expect(screen.main.get_by_text(title)).to_be_visible()
    await screen.page.goto(other.address("settings/usage"))
    await expect(screen.heading("Page not found")).to_be_visible()
    await expect(screen.main).not_to_contain_text("Dark Cellars")
    await screen.looks_right()


@pytest.mark.parametrize("path", ["runs", "settings/keys"])
async def test_a_service_that_does_not_answer_or_is_down_is_asked_again(signed_in: SignedIn, path: str) -> None:
    screen, asked = await signed_in("admin"), f"**/{path.rpartition('/')[2]}?*"
    down = {"error": "service_unavailable", "message": "Later.", "request_id": "1"}
    await screen.page.route(asked, lambda route: route.abort())
    await screen.open(path)
    await expect(screen.main.get_by_role("alert")).to_contain_text("The service cannot be reached")
    await screen.looks_right()
    await screen.page.unroute(asked)
    await screen.page.route(asked, lambda route: route.fulfill(status=503, json=down))
    await screen.button("Try again").click()
    await expect(screen.main.get_by_role("alert")).to_contain_text("Later.")
    await screen.page.unroute(asked)
    await screen.button("Try again").click()
    await expect(screen.main.get_by_role("alert")).to_have_count(0)


@pytest.mark.parametrize("path", ["", "templates/{template}", "templates/{template}?tab=json", "runs/{run}"])
async def test_a_first_load_is_at_most_150_kilobytes_compressed(office: Office, signed_in: SignedIn, path: str) -> None:
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
