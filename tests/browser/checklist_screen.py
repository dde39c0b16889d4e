"""The checklist on a device's screen, in the words of the person who looks at it."""

import contextlib
import os
from collections.abc import AsyncIterator, Mapping
from io import BytesIO
from typing import Any, Self

from PIL import Image
from playwright.async_api import FilePayload, Locator, Page, expect
from tests.waiting import eventually

from checklist_dev.browser.device import Device
from checklist_dev.browser.stage import Link, Stage

Json = dict[str, Any]


PRETENDED_CAMERA = """navigator.mediaDevices.getUserMedia = async () => {
    const canvas = Object.assign(document.createElement("canvas"), { width: 640, height: 480 });
    const context = canvas.getContext("2d");
    let turn = 0;
    setInterval(() => {
        context.fillStyle = `hsl(${turn += 13} 60% 50%)`;
        context.fillRect(0, 0, 640, 480);
    }, 50);
    return canvas.captureStream(20);
};"""
"""A moving picture, for browsers without a camera."""
_MOVED = """() => {
    const context = new OffscreenCanvas(1, 1).getContext("2d");
    context.drawImage(document.querySelector("video.camera"), 0, 0, 1, 1);
    const colour = context.getImageData(0, 0, 1, 1).data.join();
    window.colourBefore ??= colour;
    if (colour === window.colourBefore) return false;
    delete window.colourBefore;
    return true;
}"""


async def until_in_page(page: Page, expression: str, argument: str | None = None) -> None:
    """Waits until an expression is true in the page.

    `wait_for_function` asks again from inside the page, where its policy forbids evaluating text.
    """
    await eventually(lambda: page.evaluate(expression, argument))


class ChecklistScreen:
    """Waits for what it looks for, as Playwright does, and gives up after the device's time."""

    def __init__(self, page: Page) -> None:
        self.page = page

    @classmethod
    async def opened(cls, device: Device, link: Link) -> Self:
        await device.page.goto(link.url)
        await device.page.locator("#content").wait_for()
        return cls(device.page)

    def card(self, label: str) -> Locator:
        """A step, by its question."""
        return self.page.get_by_role("article", name=label, exact=True)

    async def saved(self, label: str) -> None:
        """The service has the answer of the step."""
        await expect(self.card(label).locator(".step-state")).to_have_text("Saved")

    async def choose(self, label: str, option: str) -> None:
        await self.card(label).get_by_text(option, exact=True).click()

    async def write(self, label: str, text: str) -> None:
        """Into the step's only field, and leaves it."""
        field = self.card(label).locator("input:not([type=file]), textarea").first
        await field.fill(text)
        await field.blur()

    async def photo(self, label: str, *pictures: bytes) -> None:
        """Chooses files, as from the gallery of a phone."""
        files: list[FilePayload] = [
            {"name": f"{number}.png", "mimeType": "image/png", "buffer": content}
            for number, content in enumerate(pictures)
        ]
        await self.card(label).locator("input[type=file]:not([capture])").set_input_files(files)

    async def moved(self) -> None:
        """Waits until the camera shows another picture than at the call."""
        await until_in_page(self.page, _MOVED)

    async def draw(self) -> None:
        """A stroke into the only drawing area."""
        canvas, mouse = self.page.locator("canvas"), self.page.mouse
        await canvas.scroll_into_view_if_needed()
        box = await canvas.bounding_box()
        assert box is not None
        await mouse.move(box["x"] + 40, box["y"] + 80)
        await mouse.down()
        await mouse.move(box["x"] + 140, box["y"] + 40, steps=8)
        await mouse.up()

    async def menu(self, entry: str) -> None:
        await self.page.get_by_role("button", name="Menu").click()
        await self.page.get_by_role("dialog").get_by_role("button", name=entry).click()

    async def to_review(self) -> None:
        """By the bar at the lower edge, which offers it when nothing required is left."""
        await self.page.get_by_role("button", name="Check and submit").click()
        await expect(self.heading("Check your answers")).to_be_visible()
        await self.top_layer("review")  # one step at a time, earlier steps are below it

    async def top_layer(self, name: str) -> None:
        """Waits until the browser's Back would close this first."""
        await until_in_page(self.page, "name => history.state?.layers?.at(-1) === name", name)

    async def layers(self, *names: str) -> None:
        """Waits until the browser's Back would close these, the last one first."""
        await until_in_page(self.page, "names => (history.state?.layers ?? []).join() === names", ",".join(names))

    async def submit(self) -> None:
        await self.page.get_by_role("button", name="Submit", exact=True).click()

    def heading(self, name: str) -> Locator:
        return self.page.get_by_role("heading", name=name, level=1)


