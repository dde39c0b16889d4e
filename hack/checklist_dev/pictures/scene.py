"""The scene of a picture."""

import io
from dataclasses import dataclass
from typing import Any, Final

from PIL import Image, ImageDraw
from playwright.async_api import Page

from checklist_dev.browser.checklists import EVERY_CONTROL
from checklist_dev.browser.device import Device
from checklist_dev.browser.office import Office
from checklist_dev.browser.stage import Link

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
    """An organization, its service, and a device, which is signed in for pictures of the dashboard."""

    office: Office
    device: Device

    @property
    def page(self) -> Page:
        return self.device.page

    def answered(self) -> Link:
        """A run with every control, answered but not submitted; its first event needs two attempts."""
        office = self.office
        office.stage.receiver.fail_next(1)
        link = office.dispatch(EVERY_CONTROL, webhook=office.webhook(), executor_ref="order 4711", expires_in_hours=48)
        for step_id, value in ANSWERS.items():
            self.execute(link, "PUT", f"/answers/{step_id}", json={"value": value})
        self.execute(link, "PUT", "/answers/s-place", json={"value": True, "geo": PLACE})
        for number in (1, 2, 3):
            photo = {"content": picture(number), "headers": {"Content-Type": "image/jpeg"}}
            self.execute(link, "POST", "/answers/s-shelf/photos", **photo)
        return link

    def execute(self, link: Link, method: str, path: str, **arguments: Any) -> None:
        """Call the executor API, as from another device."""
        self.office.stage.execute(link, method, path, **arguments)

    async def show(self, link: Link) -> None:
        """Open the checklist and wait until it is drawn."""
        await self.page.goto(link.url)
        await self.page.locator("main.checklist .step").first.wait_for()
        await self.page.wait_for_load_state("networkidle")

    async def open(self, path: str) -> None:
        """Open a page of the dashboard and wait until it has loaded."""
        await self.page.goto(self.office.address(path))
        await self.page.locator("main h1").wait_for()
        await self.page.locator(".loading").wait_for(state="detached")


def picture(number: int) -> bytes:
    """A JPEG that resembles a shelf, different for each number."""
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
