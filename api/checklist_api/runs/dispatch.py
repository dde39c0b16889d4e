"""Dispatches a run of a template (specification, "POST /v1/runs"; architecture section 3).

The run is counted before it is created. Its id stays in the list of pending ids of the count until this process has
created the run and confirms the count. So the count is right after any failure: if the run was certainly not created,
this process releases the count; if that is unknown, the operator looks for the run and confirms or releases the count.

A later request with the same Idempotency-Key may take over the count of a pending id; the first request then no longer
releases it. Creation has a deadline, which ends before the operator may release the count, so no run is created after
that.
"""

import asyncio
import logging
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from attrs import define

from checklist_crds.errors import IdempotencyInProgress, InternalError, QuotaExceeded
from checklist_crds.kube.errors import KubeAlreadyExists, KubeError, KubeOutcomeUnknown, KubeUnavailable
from checklist_crds.kube.quota_ledger import QuotaLedger, Reservation
from checklist_crds.kube.revisions import RevisionStore
from checklist_crds.limits.quota import Verdict, usage
from checklist_crds.platform.tracing import TRACEPARENT_ANNOTATION, carried
from checklist_crds.resources.base import FINGERPRINT_ANNOTATION, OrganizationRef
from checklist_crds.resources.kinds import RUN, key_of
from checklist_crds.resources.run import RunSpec, Webhook
from checklist_crds.runs.seal import RunSeals
from checklist_crds.runs.snapshot import Snapshot
from checklist_crds.secrets.sealing import KeyRing, run_owner
from checklist_crds.times import Clock
from checklist_crds.values.json_text import JsonObject

from ..archive.reading import ArchivedRuns
from ..auth.gate import Caller
from ..auth.member_names import MemberNames
from ..cluster.guard import GuardedKubeClient
from ..idempotency import Idempotency, IdempotencyClaim, require_same_payload
from ..index.runs import RunIndex
from ..metrics import Metrics
from ..organizations.directory import Organization
from ..templates.catalogue import TemplateCatalogue
from .models import DispatchRequest

logger = logging.getLogger(__name__)

_CREATE_TIMEOUT_S: Final = 25.0
"""Deadline to create a run after it was counted; shortly later the operator releases the count."""


@dataclass(frozen=True, slots=True)
class CreatedRun:
    """A created run. `repeated`: by an earlier request with the same Idempotency-Key."""

    body: JsonObject
    repeated: bool


