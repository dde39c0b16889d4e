"""The receivers of a scene: one address per behaviour, so that none slows down another.

The operator limits by host; Linux has enough loopback addresses, elsewhere all behaviours share one.
"""

import sys
from itertools import cycle

from checklist_dev.perf.load.rig import Rig

_SHARED = ("ok", "flaky", "late", "twice", "dead", "dribble")
_OF_SLOW_ONES = 12


class Receivers:
    """One receiver process at many addresses."""

    def __init__(self, rig: Rig, *, seed: int) -> None:
        many = sys.platform == "linux"
        self._hosts = {name: f"127.0.0.{number}" if many else "127.0.0.1" for number, name in enumerate(_SHARED, 1)}
        slow = [f"127.0.0.{20 + number}" if many else "127.0.0.1" for number in range(_OF_SLOW_ONES)]
        self._slow = cycle(slow)
        self._port = rig.start_receiver(hosts=sorted({*self._hosts.values(), *slow}), seed=seed)

    def url_for(self, behaviour: str) -> str:
        """A canonical URL; for `refused`, one without a listener."""
        if behaviour == "refused":
            return "http://127.0.0.1:1/hook"
        host = self._hosts.get(behaviour) or next(self._slow)
        return f"http://{host}:{self._port}/{behaviour}/hook"
