"""The dashboard in real Chromium, against the real service on a real control plane.

All tests share one control plane, API, operator (`stage`) and browser. Each has an organization of its own (`office`),
and people with devices of their own (`signed_in`); a computer by default::

    async def test_a_run_is_in_the_list(office: Office, signed_in: SignedIn) -> None:
        link = office.dispatch(checklist(step("clean")))
        screen = await signed_in("viewer")
        await screen.open("runs")
        await expect(screen.row("Cold store check")).to_be_visible()
        await screen.looks_right()

As in `tests/browser`: tests are coroutines in the session's loop; asynchronous fixtures name it too. A test fails when
a page had an exception that nobody caught, or did what its policy forbids, unless it empties `device.problems`.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from checklist_crds.kube.client import KubeClient, KubeConnection
from checklist_dev.binaries import cache_folder
from checklist_dev.browser.chromium import chromium
from checklist_dev.browser.device import DESKTOP, Device
from checklist_dev.browser.office import Office
from checklist_dev.browser.stage import Stage
from checklist_dev.failures import say
from checklist_dev.people import Person
from checklist_dev.repository import ROOT
from checklist_dev.web.build import Workspace

from .dashboard_screen import DashboardScreen

NewDevice = Callable[..., Awaitable[Device]]
SignedIn = Callable[..., Awaitable[DashboardScreen]]
HERE = Path(__file__).parent

expect.set_options(timeout=20_000)  # pages share the processors with everything else that is tested


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    in_the_sessions_loop = pytest.mark.asyncio(loop_scope="session")
    for item in items:
        if HERE in item.path.parents and pytest_asyncio.is_async_test(item):
            item.add_marker(in_the_sessions_loop, append=False)


@pytest.fixture(scope="package")
def stage(tmp_path_factory: pytest.TempPathFactory, web_app: Path) -> Iterator[Stage]:
    """The service; it ends with the last of the dashboard's tests."""
    Workspace(ROOT, cache=cache_folder(), report=say).ensure_packages()  # axe is one of them
    with Stage(tmp_path_factory.mktemp("stage")) as stage:
        yield stage


@pytest_asyncio.fixture(scope="package", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    async with chromium() as browser:
        yield browser


@pytest_asyncio.fixture(scope="package", loop_scope="session")
async def kube(stage: Stage) -> AsyncIterator[KubeClient]:
    """A client with all rights, as kubectl has them."""
    async with KubeClient(await KubeConnection.load(str(stage.service.cluster.kubeconfig))) as client:
        yield client


@pytest_asyncio.fixture(loop_scope="session")
async def office(stage: Stage, kube: KubeClient) -> Office:
    """An organization with a key and without anything else."""
    return await Office.opened(stage, kube)


@pytest_asyncio.fixture(loop_scope="session")
async def new_device(browser: Browser) -> AsyncIterator[NewDevice]:
    """`await new_device(**PHONE, color_scheme="dark")`; a computer by default."""
    devices: list[Device] = []

    async def new(**options: object) -> Device:
        defaults = {"is_mobile": False, "has_touch": False, **DESKTOP, "reduced_motion": "reduce"}
        devices.append(await Device.of(browser, **{**defaults, **options}))
        return devices[-1]

    yield new
    problems = [problem for device in devices for problem in device.problems]
    for device in devices:
        await device.close()
    assert problems == []


@pytest_asyncio.fixture(loop_scope="session")
async def signed_in(office: Office, new_device: NewDevice) -> SignedIn:
    """`await signed_in("viewer", person=None, **device_options)`: somebody's screen, no page opened yet."""

    async def sign_in(role: str = "admin", *, person: Person | None = None, **options: object) -> DashboardScreen:
        somebody = person or await office.member(role)
        device = await new_device(**options)
        await device.context.add_cookies([somebody.cookie(office.stage.base_url)])  # type: ignore[list-item]
        return DashboardScreen(device, office, somebody)

    return sign_in
