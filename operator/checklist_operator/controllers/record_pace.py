"""How long the results of first attempts may wait to be written to their runs.

A write costs the Kubernetes API more than the transmission it records. While a run is being answered, its results wait
and share a write; those of a run that was changed once, or has ended, are written at once. What waits is known to this
process only and would be sent again after a crash (the same event_id, the same number), so neither the time nor the
amount may grow without bound.
"""

from collections.abc import Callable, Hashable
from typing import Final

GATHER_S: Final = 0.1
"""How long results wait for attempts of the same run that are still under way."""
ACTIVE_S: Final = 2.0
"""A run is being answered when its last two changes came within this, and the last one is no older."""
LONGEST_S: Final = 2.0
ENOUGH: Final = 16
"""Results of one run that are worth a write."""
MOST_WAITING: Final = 500
"""Results of all runs together; above it, nothing waits."""
_REMEMBERED: Final = 16_384
"""Runs whose last change is known; of one that is forgotten, the next change counts as its only one."""

_NEVER: Final = float("-inf")


class RecordPace:
    """Counts what waits, by run, and remembers when runs were changed. `monotonic` gives seconds."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._waiting: dict[Hashable, int] = {}
        self._total = 0
        self._changes: dict[Hashable, tuple[int, float, float]] = {}
        """Number of the last change, when it was seen, and when the one before."""

    def changed(self, key: Hashable, number: int) -> None:
        """The run is at change `number`; the same number again says nothing new."""
        known, last, before = self._changes.pop(key, (-1, _NEVER, _NEVER))
        self._changes[key] = (known, last, before) if number == known else (number, self._monotonic(), last)
        if len(self._changes) > _REMEMBERED:
            del self._changes[next(iter(self._changes))]

    def waits(self, key: Hashable, results: int) -> None:
        """`results` of the run now wait to be written; 0 when they were, or when the run is gone."""
        self._total += results - self._waiting.pop(key, 0)
        if results:
            self._waiting[key] = results

    def patience_s(self, key: Hashable, *, more_to_come: bool, urgent: bool) -> float:
        """Seconds from its first result on that a run may wait.

        `more_to_come`: attempts of the run are under way. `urgent`: the write says more than that events arrived.
        """
        if urgent or self._total > MOST_WAITING or self._waiting.get(key, 0) >= ENOUGH or not self.is_active(key):
            return GATHER_S if more_to_come else 0.0
        return LONGEST_S

    def is_active(self, key: Hashable) -> bool:
        """Whether somebody is answering the run now."""
        _, last, before = self._changes.get(key, (-1, _NEVER, _NEVER))
        return last > _NEVER and last - before <= ACTIVE_S and self._monotonic() - last <= ACTIVE_S
