"""A phone or computer: a browser context with one page, and the errors in it."""

import contextlib
import os
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from playwright.async_api import Browser, BrowserContext, ConsoleMessage, Page

from checklist_dev.failures import Failure
from checklist_dev.repository import ROOT

Json = dict[str, Any]

PHONE: Final[Mapping[str, Any]] = {
    "viewport": {"width": 390, "height": 844},
    "device_scale_factor": 2,
    "has_touch": True,
    "is_mobile": True,
}
DESKTOP: Final[Mapping[str, Any]] = {"viewport": {"width": 1280, "height": 800}, "device_scale_factor": 1}
# The automatic rules of WCAG 2.2 A and AA, and axe's own good practice.
_RULES: Final = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")
# A browser logs each response of 400 and above, and each lost connection, as an error. The app expects them; its tests
# check what the page shows.
_EXPECTED: Final = ("Failed to load resource", "An unknown error occurred when fetching the script")

_TIMEOUT_MS: Final = 30_000
"""Generous, since a busy machine can take ten seconds instead of one."""


class Device:
    """`page` is for the test; `problems` are uncaught exceptions and violations of the page's policy."""

    def __init__(self, context: BrowserContext, page: Page) -> None:
        self.context = context
        self.page = page
        self.problems: list[str] = []
        self._pictures = 0
        page.on("pageerror", lambda error: self.problems.append(f"uncaught: {error}"))
        context.on("console", self._listen)

    @classmethod
    async def of(cls, browser: Browser, **options: Any) -> "Device":
        """`options` for `Browser.new_context`; by default an English phone in light mode."""
        given = {"locale": "en-GB", "timezone_id": "Europe/Berlin", "color_scheme": "light", **PHONE, **options}
        context = await browser.new_context(**given)
        context.set_default_timeout(_TIMEOUT_MS)
        return cls(context, await context.new_page())

    async def close(self) -> None:
        with contextlib.suppress(Exception):  # the test may have closed it or killed its browser
            await self.context.close()

    async def accessibility_findings(self) -> list[str]:
        """Findings of axe for the current page: `rule: help; where`, one per line."""
        await self.page.evaluate(_axe())
        found: Json = await self.page.evaluate(
            "tags => window.axe.run(document, {runOnly: {type: 'tag', values: tags}, resultTypes: ['violations']})",
            list(_RULES),
        )
        return [
            f"{finding['id']}: {finding['help']}; {', '.join(str(node['target'][0]) for node in finding['nodes'])}"
            for finding in found["violations"]
        ]

    async def photograph(self) -> None:
        """Save pictures of the page (phone and desktop, light and dark) to the folder of CHECKLISTS_SCREENSHOTS, if
        set, named after the current test."""
        folder, page = os.environ.get("CHECKLISTS_SCREENSHOTS"), self.page
        if not folder:
            return
        self._pictures += 1
        before = page.viewport_size
        test = re.sub(r"[^\w\[\]-]+", "-", os.environ["PYTEST_CURRENT_TEST"].rpartition("::")[2].split(" ")[0])
        for name, options in (("phone", PHONE), ("desktop", DESKTOP)):
            await page.set_viewport_size(options["viewport"])
            for scheme in ("dark", "light"):
                await page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
                path = Path(folder) / f"{test}-{self._pictures}-{name}-{scheme}.png"
                await page.screenshot(path=path, full_page=True, animations="disabled")
        if before is not None:
            await page.set_viewport_size(before)

    async def overflows(self) -> bool:
        """Whether the page is wider than its window and scrolls sideways."""
        wide = await self.page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
        return bool(wide)

    def _listen(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and not any(text in message.text for text in _EXPECTED):
            self.problems.append(f"console {message.type}: {message.text}")


@cache
def _axe() -> str:
    path: Path = ROOT / "api" / "web" / "node_modules" / "axe-core" / "axe.min.js"
    if not path.is_file():
        raise Failure(f"{path} is missing: run `make web-packages`")
    # As a function, so that the driver does not evaluate the file as an expression.
    return f"() => {{ {path.read_text()}\n }}"
