"""Every image of the corpus gets its verdict, and what is served of those that are taken looks as it was taken.

Upright, in the right colours, no larger than it came, and nothing but pixels.
"""

import base64
import hashlib
import random
import struct
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image, ImageChops, ImageOps, ImageStat
from tests.unit.photos import image_corpus
from tests.unit.photos.image_corpus import (
    ODD,
    REFUSED,
    SECRET,
    Case,
    display_p3_profile,
    encoded,
    exif,
    flat_png,
    heic,
    picture,
)

from checklist_api.photos.image_work import outcome_line
from checklist_api.photos.jobs import Job, outcome_of
from checklist_api.photos.limits import THUMBNAIL_BYTES, THUMBNAIL_EDGE
from checklist_api.photos.refusals import ImageRefused, RefusalCode

CORNERS = {"red": (255, 0, 0), "lime": (0, 255, 0), "blue": (0, 0, 255), "grey": (128, 128, 128)}
_JPEG_PARTS = {0xE0, 0xDB, 0xC0, 0xC4, 0xDA}
_PNG_PARTS = {b"IHDR", b"IDAT", b"IEND"}
_WEBP_PARTS = {b"VP8 ", b"VP8L", b"VP8X", b"ALPH"}


class Served:
    """An image and its thumbnail, made in this process. Raises ImageRefused."""

    def __init__(self, folder: Path, content: bytes) -> None:
        (folder / "upload").write_bytes(content)
        job = Job(folder / "upload", folder)
        self.made = outcome_of(outcome_line(job), job)
        self.path, self.thumbnail_path = job.image_path(self.made.content_type), job.thumbnail_path

    @property
    def image(self) -> Image.Image:
        return _loaded(self.path)

    @property
    def thumbnail(self) -> Image.Image:
        return _loaded(self.thumbnail_path)


def _loaded(path: Path) -> Image.Image:
    with Image.open(path) as image:
        image.load()
    return image


def assert_nothing_but_pixels(path: Path, content_type: str) -> None:
    """Only the parts that a decoder needs, and not a byte behind the last of them; read without a library."""
    {"image/jpeg": _jpeg, "image/png": _png, "image/webp": _webp}[content_type](path.read_bytes())


def _jpeg(whole: bytes) -> None:
    at = 2
    assert whole[:2] == b"\xff\xd8"
    while whole[at + 1] != 0xDA:
        assert whole[at] == 0xFF
        assert whole[at + 1] in _JPEG_PARTS, hex(whole[at + 1])
        at += 2 + struct.unpack_from(">H", whole, at + 2)[0]
    # In the data of a scan, 0xFF is followed by 0 or a restart marker; the first other marker is the end.
    end = at + 2
    while whole[end] != 0xFF or whole[end + 1] in {0, *range(0xD0, 0xD8)}:
        end += 1
    assert whole[end + 1] == 0xD9
    assert len(whole) == end + 2


def _png(whole: bytes) -> None:
    at, kind = 8, b""
    while at < len(whole):
        length, kind = struct.unpack_from(">I4s", whole, at)
        assert kind in _PNG_PARTS, kind
        at += 12 + length
    assert kind == b"IEND"
    assert at == len(whole)


def _webp(whole: bytes) -> None:
    assert struct.unpack_from("<I", whole, 4)[0] + 8 == len(whole)
    at = 12
    while at < len(whole):
        kind, length = struct.unpack_from("<4sI", whole, at)
        assert kind in _WEBP_PARTS, kind
        at += 8 + length + length % 2
    assert at == len(whole)


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.name)
def test_it_is_refused(case: Case, tmp_path: Path) -> None:
    with pytest.raises(ImageRefused) as caught:
        Served(tmp_path, case.make())
    assert caught.value.code in case.codes
    assert caught.value.message.endswith(".")
    assert [path.name for path in tmp_path.iterdir()] == ["upload"]


@pytest.mark.parametrize("case", ODD, ids=lambda case: case.name)
def test_it_is_taken_and_only_its_pixels_are_served(case: Case, tmp_path: Path) -> None:
    photo = Served(tmp_path, case.make())
    served = photo.path.read_bytes()
    made = photo.made
    assert (made.content_type, (made.width, made.height)) == (case.content_type, case.size)
    assert (made.bytes, made.sha256) == (len(served), hashlib.sha256(served).hexdigest())
    assert SECRET not in served + photo.thumbnail_path.read_bytes()
    assert_nothing_but_pixels(photo.path, made.content_type)
    assert_nothing_but_pixels(photo.thumbnail_path, "image/jpeg")
    with Image.open(photo.path) as image:
        image.load()
        assert (image.get_format_mimetype(), image.size) == (case.content_type, case.size)
        assert getattr(image, "n_frames", 1) == 1
    assert max(photo.thumbnail.size) <= THUMBNAIL_EDGE
    assert photo.thumbnail_path.stat().st_size <= THUMBNAIL_BYTES
    if "moves" in case.name:
        assert corners(photo.image) == AS_TAKEN, "the first picture"


WHOLE = {
    "jpeg": image_corpus.jpeg,
    "progressive jpeg": lambda: image_corpus.jpeg(progressive=True),
    "png": image_corpus.png,
    "webp": image_corpus.webp,
    "heic": image_corpus.heic,
}


@pytest.mark.parametrize("name", WHOLE)
def test_a_file_cut_anywhere_is_refused_unless_all_its_pixels_are_there(name: str, tmp_path: Path) -> None:
    whole = WHOLE[name]()
    complete = Served(tmp_path, whole).made.sha256
    ends = {len(whole) * step // 12 for step in range(12)} | {len(whole) - back for back in (1, 2, 3, 8, 16)}
    refused = 0
    for end in sorted(ends):
        try:
            photo = Served(tmp_path, whole[:end])
        except ImageRefused as error:
            assert error.code in {RefusalCode.TRUNCATED, RefusalCode.DAMAGED, RefusalCode.NOT_AN_IMAGE}, end
            refused += 1
        else:
            assert photo.made.sha256 == complete, end
    assert refused >= 11


@pytest.mark.parametrize("name", WHOLE)
def test_a_file_with_overwritten_bytes_is_taken_or_refused_and_nothing_else(name: str, tmp_path: Path) -> None:
    chance = random.Random(name)
    whole = WHOLE[name]()
    for _ in range(15):
        changed = bytearray(whole)
        for _ in range(chance.choice((1, 3, 20))):
            changed[chance.randrange(len(changed))] = chance.randrange(256)
        try:
            photo = Served(tmp_path, bytes(changed))
        except ImageRefused:
            continue
        assert_nothing_but_pixels(photo.path, photo.made.content_type)


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


@pytest.mark.parametrize(("quality", "subsampling"), [(30, 2), (75, 1), (95, 0)])
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
    thumbnail = served.thumbnail_path.read_bytes()
    assert len(thumbnail) <= THUMBNAIL_BYTES
    assert len(base64.b64encode(thumbnail)) <= 24 * 1024  # as events carry it
