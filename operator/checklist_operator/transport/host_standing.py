"""What is known of receivers, by host: which ones answer, which take long, which have never been heard of.

A host is *heard* of once it has answered or refused anything. It is *prompt* while its last attempt ended soon and none
has been in flight for long since. Everything else is in doubt, and may hold a place for the whole ten seconds. It is
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
    """How its last attempt ended."""
    waiting_since: float | None = None
    """Since when an attempt has been in flight while nothing came back."""


class HostStandings:
    """Told of each attempt's start and end. `now` is in seconds, on a clock that nobody sets."""

    def __init__(self, *, slow_after_timeouts: int, prompt_s: float) -> None:
        self._slow_after = slow_after_timeouts
        self._prompt_s = prompt_s
        self._known: OrderedDict[str, _Standing] = OrderedDict()

    def __len__(self) -> int:
        return len(self._known)

    def begun(self, host: str, now: float) -> None:
        """An attempt may start."""
        standing = self._of(host)
        if standing.waiting_since is None:
            standing.waiting_since = now

    def ended(
        self, host: str, outcome_class: OutcomeClass, duration_s: float, now: float, *, more_in_flight: bool
    ) -> None:
        """An attempt ended."""
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
        """Nothing is in flight to it, whatever came of that."""
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
        """Whether one attempt more may well take long."""
        standing = self._known.get(host)
        if standing is None or not standing.prompt:
            return True
        return standing.waiting_since is not None and now - standing.waiting_since > self._prompt_s

    def holds_up(self, host: str, now: float) -> bool:
        """Whether it has shown that it takes long: what waits for it waits because of it. A new one has shown
        nothing yet."""
        standing = self._known.get(host)
        if standing is None:
            return False
        if standing.waiting_since is not None and now - standing.waiting_since > self._prompt_s:
            return True
        return standing.timeouts > 0 or (standing.heard and not standing.prompt)

    @property
    def slow(self) -> int:
        """How many hosts are slow."""
        return sum(standing.timeouts >= self._slow_after for standing in self._known.values())

    def _of(self, host: str) -> _Standing:
        """A host that has not been used for longest is forgotten for a new one: it is in doubt then, no more."""
        standing = self._known.get(host)
        if standing is None:
            standing = self._known[host] = _Standing()
            if len(self._known) > REMEMBERED_HOSTS:
                self._known.popitem(last=False)
        else:
            self._known.move_to_end(host)
        return standing
