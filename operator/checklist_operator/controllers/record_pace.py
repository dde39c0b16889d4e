"""How long the results of first attempts may wait to be written to their runs.

A write costs the Kubernetes API more than the transmission it records. While a run is being answered, and while many of
its events are being sent, its results wait and share a write; others are written at once. What waits is known to this
process only and is sent again after a crash (same event_id, same number), so both time and amount are bounded.
"""

from collections.abc import Callable, Hashable
from typing import Final

GATHER_S: Final = 0.1
"""How long results wait for attempts of the same run that are still under way."""
ACTIVE_S: Final = 2.0
"""A run is being answered when its last two changes came within this, and the last one is no older."""
LONGEST_S: Final = 2.0
BACKLOG: Final = 4
"""Attempts of one run, under way or not recorded, from which on they share a write, as after an outage."""
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

    def patience_s(self, key: Hashable, *, under_way: int, is_final: bool, urgent: bool) -> float:
        """Seconds that a run may wait from its first result on.

        `under_way`: its attempts without a result. `is_final`: it has no more changes. `urgent`: the write says more
        than that events arrived.
        """
        waiting = self._waiting.get(key, 0)
        is_backlog = under_way > 0 and under_way + waiting >= BACKLOG
        gathers = is_backlog or (not is_final and self.is_active(key))
        if urgent or not gathers or self._total > MOST_WAITING or waiting >= ENOUGH:
            return GATHER_S if under_way else 0.0
        return LONGEST_S

    def is_active(self, key: Hashable) -> bool:
        """Whether somebody is answering the run now."""
        _, last, before = self._changes.get(key, (-1, _NEVER, _NEVER))
        return last > _NEVER and last - before <= ACTIVE_S and self._monotonic() - last <= ACTIVE_S
