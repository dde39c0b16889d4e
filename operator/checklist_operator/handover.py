"""What a leader that ends cleanly leaves to the next one: which attempts it has made and is still writing down.

Under load the cluster takes seconds for these records, and nobody need wait for them: the lease is given back at once,
with a note on it. The next leader does not make those attempts again while they are being recorded. If they are not
recorded in that time, the process that made them has died, and they are made again as after any crash.
"""

import asyncio
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from checklist_crds.resource_types import GROUP

HANDOVER_ANNOTATION: Final = f"{GROUP}/handover"
"""On the Lease."""
MOST_ATTEMPTS: Final = 4000
"""That one note may name: annotations of an object have 256 KiB together."""
_LONGEST_S: Final = 300.0


@dataclass(frozen=True, slots=True)
class Handover:
    """`attempts`: by event id, the number of the attempt that is being recorded; `for_s` seconds from now on."""

    attempts: Mapping[str, int] = field(default_factory=dict)
    for_s: float = 0.0

    def __str__(self) -> str:
        return json.dumps({"for_s": self.for_s, "attempts": dict(self.attempts)}, separators=(",", ":"))

    @classmethod
    def parse(cls, text: str | None) -> "Handover":
        """Nothing, where there is no note, or none that we understand."""
        try:
            note = json.loads(text or "{}")
            attempts = {str(event_id): int(number) for event_id, number in note["attempts"].items()}
            for_s = float(note["for_s"])
            return cls(attempts, for_s) if 0 <= for_s <= _LONGEST_S else NO_HANDOVER
        except (ValueError, TypeError, KeyError, AttributeError):
            return NO_HANDOVER


NO_HANDOVER: Final = Handover()


class BeingRecorded:
    """A handover, from the moment on at which the next leader has found it."""

    def __init__(self, handover: Handover) -> None:
        self._attempts = handover.attempts
        self._until = asyncio.get_running_loop().time() + handover.for_s

    @property
    def attempts(self) -> Mapping[str, int]:
        """What may still be being recorded."""
        if self._attempts and self._left_s() <= 0:
            self._attempts = {}
        return self._attempts

    def for_s(self, event_ids: Iterable[str], attempt: int) -> float:
        """For how many seconds this attempt of one of these events may still be being recorded; 0 when of none."""
        attempts = self.attempts
        is_one = bool(attempts) and any(attempts.get(event_id) == attempt for event_id in event_ids)
        return self._left_s() if is_one else 0.0

    def _left_s(self) -> float:
        return self._until - asyncio.get_running_loop().time()
