"""Handover from a leader that shuts down to the next one: the attempts it has made and is still recording.

Under load the cluster takes seconds for these records, so the lease is released first, with an annotation that lists
the attempts. The next leader does not repeat them while they may still be recorded. If the time is over and one is not
recorded, the old process has died, and the attempt is repeated as after any crash.
"""

import asyncio
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Final

from checklist_crds.resources.base import GROUP

HANDOVER_ANNOTATION: Final = f"{GROUP}/handover"
"""Annotation of the Lease."""
MOST_ATTEMPTS: Final = 4000
"""Limit of one annotation: all annotations of an object share 256 KiB."""
_LONGEST_S: Final = 300.0


@dataclass(frozen=True, slots=True)
class AttemptMade:
    """`number` of the attempt, which may still be recorded in the next `for_s` seconds."""

    number: int
    for_s: float


Handover = Mapping[str, AttemptMade]
"""By event id."""

NO_HANDOVER: Final[Handover] = {}


def note_of(handover: Handover) -> str | None:
    """Encodes the annotation `{"evt-...": [number, seconds], ...}`; None for no attempts."""
    made = {event_id: [one.number, round(one.for_s, 1)] for event_id, one in islice(handover.items(), MOST_ATTEMPTS)}
    return json.dumps(made, separators=(",", ":")) if made else None


def read_note(text: str | None) -> Handover:
    """Decodes the annotation; empty if it is missing or invalid."""
    try:
        note = json.loads(text or "{}")
        handover = {str(event_id): AttemptMade(int(number), float(for_s)) for event_id, (number, for_s) in note.items()}
    except (ValueError, TypeError, AttributeError):
        return NO_HANDOVER
    return handover if all(0 <= made.for_s <= _LONGEST_S for made in handover.values()) else NO_HANDOVER


def after(passed_s: float, handover: Handover) -> Handover:
    """Returns what may still be recorded `passed_s` seconds later."""
    return {
        event_id: AttemptMade(made.number, made.for_s - passed_s)
        for event_id, made in handover.items()
        if made.for_s > passed_s
    }


def holds_for_s(handover: Handover) -> float:
    """Seconds until nothing of it may still be recorded."""
    return max((made.for_s for made in handover.values()), default=0.0)


class InheritedAttempts:
    """A handover, as found when the lease was acquired."""

    def __init__(self, handover: Handover) -> None:
        self._handover = handover
        self._holds_for_s = holds_for_s(handover)
        self._since = asyncio.get_running_loop().time()

    def for_s(self, event_ids: Iterable[str], attempt: int) -> float:
        """Seconds for which this attempt of any of the events may still be recorded; 0 for none."""
        if not self._handover:
            return 0.0
        if self._passed_s() > self._holds_for_s:
            self._handover = NO_HANDOVER  # called for each event of a term, which may last for months
            return 0.0
        found = (self._handover.get(event_id) for event_id in event_ids)
        longest_s = max((made.for_s for made in found if made is not None and made.number == attempt), default=0.0)
        return max(0.0, longest_s - self._passed_s())

    def with_ours(self, attempts: Mapping[str, int], for_s: float) -> Handover:
        """Builds our own handover: `attempts` that we record for `for_s` more seconds, and the previous leader's that
        may still be recorded. Of one event, ours is the later attempt."""
        left = after(self._passed_s(), self._handover)
        return {**left, **{event_id: AttemptMade(number, for_s) for event_id, number in attempts.items()}}

    def _passed_s(self) -> float:
        return asyncio.get_running_loop().time() - self._since
