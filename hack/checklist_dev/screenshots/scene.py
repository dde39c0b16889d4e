"""One state on one device: what a state works with to come about."""

import io
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final

from PIL import Image, ImageDraw
from playwright.async_api import Page, Route

from checklist_crds.kube.client import KubeClient
from checklist_dev.browser.checklists import EVERY_CONTROL
from checklist_dev.browser.device import Device
from checklist_dev.browser.stage import Link, Stage

Json = dict[str, Any]
ANSWERS: Final[Json] = {
    "s-clean": False,
    "s-why": "A puddle below the left shelf, since this morning.",
    "s-temperature": 3.5,
    "s-door": "o-2",
    "s-country": "o-12",
    "s-tools": ["o-1", "o-3"],
    "s-tidy": 4,
    "s-day": "2026-11-20",
    "s-hour": "13:50",
    "s-code": "4006381333931",
    "s-witness": {"name": "Sam Example"},
}
PLACE: Final[Json] = {"lat": 52.5163, "lng": 13.3777, "accuracy_m": 8}


@dataclass(frozen=True, slots=True)
class Scene:
    """The service, and somebody's device."""

    stage: Stage
    kube: KubeClient
    device: Device

    @property
    def page(self) -> Page:
        return self.device.page

    def dispatch(self, template: Json = EVERY_CONTROL, **members: Any) -> Link:
        return self.stage.dispatch(template, **members)

    async def show(self, address: str) -> None:
        """The page as it is when nothing moves any more."""
        await self.page.goto(address)
        await self.page.locator("#app h1, #preview h1").first.wait_for()

    async def show_checklist(self, link: Link) -> None:
        """Until the last of its steps is drawn."""
        await self.page.goto(link.url)
        await self.page.locator("main.checklist .step").first.wait_for()
        await self.page.wait_for_load_state("networkidle")

    def answer(self, link: Link, *, photos: int = 2) -> None:
        """Everything, as if on another device before."""
        for step_id, value in ANSWERS.items():
            self.stage.execute(link, "PUT", f"/answers/{step_id}", json={"value": value})
        self.stage.execute(link, "PUT", "/answers/s-place", json={"value": True, "geo": PLACE})
        for number in range(1, photos + 1):
            self.stage.execute(
                link, "POST", "/answers/s-shelf/photos", content=picture(number), headers={"Content-Type": "image/jpeg"}
            )

    async def intercept(self, pattern: str, handle: Callable[[Route], Awaitable[None]]) -> None:
        """Let `handle` answer what the page asks for, where the real service would have to be broken to do so."""
        await self.device.context.route(pattern, handle)


def picture(number: int) -> bytes:
    """A JPEG that looks a little like a shelf, a different one for each number."""
    image = Image.new("RGB", (1200, 900), (214 - 30 * number, 222, 228))
    draw = ImageDraw.Draw(image)
    for row in range(3):
        top = 120 + row * 260
        for box in range(5):
            left = 90 + box * 215
            height = 90 + (box * 37 + row * 53 + number * 29) % 110
            shade = (box * 40 + row * 25 + number * 60) % 140
            draw.rectangle((left, top + 210 - height, left + 160, top + 210), fill=(90 + shade, 110, 140 - shade // 2))
        draw.rectangle((40, top + 210, 1160, top + 226), fill=(96, 84, 72))
    file = io.BytesIO()
    image.save(file, "JPEG", quality=85)
    return file.getvalue()
