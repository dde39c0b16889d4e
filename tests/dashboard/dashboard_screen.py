"""The dashboard on a device's screen, in the words of the person who looks at it."""

import os
from typing import Final, Self

from playwright.async_api import Locator, Page, expect

from checklist_crds.resources.kinds import Kind
from checklist_crds.resources.management import MANAGED_BY_ANNOTATION
from checklist_dev.browser.device import Device
from checklist_dev.browser.office import Office
from checklist_dev.local.bootstrap import NAMESPACE
from checklist_dev.local.people import Person

LOOKS: Final = ((390, "dark"), (768, None), (1280, "light"), (1920, None))
MORE_LOOKS: Final = ((390, "light"), (1280, "dark"))
"""Of the whole browser, which `make verify` drives."""


class DashboardScreen:
    """Waits for what it looks for, as Playwright does, and gives up after the device's time."""

    def __init__(self, device: Device, office: Office, person: Person, *, tab: Page | None = None) -> None:
        self.device = device
        self.office = office
        self.person = person
        self.page = tab or device.page
        self.main = self.page.locator("main")
        self.navigation = self.page.get_by_role("navigation", name="Dashboard")

    async def open(self, path: str = "") -> Self:
        """A page of the organization, until it has its heading. The query may follow."""
        await self.page.goto(self.office.address(path))
        await self._arrived()
        return self

    async def another_tab(self, path: str) -> Self:
        """A page of the organization in a further tab of the same browser."""
        tab = type(self)(self.device, self.office, self.person, tab=await self.device.context.new_page())
        return await tab.open(path)

    async def open_base(self, path: str = "") -> Self:
        """A page outside the organization: `account`, or the beginning."""
        await self.page.goto(f"{self.office.stage.base_url}/dashboard/{path}")
        await self._arrived()
        return self

    async def _arrived(self) -> None:
        await self.page.locator("main:not([aria-busy=true])").get_by_role("heading", level=1).wait_for()

    def heading(self, name: str) -> Locator:
        return self.main.get_by_role("heading", name=name, level=1, exact=True)

    def row(self, name: str) -> Locator:
        """The row of a table whose first cell says `name`."""
        return self.main.get_by_role("row").filter(has=self.page.get_by_role("rowheader").filter(has_text=name))

    def button(self, name: str) -> Locator:
        return self.page.get_by_role("button", name=name, exact=True)

    def dialog(self, name: str | None = None) -> Locator:
        return self.page.get_by_role("dialog", name=name) if name else self.page.get_by_role("dialog")

    async def says(self, text: str) -> None:
        """What became of an act, in the corner."""
        await expect(self.page.locator(".toasts")).to_contain_text(text)

    async def go(self, title: str) -> None:
        """By the navigation."""
        await self.navigation.get_by_role("link", name=title, exact=True).click()
        await expect(self.heading(title)).to_be_visible()

    async def name_new_key(self, name: str) -> None:
        await self.button("New key").click()
        await self.dialog("New key").get_by_role("textbox", name="Name").fill(name)

    async def looks_right(self) -> None:
        """No width makes the page scroll sideways; axe finds nothing (dark on a phone, light on a computer)."""
        await self.device.photograph()
        before = self.page.viewport_size
        found: list[str] = []
        for width, scheme in LOOKS + (MORE_LOOKS if os.environ.get("CHECKLISTS_FULL_BROWSER") == "1" else ()):
            await self.page.set_viewport_size({"width": width, "height": 900})
            if await self.device.overflows():
                found.append(f"at {width} px the page scrolls sideways")
            if scheme is not None:
                await self.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # type: ignore[arg-type]
                found += [f"{width} px, {scheme}: {finding}" for finding in await self.device.accessibility_findings()]
        if before is not None:
            await self.page.set_viewport_size(before)
        assert not found, "\n".join(found)


async def manage(office: Office, kind: Kind, name: str) -> None:
    """From now on Flux manages the object."""
    await office.kube.patch(kind, name, {"metadata": {"annotations": {MANAGED_BY_ANNOTATION: "Flux"}}}, NAMESPACE)
