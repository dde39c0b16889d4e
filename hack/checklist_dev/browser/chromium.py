"""The headless Chromium of this machine, driven through Playwright."""

import os
import shutil
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from playwright.async_api import Browser, async_playwright

from checklist_dev.failures import Failure

SHELL = "chromium-headless-shell"
"""Chromium without its window: the same pages for two thirds of the processor time."""
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# The camera is a fake one with a moving picture, which needs no user to allow it. The permissions of the device still
# decide whether a page may use it.
_ARGUMENTS = ("--use-fake-device-for-media-stream", "--disable-gpu", "--font-render-hinting=none")


def find_chromium(env: Mapping[str, str] = os.environ) -> Path:
    """CHECKLISTS_CHROMIUM, else the first program on PATH. Raises Failure.

    CHECKLISTS_FULL_BROWSER=1 excludes the headless shell.
    """
    if given := env.get("CHECKLISTS_CHROMIUM"):
        if shutil.which(given) is None:
            raise Failure(f"CHECKLISTS_CHROMIUM is not a program: {given}")
        return Path(given)
    for name in NAMES if env.get("CHECKLISTS_FULL_BROWSER") == "1" else (SHELL, *NAMES):
        if found := shutil.which(name, path=env.get("PATH", "")):
            return Path(found)
    raise Failure(f"no Chromium on PATH ({', '.join(NAMES)}): install it, or name it with CHECKLISTS_CHROMIUM")


@asynccontextmanager
async def chromium(*arguments: str) -> AsyncIterator[Browser]:
    """A running browser; each `Device` in it has its own storage, cookies and permissions."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=find_chromium(), args=[*_ARGUMENTS, *arguments], env={**os.environ, "LANG": "C.UTF-8"}
        )
        try:
            yield browser
        finally:
            await browser.close()
