"""Admits runs made with kubectl, with the checks that the API makes before it creates a run.

The first failed check of a run without `resolved` is shown as condition Admitted=False. Quota is checked last, so that
refused runs use none. Then the snapshot is created, and one conditional patch admits the run. A refused run is retried
when its template or organization changes, and with backoff.
"""

import contextlib
import logging
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from attrs import Factory, define, field
from pydantic import ValidationError

from checklist_crds.errors import TemplateNotRunnable
from checklist_crds.ids import keyed_id
from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.errors import KubeConflict, KubeInvalid, KubeNotFound
from checklist_crds.kube.quota_ledger import QuotaLedger
from checklist_crds.kube.revisions import RevisionStore
from checklist_crds.kube.run_lookup import find_runs
from checklist_crds.limits.quota import Verdict
from checklist_crds.platform.object_store import StoreUnavailable
from checklist_crds.resources.base import with_condition
from checklist_crds.resources.kinds import RUN, TEMPLATE, Key, key_of
from checklist_crds.resources.pause import PAUSED
from checklist_crds.resources.run import FINAL_PHASES, Progress, ResolvedTemplate, Run, RunPhase, RunStatus
from checklist_crds.resources.run_id import resolved_of
from checklist_crds.resources.template import TemplateMeta
from checklist_crds.resources.template_definition import Definition
from checklist_crds.resources.webhook_url import InsecureTargets, InvalidTarget, canonical_url
from checklist_crds.runs.commands import Expire
from checklist_crds.runs.lifecycle import decide
from checklist_crds.runs.seal import RunSeals
from checklist_crds.runs.snapshot import Snapshot, snapshot
from checklist_crds.secrets.sealing import ServerKeys
from checklist_crds.times import Clock, parse_timestamp
from checklist_crds.values import merge_patch
from checklist_crds.values.json_text import JsonObject
from checklist_operator.archive.membership import ArchiveMembership
from checklist_operator.attempts.pauses import Paused, Pauses
from checklist_operator.attempts.signing_secrets import SigningSecrets
from checklist_operator.controllers.labels import labelled
from checklist_operator.controllers.templates import problems_text
from checklist_operator.controllers.tenancy import Refusal, Tenancy
from checklist_operator.faults import LocalFault
from checklist_operator.runtime.json_logging import about
from checklist_operator.runtime.kube_events import EventRecorder, ObjectReference
from checklist_operator.runtime.metrics import Metrics
from checklist_operator.runtime.work_queue import Backoff, WorkQueue

logger = logging.getLogger(__name__)

_BACKOFF: Final = Backoff(first=30.0, longest=600.0)
_ID_PURPOSE: Final = "run-id"
_NO_STEPS: Final = Definition(name="-", sections=[])

NameOf = Callable[[str, str], str | None]
"""Returns the name of the template with a public id in a namespace, if it differs from the id."""


