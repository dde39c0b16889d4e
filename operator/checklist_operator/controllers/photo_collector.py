"""Photos that nobody needs go: those of deleted runs, and orphans of uploads that never became part of a run.

A run that is deleted takes its photos with it at once, when that is seen; one that is archived keeps them. What is not
seen (deleted while nobody watched) and orphans are found by a sweep through the store, which touches only what is a day
old: younger objects may belong to an upload under way, and a mistake in the settings has a day to be noticed.
"""

import asyncio
import logging
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final

from checklist_crds.ids import is_id
from checklist_crds.kube.client import JsonObject, KubeClient
from checklist_crds.kube.errors import KubeGone, KubeNotFound
from checklist_crds.kube.informer import Key, key_of
from checklist_crds.kube.kinds import ORGANIZATION, RUN
from checklist_crds.photo_keys import thumbnail_key
from checklist_crds.photo_store import PhotoStore, StoredObject, StoreUnavailable
from checklist_crds.run_photos import keys_in_use
from checklist_crds.run_types import Run
from checklist_crds.times import Clock
from checklist_operator.archived_runs import ArchivedRuns
from checklist_operator.json_logging import about
from checklist_operator.paging import pages
from checklist_operator.work_queue import WorkQueue

logger = logging.getLogger(__name__)

_STORE_PAUSE_S: Final = 30.0
_FEW_RUNS: Final = 100
"""So many runs are read one by one; more are found by reading the lists of all runs."""
_AT_ONCE: Final = 8


class PhotoCollector:
    """Shown every unsettled run, and told of runs that retention removed."""

    def __init__(
        self,
        client: KubeClient,
        store: PhotoStore,
        archived: ArchivedRuns,
        *,
        clock: Clock,
        namespaces: tuple[str, ...],
        orphan_after: timedelta,
        on_removed: Callable[[str], None],
        on_bug: Callable[[str], None],
    ) -> None:
        """`namespaces`: where runs are looked for first."""
        self._client = client
        self._store = store
        self._archived = archived
        self._clock = clock
        self._namespaces = namespaces
        self._orphan_after = orphan_after
        self._on_removed = on_removed
        self.queue: WorkQueue[Key] = WorkQueue("photo_collector", self._reconcile, workers=2, on_bug=on_bug)

    def observe(self, type_: str | None, body: JsonObject) -> None:
        # A run that was settled leaves the watch in the same way as one that was deleted.
        if type_ == "DELETED" and _has_photos(body):
            self.queue.add(key_of(body))

    def run_removed(self, key: Key) -> None:
        self.queue.add(key)

    async def sweep(self) -> int:
        """How many objects were deleted. Raises KubeError; a store that does not answer ends the sweep quietly."""
        deleted = 0
        try:
            namespaces = await self._where_runs_are()
            unseen = {run_id for run_id in await self._store.runs() if is_id("r", run_id)}
            if len(unseen) > _FEW_RUNS:
                deleted += await self._sweep_listed(unseen, namespaces)
                unseen = await self._archived.missing(unseen)
            gone = set()
            for run_id in sorted(unseen):
                if self._old(await self._store.objects_of(run_id)):
                    run = await self._find(run_id, namespaces)
                    if run is None:
                        gone.add(run_id)
                    else:
                        deleted += await self._sweep_objects(run_id, run)
            # Looked for in the archive after the cluster: runs go from there to here, and never back.
            for run_id in sorted(await self._archived.missing(gone)):
                deleted += await self._sweep_objects(run_id, None)
        except StoreUnavailable as error:
            logger.warning("photos not swept: %s", error)
        return deleted

    async def _reconcile(self, key: Key) -> float | None:
        namespace, run_id = key
        if await self._find(run_id, [namespace]) is not None or self._archived.just_now(key):
            return None
        try:
            await self._delete(run_id, await self._store.objects_of(run_id), "run_deleted")
        except StoreUnavailable as error:
            logger.warning("photos of a deleted run are still there: %s", error, extra=about(run_id=run_id))
            return _STORE_PAUSE_S
        return None

    async def _sweep_listed(self, unseen: set[str], namespaces: list[str]) -> int:
        """Sweep those of `unseen` that the lists of runs show, and take them out of it.

        Lists are as old as their first page. That is no harm: what a run came to use since was put there since, and
        is young.
        """
        deleted = 0
        try:
            async for page in pages(self._client, RUN, tuple(namespaces)):
                listed = [body for body in page if body["metadata"]["name"] in unseen]
                unseen -= {body["metadata"]["name"] for body in listed}
                for start in range(0, len(listed), _AT_ONCE):
                    runs = map(Run.parse, listed[start : start + _AT_ONCE])
                    deleted += sum(await asyncio.gather(*(self._sweep_objects(run.name, run) for run in runs)))
        except KubeGone:
            # Deleting took longer than the cluster keeps what a list continues from; the rest is read one by one.
            logger.info("the lists of runs ended early", extra=about(runs=len(unseen)))
        return deleted

    async def _sweep_objects(self, run_id: str, run: Run | None) -> int:
        """Delete what is old and not used by `run`; None: there is no such run."""
        needed: frozenset[str] = frozenset()
        if run is not None:
            keys = keys_in_use(run.status)
            needed = keys | {thumbnail_key(key) for key in keys}
        # Looked at after the run was read: an upload that was given up may have been sent again, into the same place.
        unneeded = [found for found in self._old(await self._store.objects_of(run_id)) if found.key not in needed]
        return await self._delete(run_id, unneeded, "run_deleted" if run is None else "orphans")

    def _old(self, objects: list[StoredObject]) -> list[StoredObject]:
        now = self._clock()
        return [found for found in objects if now - found.modified_at >= self._orphan_after]

    async def _delete(self, run_id: str, objects: list[StoredObject], reason: str) -> int:
        if not objects:
            return 0
        await self._store.delete([found.key for found in objects])
        for _ in objects:
            self._on_removed("Photo")
        logger.info("photos removed", extra=about(run_id=run_id, objects=len(objects), reason=reason))
        return len(objects)

    async def _find(self, run_id: str, namespaces: list[str]) -> Run | None:
        """The run; None only when none of that name is in any namespace that the operator serves, or that an
        organization names. Raises KubeError, too when one of those may not be read: nothing is taken for gone then."""
        for namespace in namespaces:
            try:
                return Run.parse(await self._client.get(RUN, run_id, namespace))
            except KubeNotFound:
                continue
        # Rare, since it is slow: without a list of namespaces, the whole cluster is looked at.
        found, _ = await self._client.list_all(RUN, field_selector=f"metadata.name={run_id}")
        return Run.parse(found[0]) if found else None

    async def _where_runs_are(self) -> list[str]:
        namespaces = dict.fromkeys(self._namespaces)
        async for page in pages(self._client, ORGANIZATION):
            namespaces |= dict.fromkeys(
                str(body["spec"]["namespace"]) for body in page if body["spec"].get("namespace")
            )
        return list(namespaces)


def _has_photos(body: JsonObject) -> bool:
    status: dict[str, Any] = body.get("status") or {}
    answers = (status.get("answers") or {}).values()
    return bool(
        status.get("storedBytes")
        or status.get("photoCounts")
        or status.get("drawing")
        or (status.get("signature") or {}).get("photo")
        or any(answer.get("photos") or answer.get("drawing") for answer in answers)
    )
