"""Detects duplicate events and copied transmissions."""

from collections import OrderedDict
from enum import StrEnum
from typing import Final

_EVENTS: Final = 100_000
_NONCES: Final = 100_000


class Novelty(StrEnum):
    """NEW: process it. DUPLICATE: the service sent an accepted event again. COPIED: an exact copy of a transmission,
    which the service never sends: a recording was repeated."""

    NEW = "new"
    DUPLICATE = "duplicate"
    COPIED = "replayed"


class SeenDeliveries:
    """Bounded: the oldest entries are dropped. Nonces are needed only while their signature is valid."""

    def __init__(self, *, events: int = _EVENTS, nonces: int = _NONCES) -> None:
        self._taken: OrderedDict[str, None] = OrderedDict()
        self._nonces: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._most_events, self._most_nonces = events, nonces

    def meet(self, key_id: str, nonce: str, event_id: str) -> Novelty:
        """Record a genuine transmission."""
        mark = (key_id, nonce)
        if mark in self._nonces:
            return Novelty.COPIED
        self._nonces[mark] = None
        if len(self._nonces) > self._most_nonces:
            self._nonces.popitem(last=False)
        return Novelty.DUPLICATE if event_id in self._taken else Novelty.NEW

    def take(self, event_id: str) -> None:
        """Record an accepted event: later transmissions of it are duplicates."""
        self._taken[event_id] = None
        if len(self._taken) > self._most_events:
            self._taken.popitem(last=False)
