"""How many requests a key or an address may make (contract section 8): the generic cell rate algorithm.

GCRA keeps one number per subject, the *theoretical arrival time* of the next request at the sustained rate. A request
that is at most `burst` intervals early is admitted. That is exact, needs no timer, and is one small script in Redis
when several processes share the limits (`redis_rate_limit`).
"""

import ipaddress
import math
import re
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

from aiohttp import web

_FORM: Final = re.compile(r"(?P<rate>\d+(?:\.\d+)?)\s*/\s*(?P<unit>s|min|h)(?:\s+burst\s+(?P<burst>\d+))?")
_UNITS: Final = {"s": 1, "min": 60, "h": 3600}
_SUBJECTS: Final = 100_000


@dataclass(frozen=True, slots=True)
class Rate:
    """`per_second` sustained, `burst` at once."""

    per_second: float
    burst: int

    @classmethod
    def parse(cls, text: str) -> "Rate | None":
        """From `100/s burst 200`, `30/min`, or `off` (None). Raises ValueError."""
        text = text.strip().lower()
        if text == "off":
            return None
        match = _FORM.fullmatch(text)
        if match is None or float(match["rate"]) <= 0:
            raise ValueError(f'must be like "100/s burst 200", or "off", not {text!r}')
        per_second = float(match["rate"]) / _UNITS[match["unit"]]
        burst = int(match["burst"]) if match["burst"] else math.ceil(float(match["rate"]))
        if burst < 1:
            raise ValueError("the burst must be at least 1")
        return cls(per_second, burst)


DEFAULT_RATE: Final = Rate(100, 200)
DEFAULT_RUN_RATE: Final = Rate(50, 300)


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


def client_address(request: web.BaseRequest, trusted_proxies: int) -> str:
    """The address that a request counts for. IPv6 counts by /64, since that is what one customer is given."""
    address = remote_address(request, trusted_proxies)
    if ":" not in address:
        return address
    try:
        v6 = ipaddress.IPv6Address(address.partition("%")[0])
    except ValueError:
        return address
    return str(v6.ipv4_mapped or ipaddress.IPv6Network((v6, 64), strict=False).network_address)


def remote_address(request: web.BaseRequest, trusted_proxies: int) -> str:
    """The address that a request comes from; empty when nobody can tell.

    X-Forwarded-For is believed only as far as our own proxies wrote it: `trusted_proxies` entries from the right.
    """
    address = request.remote or ""
    if trusted_proxies:
        written = [part.strip() for value in request.headers.getall("X-Forwarded-For", ()) for part in value.split(",")]
        if len(written) >= trusted_proxies:
            address = written[-trusted_proxies]
    return address
