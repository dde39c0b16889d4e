"""Rate limits of sign-ins.

Three limits: one account from one address (guessing); one account from all addresses, ten times as high (distributed
guessing, without locking the person out at once); one address, ten times as high (password spraying). One-time links
are limited by address only, so that an attacker cannot lock a person out: an administrator can create a link.
"""

from typing import Final

from aiohttp import web

from checklist_crds.errors import RateLimited
from checklist_crds.secrets.digest import digest

from ...http.addresses import rate_limit_address
from ...http.rate_limit import RateLimiter
from ...metrics import Metrics
from ...settings.rates import Rate

_WIDE_FACTOR: Final = 10
_ONCE_TTL_S: Final = 3600.0


class SignInThrottle:
    """All methods but `is_first` raise RateLimited."""

    def __init__(self, limiter: RateLimiter, rate: Rate | None, *, trusted_proxies: int, metrics: Metrics) -> None:
        self._limiter = limiter
        self._rate = rate
        self._wide = Rate(rate.per_second * _WIDE_FACTOR, rate.burst * _WIDE_FACTOR) if rate else None
        self._trusted_proxies = trusted_proxies
        self._metrics = metrics

    async def count_address(self, request: web.Request) -> None:
        await self._count(f"sign-in:address:{self._address(request)}", self._wide)

    async def count_account(self, request: web.Request, account: str) -> None:
        """Count a sign-in to `account`, which need not exist."""
        await self._count(f"sign-in:pair:{account}:{self._address(request)}", self._rate)
        await self._count(f"sign-in:account:{account}", self._wide)

    async def is_first(self, secret: str) -> bool:
        """Whether `secret`, which is valid for ten minutes, is used for the first time."""
        subject = "sign-in:once:" + digest(secret)
        return await self._limiter.is_first(subject, _ONCE_TTL_S)

    async def _count(self, subject: str, rate: Rate | None) -> None:
        if rate is None:
            return
        wait_s = await self._limiter.wait_for(subject, rate)
        if wait_s > 0:
            self._metrics.rate_limited.inc()
            raise RateLimited(wait_s)

    def _address(self, request: web.Request) -> str:
        return rate_limit_address(request, self._trusted_proxies)
