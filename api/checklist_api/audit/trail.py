"""Records an action **before** it is performed, and adds a second entry if it fails.

No action is unrecorded: if the entry cannot be written, the action is not performed (503). After a crash the trail may
contain an action that was not performed.

    async with audit.act(request, caller) as act:
        ...                                        # validation; refused requests are not recorded
        await act.announce("api_key.revoked", AuditTarget(kind="api_key", id=key.name, name=key.purpose))
        await client.patch(...)

This costs one additional write per action. Dispatches and answers are not recorded: the run is their record.
"""

import logging
from types import TracebackType
from typing import Final, Self

from aiohttp import web

from checklist_crds.errors import ServiceError, ServiceUnavailable
from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.errors import KubeContended, KubeError, KubeOutcomeUnknown, KubeOverloaded, KubeUnavailable
from checklist_crds.resources.audit_entry import Actor, ActorKind, AuditEntrySpec, AuditOutcome, AuditTarget, entry_name
from checklist_crds.resources.base import OrganizationRef
from checklist_crds.resources.kinds import AUDIT_ENTRY
from checklist_crds.times import Clock

from ..auth.gate import Caller
from ..auth.keys import ApiKey
from ..auth.members import Member
from ..http.addresses import remote_address
from ..http.middleware import REQUEST_ID
from ..organizations.directory import Organization
from .index import AuditIndex

logger = logging.getLogger(__name__)

_NOT_WRITTEN: Final = "The audit entry could not be written, so nothing was changed. Try again."
_LONGEST_DETAIL: Final = 300
ANNOUNCED: Final = "announced"
"""Detail of a failure entry with the name of the first entry."""
REASON: Final = "reason"


class AuditTrail:
    def __init__(self, client: KubeClient, index: AuditIndex, clock: Clock, *, trusted_proxies: int) -> None:
        self._client = client
        self._index = index
        self._clock = clock
        self._trusted_proxies = trusted_proxies

    def act(self, request: web.Request, caller: Caller) -> "Act":
        """Return the action that `caller` is about to perform."""
        return Act(self, request, caller.organization, actor_of(caller.actor))

    async def record(
        self,
        request: web.Request | None,
        organization: Organization,
        actor: Actor,
        action: str,
        target: AuditTarget,
        *,
        outcome: AuditOutcome = AuditOutcome.DONE,
        details: dict[str, str] | None = None,
    ) -> str:
        """Write an entry (`action` like `api_key.revoked`); returns its name. Raises ServiceUnavailable."""
        now = self._clock()
        spec = AuditEntrySpec(
            organization_ref=OrganizationRef(name=organization.name),
            at=now,
            actor=actor,
            action=action,
            target=target.model_copy(update={"name": _short(target.name, 500)}),
            outcome=outcome,
            details={name: value[:_LONGEST_DETAIL] for name, value in (details or {}).items()},
            request_id=None if request is None else request.get(REQUEST_ID),
            address=None if request is None else _short(remote_address(request, self._trusted_proxies), 64) or None,
        )
        name = entry_name(now)
        body = AUDIT_ENTRY.manifest(name, organization.namespace, spec.to_kube(), organization=organization.name)
        try:
            self._index.observe(await self._client.create(AUDIT_ENTRY, body, organization.namespace))
        except KubeOverloaded:  # refused like any other request
            raise
        except KubeError as error:
            logger.error("audit.not_written", extra={"action": action, "reason": error.message})
            raise ServiceUnavailable(_NOT_WRITTEN) from None
        return name


class Act:
    """An action from its announcement to its end."""

    def __init__(self, trail: AuditTrail, request: web.Request, organization: Organization, actor: Actor) -> None:
        self.actor = actor
        self._trail = trail
        self._request = request
        self._organization = organization
        self._announced: tuple[str, AuditTarget, dict[str, str]] | None = None
        self._entry = ""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, Exception):
            await self.failed(_reason(error))

    async def announce(self, action: str, target: AuditTarget, **details: str) -> None:
        """Record the action, right before performing it. Raises ServiceUnavailable: the caller must abort.

        A repeated call (retry) with the same arguments writes nothing.
        """
        announced = (action, target, details)
        if self._announced == announced:
            return
        await self.failed("conflict")
        self._entry = await self._trail.record(
            self._request, self._organization, self.actor, action, target, details=details
        )
        self._announced = announced

    async def failed(self, reason: str) -> None:
        """Record that the announced action, if any, failed. Reason `no_answer`: the outcome is unknown."""
        if self._announced is None:
            return
        action, target, details = self._announced
        self._announced = None
        try:
            await self._trail.record(
                self._request,
                self._organization,
                self.actor,
                action,
                target,
                outcome=AuditOutcome.FAILED,
                details={**details, REASON: reason, ANNOUNCED: self._entry},
            )
        except ServiceUnavailable:
            logger.error("audit.failure_not_written", extra={"entry": self._entry, "reason": reason})


def actor_of(actor: ApiKey | Member) -> Actor:
    """Return the audit actor of a key or member."""
    if isinstance(actor, Member):
        return Actor(kind=ActorKind.MEMBER, id=actor.id, name=actor.display_name, email=actor.email)
    return Actor(kind=ActorKind.API_KEY, id=actor.name, name=actor.purpose)


def _short(text: str | None, longest: int) -> str | None:
    return None if text is None else text[:longest]


def _reason(error: Exception) -> str:
    if isinstance(error, ServiceError):
        return error.code
    if isinstance(error, KubeContended):
        return "conflict"
    if isinstance(error, KubeOutcomeUnknown):
        return "no_answer"
    return ServiceUnavailable.code if isinstance(error, KubeUnavailable) else "internal_error"
