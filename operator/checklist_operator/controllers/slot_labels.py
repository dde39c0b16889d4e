"""Runs and deliveries without a slot get one: those made with kubectl, and those from before there were slots.

Only where several operators divide the work, and by the first of them, since nobody else sees such objects. Until then
nobody acts on them, so that nobody acts twice. A run that does not say whose it is waits for its admission, which finds
out by its template.
"""

import logging
from collections.abc import Callable
from typing import Final

from checklist_crds.kube.client import JsonObject, KubeClient
from checklist_crds.kube.errors import KubeNotFound
from checklist_crds.kube.informer import key_of
from checklist_crds.kube.kinds import WEBHOOK_DELIVERY, Kind
from checklist_crds.resource_types import ORGANIZATION_LABEL
from checklist_crds.slots import SLOT_LABEL, slot_of
from checklist_operator.runtime.json_logging import about
from checklist_operator.runtime.work_queue import WorkQueue

logger = logging.getLogger(__name__)

_WORKERS: Final = 8

ObjectKey = tuple[Kind, str, str]


class SlotLabels:
    """Shown what has no slot."""

    def __init__(self, client: KubeClient, *, on_bug: Callable[[str], None]) -> None:
        self._client = client
        self._organizations: dict[ObjectKey, str] = {}
        self.queue: WorkQueue[ObjectKey] = WorkQueue("slot_labels", self._reconcile, workers=_WORKERS, on_bug=on_bug)

    def take(self, kind: Kind, body: JsonObject) -> bool:
        """Whether a slot can be found, and will be written."""
        organization = organization_of(kind, body)
        if not organization:
            return False
        key = (kind, *key_of(body))
        self._organizations[key] = organization
        self.queue.add(key)
        return True

    async def _reconcile(self, key: ObjectKey) -> float | None:
        """Without a condition on what was read: whatever else was changed meanwhile, the slot is the same."""
        kind, namespace, name = key
        organization = self._organizations.pop(key, None)
        if organization is None:
            return None
        slot = slot_of(organization)
        try:
            await self._client.patch(kind, name, {"metadata": {"labels": {SLOT_LABEL: slot}}}, namespace)
            logger.info("slot.labelled", extra=about(kind=kind.kind, name=name, slot=slot))
        except KubeNotFound:
            pass
        except BaseException:
            self._organizations.setdefault(key, organization)
            raise
        return None


def organization_of(kind: Kind, body: JsonObject) -> str:
    """As the object says it; empty when it does not. Whether it may belong to it is for others to judge."""
    spec, status = body.get("spec") or {}, body.get("status") or {}
    named = (spec.get("organizationRef") or {}).get("name")
    if kind == WEBHOOK_DELIVERY or named:
        return str(named or "")
    resolved = spec.get("resolved") or status.get("resolved") or {}
    labels = body["metadata"].get("labels") or {}
    return str(resolved.get("organization") or labels.get(ORGANIZATION_LABEL) or "")
