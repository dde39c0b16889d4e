"""Detects the format of an image by its first bytes, never by name or Content-Type.

Only this module selects the decoder. Polyglot files are harmless: data after the image is not read, and stored images
are re-encoded from pixels.
"""

from enum import StrEnum
from typing import Final

from .refusals import ImageRefused, RefusalCode

HEAD_BYTES: Final = 512


class ImageFormat(StrEnum):
    JPEG = "image/jpeg"
    PNG = "image/png"
    WEBP = "image/webp"
    HEIC = "image/heic"

    @property
    def served_as(self) -> "ImageFormat":
        """Stored format; HEIC is converted, because not all browsers support it."""
        return ImageFormat.JPEG if self is ImageFormat.HEIC else self

    @property
    def suffix(self) -> str:
        return {"image/jpeg": ".jpg", "image/png": ".png", "image/webp": ".webp", "image/heic": ".heic"}[self]


_HEVC_BRANDS: Final = frozenset({b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"hevm", b"hevs"})
_OTHERS: Final = (
    (b"GIF8", "GIF"),
    (b"BM", "BMP"),
    (b"II*\x00", "TIFF or a raw photo"),
    (b"MM\x00*", "TIFF or a raw photo"),
    (b"\x00\x00\x00\x0cjP  ", "JPEG 2000"),
    (b"\xff\x4f\xff\x51", "JPEG 2000"),
    (b"\xff\x0a", "JPEG XL"),
    (b"\x00\x00\x00\x0cJXL ", "JPEG XL"),
    (b"8BPS", "Photoshop"),
    (b"%PDF", "PDF"),
    (b"PK\x03\x04", "ZIP"),
)


def format_of(head: bytes) -> ImageFormat:
    """Detect the format from the first HEAD_BYTES of a file. Raises ImageRefused."""
    if head.startswith(b"\xff\xd8\xff"):
        return ImageFormat.JPEG
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return ImageFormat.PNG
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return ImageFormat.WEBP
    if head[4:8] == b"ftyp":
        return _of_iso_media(head)
    name = next((name for magic, name in _OTHERS if head.startswith(magic)), None) or _markup(head)
    if name is not None:
        raise ImageRefused(RefusalCode.UNSUPPORTED_FORMAT, f"{name} is not supported. Use JPEG, PNG, WebP or HEIC.")
    raise ImageRefused(RefusalCode.NOT_AN_IMAGE, None if head else "The file is empty.")


def _of_iso_media(head: bytes) -> ImageFormat:
    end = min(int.from_bytes(head[:4], "big"), len(head))
    brands = {head[8:12], *(head[at : at + 4] for at in range(16, end, 4))}
    if brands & _HEVC_BRANDS:
        return ImageFormat.HEIC
    name = "AVIF" if brands & {b"avif", b"avis"} else "This kind of video or picture"
    raise ImageRefused(RefusalCode.UNSUPPORTED_FORMAT, f"{name} is not supported. Use JPEG, PNG, WebP or HEIC.")


def _markup(head: bytes) -> str | None:
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    if not text.startswith((b"<svg", b"<?xml", b"<!doctype", b"<html", b"<script")):
        return None
    return "SVG" if b"<svg" in text else "Markup"


def webp_size(head: bytes) -> tuple[int, int] | None:
    """Return the declared size of a WebP file, or None if the first chunk has none.

    libwebp allocates the whole canvas before decoding, so this is checked first.
    """
    kind = head[12:16]
    if kind == b"VP8X" and len(head) >= 30:
        return int.from_bytes(head[24:27], "little") + 1, int.from_bytes(head[27:30], "little") + 1
    if kind == b"VP8 " and head[23:26] == b"\x9d\x01\x2a" and len(head) >= 30:
        return int.from_bytes(head[26:28], "little") & 0x3FFF, int.from_bytes(head[28:30], "little") & 0x3FFF
    if kind == b"VP8L" and head[20:21] == b"\x2f" and len(head) >= 25:
        bits = int.from_bytes(head[21:25], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    return None


def promised_length(format_: ImageFormat, head: bytes) -> int | None:
    """Return the file's declared length in bytes; None if the format has none at the start."""
    return int.from_bytes(head[4:8], "little") + 8 if format_ is ImageFormat.WEBP and len(head) >= 8 else None
