"""Configures how glibc returns memory to the operating system.

Every TLS connection has a buffer of 256 KiB, and a part of the archive is read as megabytes at once. glibc first
allocates such buffers outside its heap and returns them when freed; but after the first is freed, it raises its
threshold and puts the next ones into the heap, where small long-lived allocations pin them. After a thousand
connections that wastes tens of megabytes.

It also creates up to eight heaps per processor for threads, which fragment when one thread frees what another
allocated. With the GIL, threads hardly ever allocate at the same moment.
"""

import ctypes
from contextlib import suppress
from typing import Final

APART_BYTES: Final = 128 * 1024
HEAPS: Final = 2
_M_MMAP_THRESHOLD: Final = -3
_M_ARENA_MAX: Final = -8


def configure_malloc() -> None:
    """Fixes the threshold above which freed memory is returned, and the number of heaps. Call it before threads start;
    without effect outside glibc."""
    with suppress(OSError, AttributeError):
        libc = ctypes.CDLL(None)
        libc.mallopt(_M_MMAP_THRESHOLD, APART_BYTES)
        libc.mallopt(_M_ARENA_MAX, HEAPS)
