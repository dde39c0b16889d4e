"""What the demo prints: what it did, and for each claim whether it held."""

import time
from typing import Any

from checklist_dev.failures import Failure


class Transcript:
    """Prints steps and checks; the first check that does not hold ends the demo."""

    def __init__(self) -> None:
        self.checks = 0
        self._started = time.monotonic()

    def chapter(self, title: str) -> None:
        print(f"\n{title}\n{'-' * len(title)}", flush=True)

    def note(self, text: str) -> None:
        print(f"  {time.monotonic() - self._started:6.1f} s  {text}", flush=True)

    def check(self, claim: str, holds: bool, seen: Any = None) -> None:
        """Raises Failure when `holds` is false, with what was seen instead."""
        if not holds:
            print(f"           FAILED  {claim}", flush=True)
            raise Failure(f"this did not hold: {claim}" + (f"; seen: {seen!r}" if seen is not None else ""))
        self.checks += 1
        print(f"           ok  {claim}", flush=True)
