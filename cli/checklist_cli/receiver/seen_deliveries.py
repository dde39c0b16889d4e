"""What a receiver has to remember: events that it took, and transmissions that it saw."""

from collections import OrderedDict
from enum import StrEnum
from typing import Final

_EVENTS: Final = 100_000
_NONCES: Final = 100_000


class Novelty(StrEnum):
    """NEW: to be worked on. DUPLICATE: an event that was taken before, sent once more by the service. REPLAYED: this
    very transmission came before, which the service never does: somebody repeats what they recorded."""

    NEW = "new"
    DUPLICATE = "duplicate"
    REPLAYED = "replayed"


class SeenDeliveries:
    """Bounded: the oldest are forgotten. Nonces are needed only while their signature holds."""

    def __init__(self, *, events: int = _EVENTS, nonces: int = _NONCES) -> None:
        self._taken: OrderedDict[str, None] = OrderedDict()
        self._nonces: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._most_events, self._most_nonces = events, nonces

    def meet(self, key_id: str, nonce: str, event_id: str) -> Novelty:
        """A genuine transmission came."""
        mark = (key_id, nonce)
        if mark in self._nonces:
            return Novelty.REPLAYED
        self._nonces[mark] = None
        if len(self._nonces) > self._most_nonces:
            self._nonces.popitem(last=False)
        return Novelty.DUPLICATE if event_id in self._taken else Novelty.NEW

    def take(self, event_id: str) -> None:
        """The event is stored: a later transmission of it is a duplicate."""
        self._taken[event_id] = None
        if len(self._taken) > self._most_events:
            self._taken.popitem(last=False)
