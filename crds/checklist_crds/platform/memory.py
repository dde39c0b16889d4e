"""How the process gives memory back to the operating system.

Every TLS connection has a buffer of 256 KiB, and a part of the archive is read as megabytes at once. glibc puts the
first such buffers apart from its heap and gives them back at once; but as soon as one was freed, it takes that size for
common and keeps the next ones in the heap, where small things that live longer pin them. After a thousand connections
that costs tens of megabytes that nobody uses.

It also gives each thread a heap of its own, up to eight a processor. What one thread allocates and another lets go
leaves holes in all of them; and with one interpreter lock, threads hardly ever allocate at the same moment.
"""

import ctypes
from contextlib import suppress
from typing import Final

APART_BYTES: Final = 128 * 1024
HEAPS: Final = 2
_M_MMAP_THRESHOLD: Final = -3
_M_ARENA_MAX: Final = -8


def give_memory_back() -> None:
    """Fixes the size from which an allocation is given back as soon as it is freed, and the number of heaps. To be
    called before there are threads; without effect outside glibc."""
    with suppress(OSError, AttributeError):
        libc = ctypes.CDLL(None)
        libc.mallopt(_M_MMAP_THRESHOLD, APART_BYTES)
        libc.mallopt(_M_ARENA_MAX, HEAPS)
