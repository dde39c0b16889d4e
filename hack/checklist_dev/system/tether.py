"""Starts a program that ends with its parent: `tether.py PARENT_PID PROGRAM [ARGUMENT ...]`.

On Linux the tether asks the kernel for a SIGKILL at the parent's death, even by SIGKILL, and then becomes the program
(the request survives exec). Elsewhere a watcher process checks on the parent.

The file is started by its path with `python -I -S`, in about 20 ms, and imports nothing of the project.
"""

import os
import signal
import sys
import time

PR_SET_PDEATHSIG = 1
WATCH_INTERVAL_S = 0.5


def die_with_parent(parent: int, by: signal.Signals = signal.SIGKILL) -> None:
    """Make the kernel send a signal to this process when `parent` (or its thread that forked this process) is gone."""
    import ctypes

    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, by, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG)")
    # The parent may have died before the request; the kernel sends no signal then.
    if os.getppid() != parent:
        sys.exit(1)


def end_with_parent() -> None:
    """Make the kernel send SIGTERM to this process when its parent is gone. Linux only."""
    if sys.platform == "linux":
        die_with_parent(os.getppid(), signal.SIGTERM)


def watch(parent: int, program: int) -> None:
    """Kill `program` once `parent` is gone; returns when either has ended."""
    while True:
        time.sleep(WATCH_INTERVAL_S)
        if not _exists(program):
            return
        if not _exists(parent):
            os.kill(program, signal.SIGKILL)
            return


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def main() -> None:
    parent, program, arguments = int(sys.argv[1]), sys.argv[2], sys.argv[2:]
    if sys.platform == "linux":
        die_with_parent(parent)
    else:
        this = os.getpid()
        if os.fork() == 0:
            watch(parent, this)
            os._exit(0)
    try:
        os.execvp(program, arguments)  # noqa: S606 - to become the program is the purpose
    except OSError as error:
        print(f"{program}: {error.strerror}", file=sys.stderr)
        sys.exit(127)


if __name__ == "__main__":
    main()
