"""Operating system limits of a worker, which also bind a compromised decoder.

The limits are those of POSIX; what only Linux has is asked for where it is.
"""

import ctypes
import os
import resource
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

from .limits import MAX_WRITTEN_BYTES

_PR_SET_PDEATHSIG: Final = 1
_PR_SET_NO_NEW_PRIVS: Final = 38
_OPEN_FILES: Final = 32


def die_with(parent: int) -> None:
    """From now on this process does not outlive its parent, however that ends."""
    if sys.platform != "linux":
        return  # the pipe from the parent ends with it, and each job has its time limit
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if os.getppid() != parent:
        # It died before the kernel knew that it is to be told.
        os.kill(os.getpid(), signal.SIGKILL)


def step_back() -> None:
    """Requests come first, and when memory is short it is a worker that goes."""
    os.nice(19)
    with suppress(OSError):
        # Where Linux shares out the processors by session, the line above counts among the worker's own only.
        Path("/proc/self/autogroup").write_text("19")
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("800")


def confine(*, memory_mib: int, seconds: float, wall_seconds: float) -> None:
    """For the process of one job: `seconds` of the processor's time, `wall_seconds` of everybody's.

    What passes a limit of time ends by a signal, without a word.
    """
    address_space = memory_mib * 1024 * 1024
    limit(resource.RLIMIT_AS, address_space)
    limit(resource.RLIMIT_CORE, 0)
    limit(resource.RLIMIT_FSIZE, MAX_WRITTEN_BYTES)
    limit(resource.RLIMIT_NOFILE, _OPEN_FILES)
    limit(resource.RLIMIT_CPU, int(seconds) + 2)
    # Timers end the process to the millisecond; the limit above is for code that disarms them.
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, wall_seconds)


def limit(which: int, value: int) -> None:
    _, allowed = resource.getrlimit(which)
    if allowed != resource.RLIM_INFINITY:
        value = min(value, allowed)
    try:
        resource.setrlimit(which, (value, value))
    except (ValueError, OSError):
        # macOS refuses some of them. On Linux, where the service runs, no worker works without.
        if sys.platform == "linux":
            raise
