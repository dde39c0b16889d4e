"""Deletes photos of deleted runs, and orphans of uploads that never became part of a run.

The photos of a deleted run are deleted at once; an archived run keeps them. A sweep through the store finds orphans and
runs that were deleted while no operator ran. It only deletes objects older than a day: younger ones may belong to an
upload in progress, and the delay leaves time to notice wrong settings.

Several runs may have had the same id, in namespaces of different organizations, and folders of versions before 0.1.0
name no organization. Before each deletion the cluster and the archive are searched for all runs with the id, and what
any of them uses is kept.
"""

import asyncio
import contextlib
import logging
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from datetime import timedelta
from typing import Any, Final

from attrs import Factory, define, field

from checklist_crds.ids import object_id
from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.errors import KubeGone, KubeNotFound
from checklist_crds.kube.run_lookup import find_runs
from checklist_crds.limits.retention import organization_of
from checklist_crds.photos.keys import PhotoFolder, thumbnail_key
from checklist_crds.photos.store import PhotoStore, StoredObject, StoreUnavailable
from checklist_crds.resources.kinds import ORGANIZATION, RUN
from checklist_crds.resources.run import Run
from checklist_crds.resources.run_id import resolved_of, run_id_of
from checklist_crds.runs.photos import keys_in_use
from checklist_crds.times import Clock
from checklist_crds.values.json_text import JsonObject
from checklist_operator.archive.membership import ArchiveMembership
from checklist_operator.runtime.json_logging import about
from checklist_operator.runtime.paging import pages
from checklist_operator.runtime.work_queue import WorkQueue

logger = logging.getLogger(__name__)

_STORE_PAUSE_S: Final = 30.0
_FEW_RUNS: Final = 100
"""Up to this number, runs are read one by one; beyond it, from lists of all runs."""
_AT_ONCE: Final = 8

_Gone = tuple[str, PhotoFolder]
"""Namespace of the run, and folder of its photos."""


