"""Prints what the demo does, and the result of each check."""

import time
from typing import Any

from checklist_dev.failures import Failure


class Transcript:
    """Prints steps and checks; the first failed check ends the demo."""

    def __init__(self) -> None:
        self.checks = 0
        self._started = time.monotonic()

    def chapter(self, title: str) -> None:
        print(f"\n{title}\n{'-' * len(title)}", flush=True)

    def note(self, text: str) -> None:
        print(f"  {time.monotonic() - self._started:6.1f} s  {text}", flush=True)

    def check(self, claim: str, holds: bool, seen: Any = None) -> None:
        """Raises Failure with `seen` if `holds` is false."""
        if not holds:
            print(f"           FAILED  {claim}", flush=True)
            raise Failure(f"check failed: {claim}" + (f"; seen: {seen!r}" if seen is not None else ""))
        self.checks += 1
        print(f"           ok  {claim}", flush=True)
