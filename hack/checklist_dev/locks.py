"""One at a time among all processes of a user, for what is fetched or built once and then shared."""

import fcntl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

TOLD_EVERY_S = 15.0


@contextmanager
def one_at_a_time(path: Path, what: str, report: Callable[[str], None]) -> Iterator[None]:
    """Holds the lock file `path`; who waits says that another process is doing `what`. Ends with its process."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        started = time.monotonic()
        told = 0.0
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                waited = time.monotonic() - started
                if waited >= told:
                    report(f"another process is {what}: waiting ({waited:.0f} s)")
                    told = waited + TOLD_EVERY_S
                time.sleep(0.2)
        yield
