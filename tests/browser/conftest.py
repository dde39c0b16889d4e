"""The executor app in real Chromium, against the real service on a real control plane.

All tests share one control plane, API, operator (`stage`) and browser; each dispatches runs of its own and opens them
on devices of its own, whose storage ends with the test.

Tests are coroutines in one event loop, the session's, since the browser belongs to it; an asynchronous fixture has to
name it too: `@pytest_asyncio.fixture(loop_scope="session")`. A test fails when a page had an exception that no test
caught, or did what its policy forbids, unless it empties `device.problems`.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from checklist_crds.kube.client import KubeClient, KubeConnection
from checklist_dev.browser.chromium import chromium
from checklist_dev.browser.device import Device
from checklist_dev.browser.office import Office
from checklist_dev.browser.stage import Stage
from checklist_dev.failures import say
from checklist_dev.repository import ROOT
from checklist_dev.system.cache import cache_folder
from checklist_dev.web.build import Workspace

NewDevice = Callable[..., Awaitable[Device]]

expect.set_options(timeout=20_000)  # pages share the processors with everything else that is tested


def run_in_the_sessions_loop(items: list[pytest.Item], folder: Path) -> None:
    in_the_sessions_loop = pytest.mark.asyncio(loop_scope="session")
    for item in items:
        if folder in item.path.parents and pytest_asyncio.is_async_test(item):
            item.add_marker(in_the_sessions_loop, append=False)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    run_in_the_sessions_loop(items, Path(__file__).parent)


@pytest.fixture(scope="package")
def stage(tmp_path_factory: pytest.TempPathFactory, web_app: Path) -> Iterator[Stage]:
    """The service; it ends with the last test of the folder, not with the session."""
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


@asynccontextmanager
async def devices(browser: Browser, **defaults: object) -> AsyncIterator[NewDevice]:
    made: list[Device] = []

    async def new(**options: object) -> Device:
        made.append(await Device.of(browser, **{**defaults, **options}))
        return made[-1]

    yield new
    problems = [problem for device in made for problem in device.problems]
    for device in made:
        await device.close()
    assert problems == []


@pytest_asyncio.fixture(loop_scope="session")
async def new_device(browser: Browser) -> AsyncIterator[NewDevice]:
    """`await new_device(**DESKTOP, color_scheme="dark", permissions=["geolocation"])`; a phone by default."""
    async with devices(browser) as new:
        yield new
