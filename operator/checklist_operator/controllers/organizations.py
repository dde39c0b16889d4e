"""Organizations: public id, condition Ready, and quota reservations that were never confirmed.

A dispatch is counted before its run is created. A process that dies in between leaves an entry in
`status.quota.pending`; half a minute later the count is confirmed or released, depending on whether the run exists.
"""

import logging
from collections.abc import Callable
from datetime import timedelta

from checklist_crds.ids import object_id
from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.errors import KubeNotFound
from checklist_crds.kube.quota_ledger import QuotaLedger
from checklist_crds.kube.run_lookup import find_run_in
from checklist_crds.limits.quota import Quota
from checklist_crds.limits.retention import is_admitted
from checklist_crds.resources.base import with_condition
from checklist_crds.resources.kinds import NAMESPACE, ORGANIZATION
from checklist_crds.resources.organization import OrganizationSpec, OrganizationStatus
from checklist_crds.resources.pause import shows_pause, with_pause
from checklist_crds.times import Clock
from checklist_crds.values import merge_patch
from checklist_crds.values.json_text import JsonObject
from checklist_operator.controllers.tenancy import Refusal, Tenancy
from checklist_operator.runtime.json_logging import about
from checklist_operator.runtime.kube_events import EventRecorder, ObjectReference, record_pause
from checklist_operator.runtime.timers import Timers
from checklist_operator.runtime.work_queue import WorkQueue

logger = logging.getLogger(__name__)


