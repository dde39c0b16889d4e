"""Downloads and builds shared by all clones of a user, in the user's cache folder.

Standard library only, since it is used before the packages of the environment are installed.
"""

import fcntl
import os
import platform
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from checklist_dev.failures import Failure
from checklist_dev.system.progress import Report, last_word, run_with_progress

_REPORT_EVERY_S = 15.0
_PIP = ("--disable-pip-version-check", "--no-input", "--no-deps", "--require-hashes", "--only-binary", ":all:")


def cache_folder(env: Mapping[str, str] = os.environ) -> Path:
    base = env.get("XDG_CACHE_HOME") or str(Path(env.get("HOME") or Path.home()) / ".cache")
    return Path(base) / "checklist-dispatch"


def machine() -> tuple[str, str]:
    """(operating system, architecture), as Go names them."""
    architectures = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}
    architecture = platform.machine().lower()
    return platform.system().lower(), architectures.get(architecture, architecture)


def version_in(file: Path, pattern: str) -> str:
    """The version after `pattern` at the beginning of a line of `file`. Raises Failure."""
    found = re.search(rf"^\s*(?:require )?{pattern}(\S+)", file.read_text(), re.MULTILINE)
    if not found:
        raise Failure(f"{file} does not name {pattern.split(maxsplit=1)[0]}")
    return found[1]


def made_once(folder: Path, doing: str, make: Callable[[Path], None], report: Report) -> Path:
    """Create `folder` if missing, and return it. `make` fills a temporary folder, which is renamed when complete."""
    if not folder.is_dir():
        with one_at_a_time(folder.with_name(folder.name + ".lock"), doing, report):
            if not folder.is_dir():  # another clone may have made it while we waited
                for abandoned in folder.parent.glob(folder.name + ".tmp-*"):  # by a process that was killed
                    shutil.rmtree(abandoned, ignore_errors=True)
                made = Path(tempfile.mkdtemp(prefix=folder.name + ".tmp-", dir=folder.parent))
                try:
                    make(made)
                    made.chmod(0o755)
                    made.rename(folder)
                except BaseException:
                    shutil.rmtree(made, ignore_errors=True)
                    raise
    return folder


def packages_once(folder: Path, lock: Path, what: str, report: Report, env: Mapping[str, str] = os.environ) -> Path:
    """Install a hashed requirements file into `folder`, for PYTHONPATH. Raises Failure."""

    def install(made: Path) -> None:
        report(f"installing {what} from PyPI into {folder}")
        pip = [sys.executable, "-m", "pip", "install", *_PIP, "--target", str(made), "-r", str(lock)]
        code, lines = run_with_progress(pip, folder.parent, env, "lines", report)
        if code != 0:
            why = next((line for line in lines if line.startswith("ERROR")), last_word(code, lines))
            raise Failure(f"{what} could not be installed: {why}")

    return made_once(folder, f"installing {what}", install, report)


@contextmanager
def one_at_a_time(path: Path, what: str, report: Callable[[str], None]) -> Iterator[None]:
    """Hold the lock file `path` during the block. While waiting, report that another process is doing `what`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        started = time.monotonic()
        next_report_s = 0.0
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                waited = time.monotonic() - started
                if waited >= next_report_s:
                    report(f"another process is {what}: waiting ({waited:.0f} s)")
                    next_report_s = waited + _REPORT_EVERY_S
                time.sleep(0.2)
        yield