class Refused(Exception):
    """The run is not admitted for now. `organization` is the one it would belong to, if known."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.refusal = Refusal(reason, message)
        self.organization = ""


@dataclass(slots=True)
class _RefusedRun:
    """A refused run: number of tries, and names of the objects it may be waiting for."""

    tries: int = 0
    names: frozenset[str] = frozenset()
    paused: bool = False


@define(kw_only=True, eq=False, repr=False, slots=False)
class RunAdmission:
    """Admits unsettled runs that are not admitted yet."""

    _client: KubeClient
    _tenancy: Tenancy
    _ledger: QuotaLedger
    _revisions: RevisionStore
    _secrets: SigningSecrets
    _pauses: Pauses
    _metrics: Metrics
    _kube_events: EventRecorder
    _clock: Clock
    _archived: ArchiveMembership
    _seals: RunSeals
    _keys: ServerKeys
    _name_of: NameOf
    _allow_insecure: InsecureTargets
    _on_bug: Callable[[str], None]
    _refused: dict[Key, _RefusedRun] = field(factory=dict, init=False)
    _waiting_for: defaultdict[str, set[Key]] = field(factory=lambda: defaultdict(set), init=False)
    _admitting: Counter[str] = field(factory=Counter, init=False)
    queue: WorkQueue[Key] = field(
        default=Factory(
            lambda self: WorkQueue("run_admission", self._reconcile, workers=8, on_bug=self._on_bug), takes_self=True
        ),
        init=False,
    )

    def observe(self, type_: str | None, body: JsonObject) -> None:
        key = key_of(body)
        status = body.get("status") or {}
        admitted = resolved_of(body) is not None
        if type_ == "DELETED" or admitted or status.get("phase") in FINAL_PHASES:
            if key in self._refused:
                self._forget(key)
                self.queue.forget(key)
        elif key not in self._refused:
            self.queue.add(key)

    def is_admitting(self, run_id: str) -> bool:
        """Whether a run that gets this id is between its count and its admission."""
        return run_id in self._admitting

    def enqueue(self, key: Key) -> None:
        """Checks the run again."""
        self.queue.add(key)

    def cause_changed(self, *names: str) -> None:
        """Retries runs that wait for a template (by name and public id) or an organization."""
        for name in names:
            for key in self._waiting_for.get(name, ()):
                self.queue.add(key)

    def resumed(self) -> None:
        """A pause has ended."""
        for key, known in self._refused.items():
            if known.paused:
                self.queue.add(key)

    @property
    def refused(self) -> int:
        return len(self._refused)

    async def _reconcile(self, key: Key) -> float | None:
        try:
            body = await self._client.get(RUN, key[1], key[0])
            try:
                run = Run.parse(body)
            except ValidationError as error:
                await self._refuse_unreadable(key, body, error)
                return None
            if run.resolved is not None or run.status.phase.is_final:
                self._forget(key)
                return None
            try:
                await self._admit(run, body)
            except Refused as refused:
                return await self._refuse(key, run, refused)
        except KubeNotFound:
            self._forget(key)
            return None
        except KubeConflict:
            return 0.05
        self._forget(key)
        return None

    async def _admit(self, run: Run, body: JsonObject) -> None:
        """Checks and admits the run. Raises Refused and KubeError."""
        template = await self._template(run)
        meta = TemplateMeta.of(template)
        try:
            await self._check_tenancy(run, meta)
            await self._check_id(run, body)
            await self._check_pause(body, meta.organization)
            taken = self._snapshot(template)
            await self._check_webhook(run)
            run_id = self._id_of(run)
            self._admitting[run_id] += 1
            try:
                await self._count_and_write(run, run_id, body, meta, taken)
            finally:
                self._admitting -= Counter([run_id])
        except Refused as refused:
            refused.organization = meta.organization
            raise
        self._metrics.admissions.labels("Admitted").inc()
        message = f"The run uses version {meta.version} of template {meta.name!r}."
        self._kube_events.record(_reference(run), "Admitted", message)
        facts = about(run_id=run_id, name=run.name, template_id=meta.id, version=meta.version)
        logger.info("run.admitted", extra=facts)

    def _id_of(self, run: Run) -> str:
        """Returns the run's name if that is an id, else an id for this object alone.

        It is a MAC of the object's uid, so it is as unpredictable as a random one, and counts once although admission
        may be tried again after a crash.
        """
        return run.public_id or keyed_id("r", self._keys.derived(_ID_PURPOSE)[0], run.namespace, run.uid)

    async def _count_and_write(
        self, run: Run, run_id: str, body: JsonObject, meta: TemplateMeta, taken: Snapshot
    ) -> None:
        await self._reserve(run_id, meta.organization)
        try:
            await self._revisions.ensure(taken.revision, taken.definition)
            version = (await labelled(self._client, RUN, body, meta.organization))["metadata"]["resourceVersion"]
            made_at = parse_timestamp(body["metadata"]["creationTimestamp"])
            resolved = taken.resolved.model_copy(
                update={
                    "bound": not self._seals.links_are_unbound(made_at) or None,
                    "run_id": None if run_id == run.name else run_id,
                }
            )
            await self._write_admission(run, resolved, version)
        except KubeNotFound:
            self._ledger.release(meta.organization, run_id)
            raise
        self._ledger.confirm(meta.organization, run_id)

    # -- checks, in order ------------------------------------------------------------------------------------------

    async def _template(self, run: Run) -> JsonObject:
        wanted = run.spec.template_ref.name if run.spec.template_ref else run.spec.template_id or ""
        names = [wanted] if run.spec.template_ref else [self._name_of(run.namespace, wanted), wanted]
        for name in filter(None, names):
            try:
                template = await self._client.get(TEMPLATE, name, run.namespace)
            except KubeNotFound:
                continue
            meta = TemplateMeta.of(template)
            if run.spec.template_ref or wanted in (meta.name, meta.id):
                return template
        raise Refused("TemplateNotFound", f"Template {wanted!r} not found in this namespace.")

    async def _check_tenancy(self, run: Run, template: TemplateMeta) -> None:
        named = run.spec.organization_ref.name if run.spec.organization_ref else template.organization
        refusal = await self._tenancy.refusal(named, run.namespace)
        if refusal is not None:
            raise Refused(refusal.reason, refusal.message)
        if template.organization != named:
            raise Refused("TemplateNotFound", f"Organization {named!r} has no template {template.name!r}.")

    async def _check_id(self, run: Run, body: JsonObject) -> None:
        """Run ids are unique in the cluster and the archive: links, photos and webhooks refer to runs by id. Names
        that are no ids are free."""
        if run.public_id is None:
            return
        others = await find_runs(self._client, run.public_id)
        taken = any(key_of(other) != key_of(body) and _owns_id(other, body) for other in others)
        try:
            if taken or not await self._archived.missing([run.public_id]):
                raise Refused("RunIdTaken", "Another run has or had this name. Choose another name.")
        except StoreUnavailable as error:
            raise Refused(
                "ArchiveUnavailable", f"The archive could not be searched for a run of this name: {error}."
            ) from None

    async def _check_pause(self, body: JsonObject, organization: str) -> None:
        try:
            await self._pauses.check(body, organization)
        except Paused as paused:
            raise Refused(paused.reason, paused.message) from None

    def _snapshot(self, template: JsonObject) -> Snapshot:
        try:
            return snapshot(template)
        except TemplateNotRunnable as error:
            problems = error.details if isinstance(error.details, list) else []
            raise Refused("TemplateNotRunnable", problems_text(problems) or error.message) from None

    async def _check_webhook(self, run: Run) -> None:
        webhook = run.spec.webhook
        if webhook is None:
            return
        try:
            canonical_url(webhook.url, allow_insecure=self._allow_insecure)
        except InvalidTarget as error:
            raise Refused("WebhookInvalid", error.message) from None
        try:
            await self._secrets.of(run.namespace, run.name, webhook)
        except LocalFault as fault:
            raise Refused("SecretNotFound", f"The webhook has no usable secret: {fault.message}.") from None

    async def _reserve(self, run_id: str, organization: str) -> None:
        reservation = await self._ledger.reserve(organization, run_id)
        if reservation.verdict is Verdict.OVER_QUOTA:
            raise Refused("QuotaExceeded", f"All {reservation.limit} runs of this month are used up.")

    # -- writes ---------------------------------------------------------------------------------------------------

    async def _write_admission(self, run: Run, resolved: ResolvedTemplate, version: str) -> None:
        admitted = run.status.model_copy(
            update={
                "resolved": resolved,
                "expires_at": None if run.spec.expires_at else run.expires_at,
                "progress": Progress(total=resolved.applicable_steps, answered=0, skipped=0),
                "conditions": with_condition(
                    run.status.conditions,
                    "Admitted",
                    True,
                    "Admitted",
                    f"The run uses version {resolved.template_version} of the template.",
                    now=self._clock(),
                    generation=run.generation,
                ),
            }
        )
        await self._write(run, admitted, version)

    async def _refuse(self, key: Key, run: Run, refused: Refused) -> float:
        """Records the reason; returns the seconds until the next try."""
        refusal = refused.refusal
        tries = self._remember_refused(key, run, refused)
        conditions = with_condition(
            run.status.conditions,
            "Admitted",
            False,
            refusal.reason,
            refusal.message,
            now=self._clock(),
            generation=run.generation,
        )
        status = run.status.model_copy(update={"conditions": conditions})
        if run.phase_at(self._clock()) is RunPhase.EXPIRED:
            status = self._closed(run, status)
        if await self._write(run, status):
            self._metrics.admissions.labels(refusal.reason).inc()
            if refusal.reason != PAUSED:
                self._kube_events.warn(_reference(run), refusal.reason, refusal.message)
            logger.info("run.not_admitted", extra=about(name=run.name, reason=refusal.reason, detail=refusal.message))
        return _BACKOFF.after(tries)

    async def _refuse_unreadable(self, key: Key, body: JsonObject, error: ValidationError) -> None:
        """Refuses a run whose spec cannot be parsed, such as a date beyond the range of datetime. The spec is
        immutable, so there is no retry.

        For some of these, the API server rejects every later write; then only the Event shows the reason.
        """
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, ("spec", *first["loc"])))
        status = RunStatus.model_validate(body.get("status") or {})
        now, generation = self._clock(), body["metadata"]["generation"]
        message = f"{where}: {first['msg']}."
        conditions = with_condition(
            status.conditions, "Admitted", False, "Invalid", message, now=now, generation=generation
        )
        patch = merge_patch.diff(status.to_kube(), status.model_copy(update={"conditions": conditions}).to_kube())
        if patch:
            version = body["metadata"]["resourceVersion"]
            with contextlib.suppress(KubeInvalid):
                await self._client.patch_status(RUN, key[1], patch, key[0], resource_version=version)
            self._metrics.admissions.labels("Invalid").inc()
            self._kube_events.warn(ObjectReference.of(RUN, body), "Invalid", message)
        self._forget(key)
        self._refused[key] = _RefusedRun()

    def _remember_refused(self, key: Key, run: Run, refused: Refused) -> int:
        """Remembers what the run may be waiting for; returns the number of tries."""
        tries = self._refused[key].tries if key in self._refused else 0
        self._forget(key)
        spec = run.spec
        named = (
            spec.template_ref.name if spec.template_ref else spec.template_id,
            spec.organization_ref.name if spec.organization_ref else None,
            refused.organization,
        )
        known = self._refused[key] = _RefusedRun(
            tries + 1, frozenset(filter(None, named)), paused=refused.refusal.reason == PAUSED
        )
        for name in known.names:
            self._waiting_for[name].add(key)
        return known.tries

    def _forget(self, key: Key) -> None:
        """Drops the state of a run that is no longer refused."""
        known = self._refused.pop(key, None)
        for name in known.names if known else ():
            self._waiting_for[name].discard(key)
            if not self._waiting_for[name]:
                del self._waiting_for[name]

    def _closed(self, run: Run, status: RunStatus) -> RunStatus:
        """Expires a run that was never admitted; it sends no event, since it was never dispatched."""
        never_sent = replace(run, spec=run.spec.model_copy(update={"webhook": None}), status=status)
        return decide(never_sent, _NO_STEPS, Expire(), self._clock()).after

    async def _write(self, run: Run, status: RunStatus, version: str | None = None) -> bool:
        """Patches changes, conditional on `version` or the version that was read; returns whether there were any."""
        patch = merge_patch.diff(run.status.to_kube(), status.to_kube())
        if patch:
            condition = version or run.resource_version
            await self._client.patch_status(RUN, run.name, patch, run.namespace, resource_version=condition)
        return bool(patch)


def _owns_id(other: JsonObject, body: JsonObject) -> bool:
    """Whether the id belongs to `other`: it is admitted, or older."""
    if resolved_of(other) is not None:
        return True
    ages = [(one["metadata"]["creationTimestamp"], one["metadata"]["namespace"]) for one in (other, body)]
    return bool(ages[0] < ages[1])


def _reference(run: Run) -> ObjectReference:
    return ObjectReference(RUN, run.namespace, run.name, run.uid)
