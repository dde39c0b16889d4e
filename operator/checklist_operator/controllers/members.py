"""Members and API keys: public ids, the label of their organization, and the condition Ready."""

import logging
from collections import defaultdict
from collections.abc import Callable
from typing import Final

from checklist_crds.ids import object_id
from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.errors import KubeConflict, KubeNotFound
from checklist_crds.resources.base import StatusCondition, with_condition
from checklist_crds.resources.kinds import API_KEY, MEMBER, Kind
from checklist_crds.times import Clock
from checklist_crds.values.json_text import JsonObject
from checklist_operator.controllers.labels import labelled, lacks_label
from checklist_operator.controllers.tenancy import Refusal, Tenancy
from checklist_operator.runtime.json_logging import about
from checklist_operator.runtime.kube_events import EventRecorder, ObjectReference
from checklist_operator.runtime.work_queue import WorkQueue

logger = logging.getLogger(__name__)

READY: Final = "Ready"

MemberKey = tuple[Kind, str, str]
"""Kind, namespace, name."""


class Members:
    """Reconciles every Member and ApiKey."""

    def __init__(
        self,
        client: KubeClient,
        tenancy: Tenancy,
        *,
        kube_events: EventRecorder,
        clock: Clock,
        on_bug: Callable[[str], None],
    ) -> None:
        self._client = client
        self._kube_events = kube_events
        self._tenancy = tenancy
        self._clock = clock
        self._of_organization: defaultdict[str, set[MemberKey]] = defaultdict(set)
        self.queue: WorkQueue[MemberKey] = WorkQueue("members", self._reconcile, workers=4, on_bug=on_bug)

    def observe(self, kind: Kind, type_: str | None, body: JsonObject) -> None:
        metadata = body["metadata"]
        key = (kind, str(metadata["namespace"]), str(metadata["name"]))
        organization = str(body["spec"]["organizationRef"]["name"])
        if type_ == "DELETED":
            self._of_organization[organization].discard(key)
            self.queue.forget(key)
            return
        self._of_organization[organization].add(key)
        if lacks_label(body, organization) or not _is_judged(body) or (type_ is None and _lacks_organization(body)):
            self.queue.add(key)

    def organization_changed(self, name: str) -> None:
        for key in self._of_organization.get(name, ()):
            self.queue.add(key)

    async def _reconcile(self, key: MemberKey) -> float | None:
        kind, namespace, name = key
        try:
            body = await self._client.get(kind, name, namespace)
            organization = str(body["spec"]["organizationRef"]["name"])
            refusal = await self._tenancy.refusal(organization, namespace) or _own_refusal(kind, body)
            body = await labelled(self._client, kind, body, organization)
            await self._write_status(key, body, refusal)
        except KubeNotFound:
            return None
        except KubeConflict:
            return 0.05
        return None

    async def _write_status(self, key: MemberKey, body: JsonObject, refusal: Refusal | None) -> None:
        kind, namespace, name = key
        status = body.get("status") or {}
        before = [StatusCondition.model_validate(condition) for condition in status.get("conditions") or ()]
        after = with_condition(
            before,
            READY,
            refusal is None,
            refusal.reason if refusal else READY,
            refusal.message if refusal else "It can be used.",
            now=self._clock(),
            generation=body["metadata"]["generation"],
        )
        patch: JsonObject = {}
        if after != before:
            patch["conditions"] = [condition.to_kube() for condition in after]
        public_id = object_id("u", name, str(body["spec"]["organizationRef"]["name"]))
        if kind is MEMBER and status.get("id") != public_id:
            patch["id"] = public_id
        if patch:
            version = body["metadata"]["resourceVersion"]
            await self._client.patch_status(kind, name, patch, namespace, resource_version=version)
            self._record_event(kind, body, before, refusal)
            logger.info(
                "member.judged", extra=about(kind=kind.kind, name=name, reason=refusal.reason if refusal else READY)
            )

    def _record_event(
        self, kind: Kind, body: JsonObject, before: list[StatusCondition], refusal: Refusal | None
    ) -> None:
        """Records an Event when the object becomes unusable, or usable again."""
        was, this = _reason(before), ObjectReference.of(kind, body)
        if refusal is not None and was != refusal.reason:
            self._kube_events.warn(this, refusal.reason, refusal.message)
        elif refusal is None and was not in (None, READY):
            self._kube_events.record(this, READY, "It can be used again.")


def _reason(conditions: list[StatusCondition]) -> str | None:
    return next((one.reason for one in conditions if one.type == READY), None)


def _own_refusal(kind: Kind, body: JsonObject) -> Refusal | None:
    if kind is API_KEY and body["spec"].get("revoked"):
        return Refusal("Revoked", "The key was revoked.")
    return None


def _lacks_organization(body: JsonObject) -> bool:
    """Whether its organization was missing when last checked; it may have been created while no operator ran."""
    conditions = (body.get("status") or {}).get("conditions") or ()
    return any(condition["reason"] == "OrganizationNotFound" for condition in conditions)


def _is_judged(body: JsonObject) -> bool:
    generation = body["metadata"]["generation"]
    return any(
        condition["type"] == READY and condition.get("observedGeneration") == generation
        for condition in (body.get("status") or {}).get("conditions") or ()
    )
