"""Authorizes requests of the dashboard by session and role.

Checks in this order: rate limit (429), session (401 `sign_in_required`), CSRF protection of writes (403
`request_forged`), membership (404, identical to that of an organization that does not exist), role (403 `forbidden`).
Roles are read from the cluster's members at each request, so a revoked role needs no new session.
"""

import hashlib
import hmac
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from aiohttp import web
from attrs import Factory, define, field

from checklist_crds.errors import Forbidden, NotFound, RequestForged, SignInRequired
from checklist_crds.resources.organization import Role
from checklist_crds.secrets.digest import digest
from checklist_crds.secrets.sealing import ServerKeys
from checklist_crds.times import Clock

from ..auth.gate import Caller, Gate, Handler, OwnerHandler
from ..auth.members import Member, MemberDirectory
from ..cluster.call_queue import charge_to
from ..cluster.guard import GuardedKubeClient
from ..organizations.directory import Organization, OrganizationDirectory, require_not_restoring
from .sessions.store import Session, SessionStore
from .sign_in.accounts import LOCAL_ISSUER, LocalAccounts

COOKIE: Final = "__Host-checklists-session"
CSRF_HEADER: Final = "X-CSRF-Token"
ORGANIZATION: Final = "org_id"
"""Path parameter with the id of the organization."""
_RANKS: Final = {Role.VIEWER: 0, Role.EDITOR: 1, Role.ADMIN: 2}
_SAFE_METHODS: Final = frozenset({"GET", "HEAD"})


@dataclass(frozen=True, slots=True)
class SignedIn:
    """A signed-in person with their memberships."""

    session: Session
    memberships: tuple[tuple[Organization, Member], ...]


SignedInHandler = Callable[[web.Request, SignedIn], Awaitable[web.StreamResponse]]


