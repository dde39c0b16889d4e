"""Takes out of the cluster what a look has found. Each run goes only as it is when it is looked at once more."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Final, TypeVar

from checklist_crds.kube.client import KubeClient, retry_conflicts
from checklist_crds.kube.errors import KubeConflict, KubeNotFound
from checklist_crds.limits.quota import Quota, confirm
from checklist_crds.resources.kinds import ORGANIZATION, RUN
from checklist_crds.resources.legal_hold import is_held

from ..backup.parallel import for_each
from .sight import FoundObject, FoundRun

_AT_ONCE: Final = 16
_TRIES: Final = 20
T = TypeVar("T")


class ClusterRemoval:
    """Methods raise KubeError."""

    def __init__(self, client: KubeClient, organization: str) -> None:
        """`organization`: metadata.name."""
        self._client = client
        self._organization = organization

    async def runs(self, runs: Sequence[FoundRun]) -> set[str]:
        """Deletes the runs; the ids of those that stay, since somebody has put a legal hold on them by now."""
        await self._confirm({run.run_id for run in runs})
        stay = set[str]()

        async def one(run: FoundRun) -> None:
            if not await self._run(run):
                stay.add(run.run_id)

        await _each(runs, one)
        return stay

    async def objects(self, found: Sequence[FoundObject]) -> None:
        """Deletes them, in whatever state they are."""

        async def one(found: FoundObject) -> None:
            try:
                await self._client.delete(found.kind, found.name, found.namespace)
            except KubeNotFound:
                return

        await _each(found, one)

    async def _run(self, found: FoundRun) -> bool:
        """Whether it is gone."""
        for _ in range(_TRIES):
            try:
                body = await self._client.get(RUN, found.run_id, found.namespace)
                if body["metadata"]["uid"] != found.uid:
                    return True
                if is_held(body):
                    return False
                version = body["metadata"]["resourceVersion"]
                await self._client.delete(RUN, found.run_id, found.namespace, resource_version=version)
            except KubeNotFound:
                return True
            except KubeConflict:
                continue
            return True
        return False  # it changes without end; the next look finds it again

    async def _confirm(self, run_ids: set[str]) -> None:
        """The month's count keeps runs that were dispatched a moment ago: one that is counted and not there is taken
        for one that was never made, and given back."""

        async def attempt() -> None:
            body = await self._client.get(ORGANIZATION, self._organization)
            quota = Quota.parse((body.get("status") or {}).get("quota"))
            if not quota.pending.keys() & run_ids:
                return
            status = {"quota": confirm(quota, run_ids).as_status()}
            version = body["metadata"]["resourceVersion"]
            await self._client.patch_status(ORGANIZATION, self._organization, status, resource_version=version)

        await retry_conflicts(attempt)


async def _each(items: Sequence[T], work: Callable[[T], Awaitable[None]]) -> None:
    async def one_after_the_other() -> AsyncIterator[T]:
        for item in items:
            yield item

    await for_each(one_after_the_other(), work, parallel=_AT_ONCE)
