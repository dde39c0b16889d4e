"""Copies the admission of runs from spec to status when their seal will not stay valid.

That is: runs made by versions without seals, runs restored by versions without expiring seals, and runs sealed with a
key that no longer signs: once that key is removed, nothing else proves that the API admitted them. Only the service
writes the status.
"""

import logging
from collections.abc import Callable

from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.errors import KubeConflict, KubeNotFound
from checklist_crds.resources.kinds import RUN, Key, key_of
from checklist_crds.runs.seal import RunSeals
from checklist_crds.values.json_text import JsonObject
from checklist_operator.controllers.tenancy import Tenancy
from checklist_operator.runtime.json_logging import about
from checklist_operator.runtime.work_queue import WorkQueue

logger = logging.getLogger(__name__)


class RunSealKeeper:
    """Handles unsettled runs that passed `RunSeals.check`."""

    def __init__(self, client: KubeClient, seals: RunSeals, tenancy: Tenancy, *, on_bug: Callable[[str], None]) -> None:
        self._client = client
        self._seals = seals
        self._tenancy = tenancy
        self.queue: WorkQueue[Key] = WorkQueue("run_seals", self._reconcile, workers=4, on_bug=on_bug)

    def observe(self, type_: str | None, body: JsonObject) -> None:
        if type_ != "DELETED" and self._is_due(body):
            self.queue.add(key_of(body))

    async def _reconcile(self, key: Key) -> float | None:
        try:
            body = await self._client.get(RUN, key[1], key[0])
            if not self._is_due(body):
                return None
            resolved = body["spec"]["resolved"]
            refusal = await self._tenancy.refusal(str(resolved["organization"]), key[0])
            if refusal is not None:
                logger.warning(
                    "run.seal_refused", extra=about(run_id=key[1], reason=refusal.reason, detail=refusal.message)
                )
                return None
            version = body["metadata"]["resourceVersion"]
            await self._client.patch_status(RUN, key[1], {"resolved": resolved}, key[0], resource_version=version)
        except KubeNotFound:
            return None
        except KubeConflict:
            return 0.05
        return None

    def _is_due(self, body: JsonObject) -> bool:
        is_believed = bool(body["spec"].get("resolved"))
        return is_believed and not (body.get("status") or {}).get("resolved") and not self._seals.is_current(body)
