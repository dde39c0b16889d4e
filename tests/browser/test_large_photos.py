"""Photos that are too large for the service, and photos that the browser cannot draw."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Any

import httpx
import pillow_heif
import pytest
from PIL import Image
from playwright.async_api import Locator, expect
from tests.waiting import eventually

from checklist_dev.browser.checklists import checklist, step
from checklist_dev.browser.stage import Link, Stage

from .checklist_screen import ChecklistScreen, looks_right, noise, opened
from .conftest import NewDevice

MIB = 1024 * 1024
MADE_SMALLER = "The photo was too large to send, so it was made smaller."
CANNOT = "This photo is too large to send, and this browser cannot make it smaller."
NO_PREVIEW = "No preview"
PHOTOS = checklist(step("shelf", "photo", config={"min": 0, "max": 3}), step("clean"))
RED, BLUE = (200, 30, 30), (30, 30, 200)
TAKEN = {0x9003: "2026:05:04 13:02:01", 0x9011: "+02:00"}
IN_STOCKHOLM = {1: "N", 2: (59.0, 18.0, 0.0), 3: "E", 4: (18.0, 0.0, 0.0)}


def jpeg(size: tuple[int, int], *, orientation: int = 1, appended: int = 0) -> bytes:
    """Red on the left half and blue on the right as it is stored, taken in Stockholm. `appended`: the bytes of a film
    behind the picture, as phones that take moving pictures write them."""
    width, height = size
    picture = Image.new("RGB", size, BLUE)
    picture.paste(RED, (0, 0, width // 2, height))
    tags = Image.Exif()
    tags[0x0112] = orientation
    tags.get_ifd(0x8769).update(TAKEN)
    tags.get_ifd(0x8825).update(IN_STOCKHOLM)
    content = BytesIO()
    picture.save(content, "JPEG", quality=90, exif=tags)
    return content.getvalue() + bytes(appended)


def heic(size: tuple[int, int] = (640, 480), *, appended: int = 0) -> bytes:
    """`appended`: the bytes of a free box behind the picture."""
    content = BytesIO()
    pillow_heif.from_pillow(Image.new("RGB", size, RED)).save(content, format="HEIF")
    box = appended.to_bytes(4, "big") + b"free" + bytes(appended - 8) if appended else b""
    return content.getvalue() + box


Choose = Callable[..., Awaitable[None]]


@pytest.fixture
def choose(tmp_path: Path) -> Choose:
    """`await choose(screen, ("jpeg", content), ("heic", content))`: files of the device, so that they need not go
    through the driver, which takes its time over so many bytes."""

    async def choose(screen: ChecklistScreen, *files: tuple[str, bytes]) -> None:
        paths = [tmp_path / f"{number}.{kind}" for number, (kind, _) in enumerate(files)]
        for path, (_, content) in zip(paths, files, strict=True):
            path.write_bytes(content)
        await screen.card("Shelf").locator("input[type=file]:not([capture])").set_input_files(paths)

    return choose


async def sent(screen: ChecklistScreen, count: int = 1) -> None:
    await expect(screen.card("Shelf").locator(".thumb.is-sent")).to_have_count(count, timeout=30_000)


def photos_of(stage: Stage, link: Link) -> list[dict[str, Any]]:
    return list(stage.run(link)["answers"].get("s-shelf", {"photos": []})["photos"])


async def is_drawn(picture: Locator, width: int) -> None:
    await expect(picture).to_have_count(1)
    await expect(picture).to_have_js_property("naturalWidth", width)


# What browsers lack, as the app meets it.
BROWSERS = {
    "this browser": "",
    "one that scales no bitmaps": """
        const make = window.createImageBitmap;
        window.createImageBitmap = (photo, options) =>
            options === undefined ? make(photo) : Promise.reject(new TypeError("unknown option"));
    """,
    "one that measures before it turns": """
        const make = window.createImageBitmap;
        window.createImageBitmap = (photo, options) =>
            make(photo, options && {resizeWidth: options.resizeHeight, resizeHeight: options.resizeHeight});
    """,
    "one that makes no bitmaps of photos": """
        window.createImageBitmap = () => Promise.reject(new DOMException("no", "InvalidStateError"));
    """,
    "one without canvases off screen": "delete window.OffscreenCanvas;",
}


@pytest.mark.parametrize("lacking", BROWSERS)
async def test_a_photo_above_the_bound_arrives_smaller_upright_and_with_its_time_and_place(
    stage: Stage, new_device: NewDevice, choose: Choose, lacking: str
) -> None:
    link = stage.dispatch(checklist(step("shelf", "photo", geo=True, config={"min": 1, "max": 1})))
    place = {"latitude": 59.3, "longitude": 18.01}
    device = await new_device(permissions=["geolocation"], geolocation=place)
    await device.page.add_init_script(BROWSERS[lacking])
    screen = await ChecklistScreen.opened(device, link)
    # A phone that was held upright: it stores what it sees lying, and orientation 6 says so.
    await choose(screen, ("jpeg", jpeg((6000, 4500), orientation=6, appended=11 * MIB)))
    await expect(screen.card("Shelf").get_by_text(MADE_SMALLER)).to_be_visible(timeout=30_000)
    await sent(screen)
    await eventually(lambda: photos_of(stage, link)[0]["distance_m"] is not None)
    [photo] = photos_of(stage, link)
    assert (photo["width"], photo["height"], photo["content_type"]) == (3072, 4096, "image/jpeg")
    assert datetime.fromisoformat(photo["captured_at"]) == datetime(2026, 5, 4, 11, 2, 1, tzinfo=UTC)
    assert photo["distance_m"] == pytest.approx(570, abs=60)
    served = Image.open(BytesIO(httpx.get(photo["url"], trust_env=False).raise_for_status().content)).convert("RGB")
    for height, colour in ((200, RED), (3900, BLUE)):
        assert served.getpixel((1500, height)) == pytest.approx(colour, abs=25)


async def test_several_large_photos_all_arrive_and_their_number_is_shown(
    stage: Stage, new_device: NewDevice, choose: Choose
) -> None:
    link, screen = await opened(stage, await new_device(), PHOTOS)
    large, many_pixels = noise(2400, 1600), jpeg((8000, 7000))
    assert len(large) > 10 * MIB > len(many_pixels)
    await choose(screen, ("png", large), ("jpeg", many_pixels), ("jpeg", jpeg((640, 480), appended=11 * MIB)))
    await sent(screen, 3)
    shown = "3 photos were too large to send, so they were made smaller."
    await expect(screen.card("Shelf").get_by_role("status")).to_have_text(shown)
    found = [(photo["content_type"], photo["width"], photo["height"]) for photo in photos_of(stage, link)]
    # Nothing is made smaller in pixels that is too large only in bytes. Browsers round differently.
    assert found == [
        ("image/jpeg", 2400, 1600),
        ("image/jpeg", 4096, pytest.approx(3584, abs=1)),
        ("image/jpeg", 640, 480),
    ]


NOISE = """OffscreenCanvasRenderingContext2D.prototype.getImageData = (x, y, width, height) =>
    ({data: crypto.getRandomValues(new Uint8ClampedArray(width * height * 4))});"""


@pytest.mark.parametrize(("kind", "script"), [("heic", ""), ("jpeg", NOISE)], ids=["no decoder", "noise for a drawing"])
async def test_a_browser_that_cannot_make_a_large_photo_smaller_refuses_it_with_the_reason(
    stage: Stage, new_device: NewDevice, choose: Choose, kind: str, script: str
) -> None:
    link, device = stage.dispatch(PHOTOS), await new_device()
    content = heic(appended=11 * MIB) if kind == "heic" else jpeg((640, 480), appended=11 * MIB)
    await device.page.add_init_script(script)
    screen = await ChecklistScreen.opened(device, link)
    await choose(screen, (kind, content))
    await expect(screen.card("Shelf").locator(".error")).to_contain_text(CANNOT, timeout=30_000)
    await expect(screen.card("Shelf").get_by_role("listitem")).to_have_count(0)
    assert await device.accessibility_findings() == []
    # There is a way on: another photo.
    await choose(screen, ("jpeg", jpeg((640, 480))))
    await sent(screen)
    await expect(screen.card("Shelf").locator(".error")).to_have_count(0)
    assert len(photos_of(stage, link)) == 1


async def test_a_photo_that_the_browser_cannot_draw_is_named_until_the_service_has_a_picture_of_it(
    stage: Stage, new_device: NewDevice, choose: Choose
) -> None:
    device = await new_device()
    _, screen = await opened(stage, device, PHOTOS)
    thumb = screen.card("Shelf").locator(".thumb")
    await device.context.set_offline(True)
    await choose(screen, ("heic", heic()))
    await expect(thumb.locator(".no-picture")).to_have_text(NO_PREVIEW)
    await thumb.click()
    dialog = screen.page.get_by_role("dialog", name="Photo 1")
    await expect(dialog).to_contain_text("It is saved and will appear here once it is sent.")
    await expect(dialog.locator("img")).to_have_count(0)
    await looks_right(device)
    await dialog.get_by_role("button", name="Close").click()
    await screen.to_review()
    await expect(screen.page.locator(".mini")).to_have_text(f"Photo 1: {NO_PREVIEW}")
    assert await device.accessibility_findings() == []
    await screen.page.get_by_role("button", name="Back").click()

    # A picture that could not be loaded is loaded when the network is back once more.
    await device.context.route("**/thumbnail?*", lambda route: route.abort())
    await device.context.set_offline(False)
    await sent(screen)
    await expect(thumb.locator(".no-picture")).to_have_text(NO_PREVIEW)
    await device.context.unroute_all()
    await device.context.set_offline(True)
    await device.context.set_offline(False)
    await is_drawn(thumb.locator("img"), 320)
    await expect(screen.page.get_by_text(NO_PREVIEW)).to_have_count(0)
    await thumb.click()
    await is_drawn(dialog.locator("img"), 640)