async def opened(
    stage: Stage, device: Device, template: Mapping[str, Any], **members: Any
) -> tuple[Link, ChecklistScreen]:
    """A new run of the template on the device."""
    link = stage.dispatch(template, **members)
    return link, await ChecklistScreen.opened(device, link)


def answers(stage: Stage, link: Link) -> Json:
    """Values by step, without the `s-`, as the owner reads them."""
    return {step_id[2:]: answer["value"] for step_id, answer in stage.run(link)["answers"].items()}


def picture(color: str = "teal", size: tuple[int, int] = (640, 480)) -> bytes:
    """A photo as a PNG."""
    content = BytesIO()
    Image.new("RGB", size, color).save(content, "PNG")
    return content.getvalue()


def noise(width: int, height: int) -> bytes:
    """A photo that does not get smaller by compression."""
    content = BytesIO()
    Image.frombytes("RGB", (width, height), os.urandom(width * height * 3)).save(content, "PNG")
    return content.getvalue()


async def answered(stage: Stage, link: Link, expected: Json) -> None:
    """The owner reads these answers, now or soon: what the screen calls saved may be the answer before."""
    with contextlib.suppress(AssertionError):
        await eventually(lambda: answers(stage, link) == expected)
    assert answers(stage, link) == expected


async def looks_right(device: Device) -> None:
    """On a small phone nothing is wider than the page, and axe finds nothing, light and dark."""
    await device.photograph()
    page, before = device.page, device.page.viewport_size
    await page.set_viewport_size({"width": 320, "height": 640})
    # All of it, also what the browser would not lay out before it is scrolled to.
    await page.evaluate("document.querySelectorAll('.slot').forEach(e => e.style.contentVisibility = 'visible')")
    found = {}
    for scheme in ("dark", "light"):
        # Without motion: colours that are on their way from one scheme to the other are in neither.
        await page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # type: ignore[arg-type]
        found[scheme] = await device.accessibility_findings()
    assert found == {"light": [], "dark": []}
    assert not await device.overflows()
    if before is not None:
        await page.set_viewport_size(before)


@contextlib.asynccontextmanager
async def choosing(page: Page, *files: FilePayload) -> AsyncIterator[None]:
    """Chooses the files in the browser's dialog that opens within.

    Chromium hears of keys and of "tell me of file dialogs" by different ways; on a busy machine the key can be first,
    and the dialog then opens unheard. An answer to anything asked later says that it has heard.
    """
    async with page.expect_file_chooser() as chooser:
        await page.evaluate("null")
        yield
    await (await chooser.value).set_files(list(files))


async def tab_to(page: Page, name: str, *keys: str, text: str = "") -> None:
    """Presses Tab until what has the focus has a name that begins so, as without a pointer; then types and presses."""
    named = """name => {
        const e = document.activeElement;
        const ids = (e.getAttribute("aria-labelledby") ?? "").split(" ");
        const by = ids.map(id => document.getElementById(id)?.textContent).join(" ");
        const texts = [e.getAttribute("aria-label"), by, e.labels?.[0]?.textContent, e.textContent];
        return texts.some(text => text?.trim().startsWith(name));
    }"""
    for _ in range(80):
        await page.keyboard.press("Tab")
        if await page.evaluate(named, name):
            break
    else:
        raise AssertionError(f"Tab does not lead to {name}")
    await page.keyboard.type(text)
    for key in keys:
        await page.keyboard.press(key)


async def unseen_focus(page: Page, *, presses: int) -> list[str]:
    """What the Tab key comes to that has no outline, or is behind the bars at the edges: its HTML."""
    hidden = """() => {
        const e = document.activeElement;
        const around = e.closest("label.choice, label.grade, label.button, label, .is-link, .json-frame") ?? e;
        const ring = [e, around].some(one => {
            const { outlineStyle, outlineWidth } = getComputedStyle(one);
            return outlineStyle !== "none" && parseFloat(outlineWidth) >= 1.5;
        });
        const box = around.getBoundingClientRect();
        const covered = [...document.querySelectorAll(".status-bar, .next-bar")].some(bar => {
            const { top, bottom } = bar.getBoundingClientRect();
            return !bar.contains(e) && !e.matches(".skip-link") && box.top >= top - 1 && box.bottom <= bottom + 1;
        });
        return e === document.body || (ring && !covered) ? null : `${e.outerHTML.slice(0, 120)} ${ring} ${covered}`;
    }"""
    seen = []
    for _ in range(presses):
        await page.keyboard.press("Tab")
        seen.append(await page.evaluate(hidden))
    return [one for one in seen if one is not None]
