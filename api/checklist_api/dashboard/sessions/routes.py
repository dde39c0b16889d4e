"""`/dashboard/api/session`: the signed-in person and their organizations; `/dashboard/api/sessions`: all sessions."""

from typing import TYPE_CHECKING, Any

from aiohttp import web

from checklist_crds.errors import NotFound
from checklist_crds.times import Clock, format_timestamp

from ...http.json_body import json_response
from ..access import DashboardGate, SignedIn, clear_session_cookie
from ..oidc.routes import sign_out_address
from ..sign_in.flow import SignIn
from .store import Session, SessionStore, object_name

if TYPE_CHECKING:
    from ..oidc.flow import Oidc


class SessionRoutes:
    def __init__(
        self, gate: DashboardGate, sessions: SessionStore, sign_in: SignIn, oidc: "Oidc | None", clock: Clock
    ) -> None:
        self._gate = gate
        self._sessions = sessions
        self._sign_in = sign_in
        self._oidc = oidc
        self._clock = clock

    def add_to(self, router: web.UrlDispatcher) -> None:
        signed_in = self._gate.signed_in
        router.add_get("/dashboard/api/session", signed_in(self.show))
        router.add_delete("/dashboard/api/session", signed_in(self.end))
        router.add_get("/dashboard/api/sessions", signed_in(self.list_all))
        router.add_delete("/dashboard/api/sessions", signed_in(self.end_all))
        router.add_delete("/dashboard/api/sessions/{session_id}", signed_in(self.end_one))

    async def show(self, _: web.Request, who: SignedIn) -> web.Response:
        await self._sign_in.bind_new_members(who.session)
        memberships = await self._gate.memberships(who.session)
        return session_response(self._gate, SignedIn(who.session, memberships))

    async def end(self, request: web.Request, who: SignedIn) -> web.Response:
        """Sign out: end the session in all replicas.

        204, or 200 `{continue_at}` with the identity provider's logout URL.
        """
        await self._sign_in.audit.sessions_ended(request, who.session, 1)
        await self._sessions.end(who.session.sha256)
        onward = await sign_out_address(self._oidc, self._sign_in, who.session)
        response = web.Response(status=204) if onward is None else json_response({"continue_at": onward})
        clear_session_cookie(response)
        return response

    async def list_all(self, _: web.Request, who: SignedIn) -> web.Response:
        """`{sessions: [{id, current, method, client, created_at, last_seen_at, expires_at}]}`, newest first."""
        own = who.session.sha256
        return json_response({"sessions": [_row(session, own) for session in await self._of(who)]})

    async def end_one(self, request: web.Request, who: SignedIn) -> web.Response:
        """204; 404 if the person has no such session."""
        for session in await self._of(who):
            if object_name(session.sha256) == request.match_info["session_id"]:
                await self._sign_in.audit.sessions_ended(request, who.session, 1)
                await self._sessions.end(session.sha256)
                response = web.Response(status=204)
                if session.sha256 == who.session.sha256:
                    clear_session_cookie(response)
                return response
        raise NotFound("Session not found.")

    async def end_all(self, request: web.Request, who: SignedIn) -> web.Response:
        """Sign out everywhere, or with `?keep_current=true` everywhere else. 204."""
        keep = request.query.get("keep_current") == "true"
        ending = [each for each in await self._of(who) if not keep or each.sha256 != who.session.sha256]
        if ending:
            await self._sign_in.audit.sessions_ended(request, who.session, len(ending))
        for session in ending:
            await self._sessions.end(session.sha256)
        response = web.Response(status=204)
        if not keep:
            clear_session_cookie(response)
        return response

    async def _of(self, who: SignedIn) -> list[Session]:
        return await self._sessions.of_person(who.session.person, self._clock())


def session_response(gate: DashboardGate, who: SignedIn) -> web.Response:
    session = who.session
    return json_response(
        {
            "name": session.name,
            "email": session.email,
            "method": session.method.value,
            "expires_at": format_timestamp(session.expires_at),
            "csrf_token": gate.csrf_token(session),
            "organizations": [
                {
                    "id": organization.id,
                    "name": organization.display_name,
                    "role": member.role.value,
                    "member_id": member.id,
                }
                for organization, member in who.memberships
            ],
        }
    )


def _row(session: Session, own: str) -> dict[str, Any]:
    seen = session.last_seen_at or session.created_at
    return {
        "id": object_name(session.sha256),
        "current": session.sha256 == own,
        "method": session.method.value,
        "client": session.client,
        "created_at": format_timestamp(session.created_at),
        "last_seen_at": format_timestamp(seen),
        "expires_at": format_timestamp(session.expires_at),
    }
