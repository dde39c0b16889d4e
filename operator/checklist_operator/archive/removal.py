"""Taking out of the cluster what the archive has: each object only in the very version that was archived.

A run goes before its deliveries: whoever asks for it then finds all of it in the archive, and never a run whose
deliveries are half gone.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from checklist_crds.archive.record import Record, RemovedDeliveries
from checklist_crds.kube.client import JsonObject, KubeClient
from checklist_crds.kube.errors import KubeConflict, KubeNotFound
from checklist_crds.limits.retention import is_settled
from checklist_crds.resources.kinds import RUN, WEBHOOK_DELIVERY, Kind
from checklist_operator.archive.writer import NotAllowed

_AT_ONCE: Final = 24
"""Deletions. They share the API server with everything that has to be on time."""


@dataclass(slots=True)
class Removal:
    """What became of the objects of a part."""

    objects: int = 0
    runs: int = 0
    """Runs that went now."""
    changed_runs: int = 0
    """Runs that are no longer as they were archived: they stay, and are archived anew when they are due."""
    outdated: list[Record] = field(default_factory=list)
    """Runs that are gone, with deliveries that changed after they were archived, as those are now."""
    pending: bool = False
    """Whether a delivery of a run that is gone is being replayed just now: it is to be looked at again."""


class ArchivedObjects:
    """Methods raise KubeError and NotAllowed."""

    def __init__(self, client: KubeClient, *, on_removed: Callable[[str], None]) -> None:
        self._client = client
        self._on_removed = on_removed

    async def remove(self, lines: Sequence[Record | RemovedDeliveries], may: Callable[[], bool]) -> Removal:
        """`may` is asked before each deletion."""
        removal = Removal()
        gate = asyncio.Semaphore(_AT_ONCE)

        async def one(line: Record | RemovedDeliveries) -> None:
            async with gate:
                if isinstance(line, Record):
                    await self._remove_run(line, removal, may)
                else:
                    for delivery in line.deliveries:
                        await self._delete(WEBHOOK_DELIVERY, delivery, removal, may)

        await all_done([one(line) for line in lines])
        return removal

    async def _remove_run(self, record: Record, removal: Removal, may: Callable[[], bool]) -> None:
        gone = await self._delete(RUN, record.run, removal, may)
        if gone is None:
            removal.changed_runs += 1
            return
        removal.runs += gone
        changed = [
            delivery
            for delivery in record.deliveries
            if await self._delete(WEBHOOK_DELIVERY, delivery, removal, may) is None
        ]
        if changed:
            await self._look_again(record, changed, removal)

    async def _look_again(self, record: Record, changed: Sequence[JsonObject], removal: Removal) -> None:
        now = {str(one["metadata"]["name"]): one for one in record.deliveries}
        for delivery in changed:
            name, namespace = delivery["metadata"]["name"], delivery["metadata"]["namespace"]
            try:
                body = await self._client.get(WEBHOOK_DELIVERY, name, namespace)
            except KubeNotFound:
                continue
            if not is_settled(body):
                removal.pending = True
                return
            now[name] = body
        amended = Record.of(record.run, record.revision, now.values())
        removal.outdated.append(replace(amended, photos=record.photos, row=record.row))

    async def _delete(self, kind: Kind, body: JsonObject, removal: Removal, may: Callable[[], bool]) -> int | None:
        """1: it went; 0: it was gone; None: it has changed."""
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


async def all_done(work: Sequence[Awaitable[None]]) -> None:
    """All at once; when one fails the others are ended before its error is raised."""
    tasks = [asyncio.ensure_future(one) for one in work]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