@define(kw_only=True, eq=False, repr=False, slots=False)
class PhotoCollector:
    """Deletes photos of deleted runs and orphans.

    `namespaces`: where runs may be, the installation's own first.
    """

    _client: KubeClient
    _store: PhotoStore
    _archived: ArchiveMembership
    _clock: Clock
    _namespaces: tuple[str, ...]
    _orphan_after: timedelta
    _on_removed: Callable[[str], None]
    _on_bug: Callable[[str], None]
    queue: WorkQueue[_Gone] = field(
        default=Factory(
            lambda self: WorkQueue("photo_collector", self._reconcile, workers=2, on_bug=self._on_bug), takes_self=True
        ),
        init=False,
    )

    def observe(self, type_: str | None, body: JsonObject) -> None:
        # Settled runs also leave the watch as DELETED; `_reconcile` tells them apart.
        if type_ == "DELETED" and _has_photos(body):
            self.run_removed(body)

    def run_removed(self, body: JsonObject) -> None:
        """Deletes the photos of a run that is deleted and not archived."""
        run_id = run_id_of(body)
        if run_id is not None:  # without an id it was never admitted and has no photos
            folder = PhotoFolder(object_id("org", organization_of(body)), run_id)
            self.queue.add((str(body["metadata"]["namespace"]), folder))

    async def sweep(self) -> int:
        """Returns the number of deleted objects. Raises KubeError; ends early when the store does not answer."""
        deleted = 0
        try:
            homes = await self._homes()
            folders = await self._store.folders()
            # Photos of archived runs stay, whatever runs with their id the cluster has.
            missing = await self._archived.missing({folder.run_id for folder in folders})
            unseen = {folder for folder in folders if folder.run_id in missing}
            if len(unseen) > _FEW_RUNS:
                deleted += await self._sweep_listed(unseen, homes)
            for folder in sorted(unseen):
                if self._old(await self._store.objects_of(folder)):
                    runs = await self._find(folder, homes.get(folder.organization, ()))
                    if runs is None:
                        continue
                    # The archive is checked after the cluster: runs move from the cluster to it, never back.
                    if await self._archived.missing([folder.run_id]):
                        deleted += await self._sweep_folder(folder, runs)
        except StoreUnavailable as error:
            logger.warning("photos.not_swept", extra=about(reason=str(error)))
        return deleted

    async def _reconcile(self, gone: _Gone) -> float | None:
        namespace, own = gone
        if self._archived.was_just_archived((namespace, own.run_id)):
            return None
        try:
            for folder in (own, PhotoFolder("", own.run_id)):
                objects = await self._store.objects_of(folder)
                if not objects:
                    continue
                where = [namespace] if folder.organization else (await self._homes())[""]
                if await self._find(folder, where) != []:
                    continue
                if await self._archived.missing([own.run_id]):
                    await self._delete(own.run_id, objects, "run_deleted")
        except StoreUnavailable as error:
            logger.warning("photos.not_removed", extra=about(run_id=own.run_id, reason=str(error)))
            return _STORE_PAUSE_S
        return None

    async def _sweep_listed(self, unseen: set[PhotoFolder], homes: Mapping[str, tuple[str, ...]]) -> int:
        """Sweeps the folders of `unseen` whose runs are listed, and removes them from it.

        A list is as old as its first page. Photos used since then are too young to be deleted.
        """
        deleted = 0
        ids = {folder.run_id for folder in unseen}
        sharing: defaultdict[PhotoFolder, list[Run]] = defaultdict(list)
        try:
            async for page in pages(self._client, RUN, homes[""]):
                own: list[tuple[PhotoFolder, Run]] = []
                for body in page:
                    folder = _folder_of(body)
                    if folder is None or folder.run_id not in ids:
                        continue
                    try:
                        run = Run.parse(body)
                    except ValueError:  # `_find` decides
                        ids.discard(folder.run_id)
                        continue
                    sharing[PhotoFolder("", run.id)].append(run)
                    if folder in unseen:
                        own.append((folder, run))
                unseen -= {folder for folder, _ in own}
                for start in range(0, len(own), _AT_ONCE):
                    some = own[start : start + _AT_ONCE]
                    deleted += sum(await asyncio.gather(*(self._sweep_folder(folder, [run]) for folder, run in some)))
            # All runs of the cluster were seen: a folder without an organization belongs to all runs with its id.
            for folder in {folder for folder in unseen & sharing.keys() if folder.run_id in ids}:
                deleted += await self._sweep_folder(folder, sharing[folder])
                unseen.discard(folder)
        except KubeGone:
            # The continue token expired while objects were deleted; the rest is read one by one.
            logger.info("photos.run_lists_incomplete", extra=about(runs=len(unseen)))
        return deleted

    async def _sweep_folder(self, folder: PhotoFolder, runs: list[Run]) -> int:
        """Deletes old objects that none of `runs` uses: all runs that the folder may belong to."""
        keys = {key for run in runs for key in keys_in_use(run.status)}
        needed = keys | {thumbnail_key(key) for key in keys}
        # Listed after the runs were read: an abandoned upload may have been repeated with the same key.
        unneeded = [found for found in self._old(await self._store.objects_of(folder)) if found.key not in needed]
        return await self._delete(folder.run_id, unneeded, "orphans" if runs else "run_deleted")

    def _old(self, objects: list[StoredObject]) -> list[StoredObject]:
        now = self._clock()
        return [found for found in objects if now - found.modified_at >= self._orphan_after]

    async def _delete(self, run_id: str, objects: list[StoredObject], reason: str) -> int:
        if not objects:
            return 0
        await self._store.delete([found.key for found in objects])
        for _ in objects:
            self._on_removed("Photo")
        logger.info("photos.removed", extra=about(run_id=run_id, objects=len(objects), reason=reason))
        return len(objects)

    async def _find(self, folder: PhotoFolder, namespaces: Collection[str]) -> list[Run] | None:
        """Returns the runs that the folder may belong to; None if one of them cannot be read, for example because a
        later release wrote it. `namespaces`: where to read them one by one.

        Raises KubeError, also without permission to read one of them: then nothing counts as deleted.
        """
        found: dict[str, JsonObject] = {}
        for namespace in namespaces:
            with contextlib.suppress(KubeNotFound):
                found[namespace] = await self._client.get(RUN, folder.run_id, namespace)
        if not any(_folder_of(body) == folder for body in found.values()):
            # Not often, because it is slow: reads the whole cluster.
            everywhere = await find_runs(self._client, folder.run_id)
            found |= {str(body["metadata"]["namespace"]): body for body in everywhere}
        try:
            return [Run.parse(body) for body in found.values() if _may_own(body, folder)]
        except ValueError as error:
            logger.error("photos.run_unreadable", extra=about(run_id=folder.run_id, reason=type(error).__name__))
            return None

    async def _homes(self) -> dict[str, tuple[str, ...]]:
        """Returns the namespaces that runs of each organization may be in, by public id, and under "" those of all
        organizations, served by this operator or not."""
        homes: dict[str, tuple[str, ...]] = {}
        async for page in pages(self._client, ORGANIZATION):
            for body in page:
                own = body["spec"].get("namespace") or self._namespaces[0]
                homes[object_id("org", body["metadata"]["name"])] = tuple(dict.fromkeys((own, self._namespaces[0])))
        homes[""] = tuple(dict.fromkeys((*self._namespaces, *(place for each in homes.values() for place in each))))
        return homes


def _folder_of(body: JsonObject) -> PhotoFolder | None:
    """The run's folder; None for a run that is not admitted. It may have been written by hand, and be unreadable."""
    resolved, run_id = resolved_of(body), run_id_of(body)
    if resolved is None or run_id is None:
        return None
    return PhotoFolder(object_id("org", str(resolved.get("organization"))), run_id)


def _may_own(body: JsonObject, folder: PhotoFolder) -> bool:
    own = _folder_of(body)
    return own == folder or (own is not None and not folder.organization)


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
