"""The dashboard in real Chromium, against the real service on a real control plane.

All tests share one control plane, API, operator (`stage`) and browser. Each has an organization of its own (`office`),
and people with devices of their own (`signed_in`), a computer by default. Loop and problems are as in `tests/browser`.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser
from tests.browser.conftest import (  # noqa: F401 - fixtures
    NewDevice,
    browser,
    devices,
    kube,
    office,
    run_in_the_sessions_loop,
    stage,
)

from checklist_dev.browser.device import DESKTOP
from checklist_dev.browser.office import Office
from checklist_dev.local.people import Person

from .dashboard_screen import DashboardScreen

SignedIn = Callable[..., Awaitable[DashboardScreen]]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    run_in_the_sessions_loop(items, Path(__file__).parent)


@pytest_asyncio.fixture(loop_scope="session")
async def new_device(browser: Browser) -> AsyncIterator[NewDevice]:  # noqa: F811
    """`await new_device(**PHONE, color_scheme="dark")`; a computer by default."""
    computer = {"is_mobile": False, "has_touch": False, **DESKTOP, "reduced_motion": "reduce"}
    async with devices(browser, **computer) as new:
        yield new


@pytest_asyncio.fixture(loop_scope="session")
async def signed_in(office: Office, new_device: NewDevice) -> SignedIn:  # noqa: F811
    """`await signed_in("viewer", at="runs", person=None, **device_options)`: a member's screen, and the page on it."""

    async def sign_in(
        role: str = "admin", *, at: str | None = None, person: Person | None = None, **options: object
    ) -> DashboardScreen:
        member = person or await office.member(role)
        device = await new_device(**options)
        await device.context.add_cookies([member.cookie(office.stage.base_url)])  # type: ignore[list-item]
        screen = DashboardScreen(device, office, member)
        return screen if at is None else await screen.open(at)

    return sign_in
