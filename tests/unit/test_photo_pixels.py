"""What is served looks like what was taken: upright, in the right colours, no larger than it came."""

import base64
import random
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image, ImageChops, ImageOps, ImageStat
from tests.unit.image_corpus import animated, display_p3_profile, encoded, exif, flat_png, heic, picture

from checklist_api.photos.image_work import make
from checklist_api.photos.jobs import Job, Made
from checklist_api.photos.limits import THUMBNAIL_BYTES, THUMBNAIL_EDGE

CORNERS = {"red": (255, 0, 0), "lime": (0, 255, 0), "blue": (0, 0, 255), "grey": (128, 128, 128)}


class Served:
    """An image and its thumbnail, made in this process."""

    def __init__(self, folder: Path, content: bytes) -> None:
        upload = folder / "upload"
        upload.write_bytes(content)
        job = Job(upload, folder)
        self.made: Made = make(job)
        with Image.open(job.image_path(self.made.content_type)) as image:
            image.load()
        self.image: Image.Image = image
        with Image.open(job.thumbnail_path) as thumbnail:
            thumbnail.load()
        self.thumbnail: Image.Image = thumbnail
        self.thumbnail_bytes = job.thumbnail_path.stat().st_size


def corners(image: Image.Image) -> list[str]:
    """The colours at the top left, top right, bottom left and bottom right."""
    image = image.convert("RGB")
    right, bottom = image.width - 4, image.height - 4
    return [nearest(image.getpixel(at)) for at in ((3, 3), (right, 3), (3, bottom), (right, bottom))]


def nearest(pixel: object) -> str:
    assert isinstance(pixel, tuple)
    return min(CORNERS, key=lambda name: sum((a - b) ** 2 for a, b in zip(pixel, CORNERS[name], strict=True)))


AS_TAKEN = ["red", "lime", "blue", "grey"]
HOW_IT_IS_STORED = {
    1: lambda image: image,
    2: ImageOps.mirror,
    3: lambda image: image.rotate(180),
    4: ImageOps.flip,
    5: lambda image: image.transpose(Image.Transpose.TRANSPOSE),
    6: lambda image: image.rotate(90, expand=True),
    7: lambda image: image.transpose(Image.Transpose.TRANSVERSE),
    8: lambda image: image.rotate(270, expand=True),
}


@pytest.mark.parametrize("format_", ["JPEG", "PNG", "WEBP", "HEIC"])
@pytest.mark.parametrize("orientation", HOW_IT_IS_STORED)
def test_every_orientation_is_turned_upright_once(orientation: int, format_: str, tmp_path: Path) -> None:
    stored = HOW_IT_IS_STORED[orientation](picture(400, 240))
    tags = exif(orientation)
    # A HEIC has its orientation twice: in its metadata and in a property of its own.
    content = heic(stored, exif=tags) if format_ == "HEIC" else encoded(stored, format_, exif=tags)
    served = Served(tmp_path, content)
    assert (served.made.width, served.made.height) == served.image.size == (400, 240)
    assert corners(served.image) == AS_TAKEN
    assert served.thumbnail.size == (320, 192)
    assert corners(served.thumbnail) == AS_TAKEN


def test_the_orientation_of_a_png_that_follows_its_pixels_counts_too(tmp_path: Path) -> None:
    whole = encoded(HOW_IT_IS_STORED[6](picture(40, 24)), "PNG", exif=exif(6))
    start = whole.index(b"eXIf") - 4
    end = start + 12 + int.from_bytes(whole[start : start + 4], "big")
    moved = whole[:start] + whole[end:-12] + whole[start:end] + whole[-12:]
    assert corners(Served(tmp_path, moved).image) == AS_TAKEN


@pytest.mark.parametrize("mode", ["CMYK", "RGB", "P", "RGBA"])
def test_colours_survive_every_mode(mode: str, tmp_path: Path) -> None:
    content = encoded(picture(96, 64, mode), "JPEG" if mode == "CMYK" else "PNG")
    assert corners(Served(tmp_path, content).image) == AS_TAKEN


def test_pixels_and_modes_of_a_png_stay(tmp_path: Path) -> None:
    noise = Image.frombytes("RGBA", (60, 40), random.Random(1).randbytes(60 * 40 * 4))
    assert Served(tmp_path, encoded(noise, "PNG")).image.tobytes() == noise.tobytes()
    deep = Image.new("I;16", (40, 40), 32_768)
    assert Served(tmp_path, encoded(deep, "PNG")).image.getpixel((5, 5)) == 128
    assert Served(tmp_path, flat_png(30, 20, colour=4)).image.mode == "LA"
    drawing = Image.new("RGBA", (300, 100), (0, 0, 0, 0))
    drawing.paste((0, 0, 0, 255), (10, 40, 290, 60))
    served = Served(tmp_path, encoded(drawing, "PNG"))
    assert served.image.getpixel((2, 2)) == (0, 0, 0, 0)
    assert min(served.thumbnail.getpixel((2, 2))) > 250, "transparency is white in the thumbnail"
    assert max(served.thumbnail.getpixel((150, 50))) < 10


@pytest.mark.parametrize("profile", [b"", b"no profile", display_p3_profile()[:200], display_p3_profile(b"sRGB")])
def test_a_wide_colour_space_is_translated_before_its_profile_goes_and_no_other(profile: bytes, tmp_path: Path) -> None:
    green = Image.new("RGB", (64, 64), (100, 190, 80))
    assert Served(tmp_path, encoded(green, "PNG", icc_profile=profile)).image.getpixel((9, 9)) == (100, 190, 80)
    # This green in Display P3 lies within sRGB, where its numbers are (70, 193, 60), give or take.
    wide = Served(tmp_path, encoded(green, "PNG", icc_profile=display_p3_profile())).image.getpixel((9, 9))
    assert isinstance(wide, tuple)
    assert wide[0] < 90
    assert wide[1] >= 190


@pytest.mark.parametrize("quality", [30, 75, 95])
@pytest.mark.parametrize("subsampling", [0, 1, 2])
def test_a_jpeg_loses_and_gains_next_to_nothing(quality: int, subsampling: int, tmp_path: Path) -> None:
    scene = Image.effect_noise((320, 240), 60).convert("RGB")
    content = encoded(scene, "JPEG", quality=quality, subsampling=subsampling)
    served = Served(tmp_path, content)
    assert abs(served.made.bytes - len(content)) < len(content) * 0.02
    with Image.open(BytesIO(content)) as before:
        difference = ImageChops.difference(before.convert("RGB"), served.image)
    assert max(ImageStat.Stat(difference).mean) < 1.5  # of 255


@pytest.mark.parametrize("size", [(320, 320), (2000, 10), (96, 64), (1, 1)])
def test_a_thumbnail_keeps_its_bounds_whatever_is_in_the_picture(size: tuple[int, int], tmp_path: Path) -> None:
    noise = Image.frombytes("RGB", size, random.Random(2).randbytes(size[0] * size[1] * 3))
    served = Served(tmp_path, encoded(noise, "PNG"))
    assert max(served.thumbnail.size) <= THUMBNAIL_EDGE
    assert served.thumbnail.size == size or max(size) >= THUMBNAIL_EDGE
    assert served.thumbnail_bytes <= THUMBNAIL_BYTES
    assert len(base64.b64encode(bytes(served.thumbnail_bytes))) <= 24 * 1024  # as events carry it


@pytest.mark.parametrize("format_", ["PNG", "WEBP"])
def test_of_what_moves_the_first_picture_is_taken(format_: str, tmp_path: Path) -> None:
    assert corners(Served(tmp_path, animated(format_)).image) == AS_TAKEN
