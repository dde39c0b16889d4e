"""Encodes decoded pixels for the store: upright, in sRGB, without metadata, with a thumbnail.

Runs in a worker only. To limit memory, steps work in place where possible and release their input: at most two copies
of an image exist at a time.
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
"""The transposition that corrects each EXIF orientation."""


def encoding_of(image: Image.Image, format_: ImageFormat) -> dict[str, Any]:
    """Return Pillow's options to encode the image. Call before the image is changed.

    A JPEG keeps its quantization tables, which avoids further loss and growth.
    """
    if format_ is ImageFormat.PNG:
        return {"format": "PNG"}
    if format_ is ImageFormat.WEBP:
        return {"format": "WEBP", "quality": _QUALITY, "method": 2}
    default = {"format": "JPEG", "quality": _QUALITY}
    if not isinstance(image, JpegImageFile) or image.mode not in {"RGB", "L"}:
        return default
    tables: Mapping[int, Sequence[int]] = image.quantization
    baseline = all(1 <= step <= 255 for table in tables.values() for step in table)
    if set(tables) not in ({0}, {0, 1}) or not baseline:
        return default
    kept = {"format": "JPEG", "qtables": [list(tables[number]) for number in sorted(tables)]}
    sampling = get_sampling(image)
    if image.mode == "L":
        return kept
    return default if sampling < 0 else kept | {"subsampling": sampling}


def normal_mode(image: Image.Image) -> Image.Image:
    """Convert to L, LA, RGB or RGBA in sRGB with 8 bits per channel."""
    profile = image.info.get("icc_profile")
    if image.mode == "CMYK":
        return _in_srgb(image, profile) or image.convert("RGB")
    transparent = "transparency" in image.info
    if image.mode == "1":
        image = image.convert("L")
    elif image.mode.startswith("I;16"):
        # A direct conversion would clip at 255.
        image = image.convert("I").point([value >> 8 for value in range(65_536)], "L")
    elif image.mode in {"P", "PA"}:
        image = image.convert("RGBA" if transparent or image.mode == "PA" else "RGB")
    elif image.mode in {"RGB", "L"} and transparent:
        image = image.convert("RGBA" if image.mode == "RGB" else "LA")
    elif image.mode not in {"RGB", "RGBA", "L", "LA"}:
        image = image.convert("RGB")
    return _in_srgb(image, profile) or image


def _in_srgb(image: Image.Image, profile: object) -> Image.Image | None:
    """Convert from the image's color profile to sRGB; None if not needed or not possible.

    Browsers assume sRGB for images without a profile. Phones write Display P3, which would look pale.
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
        # Broken or unsuitable profile: assume sRGB.
        return None
    return image


def upright(image: Image.Image, orientation: int) -> Image.Image:
    """Correct the EXIF orientation (1 to 8)."""
    method = _UPRIGHT.get(orientation)
    return image if method is None else image.transpose(method)


def write(image: Image.Image, path: Path, encoding: Mapping[str, Any]) -> None:
    """Write pixels only: Pillow copies metadata from `info` for some formats."""
    image.info = {}
    if encoding["format"] == "JPEG" and image.mode not in {"RGB", "L"}:
        image = _on_white(image)
    image.save(path, **encoding)


def small_copy(image: Image.Image, orientation: int) -> Image.Image:
    """Return an upright copy of at most THUMBNAIL_EDGE pixels on its longer side."""
    scale = min(1.0, THUMBNAIL_EDGE / max(image.size))
    size = (max(1, round(image.width * scale)), max(1, round(image.height * scale)))
    small = image.resize(size, Image.Resampling.LANCZOS, reducing_gap=2.0) if scale < 1 else image.copy()
    return upright(_on_white(small), orientation)


def write_thumbnail(small: Image.Image, path: Path) -> None:
    """Write a JPEG of at most THUMBNAIL_BYTES, reducing quality first, then size."""
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
