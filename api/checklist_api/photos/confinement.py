"""Operating system limits of a worker, which also confine a compromised decoder.

Uses POSIX limits, and Linux features where available.
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
_NICE: Final = 10


def die_with(parent: int) -> None:
    """End this process with its parent."""
    if sys.platform != "linux":
        return  # the closed pipe and the time limits suffice
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if os.getppid() != parent:
        # The parent ended before prctl took effect.
        os.kill(os.getpid(), signal.SIGKILL)


def lower_priority() -> None:
    """Give requests precedence for CPU time, and let the OOM killer choose the worker.

    Not the lowest priority: on a saturated machine photos would then exceed every limit of real time.
    """
    os.nice(_NICE)
    with suppress(OSError):
        # With autogroup scheduling, `nice` has an effect within the session only.
        Path("/proc/self/autogroup").write_text(str(_NICE))
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("800")


def confine(*, memory_mib: int, seconds: float, wall_seconds: float) -> None:
    """Limit the process of one job: `seconds` of CPU time, `wall_seconds` of real time.

    Exceeding a time limit ends the process by a signal.
    """
    address_space = memory_mib * 1024 * 1024
    limit(resource.RLIMIT_AS, address_space)
    limit(resource.RLIMIT_CORE, 0)
    limit(resource.RLIMIT_FSIZE, MAX_WRITTEN_BYTES)
    limit(resource.RLIMIT_NOFILE, _OPEN_FILES)
    limit(resource.RLIMIT_CPU, int(seconds) + 2)
    # Timers have millisecond resolution; RLIMIT_CPU covers code that disarms them.
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, wall_seconds)


def limit(which: int, value: int) -> None:
    _, allowed = resource.getrlimit(which)
    if allowed != resource.RLIM_INFINITY:
        value = min(value, allowed)
    try:
        resource.setrlimit(which, (value, value))
    except (ValueError, OSError):
        # macOS refuses some limits. On Linux all are mandatory.
        if sys.platform == "linux":
            raise
