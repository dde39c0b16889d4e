"""Standing of receivers by host: new, prompt, in doubt or slow.

A host has been *heard* of once it has answered or refused anything. It is *prompt* while its last attempt was short and
none has been in flight for long since. All others are in doubt: their attempts may take the full ten seconds. A host is
*slow* after several timeouts in a row, until one success.
"""

from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from checklist_operator.transport.outcome import OutcomeClass

REMEMBERED_HOSTS: Final = 10_000


@dataclass(slots=True)
class _Standing:
    timeouts: int = 0
    """In a row."""
    heard: bool = False
    prompt: bool = False
    """Whether its last attempt was short."""
    waiting_since: float | None = None
    """Since when attempts have been in flight without an answer."""


class HostStandings:
    """Tracks the start and end of attempts. `now` is in seconds of a monotonic clock."""

    def __init__(self, *, slow_after_timeouts: int, prompt_s: float) -> None:
        self._slow_after = slow_after_timeouts
        self._prompt_s = prompt_s
        self._known: OrderedDict[str, _Standing] = OrderedDict()

    def __len__(self) -> int:
        return len(self._known)

    def begun(self, host: str, now: float) -> None:
        """Records the start of an attempt."""
        standing = self._of(host)
        if standing.waiting_since is None:
            standing.waiting_since = now

    def ended(
        self, host: str, outcome_class: OutcomeClass, duration_s: float, now: float, *, more_in_flight: bool
    ) -> None:
        """Records the end of an attempt."""
        standing = self._of(host)
        standing.waiting_since = now if more_in_flight else None
        standing.prompt = outcome_class is not OutcomeClass.TIMEOUT and duration_s <= self._prompt_s
        if outcome_class is OutcomeClass.TIMEOUT:
            standing.timeouts += 1
            return
        standing.heard = True
        if outcome_class is OutcomeClass.SUCCESS or not self.is_slow(host):
            standing.timeouts = 0

    def idle(self, host: str) -> None:
        """Records that nothing is in flight to the host."""
        standing = self._known.get(host)
        if standing is not None:
            standing.waiting_since = None

    def is_slow(self, host: str) -> bool:
        standing = self._known.get(host)
        return standing is not None and standing.timeouts >= self._slow_after

    def is_unheard(self, host: str) -> bool:
        standing = self._known.get(host)
        return standing is None or not standing.heard

    def is_in_doubt(self, host: str, now: float) -> bool:
        """Whether the next attempt may take long."""
        standing = self._known.get(host)
        if standing is None or not standing.prompt:
            return True
        return standing.waiting_since is not None and now - standing.waiting_since > self._prompt_s

    def delays_attempts(self, host: str, now: float) -> bool:
        """Whether the host has shown that it takes long; a new one has not."""
        standing = self._known.get(host)
        if standing is None:
            return False
        if standing.waiting_since is not None and now - standing.waiting_since > self._prompt_s:
            return True
        return standing.timeouts > 0 or (standing.heard and not standing.prompt)

    @property
    def slow(self) -> int:
        return sum(standing.timeouts >= self._slow_after for standing in self._known.values())

    def _of(self, host: str) -> _Standing:
        """Returns the host's entry; a new one evicts the least recently used, which is in doubt from then on."""
        standing = self._known.get(host)
        if standing is None:
            standing = self._known[host] = _Standing()
            if len(self._known) > REMEMBERED_HOSTS:
                self._known.popitem(last=False)
        else:
            self._known.move_to_end(host)
        return standing
