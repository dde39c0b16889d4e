"""The dashboard of a service that is reached below a path, behind a proxy that takes the path away."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import expect
from tests.browser.local_accounts import make_invited, make_link

from checklist_api.dashboard.access import COOKIE
from checklist_crds.kube.client import KubeClient, KubeConnection
from checklist_dev.browser.checklists import checklist, step
from checklist_dev.browser.office import Office
from checklist_dev.browser.prefix_proxy import PrefixProxy
from checklist_dev.browser.stage import Stage
from checklist_dev.local.people import Person

from .conftest import NewDevice
from .dashboard_screen import DashboardScreen

PREFIX = "/tools/checklists"


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def stage(tmp_path_factory: pytest.TempPathFactory, web_app: Path) -> AsyncIterator[Stage]:
    """A service whose CHECKLISTS_BASE_URL has a path."""
    async with PrefixProxy(PREFIX) as proxy:
        with Stage(tmp_path_factory.mktemp("stage"), base_url=proxy.address) as stage:
            proxy.service = stage.service.local_url
            yield stage


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def kube(stage: Stage) -> AsyncIterator[KubeClient]:
    async with KubeClient(await KubeConnection.load(str(stage.service.cluster.kubeconfig))) as client:
        yield client


async def test_from_the_link_to_signing_out_all_is_below_the_path(office: Office, new_device: NewDevice) -> None:
    device, strays = await new_device(), list[str]()
    device.context.on("request", lambda asked: None if f"{PREFIX}/" in asked.url else strays.append(asked.url))
    link = await make_link(office, (await make_invited(office))[1])
    assert f"{PREFIX}/dashboard/sign-in#link=" in link
    await device.page.goto(link)
    screen = DashboardScreen(device, office, Person(office.organization, "", "", "", "", ""))
    await screen.button("Sign in with this link").click()
    await expect(screen.heading("Overview")).to_be_visible()
    assert screen.page.url == office.address("overview")
    [cookie] = [each for each in await device.context.cookies() if each["name"] == COOKIE]
    assert (cookie["path"], cookie["secure"], cookie["httpOnly"], cookie["sameSite"]) == ("/", True, True, "Lax")

    await screen.go("Templates")
    command = screen.main.locator(".command code").first
    await expect(command).to_contain_text(f"{office.stage.base_url}/v1/templates")
    made = re.search(r"-d '(.*)'", await command.inner_text(), re.DOTALL)
    assert made is not None
    office.call("POST", "/v1/templates", content=made[1], headers={"Content-Type": "application/json"})
    await screen.go("Runs")
    await expect(screen.page.locator(".live-badge")).to_have_text("Live")
    run = office.dispatch(checklist(step("clean")), webhook=office.webhook())
    await expect(screen.row("Cold store check")).to_contain_text("Pending")
    hrefs = await screen.page.locator("a[href]").evaluate_all("links => links.map((link) => link.href)")
    assert [href for href in hrefs if not href.startswith(office.stage.base_url + "/")] == []
    await screen.row("Cold store check").get_by_role("link").click()
    await expect(screen.page).to_have_url(office.address(f"runs/{run.run_id}"))
    await screen.page.reload()
    await expect(screen.heading("Cold store check")).to_be_visible()
    await screen.go("API keys")
    await screen.name_new_key("Billing")
    await screen.button("Make the key").click()
    await screen.button("I have stored the key").click()
    await screen.go("Audit")
    async with screen.page.expect_download() as download:
        await screen.page.get_by_role("link", name="Export as JSON lines").click()
    assert '"api_key.created"' in Path(await (await download.value).path()).read_text()
    await screen.button("Your account: Lou Local").click()
    await screen.button("Sign out").click()
    await expect(screen.heading("Sign in")).to_be_visible()
    assert [address for address in strays if address.startswith("http")] == []
