"""What the operator's archiver does, in the same order of writes, when a test wants it: there is no operator here."""

import contextlib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.waiting import eventually

from checklist_crds.archive import ArchiveStore, Folder, PartPlace, Record, encode_part, month_of
from checklist_crds.ids import object_id
from checklist_crds.kube.errors import KubeNotFound
from checklist_crds.resources.kinds import RUN, TEMPLATE_REVISION, WEBHOOK_DELIVERY, Key
from checklist_crds.resources.run import Run
from checklist_crds.times import utc_now
from checklist_crds.values.json_text import JsonObject

from .conftest import Api


@dataclass
class ArchiveLab:
    api: Api
    deleted: set[Key] = field(default_factory=set)

    @property
    def url(self) -> str:
        return self.api.services.settings.archive_store

    @property
    def store(self) -> ArchiveStore:
        return ArchiveStore.open(self.url)

    async def record(self, run_id: str) -> Record:
        kube, namespace = self.api.kube, self.api.namespace
        run = await kube.get(RUN, run_id, namespace)
        revision = await kube.get(TEMPLATE_REVISION, Run.parse(run).admitted_as.revision_ref.name, namespace)
        of_run = f"spec.runRef.name={run_id}"
        deliveries, _ = await kube.list_all(WEBHOOK_DELIVERY, namespace, field_selector=of_run)
        return Record.of(run, revision, deliveries)

    async def write(self, records: Sequence[Record], organization: str | None = None) -> list[PartPlace]:
        """Parts with these records, each by its month. They count when this returns."""
        by_month: dict[str, list[Record]] = defaultdict(list)
        for record in records:
            by_month[month_of(record.created_at)].append(record)
        places = []
        for month, some in by_month.items():
            owner = organization or object_id("org", self.api.organization)
            part = encode_part(Folder(owner, month), some, written_at=utc_now(), written_by="a test")
            await self.store.put(part.place.key, part.content)
            await self.store.put(part.place.manifest_key, part.manifest.encoded())
            places.append(part.place)
        return places

    async def delete(self, records: Sequence[Record]) -> None:
        """From the cluster: each run before its deliveries."""
        for record in records:
            for kind, body in ((RUN, record.run), *((WEBHOOK_DELIVERY, each) for each in record.deliveries)):
                await self._delete(kind, body)

    async def archive(self, *run_ids: str) -> list[PartPlace]:
        """Moves these runs, all into one part of each month."""
        records = [await self.record(run_id) for run_id in run_ids]
        places = await self.write(records)
        await self.delete(records)
        return places

    async def loaded(self) -> None:
        """Until the API has seen off whatever left the cluster."""
        index = self.api.services.index
        await eventually(lambda: not any(index.is_leaving(key) or index.has(key[1], key[0]) for key in self.deleted))
        await self.api.services.archive.wait_until_loaded()

    async def _delete(self, kind: Any, body: JsonObject) -> None:
        metadata = body["metadata"]
        with contextlib.suppress(KubeNotFound):
            await self.api.kube.delete(
                kind, metadata["name"], metadata["namespace"], resource_version=metadata["resourceVersion"]
            )
        if kind is RUN:
            self.deleted.add((metadata["namespace"], metadata["name"]))
