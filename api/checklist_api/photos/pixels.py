"""Encodes decoded pixels for the store: upright, in sRGB, without metadata, with a thumbnail.

Runs in a worker only. An image is large next to everything else in the process, so steps work in place where they can
and let go of what they replace: no more than two copies of an image exist at any time.
"""

from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any, Final

from PIL import Image, ImageCms
from PIL.JpegImagePlugin import JpegImageFile, get_sampling

from .image_formats import ImageFormat
from .limits import THUMBNAIL_BYTES, THUMBNAIL_EDGE

_QUALITY: Final = 90
_THUMBNAIL_QUALITIES: Final = (82, 74, 64, 52, 40, 28)

_UPRIGHT: Final = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
"""What undoes each EXIF orientation."""


def encoding_of(image: Image.Image, format_: ImageFormat) -> dict[str, Any]:
    """How Pillow shall write the image again; to be asked before the image is changed.

    A JPEG is written with the quantisation that it came with: it neither grows nor loses what a second, different
    quantisation would take from it.
    """
    if format_ is ImageFormat.PNG:
        return {"format": "PNG"}
    if format_ is ImageFormat.WEBP:
        return {"format": "WEBP", "quality": _QUALITY, "method": 2}
    usual = {"format": "JPEG", "quality": _QUALITY}
    if not isinstance(image, JpegImageFile) or image.mode not in {"RGB", "L"}:
        return usual
    tables: Mapping[int, Sequence[int]] = image.quantization
    baseline = all(1 <= step <= 255 for table in tables.values() for step in table)
    if set(tables) not in ({0}, {0, 1}) or not baseline:
        return usual
    kept = {"format": "JPEG", "qtables": [list(tables[number]) for number in sorted(tables)]}
    sampling = get_sampling(image)
    if image.mode == "L":
        return kept
    return usual if sampling < 0 else kept | {"subsampling": sampling}


def normal_mode(image: Image.Image) -> Image.Image:
    """The image as L, LA, RGB or RGBA in sRGB, eight bits a channel."""
    profile = image.info.get("icc_profile")
    if image.mode == "CMYK":
        return _in_srgb(image, profile) or image.convert("RGB")
    transparent = "transparency" in image.info
    if image.mode == "1":
        image = image.convert("L")
    elif image.mode.startswith("I;16"):
        # Converted at once, Pillow would clip it at 255.
        image = image.convert("I").point([value >> 8 for value in range(65_536)], "L")
    elif image.mode in {"P", "PA"}:
        image = image.convert("RGBA" if transparent or image.mode == "PA" else "RGB")
    elif image.mode in {"RGB", "L"} and transparent:
        image = image.convert("RGBA" if image.mode == "RGB" else "LA")
    elif image.mode not in {"RGB", "RGBA", "L", "LA"}:
        image = image.convert("RGB")
    return _in_srgb(image, profile) or image


def _in_srgb(image: Image.Image, profile: object) -> Image.Image | None:
    """The image with the colours that its profile means, or None when there is nothing to do, or no telling.

    The profile itself does not survive: a browser takes an image without one as sRGB. Phones write Display P3, which
    would look pale.
    """
    if not isinstance(profile, bytes) or image.mode not in {"RGB", "RGBA", "CMYK"}:
        return None
    try:
        source = ImageCms.ImageCmsProfile(BytesIO(profile))
        if "srgb" in (source.profile.profile_description or "").lower():
            return None
        target = ImageCms.createProfile("sRGB")
        if image.mode == "CMYK":
            return ImageCms.profileToProfile(image, source, target, outputMode="RGB")
        ImageCms.profileToProfile(image, source, target, inPlace=True)
    except (ImageCms.PyCMSError, OSError, ValueError, TypeError):
        # A profile that is broken, or is for another kind of image: the numbers are taken as sRGB.
        return None
    return image


def upright(image: Image.Image, orientation: int) -> Image.Image:
    """The image as it was seen by who took it (EXIF orientation 1 to 8)."""
    method = _UPRIGHT.get(orientation)
    return image if method is None else image.transpose(method)


def write(image: Image.Image, path: Path, encoding: Mapping[str, Any]) -> None:
    """Nothing but pixels: Pillow takes metadata over from `info` for some formats, so that is emptied."""
    image.info = {}
    if encoding["format"] == "JPEG" and image.mode not in {"RGB", "L"}:
        image = _on_white(image)
    image.save(path, **encoding)


def small_copy(image: Image.Image, orientation: int) -> Image.Image:
    """An upright copy of at most THUMBNAIL_EDGE on its longer side; never larger than the image."""
    scale = min(1.0, THUMBNAIL_EDGE / max(image.size))
    size = (max(1, round(image.width * scale)), max(1, round(image.height * scale)))
    small = image.resize(size, Image.Resampling.LANCZOS, reducing_gap=2.0) if scale < 1 else image.copy()
    return upright(_on_white(small), orientation)


def write_thumbnail(small: Image.Image, path: Path) -> None:
    """A JPEG of at most THUMBNAIL_BYTES: coarser first, then smaller. The smallest pictures always fit."""
    small.info = {}
    while True:
        for quality in _THUMBNAIL_QUALITIES:
            written = BytesIO()
            small.save(written, format="JPEG", quality=quality, optimize=True)
            if written.tell() <= THUMBNAIL_BYTES:
                path.write_bytes(written.getbuffer())
                return
        small = small.resize((max(1, small.width * 3 // 4), max(1, small.height * 3 // 4)))


def _on_white(image: Image.Image) -> Image.Image:
    if image.mode in {"RGB", "L"}:
        return image
    solid = image.convert("RGBA")
    ground = Image.new("RGBA", solid.size, "white")
    ground.alpha_composite(solid)
    return ground.convert("RGB")
