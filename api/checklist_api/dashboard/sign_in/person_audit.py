"""Records signing in and out in the audit trails of all the person's organizations, before it is done.

Attempts that fail are not there: whoever makes them is nobody's member yet, and could fill a trail at will. They are
throttled, counted and logged.
"""

from aiohttp import web

from checklist_crds.resources.audit_entry import AuditTarget

from ...audit.trail import AuditTrail, actor_of
from ..access import DashboardGate
from ..members.admin import TARGET
from ..sessions.store import Session


class PersonAudit:
    """All methods raise ServiceUnavailable: then nothing is to be done; and KubeError."""

    def __init__(self, trail: AuditTrail, gate: DashboardGate) -> None:
        self._trail = trail
        self._gate = gate

    async def session_started(self, request: web.Request, session: Session) -> None:
        """To be called when the person's members are bound, and before the session is made."""
        details = {"method": session.method.value, "issuer": session.issuer}
        await self._record(request, session, "session.started", details)

    async def sessions_ended(self, request: web.Request, session: Session, count: int) -> None:
        """By the person's own wish; `session` is the one that wishes so."""
        await self._record(request, session, "session.ended", {"sessions": str(count)})

    async def password_set(self, request: web.Request, session: Session) -> None:
        await self._record(request, session, "account.password_set", {})

    async def _record(self, request: web.Request, session: Session, action: str, details: dict[str, str]) -> None:
        for organization, member in await self._gate.memberships(session):
            target = AuditTarget(kind=TARGET, id=member.id, name=member.display_name)
            await self._trail.record(request, organization, actor_of(member), action, target, details=details)
