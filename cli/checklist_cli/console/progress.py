"""Prints progress to standard error: at most every two seconds, and single lines at once."""

import sys
import time
from collections.abc import Callable
from typing import Final

_INTERVAL_S: Final = 2.0


class Progress:
    def __init__(self, say: Callable[[str], None] | None = None) -> None:
        self._say = say or _to_stderr
        self._next = time.monotonic() + _INTERVAL_S

    def line(self, text: str) -> None:
        """Print at once."""
        self._say(text)

    def now_and_then(self, text: Callable[[], str]) -> None:
        """Print unless the last text is recent."""
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + _INTERVAL_S
            self._say(text())


def _to_stderr(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
