"""Limits of a photo, for the API and the workers."""

from typing import Final

MAX_UPLOAD_BYTES: Final = 10 * 1024 * 1024
MAX_PIXELS: Final = 52_000_000
"""Allows the 48 and 50 megapixel modes of phones."""
MAX_WEBP_PIXELS: Final = 25_000_000
"""Lower, since no camera writes WebP and libwebp holds three copies of an image while decoding."""
MAX_SIDE: Final = 16_384
THUMBNAIL_EDGE: Final = 320
THUMBNAIL_BYTES: Final = 18 * 1024
"""24 KiB in base64, the limit of contract section 9."""

RECOMMENDED_MEMORY_MIB: Final = 640
"""Address space that suffices for the largest image of every format."""
MAX_WRITTEN_BYTES: Final = 64 * 1024 * 1024
"""Largest file that a worker can write; no upload comes near it."""
WALL_CLOCK_FACTOR: Final = 4
"""Wall clock limit as a multiple of the CPU time limit, since workers have low priority."""
