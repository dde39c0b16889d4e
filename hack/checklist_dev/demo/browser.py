"""A person with a phone without network: opens the link, goes offline, answers, submits, and goes online again."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from playwright.async_api import Locator, Page, expect

from checklist_dev.browser.chromium import chromium
from checklist_dev.browser.device import Device
from checklist_dev.demo.person import Json, photos_needed, plausible_value, steps_of, taken_photo

_WITHIN_MS: Final = 20_000


@dataclass(frozen=True, slots=True)
class Errand:
    """What was done offline, and what the page showed afterwards."""

    answered: int
    photos: int
    said_offline: str
    receipt: str
    problems: list[str]


def finish_offline(link: str, template: Mapping[str, Any]) -> Errand:
    """Answer all required steps of a checklist, offline from the second on, and wait for the receipt.

    Raises Playwright's AssertionError if something does not appear on the page.
    """
    return asyncio.run(_finish(link, template))


async def _finish(link: str, template: Mapping[str, Any]) -> Errand:
    async with chromium() as browser:
        device = await Device.of(browser)
        page = device.page
        page.set_default_timeout(_WITHIN_MS)
        await page.goto(link)
        await page.locator("article.step").first.wait_for()
        # The app works offline once its service worker is active.
        await page.evaluate("() => navigator.serviceWorker.ready.then(() => undefined)")
        answered = photos = 0
        for step in steps_of(template):
            if step["type"] == "instruction" or not step.get("required"):
                continue
            card = page.get_by_role("article", name=step["label"], exact=True)
            if not await card.count():
                continue  # its condition does not hold
            for _ in range(photos_needed(step)):
                await _photograph(card, photos)
                photos += 1
            await _answer(card, step)
            await expect(card.locator(".step-state.is-good")).to_be_visible(timeout=_WITHIN_MS)
            answered += 1
            await device.context.set_offline(True)
        await page.get_by_role("button", name="Check and submit").click()
        await page.get_by_role("button", name="Submit", exact=True).click()
        await page.get_by_text("not sent", exact=False).first.wait_for()
        said = await _text_of(page, "main")
        await page.reload()  # as after closing and reopening the tab
        await page.locator("main").wait_for()
        await device.context.set_offline(False)
        await page.locator(".receipt").wait_for(timeout=_WITHIN_MS)
        errand = Errand(answered, photos, said, await _text_of(page, ".receipt"), list(device.problems))
        await device.close()
        return errand


async def _answer(card: Locator, step: Json) -> None:
    value = plausible_value(step)
    match step["type"]:
        case "boolean" | "choice" | "rating":
            await card.locator("label:has(input)").first.click()
        case "multi_choice":
            for number in range(len(value)):
                await card.locator("label:has(input)").nth(number).click()
        case "signature":
            await _fill(card, str(value["name"]))
        case "datetime":
            await _fill(card, "2026-11-21T13:50")
        case "photo":
            pass
        case _:
            await _fill(card, str(value))


async def _fill(card: Locator, text: str) -> None:
    field = card.locator("input:not([type=file]):not([type=radio]):not([type=checkbox]), textarea").first
    await field.fill(text)
    await field.blur()


async def _photograph(card: Locator, number: int) -> None:
    photo: Any = {"name": f"{number}.jpg", "mimeType": "image/jpeg", "buffer": taken_photo(number)}
    await card.locator("input[type=file]").first.set_input_files(files=photo)


async def _text_of(page: Page, selector: str) -> str:
    return " ".join((await page.locator(selector).first.inner_text()).split())