@define(kw_only=True, eq=False, repr=False, slots=False)
class Dispatcher:
    _client: GuardedKubeClient
    _templates: TemplateCatalogue
    _revisions: RevisionStore
    _quota: QuotaLedger
    _index: RunIndex
    _members: MemberNames
    _idempotency: Idempotency
    _archived: ArchivedRuns
    _sealing: KeyRing
    _seals: RunSeals
    _metrics: Metrics
    _clock: Clock

    async def dispatch(self, caller: Caller, wanted: DispatchRequest, claim: IdempotencyClaim | None) -> CreatedRun:
        """Dispatch a run. Raises TemplateNotFound, TemplateNotRunnable, QuotaExceeded, IdempotencyKeyReused,
        IdempotencyInProgress, ResourceDeleted, ServiceUnavailable (the archive), InternalError, KubeError."""
        organization = caller.organization
        if claim is not None:
            first = await self._first(claim, organization)
            if first is not None:
                return self._replayed(first)
        template = await self._templates.get(organization, wanted.template_id)
        snapshot = template.snapshot_in(organization.namespace)
        sender = await self._members.sender(caller)
        # The quota is written once for many dispatches, which must not wait for separate slots.
        async with self._client.slot():
            return await self._count_and_create(caller, wanted, claim, snapshot, sender)

    async def _count_and_create(
        self, caller: Caller, wanted: DispatchRequest, claim: IdempotencyClaim | None, snapshot: Snapshot, sender: str
    ) -> CreatedRun:
        organization = caller.organization
        if claim is not None:
            run_id, reservation = claim.name, await self._quota.reserve(organization.name, claim.name)
        else:
            run_id, reservation = await self._quota.take(organization.name)
        if reservation.verdict is Verdict.OVER_QUOTA:
            raise self._over_quota(reservation)
        if reservation.verdict is Verdict.ALREADY_PENDING and claim is not None:
            # Another process is creating the run and may have succeeded by now.
            first = await self._first(claim, organization)
            if first is None:
                raise IdempotencyInProgress()
            return self._replayed(first)

        now = self._clock()
        body = self._object(caller, wanted, run_id=run_id, snapshot=snapshot, sender=sender, claim=claim, now=now)
        made = await self._create(caller, body, snapshot, reservation)
        if made is None:
            made = await self._idempotency.get_existing(RUN, (run_id, organization.namespace))
            if claim is not None:
                require_same_payload(made, claim)
            return self._replayed(made)
        self._index.observe(made)
        await self._idempotency.remember((run_id, organization.namespace), now, claim, organization)
        self._metrics.dispatched.inc()
        logger.info(
            "run.dispatched",
            extra={"run_id": run_id, "template_id": wanted.template_id, "organization": organization.name},
        )
        return CreatedRun(made, repeated=False)

    async def _first(self, claim: IdempotencyClaim, organization: Organization) -> JsonObject | None:
        async def archived(run_id: str) -> JsonObject | None:
            run = await self._archived.find(run_id, organization)
            return None if run is None else run.record.run

        return await self._idempotency.first(RUN, claim, organization, archived)

    def _replayed(self, run: JsonObject) -> CreatedRun:
        """Add the run to lists of this replica, since another one may have created it."""
        if not self._archived.has(run["metadata"]["name"]):
            self._index.observe(run)
        return CreatedRun(run, repeated=True)

    async def _create(
        self, caller: Caller, body: JsonObject, snapshot: Snapshot, reservation: Reservation
    ) -> JsonObject | None:
        """Create the run; None if it exists. Releases or confirms the count."""
        organization, run_id = caller.organization, body["metadata"]["name"]

        def release() -> None:
            # Only this request's own count. A count of an earlier request is left to the operator, since that request
            # may still create the run.
            if reservation.verdict is Verdict.RESERVED:
                self._quota.release(organization.name, run_id, reservation.since)

        try:
            await self._revisions.ensure(snapshot.revision, snapshot.definition)
        except KubeError as error:
            release()
            raise _fatal(error, "revision.refused", run_id) from None
        left_s = _CREATE_TIMEOUT_S - (self._clock() - reservation.since).total_seconds()
        if left_s <= 0:
            release()
            raise KubeUnavailable("timeout between counting and creating the run")
        try:
            async with asyncio.timeout(left_s):
                made = await self._client.create(RUN, body, organization.namespace)
        except TimeoutError:
            raise KubeOutcomeUnknown("timeout while creating the run") from None
        except KubeAlreadyExists:
            # Another request with the same key has created the run since the check. RESERVED: its count is no longer
            # pending, so the run was counted twice. RETAKEN: we took over its count, which is the only one.
            if reservation.verdict is Verdict.RESERVED:
                release()
                return None
            made = None
        except KubeError as error:
            if not isinstance(error, KubeUnavailable) or error.status == 429:
                release()
            raise _fatal(error, "run.refused", run_id) from None
        self._quota.confirm(organization.name, run_id)
        return made if made is None or made["spec"].get("resolved") else await self._admit_by_status(made, snapshot)

    async def _admit_by_status(self, made: JsonObject, snapshot: Snapshot) -> JsonObject:
        """Admit by status a run whose seal is invalid, because this clock is far behind the API server's."""
        namespace, run_id = key_of(made)
        logger.error("run.clocks_differ", extra={"run_id": run_id, "created_at": made["metadata"]["creationTimestamp"]})
        resolved = {**snapshot.resolved.to_kube(), "bound": True}
        return await self._client.patch_status(RUN, run_id, {"resolved": resolved}, namespace)

    def _object(
        self,
        caller: Caller,
        wanted: DispatchRequest,
        *,
        run_id: str,
        snapshot: Snapshot,
        sender: str,
        claim: IdempotencyClaim | None,
        now: datetime,
    ) -> JsonObject:
        """Build the Run, already admitted with its resolved snapshot."""
        name, namespace = caller.organization.name, caller.organization.namespace
        webhook = wanted.webhook and Webhook(
            url=wanted.webhook.url,
            events=list(wanted.webhook.events),
            sealed_secret=self._sealing.seal(wanted.webhook.secret, owner=run_owner(namespace, run_id)),
        )
        spec = RunSpec(
            organization_ref=OrganizationRef(name=name),
            template_id=wanted.template_id,
            executor_ref=wanted.executor_ref,
            created_at=now,
            expires_at=None if wanted.expires_in_hours is None else now + timedelta(hours=wanted.expires_in_hours),
            created_by_name=sender,
            webhook=webhook,
            resolved=snapshot.resolved,
        )
        annotations = {
            FINGERPRINT_ANNOTATION: None if claim is None else claim.fingerprint,
            TRACEPARENT_ANNOTATION: carried(),
        }
        return self._seals.sealed(
            RUN.manifest(run_id, namespace, spec.to_kube(), organization=name, annotations=annotations)
        )

    def _over_quota(self, reservation: Reservation) -> QuotaExceeded:
        self._metrics.quota_refusals.inc()
        return QuotaExceeded(details=usage(reservation.quota, limit=reservation.limit, now=self._clock()))


def _fatal(error: KubeError, event: str, run_id: str) -> Exception:
    """Return KubeUnavailable unchanged; other errors are ours and become InternalError."""
    if isinstance(error, KubeUnavailable):
        return error
    logger.error(event, extra={"run_id": run_id, "reason": error.message})
    return InternalError()
