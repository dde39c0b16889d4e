"""Deletes from the cluster what a search found. Each run is deleted only if it is unchanged since its check."""

from collections.abc import Sequence
from typing import Final

from checklist_crds.kube.client import KubeClient, retry_conflicts
from checklist_crds.kube.errors import KubeConflict, KubeNotFound
from checklist_crds.limits.quota import Quota, confirm
from checklist_crds.resources.kinds import ORGANIZATION, RUN
from checklist_crds.resources.legal_hold import is_held

from ..backup.parallel import for_each
from .search_result import FoundObject, FoundRun

_AT_ONCE: Final = 16
_TRIES: Final = 20


class ClusterRemoval:
    """Methods raise KubeError."""

    def __init__(self, client: KubeClient, organization: str) -> None:
        """`organization`: metadata.name."""
        self._client = client
        self._organization = organization

    async def runs(self, runs: Sequence[FoundRun]) -> set[str]:
        """Delete the runs; returns the ids of those kept because of a new legal hold."""
        await self._confirm({run.run_id for run in runs})
        stay = set[str]()

        async def one(run: FoundRun) -> None:
            if not await self._run(run):
                stay.add(run.run_id)

        await for_each(runs, one, parallel=_AT_ONCE)
        return stay

    async def objects(self, found: Sequence[FoundObject]) -> None:
        """Delete the objects, in any state."""

        async def one(found: FoundObject) -> None:
            try:
                await self._client.delete(found.kind, found.name, found.namespace)
            except KubeNotFound:
                return

        await for_each(found, one, parallel=_AT_ONCE)

    async def _run(self, found: FoundRun) -> bool:
        """Delete a run; returns whether it is gone."""
        for _ in range(_TRIES):
            try:
                body = await self._client.get(RUN, found.name, found.namespace)
                if body["metadata"]["uid"] != found.uid:
                    return True
                if is_held(body):
                    return False
                version = body["metadata"]["resourceVersion"]
                await self._client.delete(RUN, found.name, found.namespace, resource_version=version)
            except KubeNotFound:
                return True
            except KubeConflict:
                continue
            return True
        return False  # it keeps changing; the next search finds it again

    async def _confirm(self, run_ids: set[str]) -> None:
        """Confirm the quota of recently dispatched runs: a counted run that is missing would be released as never
        created."""

        async def attempt() -> None:
            body = await self._client.get(ORGANIZATION, self._organization)
            quota = Quota.parse((body.get("status") or {}).get("quota"))
            if not quota.pending.keys() & run_ids:
                return
            status = {"quota": confirm(quota, run_ids).as_status()}
            version = body["metadata"]["resourceVersion"]
            await self._client.patch_status(ORGANIZATION, self._organization, status, resource_version=version)

        await retry_conflicts(attempt)
