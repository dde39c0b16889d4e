"""The files in `.run/` with the state of the service.

`service.json` exists while the service is ready (after a SIGKILL: until the next start). `remembered.json` stays, so
that the next start uses the same organization, key and template. Both contain an API key: mode 0600.
"""

import fcntl
import json
import os
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TextIO

from checklist_dev.failures import Failure


class ServiceState:
    """The files of one service in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.info = folder / "service.json"
        self.remembered = folder / "remembered.json"
        self._lock_file = folder / "service.lock"
        self._lock: TextIO | None = None

    def take(self) -> None:
        """Claim the folder for this process until it ends. Raises Failure when another service has it."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.folder.chmod(0o700)
        lock = self._lock_file.open("a+")
        if not _locked(lock):
            time.sleep(0.2)  # `owner()` of another process holds it for a moment
        if not _locked(lock):
            lock.close()
            info = read_json(self.info)
            where = f" on {info['base_url']}" if "base_url" in info else ""
            raise Failure(f"the service runs already{where} (pid {self.owner()}): make stop ends it")
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        self._lock = lock
        self.info.unlink(missing_ok=True)  # of one that was killed

    def owner(self) -> int | None:
        """Process id of the service that uses the folder, or None."""
        try:
            with self._lock_file.open("r+") as lock:
                if _locked(lock):
                    return None
                text = lock.read().strip()
                return int(text) if text else None
        except (FileNotFoundError, ValueError):
            return None

    def release(self) -> None:
        self.info.unlink(missing_ok=True)
        if self._lock:
            self._lock.close()
            self._lock = None


def _locked(file: TextIO) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def read_json(path: Path) -> dict[str, Any]:
    """The object in `path`; empty if missing or invalid."""
    try:
        value = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Write atomically, with mode 0600 (from mkstemp)."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=path.name + ".")
    with os.fdopen(descriptor, "w") as file:
        json.dump(value, file, indent=2)
        file.write("\n")
    Path(name).replace(path)
