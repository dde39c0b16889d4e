"""Finds the member who answers a run for members (`identity_required: member`), by session in addition to the token.

For other runs the cookie is ignored, so that signed-in people stay anonymous. Checks in this order: session (401
`sign_in_required`), membership (404, identical to that of a run that does not exist), CSRF protection of writes (403
`request_forged`), then assignment in `decide` (403 `assigned_to_another`). Any role suffices.
"""

from typing import Final

from aiohttp import web
from attrs import define

from checklist_crds.errors import AssignedToAnother, RequestForged, RunExpired, RunNotFound, SignInRequired
from checklist_crds.resources.run import IdentityMode, Run, RunPhase
from checklist_crds.times import Clock

from ..auth.members import Member
from ..dashboard.access import DashboardGate
from ..dashboard.sessions.store import SessionStore
from ..organizations.directory import Organization, OrganizationDirectory
from ..runs.access import Who

ANSWERING_MEMBER: Final = "Answering-Member"
"""Header of a write: the member who gave the answer, if it was queued. Prevents that another member, signed in on the
device since, sends it as their own."""
_SAFE_METHODS: Final = frozenset({"GET", "HEAD"})


@define(kw_only=True, eq=False, repr=False, slots=False)
class ExecutorMembers:
    _gate: DashboardGate
    _sessions: SessionStore
    _organizations: OrganizationDirectory
    _clock: Clock
    _base_url: str

    async def answering(self, request: web.Request, run: Run) -> Member | None:
        """Return the member; None if the run is not for members.

        Raises SignInRequired, RunExpired, RunNotFound, RequestForged, AssignedToAnother, KubeError.
        """
        if run.admitted_as.identity_mode is not IdentityMode.MEMBER:
            return None
        organization = await self._organizations.get(run.admitted_as.organization)
        if organization is None:
            raise RunNotFound()
        session = await self._gate.session_of(request)
        if session is None:
            raise self._sign_in_required(run, organization)
        member = await self._gate.membership(session, organization)
        if member is None:
            raise RunNotFound()
        if request.method not in _SAFE_METHODS:
            self._require_own_page(request)
        self._sessions.note_use(session, self._clock())
        if request.headers.get(ANSWERING_MEMBER, member.id) != member.id:
            raise AssignedToAnother("Another member gave this answer; it is sent when they are signed in.")
        return member

    def who(self, request: web.Request) -> Who:
        """Return a function that finds the member id for commands."""

        async def member_id(run: Run) -> str | None:
            member = await self.answering(request, run)
            return None if member is None else member.id

        return member_id

    def _sign_in_required(self, run: Run, organization: Organization) -> SignInRequired | RunExpired:
        """Return the error with details for the sign-in page; RunExpired for an expired run (public by its preview)."""
        if run.phase_at(self._clock()) is RunPhase.EXPIRED:
            return RunExpired()
        return SignInRequired(
            "This checklist is for members of the organization. Sign in first.",
            details={
                "organization": organization.display_name,
                "template_name": run.admitted_as.template_name,
                "created_by_name": run.spec.created_by_name or organization.display_name,
                "sign_in": f"{self._base_url}/dashboard/sign-in?return_to=/r/{run.id}",
            },
            headers={"WWW-Authenticate": "Cookie"},
        )

    def _require_own_page(self, request: web.Request) -> None:
        """Check the browser's fetch metadata, in addition to the token's header that other sites cannot set."""
        try:
            self._gate.require_own_page(request)
        except RequestForged:
            raise RequestForged("The request was not made by the checklist's page.") from None
