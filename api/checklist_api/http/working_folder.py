"""The process's folder for uploads and PDF images, deleted with the process.

A killed process cannot clean up, so the next start does. A PID in the folder's name does not prove that the owner lives
(PIDs are reused and differ between containers), so each owner holds a file lock next to its folder, which the OS
releases when the process ends.
"""

import contextlib
import fcntl
import logging
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

logger = logging.getLogger(__name__)

PREFIX: Final = "checklist-dispatch-uploads-"
_LOCK: Final = ".lock"


class WorkingFolder:
    """`path` below `parent` exists between `take` and `release`."""

    def __init__(self, parent: Path) -> None:
        self._parent = parent
        self.path = parent / f"{PREFIX}{os.getpid()}-{secrets.token_hex(4)}"
        self._lock: int | None = None

    def take(self) -> None:
        """Create the folder and remove those of killed processes. Raises OSError."""
        self._parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if self._lock is None:
            self._lock = _locked(_lock_of(self.path))
        self.path.mkdir(mode=0o700, exist_ok=True)
        remove_left_behind(self._parent)

    def release(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock is not None:
            _lock_of(self.path).unlink(missing_ok=True)
            os.close(self._lock)
            self._lock = None


def remove_left_behind(parent: Path) -> None:
    """Remove folders below `parent` whose owners have ended. Folders in doubt are kept."""
    for lock in parent.glob(f"{PREFIX}*{_LOCK}"):
        with contextlib.suppress(OSError), _try_lock(lock) as is_locked:
            if is_locked:
                folder = lock.with_name(lock.name.removesuffix(_LOCK))
                shutil.rmtree(folder, ignore_errors=True)
                # Last, so that a folder that could not be removed is found again.
                if not folder.exists():
                    lock.unlink(missing_ok=True)
                    logger.info("files.removed", extra={"folder": folder.name})
    for folder in parent.glob(f"{PREFIX}*"):
        # Names of older releases, without locks.
        process = folder.name.removeprefix(PREFIX)
        if process.isdecimal() and (int(process) == os.getpid() or not Path("/proc", process).exists()):
            shutil.rmtree(folder, ignore_errors=True)


def _lock_of(folder: Path) -> Path:
    return folder.with_name(folder.name + _LOCK)


def _locked(file: Path) -> int:
    """Create and lock a lock file; returns its descriptor. Retried if another process removed the file before it was
    locked. Raises OSError."""
    while True:
        descriptor = os.open(file, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if _is_at(descriptor, file):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


@contextlib.contextmanager
def _try_lock(lock: Path) -> Iterator[bool]:
    """Hold the lock if its owner has ended; yields whether it is held. Raises OSError."""
    descriptor = os.open(lock, os.O_RDWR | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield _is_at(descriptor, lock)
    finally:
        os.close(descriptor)


def _is_at(descriptor: int, file: Path) -> bool:
    """Whether the open file still has this name."""
    try:
        return os.path.samestat(os.fstat(descriptor), file.stat())
    except FileNotFoundError:
        return False
