"""Keys that expire: looked up a moment ago, so that floods of wrong keys or ids do not reach the cluster, nor of right
ones while no watch keeps their copy fresh.
"""

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Final

_REMEMBERED: Final = 10_000


class ExpiringSet:
    """Remembers for `seconds`, and not more than a bounded number."""

    def __init__(self, seconds: float = 1.0, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._monotonic = monotonic
        self._since: OrderedDict[Hashable, float] = OrderedDict()

    def add(self, subject: Hashable) -> None:
        self._since[subject] = self._monotonic()
        self._since.move_to_end(subject)
        while len(self._since) > _REMEMBERED:
            self._since.popitem(last=False)

    def discard(self, subject: Hashable) -> None:
        self._since.pop(subject, None)

    def __contains__(self, subject: Hashable) -> bool:
        since = self._since.get(subject)
        if since is None:
            return False
        if self._monotonic() - since > self._seconds:
            del self._since[subject]
            return False
        return True
