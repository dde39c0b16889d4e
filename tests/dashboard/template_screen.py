"""The template's editor on a screen, in the words of the person who works with it."""

from collections.abc import Mapping
from typing import Any, Self

from playwright.async_api import Locator, expect

from checklist_dev.browser.office import Office

from .dashboard_screen import DashboardScreen

Json = dict[str, Any]


class TemplateScreen:
    def __init__(self, screen: DashboardScreen) -> None:
        self.screen = screen
        self.page = screen.page
        self.outline = self.page.locator(".outline")
        self.preview = self.page.get_by_role("region", name="Preview")
        self.broken_conditions = self.page.get_by_role("region", name="Broken conditions")
        self.json = self.page.get_by_label("The template as JSON")

    @classmethod
    async def opened(cls, screen: DashboardScreen, template_id: str, query: str = "") -> Self:
        await screen.open(f"templates/{template_id}{query}")
        await screen.page.get_by_role("tablist", name="Views of the template").wait_for()
        return cls(screen)

    @classmethod
    async def begun(cls, screen: DashboardScreen) -> Self:
        """A new, empty template. The editor asks for the first question; that is put off here."""
        await screen.open("templates/new")
        await screen.button("Start with an empty template").click()
        await screen.dialog("Add the first question").wait_for()
        await screen.page.keyboard.press("Escape")
        await screen.page.get_by_role("tablist", name="Views of the template").wait_for()
        return cls(screen)

    def section(self, title: str) -> Locator:
        return self.page.get_by_role("region", name=f"Section: {title}", exact=True)

    def row(self, label: str) -> Locator:
        """The line of a step."""
        return self.outline.locator(".row-open").filter(has_text=label)

    def card(self, label: str) -> Locator:
        """All of a step: its line, and its form while that is open."""
        return self.outline.locator(".row").filter(has=self.page.locator(".row-label").get_by_text(label, exact=True))

    async def tab(self, title: str) -> None:
        await self.page.get_by_role("tab", name=title).click()

    async def save(self, message: str) -> None:
        await self.screen.button("Save").click()
        await self.screen.says(message)

    async def rename(self, name: str) -> None:
        await self.page.get_by_label("Name", exact=True).fill(name)

    async def voice(self, text: str) -> None:
        """What a screen reader announces."""
        await expect(self.page.get_by_role("status").filter(has_text=text).first).to_be_attached()


def stored(office: Office, template_id: str) -> Json:
    return office.call("GET", f"/v1/templates/{template_id}")


def changed(office: Office, template_id: str, patch: Mapping[str, Any]) -> Json:
    """By another member, meanwhile."""
    return office.call("PATCH", f"/v1/templates/{template_id}", json=dict(patch))
