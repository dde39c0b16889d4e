"""The dashboard on a device's screen, in the words of the person who looks at it."""

import re
from typing import Final, Literal, Self

from playwright.async_api import Locator, Page, expect

from checklist_dev.browser.device import Device
from checklist_dev.browser.office import Office
from checklist_dev.people import Person

WIDTHS: Final = (390, 768, 1280, 1920)
SCHEMES: Final[tuple[Literal["light", "dark"], ...]] = ("light", "dark")


class DashboardScreen:
    """Waits for what it looks for, as Playwright does, and gives up after the device's time."""

    def __init__(self, device: Device, office: Office, person: Person, *, tab: Page | None = None) -> None:
        self.device = device
        self._tab = tab
        self.office = office
        self.person = person

    @property
    def page(self) -> Page:
        return self._tab or self.device.page

    @property
    def main(self) -> Locator:
        return self.page.locator("main")

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

    async def told(self, text: str) -> None:
        """What became of an act, in the corner."""
        await expect(self.page.locator(".toasts")).to_contain_text(text)

    async def go(self, title: str) -> None:
        """By the navigation."""
        await self.page.get_by_role("navigation", name="Dashboard").get_by_role("link", name=title, exact=True).click()
        await expect(self.heading(title)).to_be_visible()

    async def looks_right(self) -> None:
        """No width makes the page scroll sideways; axe finds nothing, light and dark. The window stays as it was."""
        before = self.page.viewport_size
        found: list[str] = []
        for width in WIDTHS:
            await self.page.set_viewport_size({"width": width, "height": 900})
            if await self.device.overflows():
                found.append(f"at {width} px the page scrolls sideways")
        for width in (WIDTHS[0], WIDTHS[2]):
            await self.page.set_viewport_size({"width": width, "height": 900})
            for scheme in SCHEMES:
                await self.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
                findings = await self.device.accessibility_findings()
                found += [f"{width} px, {scheme}: {finding}" for finding in findings]
        await self.page.emulate_media(color_scheme="light", reduced_motion="reduce")
        if before is not None:
            await self.page.set_viewport_size(before)
        assert not found, "\n".join(found)


async def tab_to(page: Page, name: str, *, within: int = 80) -> None:
    """The Tab key until the control of this name has the focus. Raises AssertionError when it does not get there."""
    seen: list[str] = []
    wanted = page.get_by_role("button", name=name, exact=True)
    for role in ("link", "textbox", "combobox"):
        wanted = wanted.or_(page.get_by_role(role, name=name, exact=True))  # type: ignore[arg-type]
    # What a choice means is part of its name.
    wanted = wanted.or_(page.get_by_role("radio", name=re.compile(rf"^{re.escape(name)}\b")))
    focused = wanted.and_(page.locator(":focus"))
    for _ in range(within):
        if await focused.count():
            return
        await page.keyboard.press("Tab")
        seen.append(str(await page.evaluate("document.activeElement.textContent.slice(0, 30)")))
    raise AssertionError(f"{name} is not reached by the keyboard; past {', '.join(seen)}")