@define(kw_only=True, eq=False, repr=False, slots=False)
class DashboardGate:
    """Guards routes of the dashboard: `signed_in` requires a session, `member` a role in the organization.

    `local_accounts`: whether sessions of local accounts are valid.
    """

    _server_keys: ServerKeys
    _base_url: str
    _local_accounts: bool
    _client: GuardedKubeClient
    _gate: Gate
    _sessions: SessionStore
    _accounts: LocalAccounts
    _members: MemberDirectory
    _organizations: OrganizationDirectory
    _clock: Clock
    _origin: str = field(
        default=Factory(lambda self: "{0.scheme}://{0.netloc}".format(urlsplit(self._base_url)), takes_self=True),
        init=False,
    )

    def signed_in(self, handler: SignedInHandler) -> Handler:
        """Guards a route for every session."""

        async def guarded(request: web.Request) -> web.StreamResponse:
            session = await self.require_session(request)
            self._require_own_page(request, session)
            return await handler(request, SignedIn(session, await self.memberships(session)))

        return guarded

    def member(self, role: Role, handler: OwnerHandler) -> Handler:
        """Guards a route of an organization for members with `role` or a higher one."""

        async def guarded(request: web.Request) -> web.StreamResponse:
            session = await self.require_session(request)
            self._require_own_page(request, session)
            caller = await self._caller(request, session)
            if _RANKS[role_of(caller)] < _RANKS[role]:
                raise Forbidden(f"This needs the role {role.value}.")
            return await handler(request, caller)

        return guarded

    async def require_session(self, request: web.Request) -> Session:
        """Return the session of the request. Raises RateLimited, SignInRequired, KubeError."""
        session = await self.session_of(request)
        if session is None:
            await self._gate.count_address(request)
            raise SignInRequired(headers={"WWW-Authenticate": "Cookie"})
        await self._gate.count(f"session:{session.sha256}")
        # While the cluster is down, ended sessions and revoked roles cannot be detected.
        self._client.require_up()
        self._sessions.note_use(session, self._clock())
        return session

    async def session_of(self, request: web.Request) -> Session | None:
        """Return the session of the request's cookie if it is valid; not rate limited. Raises KubeError."""
        secret = cookie_of(request)
        session = None if secret is None else await self._sessions.get(digest(secret), self._clock())
        if session is None or session.issuer != LOCAL_ISSUER:
            return session
        # Disabling or removing an account ends its sessions, and so does disabling local accounts.
        allowed = self._local_accounts and await self._accounts.admits(session)
        return session if allowed else None

    async def memberships(self, session: Session) -> tuple[tuple[Organization, Member], ...]:
        """Return the person's memberships, sorted by the organizations' names. Raises KubeError."""
        found: dict[str, tuple[Organization, Member]] = {}
        for member in self._members.of_person(session.person):
            now = await self._members.current(member)
            organization = await self._organizations.find(member.organization)
            if now is None or now.person != session.person or organization is None:
                continue
            if organization.has(now.namespace):
                known = found.get(organization.name)
                if known is None or _RANKS[known[1].role] < _RANKS[now.role]:
                    found[organization.name] = (organization, now)
        return tuple(sorted(found.values(), key=lambda pair: (pair[0].display_name, pair[0].name)))

    async def membership(self, session: Session, organization: Organization) -> Member | None:
        """Return the person's membership in `organization`. Raises KubeError."""
        for own, member in await self.memberships(session):
            if own.name == organization.name:
                return member
        return None

    def csrf_token(self, session: Session) -> str:
        """The value that writes of this session must send in `X-CSRF-Token`."""
        return self._csrf_tokens(session)[0]

    def _csrf_tokens(self, session: Session) -> list[str]:
        """One token for each server key: open pages keep the token of a previous key."""
        message = f"csrf {session.sha256}".encode()
        return [hmac.new(key, message, hashlib.sha256).hexdigest() for key in self._server_keys.all]

    def require_own_page(self, request: web.Request) -> None:
        """Check that a request without a session (sign-in) comes from our own page. Raises RequestForged."""
        site, origin = request.headers.get("Sec-Fetch-Site"), request.headers.get("Origin")
        # Sec-Fetch-Site does not depend on the host name by which the service is reached.
        if site != "same-origin" if site is not None else origin not in (None, self._origin):
            raise RequestForged()

    def _require_own_page(self, request: web.Request, session: Session) -> None:
        if request.method in _SAFE_METHODS:
            return
        self.require_own_page(request)
        given = request.headers.get(CSRF_HEADER, "").encode()
        if not any(hmac.compare_digest(given, token.encode()) for token in self._csrf_tokens(session)):
            raise RequestForged()

    async def _caller(self, request: web.Request, session: Session) -> Caller:
        organization_id = request.match_info[ORGANIZATION]
        for organization, member in await self.memberships(session):
            if organization.id == organization_id:
                require_not_restoring(organization)
                charge_to(organization.name)
                return Caller(organization, member)
        raise NotFound()


def cookie_of(request: web.Request, cookie: str = COOKIE) -> str | None:
    """Return the value of `cookie`; None if it is sent twice, since another party then set one of the two."""
    found = [
        value.partition("=")[2].strip()
        for header in request.headers.getall("Cookie", [])
        for value in header.split(";")
        if value.partition("=")[0].strip() == cookie
    ]
    return found[0] if len(found) == 1 and found[0] else None


def set_session_cookie(response: web.StreamResponse, secret: str) -> None:
    """Set a cookie without Max-Age; the server enforces the expiry."""
    response.set_cookie(COOKIE, secret, path="/", secure=True, httponly=True, samesite="Lax")


def clear_session_cookie(response: web.StreamResponse) -> None:
    response.del_cookie(COOKIE, path="/", secure=True, httponly=True, samesite="Lax")


def role_of(caller: Caller) -> Role:
    if not isinstance(caller.actor, Member):
        raise TypeError("only members have roles")
    return caller.actor.role
