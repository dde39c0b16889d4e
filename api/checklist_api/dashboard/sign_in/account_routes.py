"""`/dashboard/api/account/password`: sets the password of the signed-in local account."""

from typing import Final

from aiohttp import web

from checklist_crds.errors import Forbidden, Problem, SignInRequired, ValidationFailed
from checklist_crds.kube.client import retry_conflicts
from checklist_crds.resources.account import SignInMethod
from checklist_crds.secrets.account_links import LOCAL_ISSUER
from checklist_crds.times import Clock

from ..access import DashboardGate, SignedIn, set_session_cookie
from ..sessions.routes import session_response
from ..sessions.store import Session, SessionStore
from .accounts import FRESH_LINK, LocalAccount
from .flow import Identity, SignIn
from .routes import strings

_CURRENT: Final = "current_password"
_NEW: Final = "new_password"


class AccountRoutes:
    def __init__(self, gate: DashboardGate, sessions: SessionStore, sign_in: SignIn, clock: Clock) -> None:
        self._gate = gate
        self._sessions = sessions
        self._sign_in = sign_in
        self._clock = clock

    def add_to(self, router: web.UrlDispatcher) -> None:
        router.add_post("/dashboard/api/account/password", self._gate.signed_in(self.set_password))

    async def set_password(self, request: web.Request, who: SignedIn) -> web.Response:
        """`{current_password?, new_password}` -> 200 with the body of `GET session` and a new cookie.

        Ends all other sessions of the person. The current password is not required if there is none, or shortly after
        a sign-in by link (password reset).
        """
        session, sign_in = who.session, self._sign_in
        if session.issuer != LOCAL_ISSUER:
            raise Forbidden("Change your password at your identity provider.")
        body = await strings(request, _NEW)
        account = await self._account(session)
        await sign_in.throttle.count_account(request, account.name)
        if account.has_password and not self._is_password_reset(session):
            given = body.get(_CURRENT)
            if not isinstance(given, str) or not await sign_in.accounts.is_password(account, given):
                raise ValidationFailed(details=[Problem(_CURRENT, "wrong", "This is not your current password.")])
        spec = account.spec
        problems = await sign_in.passwords.problems(body[_NEW], own=(spec.email, spec.name), path=_NEW)
        if problems:
            raise ValidationFailed(details=problems)

        await sign_in.audit.password_set(request, session)

        since = self._clock()

        async def attempt() -> LocalAccount:
            return await sign_in.accounts.set_password(await self._account(session), body[_NEW])

        account = await retry_conflicts(attempt)
        for other in await self._sessions.of_person(session.person, self._clock()):
            if other.sha256 != session.sha256:
                await self._sessions.end(other.sha256)
        identity = Identity.of_account(account)
        fresh, secret = await sign_in.begin(request, identity, SignInMethod.PASSWORD, since=since)
        response = session_response(self._gate, SignedIn(fresh, who.memberships))
        set_session_cookie(response, secret)
        return response

    def _is_password_reset(self, session: Session) -> bool:
        return session.method is SignInMethod.LINK and self._clock() - session.created_at < FRESH_LINK

    async def _account(self, session: Session) -> LocalAccount:
        accounts = self._sign_in.accounts
        account = await accounts.get(session.subject)
        if account is None or not await accounts.admits(session):
            raise SignInRequired()
        return account
