"""Rate limits (contract section 8): the generic cell rate algorithm.

GCRA stores one number per subject, the *theoretical arrival time* of the next request at the sustained rate. A request
that is at most `burst` intervals early is admitted. It is exact, needs no timer, and fits in a small Redis script for
limits shared between processes (`redis_rate_limit`).
"""

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final, Protocol

from ..settings.rates import Rate

_SUBJECTS: Final = 100_000


class RateLimiter(Protocol):
    """Limits requests of subjects."""

    async def wait_for(self, subject: str, rate: Rate, count: int = 1) -> float:
        """Count `count` requests at once, capped at the burst. Returns 0.0 if admitted, else the seconds to wait; then
        none is counted."""
        ...

    async def is_first(self, secret: str, within_s: float) -> bool:
        """Whether `secret` is used for the first time. It is remembered for `within_s` seconds."""
        ...


class LocalRateLimiter:
    """Limits of this process. Least recently used subjects are dropped, which bounds memory."""

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
