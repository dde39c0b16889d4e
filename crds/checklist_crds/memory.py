"""How the process gives memory back to the operating system.

Every TLS connection has a buffer of 256 KiB, and a part of the archive is read as megabytes at once. glibc puts the
first such buffers apart from its heap and gives them back at once; but as soon as one was freed, it takes that size for
common and keeps the next ones in the heap, where small things that live longer pin them. After a thousand connections
that costs tens of megabytes that nobody uses.
"""

import ctypes
from contextlib import suppress
from typing import Final

APART_BYTES: Final = 128 * 1024
_M_MMAP_THRESHOLD: Final = -3


def keep_large_buffers_apart() -> None:
    """Fixes the size from which an allocation is given back as soon as it is freed. Without effect outside glibc."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, APART_BYTES)
