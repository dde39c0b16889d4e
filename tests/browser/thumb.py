"""A thumb on a phone: real touches, counted. It touches only what is in view, and never scrolls."""

from typing import Any, Final

from playwright.async_api import CDPSession, Locator, Page, expect

# The element itself, its label or a part of it is at its centre: nothing covers it.
_CENTRE: Final = """element => {
    const target = element.matches("input") ? element.closest("label") ?? element : element;
    const { left, top, width, height } = target.getBoundingClientRect();
    const [x, y] = [left + width / 2, top + height / 2];
    const there = document.elementFromPoint(x, y);
    return { x, y, isFree: there !== null && (target.contains(there) || there.contains(target)) };
}"""


class Thumb:
    """Each touch and each key of the phone's keyboard is one interaction."""

    def __init__(self, page: Page, session: CDPSession) -> None:
        self.page = page
        self.interactions = 0
        self._session = session

    @classmethod
    async def on(cls, page: Page) -> "Thumb":
        return cls(page, await page.context.new_cdp_session(page))

    async def tap(self, element: Locator) -> None:
        await expect(element).to_be_enabled()
        await expect(element).to_be_in_viewport()
        centre: dict[str, Any] = await element.evaluate(_CENTRE)
        assert centre["isFree"], f"{element} is covered"
        await self._touch([(centre["x"], centre["y"])])

    async def swipe(self, *, from_x: int, to_x: int, y: int = 300) -> None:
        await self._touch([(from_x + (to_x - from_x) * part / 4, y) for part in range(5)])

    async def press(self, *keys: str) -> None:
        for key in keys:
            await self.page.keyboard.press(key)
            self.interactions += 1

    async def _touch(self, way: list[tuple[float, float]]) -> None:
        self.interactions += 1
        for number, (x, y) in enumerate(way):
            kind = "touchStart" if number == 0 else "touchMove"
            await self._session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": y}]})
        await self._session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
