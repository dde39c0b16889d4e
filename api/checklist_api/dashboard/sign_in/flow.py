"""Completes sign-ins: creates the session and binds members with the e-mail address."""

import asyncio
import logging
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from aiohttp import web

from checklist_crds.errors import ServiceUnavailable
from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.errors import KubeError
from checklist_crds.resources.account import SignInMethod
from checklist_crds.secrets.account_links import LOCAL_ISSUER
from checklist_crds.secrets.digest import digest
from checklist_crds.secrets.sealing import KeyRing
from checklist_crds.times import Clock

from ...auth.members import MemberDirectory
from ...http.rate_limit import RateLimiter
from ...metrics import Metrics
from ...organizations.directory import OrganizationDirectory
from ...settings.sign_in import SignInSettings
from ..access import DashboardGate
from ..sessions.store import Session, SessionStore, new_secret, object_name
from .accounts import LocalAccount, LocalAccounts
from .binding import Binding
from .passwords import Passwords
from .person_audit import PersonAudit
from .throttle import SignInThrottle

logger = logging.getLogger(__name__)

MAX_SESSIONS: Final = 20
"""Per person; a further sign-in ends the oldest session."""
_LONGEST_ID_TOKEN: Final = 10_000
"""Longer tokens are not stored; the provider's logout then has no `id_token_hint`."""


@dataclass(frozen=True, slots=True)
class Identity:
    """An authenticated person. `organization`: the only one where the e-mail address is valid; None: everywhere."""

    issuer: str
    subject: str
    email: str
    email_verified: bool
    name: str
    organization: str | None = None

    @classmethod
    def of_account(cls, account: LocalAccount) -> "Identity":
        spec, organization = account.spec, account.organization
        return cls(LOCAL_ISSUER, account.name, spec.email, organization is None, spec.name, organization)


class SignIn:
    """Starts sessions. `accounts`, `passwords` and `throttle` are used by the routes."""

    def __init__(
        self,
        *,
        settings: SignInSettings,
        sealing: KeyRing,
        trusted_proxies: int,
        client: KubeClient,
        gate: DashboardGate,
        sessions: SessionStore,
        members: MemberDirectory,
        organizations: OrganizationDirectory,
        accounts: LocalAccounts,
        passwords: Passwords,
        limiter: RateLimiter,
        metrics: Metrics,
        audit: PersonAudit,
        clock: Clock,
    ) -> None:
        self.accounts = accounts
        self.audit = audit
        self.passwords = passwords
        self.throttle = SignInThrottle(limiter, settings.rate, trusted_proxies=trusted_proxies, metrics=metrics)
        self.settings = settings
        self._sealing = sealing
        self._gate = gate
        self._sessions = sessions
        self._binding = Binding(client, members, organizations, clock)
        self._clock = clock
        self._endings: set[asyncio.Task[None]] = set()
        accounts.on_closed = self._end_soon

    async def begin(
        self,
        request: web.Request,
        identity: Identity,
        method: SignInMethod,
        *,
        since: datetime | None = None,
        id_token: str | None = None,
    ) -> tuple[Session, str]:
        """Start a session for the browser and end its previous one; returns the session and its cookie's secret.

        `since`: creation time of the session, taken before the credentials were checked (None: now), so that a reset of
        the account in the meantime ends the session, too. Raises KubeError, ServiceUnavailable.
        """
        previous = await self._gate.session_of(request)
        secret, now = new_secret(), since or self._clock()
        sha256 = digest(secret)
        session = Session(
            sha256=sha256,
            issuer=identity.issuer,
            subject=identity.subject,
            email=identity.email,
            email_verified=identity.email_verified,
            name=identity.name,
            method=method,
            created_at=now,
            expires_at=now + self.settings.session_lifetime,
            client=_client(request),
            sealed_id_token=self._sealed(id_token, sha256),
        )
        if identity.email_verified or identity.organization is not None:
            await self._binding.bind(session.person, identity.email, organization=identity.organization)
        await self.audit.session_started(request, session)
        await self._sessions.create(session)
        if previous is not None:
            await self._sessions.end(previous.sha256)
        for oldest in (await self._sessions.of_person(session.person, now))[MAX_SESSIONS:]:
            await self._sessions.end(oldest.sha256)
        logger.info("sign_in.done", extra={"method": method.value, "session": object_name(sha256)})
        return session, secret

    async def require_sessions(self) -> None:
        """Fail if no session could be created. Raises ServiceUnavailable."""
        await self._sessions.require_up()

    async def bind_new_members(self, session: Session) -> None:
        """Bind members that were invited since the sign-in. Raises KubeError."""
        if session.email_verified:
            await self._binding.bind(session.person, session.email)

    def id_token_of(self, session: Session) -> str | None:
        """Return the ID token of the session's sign-in, if it was stored. Raises SealBroken."""
        sealed = session.sealed_id_token
        return None if sealed is None else self._sealing.open(sealed, owner=_owner(session.sha256))

    def _sealed(self, id_token: str | None, sha256: str) -> str | None:
        if id_token is None or len(id_token) > _LONGEST_ID_TOKEN:
            return None
        return self._sealing.seal(id_token, owner=_owner(sha256))

    def _end_soon(self, account: str) -> None:
        """Delete the account's invalid sessions, so that enabling the account again does not restore them."""
        task = asyncio.create_task(self._end_all_of(account))
        self._endings.add(task)
        task.add_done_callback(self._endings.discard)

    async def _end_all_of(self, account: str) -> None:
        for pause_s in (0.0, 1.0, 5.0, 30.0):
            await asyncio.sleep(pause_s)
            try:
                for session in await self._sessions.of_person((LOCAL_ISSUER, account), self._clock()):
                    if not await self.accounts.admits(session):
                        await self._sessions.end(session.sha256)
            except (KubeError, ServiceUnavailable) as error:
                logger.warning("sessions.not_ended", extra={"account": account, "reason": error.message})
            else:
                return

    def close(self) -> None:
        for task in self._endings:
            task.cancel()
        self.passwords.close()


def _owner(sha256: str) -> str:
    return f"session/{sha256}/id-token"


def _client(request: web.Request) -> str | None:
    client = "".join(char for char in request.headers.get("User-Agent", "") if char.isprintable())
    return client[:300] or None
