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
from .hub import LiveHub, Viewer
from .live_changes import Scope
from .stream import HEADERS, LiveStream

STREAMS_OF_A_SESSION: Final = 12
"""Tabs share one stream where the browser can; a closed tab counts until its disconnect is detected."""
STREAMS_OF_A_PROCESS: Final = 2_000
_RETRY_AFTER_S: Final = 10


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
        """Send events after `Last-Event-ID` (or `?last_event_id=`). 429 or 503 at the limits of streams."""
        session = await self._gate.session_of(request)
        if session is None:
            raise SignInRequired()
        transport = request.transport
        if transport is None:
            raise ConnectionResetError
        self._require_room(session)
        viewer = Viewer(
            scope=_scope(caller.organization, role_of(caller)),
            session=session.sha256,
            subject=session.subject,
            is_open=lambda: not transport.is_closing(),
        )
        # Browsers send the header on a reconnect; pages use the query when they open a new stream.
        last_event_id = request.headers.get("Last-Event-ID") or request.query.get("last_event_id", "")
        response = web.StreamResponse(headers=HEADERS)
        response.force_close()
        frame_headers(request, response)
        with self._live.watching(caller.organization.name, viewer) as channel:
            viewer.revalidate()  # for changes before it was registered
            self._metrics.live_viewers.inc()
            reason = "gone"
            try:
                await response.prepare(request)
                stream = LiveStream(
                    response, transport, viewer, channel, lambda: self._end_reason(request, caller, viewer)
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
            raise ServiceUnavailable("Too many event streams are open.", retry_after_s=_RETRY_AFTER_S)
        if sum(viewer.session == session.sha256 for viewer in viewers) >= STREAMS_OF_A_SESSION:
            raise RateLimited(_RETRY_AFTER_S)

    async def _end_reason(self, request: web.Request, caller: Caller, viewer: Viewer) -> str | None:
        """Return why the stream must end; None if it may continue. Raises KubeError."""
        self._client.require_up()
        session = await self._gate.session_of(request)
        if session is None:
            return "session"
        organization = await self._organizations.find(caller.organization.name)
        if organization is None or organization.restoring:
            return "access"
        member = await self._gate.membership(session, organization)
        if member is None or viewer.scope != _scope(organization, member.role):
            return "access"
        return None


def _scope(organization: Organization, role: Role) -> Scope:
    return Scope(organization.namespaces, role is Role.ADMIN)
