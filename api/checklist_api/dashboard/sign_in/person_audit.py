"""Records sign-ins and sign-outs in the audit trails of the person's organizations, before they take effect.

Failed sign-ins are not recorded: anyone could fill a trail with them. They are throttled, counted and logged.
"""

from aiohttp import web

from checklist_crds.resources.audit_entry import AuditTarget

from ...audit.trail import AuditTrail, actor_of
from ..access import DashboardGate
from ..members.admin import TARGET
from ..sessions.store import Session


class PersonAudit:
    """All methods raise KubeError and ServiceUnavailable; the caller must then abort."""

    def __init__(self, trail: AuditTrail, gate: DashboardGate) -> None:
        self._trail = trail
        self._gate = gate

    async def session_started(self, request: web.Request, session: Session) -> None:
        """Called after the person's members are bound and before the session is created."""
        details = {"method": session.method.value, "issuer": session.issuer}
        await self._record(request, session, "session.started", details)

    async def sessions_ended(self, request: web.Request, session: Session, count: int) -> None:
        """`session`: the one that requested it."""
        await self._record(request, session, "session.ended", {"sessions": str(count)})

    async def password_set(self, request: web.Request, session: Session) -> None:
        await self._record(request, session, "account.password_set", {})

    async def _record(self, request: web.Request, session: Session, action: str, details: dict[str, str]) -> None:
        for organization, member in await self._gate.memberships(session):
            target = AuditTarget(kind=TARGET, id=member.id, name=member.display_name)
            await self._trail.record(request, organization, actor_of(member), action, target, details=details)
