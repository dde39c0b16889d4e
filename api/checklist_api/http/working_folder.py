"""The process's own folder for uploads and images of PDFs, deleted with the process.

Who is killed cannot clear up, so the next one that starts does. Whether a folder's owner lives is not known by the
number in its name, which may be another program's by now, or be counted elsewhere (a container, another machine): each
owner keeps a lock on a file next to its folder, and the system lets go of that when the process ends, however it ends.
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
    """`path`, below `parent`: there between `take` and `release`."""

    def __init__(self, parent: Path) -> None:
        self._parent = parent
        self.path = parent / f"{PREFIX}{os.getpid()}-{secrets.token_hex(4)}"
        self._lock: int | None = None

    def take(self) -> None:
        """Makes the folder, and removes those of processes that were killed. Raises OSError."""
        self._parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if self._lock is None:
            self._lock = _locked_anew(_lock_of(self.path))
        self.path.mkdir(mode=0o700, exist_ok=True)
        remove_left_behind(self._parent)

    def release(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock is not None:
            _lock_of(self.path).unlink(missing_ok=True)
            os.close(self._lock)
            self._lock = None


def remove_left_behind(parent: Path) -> None:
    """Folders below `parent` whose owners are gone. Files of others are never touched, nor what is in doubt."""
    for lock in parent.glob(f"{PREFIX}*{_LOCK}"):
        with contextlib.suppress(OSError), _taken_over(lock) as is_ours:
            if is_ours:
                folder = lock.with_name(lock.name.removesuffix(_LOCK))
                shutil.rmtree(folder, ignore_errors=True)
                # Last: what could not be removed, or a process that is killed here, is found again by it.
                if not folder.exists():
                    lock.unlink(missing_ok=True)
                    logger.info("files.removed", extra={"folder": folder.name})
    for folder in parent.glob(f"{PREFIX}*"):
        # As they were called before there were locks.
        process = folder.name.removeprefix(PREFIX)
        if process.isdecimal() and (int(process) == os.getpid() or not Path("/proc", process).exists()):
            shutil.rmtree(folder, ignore_errors=True)


def _lock_of(folder: Path) -> Path:
    return folder.with_name(folder.name + _LOCK)


def _locked_anew(file: Path) -> int:
    """The descriptor of a lock file that is ours and has its name. Somebody who clears up may take a new one for one
    that was left behind, in the moment before it is locked; then there is another try. Raises OSError."""
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
def _taken_over(lock: Path) -> Iterator[bool]:
    """Whether its owner has let go of it; held in the meantime. Raises OSError where that cannot be determined."""
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
    """Whether the open file is the one of that name."""
    try:
        return os.path.samestat(os.fstat(descriptor), file.stat())
    except FileNotFoundError:
        return False
