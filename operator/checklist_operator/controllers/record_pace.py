"""Delays writes of first attempts' results, so that results of one run share a write.

A write costs the Kubernetes API more than the transmission it records. While a run is being answered, and while many of
its events are being sent, its results are batched; others are written at once. After a crash, unwritten attempts are
sent again (same event_id, same number), so the delay and the number of waiting results are bounded.
"""

from collections.abc import Callable, Hashable
from typing import Final

GATHER_S: Final = 0.1
"""How long results wait for attempts of the same run that are in flight."""
ACTIVE_S: Final = 2.0
"""A run is active when its last two events are at most this far apart, and the last is no older than this."""
LONGEST_S: Final = 2.0
BACKLOG: Final = 4
"""Attempts of one run, in flight or not recorded, from which on their results are batched, as after an outage."""
ENOUGH: Final = 16
"""Results of one run that are written without delay."""
MOST_WAITING: Final = 500
"""Results of all runs above which nothing is delayed."""
_REMEMBERED: Final = 16_384
"""Runs whose last event is kept; the next event of an evicted one counts as its first."""

_NEVER: Final = float("-inf")


class RecordPace:
    """Counts waiting results per run and remembers events of runs. `monotonic` returns seconds."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._waiting: dict[Hashable, int] = {}
        self._total = 0
        self._events: dict[Hashable, tuple[int, float, float]] = {}
        """Number of the last event, its time, and the time of the one before."""

    def event_added(self, key: Hashable, number: int) -> None:
        """Notes event `number` of the run; a repeated number is ignored."""
        known, last, before = self._events.pop(key, (-1, _NEVER, _NEVER))
        self._events[key] = (known, last, before) if number == known else (number, self._monotonic(), last)
        if len(self._events) > _REMEMBERED:
            del self._events[next(iter(self._events))]

    def waits(self, key: Hashable, results: int) -> None:
        """Sets the number of the run's unwritten results; 0 when written, or when the run is deleted."""
        self._total += results - self._waiting.pop(key, 0)
        if results:
            self._waiting[key] = results

    def delay_s(self, key: Hashable, *, in_flight: int, is_final: bool, urgent: bool) -> float:
        """Returns how many seconds a write may be delayed, from the run's first result.

        `in_flight`: the run's attempts without a result. `is_final`: the run has no more changes. `urgent`: a failure,
        or shutdown.
        """
        waiting = self._waiting.get(key, 0)
        is_backlog = in_flight > 0 and in_flight + waiting >= BACKLOG
        gathers = is_backlog or (not is_final and self.is_active(key))
        if urgent or not gathers or self._total > MOST_WAITING or waiting >= ENOUGH:
            return GATHER_S if in_flight else 0.0
        return LONGEST_S

    def is_active(self, key: Hashable) -> bool:
        """Whether the run is being answered now."""
        _, last, before = self._events.get(key, (-1, _NEVER, _NEVER))
        return last > _NEVER and last - before <= ACTIVE_S and self._monotonic() - last <= ACTIVE_S
