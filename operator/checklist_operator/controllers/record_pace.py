"""How long the results of first attempts may wait to be written to their runs.

A write costs the Kubernetes API more than the transmission it records. While few runs have something to write, each is
written at once. Under load the writes keep to a pace, so that a run that goes on being answered collects several
results for one write. What waits is known to this process only and would be sent again after a crash (the same
event_id, the same number), so neither the time nor the amount may grow without bound.
"""

from collections.abc import Callable, Hashable
from typing import Final

GATHER_S: Final = 0.1
"""How long results wait for attempts of the same run that are still under way."""
WRITES_PER_S: Final = 30
LONGEST_S: Final = 2.0
QUIET_S: Final = 0.5
"""After this long without any new result the load is over, and what waits is written."""
MOST_WAITING: Final = 500
"""Results in all lanes together; above it, nothing waits."""
ENOUGH: Final = 16
"""Results of one run that are worth a write."""


class RecordPace:
    """Counts what waits, by run. `monotonic` gives seconds."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._waiting: dict[Hashable, int] = {}
        self._total = 0
        self._last_result_at = 0.0

    def waits(self, key: Hashable, results: int) -> None:
        """`results` of the run now wait to be written; 0 when they were, or when the run is gone."""
        before = self._waiting.pop(key, 0)
        if results > before:
            self._last_result_at = self._monotonic()
        self._total += results - before
        if results:
            self._waiting[key] = results

    def patience_s(self, key: Hashable, *, more_to_come: bool, urgent: bool) -> float:
        """Seconds from its first result on that a run may wait.

        `more_to_come`: attempts of the run are under way. `urgent`: the write says more than that events arrived.
        """
        least = GATHER_S if more_to_come else 0.0
        if urgent or self._total > MOST_WAITING or self._waiting.get(key, 0) >= ENOUGH:
            return least
        if self._monotonic() - self._last_result_at > QUIET_S:
            return least
        pause = min(len(self._waiting) / WRITES_PER_S, LONGEST_S)
        return pause if pause > GATHER_S else least
