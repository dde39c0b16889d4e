"""The states of the dashboard, by name, and how a person comes into each of them.

As `states`, with a `Desk` for a scene: an organization of its own and somebody signed in. Each page's states are in
a module `dashboard_<page>.py` beside this one, which `MODULES` names.
"""

import importlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final

from playwright.async_api import Page

from checklist_dev.browser.device import Device
from checklist_dev.browser.office import Office
from checklist_dev.local.people import Person

MODULES: Final = ("dashboard_runs", "dashboard_templates", "dashboard_settings")


@dataclass(frozen=True, slots=True)
class Desk:
    """Somebody of `role` before the dashboard of an organization of their own."""

    office: Office
    person: Person
    device: Device

    @property
    def page(self) -> Page:
        return self.device.page

    async def open(self, path: str) -> None:
        """A page of the organization, when it has what it asks the service for."""
        await self.page.goto(self.office.address(path))
        await self.settled()

    async def open_base(self, path: str) -> None:
        """A page outside the organization."""
        await self.page.goto(f"{self.office.stage.base_url}/dashboard/{path}")
        await self.settled()

    async def settled(self) -> None:
        await self.page.locator("main h1").wait_for()
        await self.page.locator(".loading").wait_for(state="detached")

    async def press(self, name: str) -> None:
        await self.page.get_by_role("button", name=name, exact=True).click()


Reach = Callable[[Desk], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class DeskState:
    """`office` as `Office.opened` takes it; `whole`: photographed beyond what fits on the screen, too."""

    name: str
    reach: Reach
    role: str
    whole: bool
    office: dict[str, Any]


DESK_STATES: Final[dict[str, DeskState]] = {}


def desk_state(*, role: str = "admin", whole: bool = False, **office: Any) -> Callable[[Reach], Reach]:
    def register(reach: Reach) -> Reach:
        name = "dashboard-" + reach.__name__.replace("_", "-")
        DESK_STATES[name] = DeskState(name, reach, role, whole, office)
        return reach

    return register


def desk_states() -> dict[str, DeskState]:
    """Those of all modules."""
    for module in MODULES:
        importlib.import_module(f"checklist_dev.screenshots.{module}")
    return DESK_STATES
