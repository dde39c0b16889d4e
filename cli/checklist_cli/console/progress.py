"""Says on stderr how far it is: at most every two seconds, and one line for what is worth one."""

import sys
import time
from collections.abc import Callable
from typing import Final

_SAY_EVERY_S: Final = 2.0


class Progress:
    def __init__(self, say: Callable[[str], None] | None = None) -> None:
        self._say = say or _to_stderr
        self._next = time.monotonic() + _SAY_EVERY_S

    def line(self, text: str) -> None:
        """At once."""
        self._say(text)

    def now_and_then(self, text: Callable[[], str]) -> None:
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + _SAY_EVERY_S
            self._say(text())


def _to_stderr(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
