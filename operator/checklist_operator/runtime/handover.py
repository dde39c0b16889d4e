"""Handover from a leader that ends cleanly to the next one: the attempts it has made and is still recording.

Under load the cluster takes seconds for these records, and nobody need wait for them: the lease is given back at once,
with a note on it. The next leader does not make those attempts again while they are being recorded. If they are not
recorded in that time, the process that made them has died, and they are made again as after any crash.
"""

import asyncio
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Final

from checklist_crds.resources.base import GROUP

HANDOVER_ANNOTATION: Final = f"{GROUP}/handover"
"""On the Lease."""
MOST_ATTEMPTS: Final = 4000
"""That one note may name: annotations of an object have 256 KiB together."""
_LONGEST_S: Final = 300.0


@dataclass(frozen=True, slots=True)
class AttemptMade:
    """`number` of the attempt, which may still be being recorded for `for_s` seconds from now on."""

    number: int
    for_s: float


Handover = Mapping[str, AttemptMade]
"""By event id."""

NO_HANDOVER: Final[Handover] = {}


def note_of(handover: Handover) -> str | None:
    """As the annotation has it: `{"evt-...": [number, seconds], ...}`; None when there is nothing to tell."""
    told = {event_id: [made.number, round(made.for_s, 1)] for event_id, made in islice(handover.items(), MOST_ATTEMPTS)}
    return json.dumps(told, separators=(",", ":")) if told else None


def read_note(text: str | None) -> Handover:
    """Nothing, where there is no note, or none that we understand."""
    try:
        note = json.loads(text or "{}")
        handover = {str(event_id): AttemptMade(int(number), float(for_s)) for event_id, (number, for_s) in note.items()}
    except (ValueError, TypeError, AttributeError):
        return NO_HANDOVER
    return handover if all(0 <= made.for_s <= _LONGEST_S for made in handover.values()) else NO_HANDOVER


def after(passed_s: float, handover: Handover) -> Handover:
    """What of it may still be being recorded so many seconds later."""
    return {
        event_id: AttemptMade(made.number, made.for_s - passed_s)
        for event_id, made in handover.items()
        if made.for_s > passed_s
    }


def holds_for_s(handover: Handover) -> float:
    """Until nothing of it may still be being recorded."""
    return max((made.for_s for made in handover.values()), default=0.0)


class InheritedAttempts:
    """A handover, from the moment on at which the next leader has found it."""

    def __init__(self, handover: Handover) -> None:
        self._handover = handover
        self._holds_for_s = holds_for_s(handover)
        self._since = asyncio.get_running_loop().time()

    def for_s(self, event_ids: Iterable[str], attempt: int) -> float:
        """For how many seconds this attempt of one of these events may still be being recorded; 0 when of none."""
        if not self._handover:
            return 0.0
        if self._passed_s() > self._holds_for_s:
            self._handover = NO_HANDOVER  # a term may last for months, and asks for each event
            return 0.0
        found = (self._handover.get(event_id) for event_id in event_ids)
        longest_s = max((made.for_s for made in found if made is not None and made.number == attempt), default=0.0)
        return max(0.0, longest_s - self._passed_s())

    def with_ours(self, attempts: Mapping[str, int], for_s: float) -> Handover:
        """What is to be told to the one that follows: `attempts` that we record ourselves for `for_s` seconds, and what
        the one before us may not have come to an end with. Of an event, ours came later."""
        left = after(self._passed_s(), self._handover)
        return {**left, **{event_id: AttemptMade(number, for_s) for event_id, number in attempts.items()}}

    def _passed_s(self) -> float:
        return asyncio.get_running_loop().time() - self._since
