"""Reasons to refuse an image."""

from enum import StrEnum
from typing import Final

from .limits import MAX_PIXELS, MAX_SIDE, MAX_UPLOAD_BYTES


class RefusalCode(StrEnum):
    NOT_AN_IMAGE = "not_an_image"
    UNSUPPORTED_FORMAT = "unsupported_format"
    TRUNCATED = "truncated"
    DAMAGED = "damaged"
    TOO_MANY_PIXELS = "too_many_pixels"
    TOO_LARGE = "too_large"
    TOO_SLOW = "too_slow"
    TOO_MUCH_MEMORY = "too_much_memory"


MESSAGES: Final = {
    RefusalCode.NOT_AN_IMAGE: "The file is not an image. Use JPEG, PNG, WebP or HEIC.",
    RefusalCode.UNSUPPORTED_FORMAT: "This file format is not supported. Use JPEG, PNG, WebP or HEIC.",
    RefusalCode.TRUNCATED: "The image is truncated. Send it again.",
    RefusalCode.DAMAGED: "The image is damaged and cannot be read.",
    RefusalCode.TOO_MANY_PIXELS: (
        f"The image has too many pixels: at most {MAX_PIXELS // 1_000_000} million, and {MAX_SIDE:,} on one side."
    ),
    RefusalCode.TOO_LARGE: f"The image is too large: at most {MAX_UPLOAD_BYTES // 1024 // 1024} MiB.",
    RefusalCode.TOO_SLOW: "The image takes too long to read.",
    RefusalCode.TOO_MUCH_MEMORY: "The image needs too much memory.",
}


class ImageRefused(Exception):
    """The image is permanently refused. `message` is for users."""

    def __init__(self, code: RefusalCode, message: str | None = None) -> None:
        self.code = code
        self.message = message or MESSAGES[code]
        super().__init__(self.message)
