"""Authenticates requests (specification, "Authentication") and applies rate limits (contract section 8).

All refusals are the same 401: missing, malformed, unknown, revoked and orphaned keys are indistinguishable. Requests
with a known key count for the key; all others count for their address, before any lookup.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from aiohttp import web
from attrs import define

from checklist_crds.errors import RateLimited, Unauthorized
from checklist_crds.secrets import api_keys
from checklist_crds.secrets.digest import digest
from checklist_crds.times import Clock

from ..cluster.call_queue import charge_to
from ..cluster.guard import GuardedKubeClient
from ..http.addresses import rate_limit_address
from ..http.rate_limit import RateLimiter
from ..metrics import Metrics
from ..organizations.directory import Organization, OrganizationDirectory
from ..settings.rates import Rate, Rates
from .keys import ApiKey, KeyDirectory
from .members import Member


@dataclass(frozen=True, slots=True)
class Caller:
    """An organization and who acts for it: the bearer of a key, or a member in the dashboard."""

    organization: Organization
    actor: ApiKey | Member


OwnerHandler = Callable[[web.Request, Caller], Awaitable[web.StreamResponse]]
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@define(kw_only=True, eq=False, repr=False, slots=False)
class Gate:
    """Guards routes: `owner` requires a key, `public` does not; both are rate limited."""

    _rates: Rates
    _trusted_proxies: int
    _client: GuardedKubeClient
    _keys: KeyDirectory
    _organizations: OrganizationDirectory
    _limiter: RateLimiter
    _metrics: Metrics
    _clock: Clock

    def owner(self, handler: OwnerHandler) -> Handler:
        """Guard a route for bearers of an API key."""

        async def guarded(request: web.Request) -> web.StreamResponse:
            return await handler(request, await self.authenticate(request))

        return guarded

    def public(self, handler: Handler) -> Handler:
        """Guard a route without an API key; rate limited by address."""

        async def guarded(request: web.Request) -> web.StreamResponse:
            await self.count_address(request)
            return await handler(request)

        return guarded

    async def authenticate(self, request: web.Request) -> Caller:
        """Raises RateLimited, Unauthorized, KubeError, and ServiceUnavailable while a backup is being restored."""
        token = _bearer_token(request)
        sha256 = digest(token) if token is not None else None
        key = self._keys.known(sha256) if sha256 is not None else None
        if key is None:
            await self.count_address(request)
            key = await self._keys.find(sha256) if sha256 is not None else None
        organization = await self._organizations.get(key.organization) if key is not None else None
        if key is None or organization is None or not organization.has(key.namespace):
            if sha256 is not None:
                self._organizations.require_none_restoring()
            raise Unauthorized(headers={"WWW-Authenticate": "Bearer"})
        charge_to(organization.name)
        await self._count(f"key:{key.sha256}", organization.rate or self._rates.key)
        # While the cluster is down, revocations cannot be detected.
        self._client.require_up()
        self._keys.note_use(key, self._clock())
        return Caller(organization, key)

    async def reauthorize(self, caller: Caller) -> Organization:
        """Check the API key of an authenticated caller again; returns its current organization. Not rate limited.

        Raises Unauthorized if the key was revoked, KubeError, and ServiceUnavailable like `authenticate`.
        """
        key = await self._keys.find(caller.actor.sha256) if isinstance(caller.actor, ApiKey) else None
        organization = await self._organizations.get(caller.organization.name) if key is not None else None
        if key is None or organization is None or key.organization != organization.name:
            raise Unauthorized(headers={"WWW-Authenticate": "Bearer"})
        self._client.require_up()
        return organization

    async def count(self, subject: str, organization: Organization | None = None) -> None:
        """Count a request of `subject` against the rate of a key. Raises RateLimited."""
        own = organization.rate if organization is not None else None
        await self._count(subject, own or self._rates.key)

    async def count_address(self, request: web.Request) -> None:
        """Count a request against the rate of its address. Raises RateLimited."""
        address = rate_limit_address(request, self._trusted_proxies)
        await self._count(f"address:{address}", self._rates.address)

    async def count_run(self, run_id: str, count: int = 1) -> None:
        """Count requests against the rate of a run. Raises RateLimited."""
        await self._count(f"run:{run_id}", self._rates.run, count)

    async def _count(self, subject: str, rate: Rate | None, count: int = 1) -> None:
        if rate is None:
            return
        wait_s = await self._limiter.wait_for(subject, rate, count)
        if wait_s > 0:
            self._metrics.rate_limited.inc()
            raise RateLimited(wait_s)


def _bearer_token(request: web.Request) -> str | None:
    """Return the bearer token if it is a well-formed key."""
    given = request.headers.getall("Authorization", [])
    if len(given) != 1:
        return None
    scheme, _, token = given[0].partition(" ")
    if scheme.lower() != "bearer" or not api_keys.is_well_formed(token):
        return None
    return token
