"""`/dashboard/api/{org_id}/events`: server-sent events with the changes of the organization (`stream`)."""

from collections.abc import Sequence
from typing import Final

from aiohttp import web
from attrs import define

from checklist_crds.errors import RateLimited, ServiceUnavailable, SignInRequired
from checklist_crds.resources.organization import Role

from ...auth.gate import Caller
from ...cluster.guard import GuardedKubeClient
from ...http.middleware import frame_headers
from ...metrics import Metrics
from ...organizations.directory import Organization, OrganizationDirectory
from ..access import DashboardGate, role_of
from ..sessions.store import Session
from ..table import Route
from .changes import Sight
from .hub import LiveHub, Viewer
from .stream import HEADERS, LiveStream

STREAMS_OF_A_SESSION: Final = 12
"""A browser has one for all its tabs, where it can share; a tab that was left counts until its line is known closed."""
STREAMS_OF_A_PROCESS: Final = 2_000
_AGAIN_S: Final = 10


@define(eq=False, repr=False, slots=False)
class EventRoutes:
    _live: LiveHub
    _gate: DashboardGate
    _organizations: OrganizationDirectory
    _client: GuardedKubeClient
    _metrics: Metrics

    def routes(self) -> Sequence[Route]:
        return (Route("GET", "/events", Role.VIEWER, self.stream),)

    async def stream(self, request: web.Request, caller: Caller) -> web.StreamResponse:
        """Server-sent events, from `Last-Event-ID` (or `?last_event_id=`) on. 429 and 503 with Retry-After when there
        are too many streams already."""
        session = await self._gate.session_of(request)
        if session is None:
            raise SignInRequired()
        transport = request.transport
        if transport is None:
            raise ConnectionResetError
        self._require_room(session)
        viewer = Viewer(
            sight=_sight(caller.organization, role_of(caller)),
            session=session.sha256,
            subject=session.subject,
            is_open=lambda: not transport.is_closing(),
        )
        # A browser sends the header by itself; the query is for a stream that a page opens anew.
        last_event_id = request.headers.get("Last-Event-ID") or request.query.get("last_event_id", "")
        response = web.StreamResponse(headers=HEADERS)
        response.force_close()
        frame_headers(request, response)
        with self._live.watching(caller.organization.name, viewer) as channel:
            viewer.revalidate()  # for whatever changed before it was registered
            self._metrics.live_viewers.inc()
            reason = "gone"
            try:
                await response.prepare(request)
                stream = LiveStream(
                    response, transport, viewer, channel, lambda: self._why_not(request, caller, viewer)
                )
                reason = await stream.send(last_event_id)
            finally:
                self._metrics.live_viewers.dec()
                self._metrics.live_ended.labels(reason).inc()
        return response

    def _require_room(self, session: Session) -> None:
        """Raises RateLimited, ServiceUnavailable."""
        viewers = list(self._live.viewers())
        if self._live.closing or len(viewers) >= STREAMS_OF_A_PROCESS:
            raise ServiceUnavailable("Too many pages follow changes at the moment.", retry_after_s=_AGAIN_S)
        if sum(viewer.session == session.sha256 for viewer in viewers) >= STREAMS_OF_A_SESSION:
            raise RateLimited(_AGAIN_S)

    async def _why_not(self, request: web.Request, caller: Caller, viewer: Viewer) -> str | None:
        """Why the stream has to end. Raises KubeError."""
        self._client.require_up()
        session = await self._gate.session_of(request)
        if session is None:
            return "session"
        organization = await self._organizations.find(caller.organization.name)
        if organization is None or organization.restoring:
            return "access"
        member = await self._gate.membership(session, organization)
        if member is None or viewer.sight != _sight(organization, member.role):
            return "access"
        return None


def _sight(organization: Organization, role: Role) -> Sight:
    return Sight(organization.namespaces, role is Role.ADMIN)
