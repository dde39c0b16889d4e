"""Deletes archived objects from the cluster, each only in the version that was archived.

A run is deleted before its deliveries: clients then find all of it in the archive, never a run with some deliveries
missing.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from checklist_crds.archive.record import Record, RemovedDeliveries
from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.errors import KubeConflict, KubeNotFound
from checklist_crds.limits.retention import is_marked_settled
from checklist_crds.resources.kinds import RUN, WEBHOOK_DELIVERY, Kind
from checklist_crds.values.json_text import JsonObject
from checklist_operator.archive.writer import NotAllowed

_AT_ONCE: Final = 24
"""Concurrent deletions. They share the API server with time-critical work."""


@dataclass(slots=True)
class Removal:
    """Result of deleting the objects of a part."""

    objects: int = 0
    runs: int = 0
    """Runs deleted by this call. Those that changed after they were archived stay, and are archived again when due."""
    outdated: list[Record] = field(default_factory=list)
    """Deleted runs whose deliveries changed after they were archived, with the current deliveries."""
    pending: bool = False
    """Whether a delivery of a deleted run is being replayed: try again later."""


class ArchivedObjects:
    """Deletes archived objects. Methods raise KubeError and NotAllowed."""

    def __init__(self, client: KubeClient, *, on_removed: Callable[[str], None]) -> None:
        self._client = client
        self._on_removed = on_removed

    async def remove(self, lines: Sequence[Record | RemovedDeliveries], may: Callable[[], bool]) -> Removal:
        """`may` is called before each deletion."""
        removal = Removal()
        gate = asyncio.Semaphore(_AT_ONCE)

        async def one(line: Record | RemovedDeliveries) -> None:
            async with gate:
                if isinstance(line, Record):
                    await self._remove_run(line, removal, may)
                else:
                    for delivery in line.deliveries:
                        await self._delete(WEBHOOK_DELIVERY, delivery, removal, may)

        await gather_or_cancel([one(line) for line in lines])
        return removal

    async def _remove_run(self, record: Record, removal: Removal, may: Callable[[], bool]) -> None:
        gone = await self._delete(RUN, record.run, removal, may)
        if gone is None:
            return
        removal.runs += gone
        changed = [
            delivery
            for delivery in record.deliveries
            if await self._delete(WEBHOOK_DELIVERY, delivery, removal, may) is None
        ]
        if changed:
            await self._check_changed(record, changed, removal)

    async def _check_changed(self, record: Record, changed: Sequence[JsonObject], removal: Removal) -> None:
        now = {str(one["metadata"]["name"]): one for one in record.deliveries}
        for delivery in changed:
            name, namespace = delivery["metadata"]["name"], delivery["metadata"]["namespace"]
            try:
                body = await self._client.get(WEBHOOK_DELIVERY, name, namespace)
            except KubeNotFound:
                continue
            if not is_marked_settled(body):
                removal.pending = True
                return
            now[name] = body
        amended = Record.of(record.run, record.revision, now.values())
        removal.outdated.append(replace(amended, photos=record.photos, row=record.row))

    async def _delete(self, kind: Kind, body: JsonObject, removal: Removal, may: Callable[[], bool]) -> int | None:
        """Returns 1: deleted; 0: already gone; None: changed."""
        if not may():
            raise NotAllowed()
        metadata = body["metadata"]
        try:
            await self._client.delete(
                kind, metadata["name"], metadata["namespace"], resource_version=metadata["resourceVersion"]
            )
        except KubeNotFound:
            return 0
        except KubeConflict:
            return None
        removal.objects += 1
        self._on_removed(kind.kind)
        return 1


async def gather_or_cancel(work: Sequence[Awaitable[None]]) -> None:
    """Awaits all concurrently; when one fails, cancels the others before raising its error."""
    tasks = [asyncio.ensure_future(one) for one in work]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