class Organizations:
    """Reconciles every Organization."""

    def __init__(
        self,
        client: KubeClient,
        ledger: QuotaLedger,
        tenancy: Tenancy,
        timers: Timers,
        *,
        kube_events: EventRecorder,
        clock: Clock,
        installation_namespace: str,
        pending_after_s: float,
        is_admitting: Callable[[str], bool],
        on_change: Callable[[str], None],
        on_read: Callable[[JsonObject], None],
        on_bug: Callable[[str], None],
    ) -> None:
        """`is_admitting`: whether the run with an id is being admitted. `on_change` receives the name of an
        organization that is new, changed or deleted. `on_read` receives each freshly read object before its status is
        written, so that clients may rely on the status."""
        self._client = client
        self._ledger = ledger
        self._tenancy = tenancy
        self._kube_events = kube_events
        self._clock = clock
        self._installation_namespace = installation_namespace
        self._pending_after = timedelta(seconds=pending_after_s)
        self._is_admitting = is_admitting
        self._on_change = on_change
        self._on_read = on_read
        self._generations: dict[str, int] = {}
        self._used_up: dict[str, tuple[str, int]] = {}
        self.queue: WorkQueue[str] = WorkQueue("organizations", self._reconcile, workers=4, on_bug=on_bug)
        self._due = timers.topic(self.queue.add)

    def observe(self, type_: str | None, body: JsonObject) -> None:
        name, generation = str(body["metadata"]["name"]), int(body["metadata"]["generation"])
        if type_ == "DELETED":
            self._generations.pop(name, None)
            self._used_up.pop(name, None)
            self._due.cancel(name)
            self.queue.forget(name)
            self._on_change(name)
            return
        # Compares generations, because the status changes with every dispatch.
        if self._generations.get(name) != generation:
            self._generations[name] = generation
            self.queue.add(name)
            if type_ is not None:
                self._on_change(name)
        elif not shows_pause(body):
            self.queue.add(name)
        self._watch_quota(name, type_, body)
        pending = Quota.parse((body.get("status") or {}).get("quota")).pending
        if pending:
            self._due.set(name, min(pending.values()) + self._pending_after)
        else:
            self._due.cancel(name)

    def _watch_quota(self, name: str, type_: str | None, body: JsonObject) -> None:
        """Warns once per month and limit that the quota is used up."""
        limit = (body["spec"].get("plan") or {}).get("runsPerMonth")
        quota = (body.get("status") or {}).get("quota") or {}
        if limit is None or quota.get("used", 0) < limit or not quota.get("period"):
            return
        warned, self._used_up[name] = self._used_up.get(name), (quota["period"], limit)
        if type_ is not None and warned != self._used_up[name]:
            message = f"All {limit} runs of {quota['period']} are used up. The quota resets next month."
            self._kube_events.warn(ObjectReference.of(ORGANIZATION, body), "QuotaExceeded", message)

    async def _reconcile(self, name: str) -> float | None:
        try:
            body = await self._client.get(ORGANIZATION, name)
            self._on_read(body)
            spec = OrganizationSpec.model_validate(body["spec"])
            await self._write_status(name, spec, body)
            if self._tenancy.unserved(spec.namespace) is not None:
                return None  # another installation serves its runs and their quota
            return await self._clear_pending(name, spec, body)
        except KubeNotFound:
            return None

    async def _write_status(self, name: str, spec: OrganizationSpec, body: JsonObject) -> None:
        before = OrganizationStatus.model_validate(body.get("status") or {})
        refusal = await self._refusal(spec)
        conditions = with_condition(
            with_pause(before.conditions, body["metadata"], now=self._clock()),
            "Ready",
            refusal is None,
            "Ready" if refusal is None else refusal.reason,
            "The organization can be used." if refusal is None else refusal.message,
            now=self._clock(),
            generation=body["metadata"]["generation"],
        )
        after = before.model_copy(update={"id": object_id("org", name), "conditions": conditions})
        patch = merge_patch.diff(before.to_kube(), after.to_kube())
        if patch:
            # Unconditional: only this controller writes these fields, and the quota in the same status changes often.
            await self._client.patch_status(ORGANIZATION, name, patch)
            self._record_events(body, refusal)

    def _record_events(self, body: JsonObject, refusal: Refusal | None) -> None:
        this = ObjectReference.of(ORGANIZATION, body)
        if not shows_pause(body):
            record_pause(self._kube_events, this, body["metadata"])
        conditions = (body.get("status") or {}).get("conditions") or ()
        was = next((one["reason"] for one in conditions if one["type"] == "Ready"), "Ready")
        if refusal is not None and was != refusal.reason:
            self._kube_events.warn(this, refusal.reason, refusal.message)
        elif refusal is None and was != "Ready":
            self._kube_events.record(this, "Ready", "The organization can be used.")

    async def _refusal(self, spec: OrganizationSpec) -> Refusal | None:
        """Returns why the organization cannot be used, if it cannot."""
        if spec.namespace is None:
            return None
        try:
            await self._client.get(NAMESPACE, spec.namespace)
        except KubeNotFound:
            return Refusal("NamespaceNotFound", f"Namespace {spec.namespace!r} not found.")
        return self._tenancy.unserved(spec.namespace)

    async def _clear_pending(self, name: str, spec: OrganizationSpec, body: JsonObject) -> float | None:
        """Confirms or releases old pending entries; returns seconds until the next check, if one is needed."""
        now = self._clock()
        pending = Quota.parse((body.get("status") or {}).get("quota")).pending
        waits_for_admission = False
        for run_id, since in pending.items():
            if now - since < self._pending_after:
                continue
            run = await self._find_run(run_id, spec)
            if run is None and self._is_admitting(run_id):
                waits_for_admission = True
            elif run is None:
                self._ledger.release(name, run_id, since)
                logger.info("quota.reservation_released", extra=about(organization=name, run_id=run_id))
            elif is_admitted(run):
                self._ledger.confirm(name, run_id)
            else:
                waits_for_admission = True  # the run's admission uses the count
        return self._pending_after.total_seconds() if waits_for_admission else None

    async def _find_run(self, run_id: str, spec: OrganizationSpec) -> JsonObject | None:
        for namespace in dict.fromkeys((spec.namespace or self._installation_namespace, self._installation_namespace)):
            run = await find_run_in(self._client, run_id, namespace)
            if run is not None:
                return run
        return None
