"""Limits of one photo. Both the API and the workers read them."""

from typing import Final

MAX_UPLOAD_BYTES: Final = 10 * 1024 * 1024
MAX_PIXELS: Final = 52_000_000
"""The 48 and 50 megapixel modes of phones fit; 30,000 x 30,000 does not."""
MAX_WEBP_PIXELS: Final = 25_000_000
"""No camera writes WebP, and libwebp holds three copies of an image while it decodes one."""
MAX_SIDE: Final = 16_384
THUMBNAIL_EDGE: Final = 320
THUMBNAIL_BYTES: Final = 18 * 1024
"""In base64, as events carry them, these are the 24 KiB of contract section 9."""

RECOMMENDED_MEMORY_MIB: Final = 640
"""Address space of a worker in which the largest image of every format can be processed."""
MAX_WRITTEN_BYTES: Final = 64 * 1024 * 1024
"""The largest file that a worker can write. Nothing that fits into an upload comes near."""
WALL_CLOCK_FACTOR: Final = 4
"""A worker may take so many times its processor seconds: it is niced, and others may need the processors more."""
