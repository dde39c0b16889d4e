"""Rate limits (contract section 8): the generic cell rate algorithm.

GCRA keeps one number per subject, the *theoretical arrival time* of the next request at the sustained rate. A request
that is at most `burst` intervals early is admitted. That is exact, needs no timer, and is one small script in Redis
when several processes share the limits (`redis_rate_limit`).
"""

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final, Protocol

from ..settings.rates import Rate

_SUBJECTS: Final = 100_000


class RateLimiter(Protocol):
    """Counts requests of subjects."""

    async def wait_for(self, subject: str, rate: Rate, count: int = 1) -> float:
        """Count `count` requests of `subject` together; more than the burst count as the burst, or they would never be
        admitted. 0.0: admitted; else seconds until they would be, and none is counted."""
        ...

    async def is_first(self, secret: str, within_s: float) -> bool:
        """Whether `secret` is shown for the first time; it is of no use any more after `within_s` seconds."""
        ...


class LocalRateLimiter:
    """Limits of this process alone. Forgets subjects that have long been quiet, so its memory is bounded."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._arrivals: OrderedDict[str, float] = OrderedDict()

    async def wait_for(self, subject: str, rate: Rate, count: int = 1) -> float:
        now = self._monotonic()
        interval, count = 1 / rate.per_second, min(count, rate.burst)
        arrival = max(self._arrivals.get(subject, now), now)
        early = arrival - now - (rate.burst - count) * interval
        if early > 1e-9:
            return early
        self._arrivals[subject] = arrival + count * interval
        self._arrivals.move_to_end(subject)
        if len(self._arrivals) > _SUBJECTS:
            self._arrivals.popitem(last=False)
        return 0.0

    async def is_first(self, secret: str, within_s: float) -> bool:
        return await self.wait_for(secret, Rate(1 / within_s, 1)) <= 0
