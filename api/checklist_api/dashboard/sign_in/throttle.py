"""Rate limits of signing in.

Three counts: one account from one address, which stops guessing; one account from anywhere, ten times as much, which
stops guessing from many places and still leaves room for the person while somebody else guesses; one address, ten
times as much, which stops trying one password on many accounts. A one-time link is counted by its address alone, so
that nobody can keep a person out for good: an administrator makes a link.
"""

from typing import Final

from aiohttp import web

from checklist_crds.errors import RateLimited
from checklist_crds.secrets.digest import digest

from ...http.addresses import client_address
from ...http.rate_limit import RateLimiter
from ...metrics import Metrics
from ...settings.rates import Rate

_WIDE: Final = 10
_OF_NO_USE_AFTER_S: Final = 3600.0


class SignInThrottle:
    """All methods but `is_first` raise RateLimited."""

    def __init__(self, limiter: RateLimiter, rate: Rate | None, *, trusted_proxies: int, metrics: Metrics) -> None:
        self._limiter = limiter
        self._rate = rate
        self._wide = Rate(rate.per_second * _WIDE, rate.burst * _WIDE) if rate else None
        self._trusted_proxies = trusted_proxies
        self._metrics = metrics

    async def count_address(self, request: web.Request) -> None:
        await self._count(f"sign-in:address:{self._address(request)}", self._wide)

    async def count_account(self, request: web.Request, account: str) -> None:
        """`account`: a name that may not exist; unknown ones are counted all the same."""
        await self._count(f"sign-in:pair:{account}:{self._address(request)}", self._rate)
        await self._count(f"sign-in:account:{account}", self._wide)

    async def is_first(self, secret: str) -> bool:
        """Whether `secret`, which is of no use after ten minutes, is seen for the first time."""
        subject = "sign-in:once:" + digest(secret)
        return await self._limiter.is_first(subject, _OF_NO_USE_AFTER_S)

    async def _count(self, subject: str, rate: Rate | None) -> None:
        if rate is None:
            return
        wait_s = await self._limiter.wait_for(subject, rate)
        if wait_s > 0:
            self._metrics.rate_limited.inc()
            raise RateLimited(wait_s)

    def _address(self, request: web.Request) -> str:
        return client_address(request, self._trusted_proxies)
