"""An erasure is killed before and after each of its calls of the Kubernetes API and of both stores; the same command
goes on. At every moment each run of others can be read, in the archive byte for byte as it was;
in the end nothing of the person is anywhere, the receipt lists both attempts, and nothing else is left behind.
"""

import asyncio
import uuid
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest_asyncio
from tests.cluster.archive_lab import URL, files_in, in_cluster, manifests
from tests.cluster.operator_lab import SERVER_KEY, Lab
from tests.cluster.photo_lab import PhotoLab
from tests.cluster.replay_lab import made_failed
from tests.crash.test_archive_cuts import EVERY, Course, CuttingClient, CuttingStore, Killed, staged

from checklist_cli.console.progress import Progress
from checklist_cli.erasure.cluster_search import ClusterSearch
from checklist_cli.erasure.erasing import Erasure, Request
from checklist_cli.erasure.person import Person
from checklist_cli.erasure.receipt import is_genuine
from checklist_cli.erasure.search import Places
from checklist_crds.archive import ArchiveReader, ArchiveStore, Folder, Record, RemovedDeliveries, encode_part, month_of
from checklist_crds.ids import object_id
from checklist_crds.photos.keys import PhotoFolder
from checklist_crds.photos.store import PhotoStore, StoredObject
from checklist_crds.resources.kinds import AUDIT_ENTRY, RUN, TEMPLATE_REVISION
from checklist_crds.secrets.sealing import ServerKeys
from checklist_crds.times import utc_now
from checklist_crds.values.json_text import JsonObject
from checklist_dev.local.controlplane import ControlPlane

ADA, BOB = "ada@example.org", "bob@example.org"
KEYS = ServerKeys(SERVER_KEY)


class CuttingPhotos(PhotoStore):
    """Each deletion is two points."""

    course: Course

    async def delete(self, keys: Sequence[str]) -> None:
        self.course.point("delete photos: before")
        await super().delete(keys)
        self.course.point("delete photos: after")

    async def objects_of(self, folder: PhotoFolder) -> list[StoredObject]:
        self.course.point("list photos: before")
        return await super().objects_of(folder)


class Stage:
    """An organization with runs of two people: live ones, and archived ones in the same parts."""

    def __init__(self, lab: Lab, folder: Path) -> None:
        self.lab, self.folder = lab, folder
        self.store = ArchiveStore.open(folder.as_uri())
        self.photos = PhotoLab(lab, PhotoStore.open(folder.as_uri()), folder.parent)
        self.of_ada: set[str] = set()
        self.of_bob: dict[str, bytes] = {}
        """Lines of Bob's archived runs."""
        self.live_of_bob = ""
        self.removed_of_bob: RemovedDeliveries | None = None

    async def plant(self) -> None:
        await self.photos.prepare()
        archived: list[Record] = []
        for email in (ADA, BOB, ADA, BOB):
            run = await self._run(email)
            body = await self.lab.client.get(RUN, run, self.lab.namespace)
            name = body["spec"]["resolved"]["revisionRef"]["name"]
            revision = await self.lab.client.get(TEMPLATE_REVISION, name, self.lab.namespace)
            record = Record.of(body, revision, await self.lab.deliveries(run))
            archived.append(record)
            if email == BOB:
                self.of_bob[run] = record.line()
            if len(archived) != 3:  # the archiver of the third was killed before it could delete it
                await self.lab.client.delete(RUN, run, self.lab.namespace)
        await self._part(archived[:3])
        await self._part(archived[3:])
        ada, self.live_of_bob = await self._run(ADA, deliveries=1), await self._run(BOB, deliveries=1)
        self.of_ada.add(ada)
        lines = [RemovedDeliveries.of([self._removed(run)]) for run in (ada, self.live_of_bob)]
        self.removed_of_bob = lines[1]
        await self._part(lines)

    async def _run(self, email: str, *, deliveries: int = 0) -> str:
        run = await self.lab.dispatch(URL)
        await self.photos.add(run)
        await self.lab.client.patch_status(RUN, run, {"identity": {"name": "S", "email": email}}, self.lab.namespace)
        if deliveries:
            await self.lab.cancel(run)
            await made_failed(self.lab, run, URL, deliveries)
        if email == ADA:
            self.of_ada.add(run)
        return run

    def _removed(self, run: str) -> JsonObject:
        metadata = {"name": f"evt-{uuid.uuid4()}", "namespace": self.lab.namespace, "resourceVersion": "3"}
        spec = {"runRef": {"name": run}, "ts": "2026-03-01T12:00:00Z", "url": URL, "payload": "{}"}
        return {"metadata": metadata, "spec": spec, "status": {}}

    async def _part(self, lines: Sequence[Record | RemovedDeliveries]) -> None:
        folder = Folder(object_id("org", self.lab.organization), month_of(lines[0].created_at))
        part = encode_part(folder, lines, written_at=utc_now(), written_by="operator-0")
        await self.store.put(part.place.key, part.content)
        await self.store.put(part.place.manifest_key, part.manifest.encoded())

    async def erasure(self, course: Course) -> Erasure:
        store, photos = CuttingStore.open(self.folder.as_uri()), CuttingPhotos.open(self.folder.as_uri())
        store.course = photos.course = course
        quiet = Progress(lambda _: None)
        cluster = ClusterSearch(self.lab.client, self.lab.namespace, quiet)
        organization = await cluster.organization(self.lab.organization)
        identity = await cluster.identity(organization, Person(emails=frozenset({ADA})), ())
        places = Places(CuttingClient(self.lab.client, course), store, photos, self.lab.namespace)
        request = Request(organization, identity, (("email", ADA),))
        return Erasure(places, request, keys=KEYS, written_by="a test", progress=quiet)

    async def lines(self) -> list[Record | RemovedDeliveries]:
        reader = ArchiveReader(self.store)
        return [line for manifest in await manifests(self.store) for line in await reader.records(manifest)]

    async def assert_others_are_there(self, where: str) -> None:
        lines = await self.lines()  # raises Damaged
        found = {line.run_id: line.line() for line in lines if isinstance(line, Record) and line.run_id in self.of_bob}
        assert found == self.of_bob, where
        assert self.removed_of_bob in lines, where
        assert await in_cluster(self.lab, self.live_of_bob) is not None, where
        for run in (*self.of_bob, self.live_of_bob):
            assert len(await self.photos.objects(run)) == 2, where
        assert len(await self.lab.deliveries(self.live_of_bob)) == 1, where

    async def assert_erased(self, receipt: JsonObject, where: str, *, attempts: int) -> None:
        assert is_genuine(receipt, KEYS), where
        assert receipt["complete"], (where, receipt["left"], receipt["proof"])
        assert {run["id"] for run in receipt["erased"]["runs"]} == self.of_ada, where
        counts = receipt["erased"]["counts"]
        assert (counts["runs"], counts["photo_objects"], counts["parts"]) == (3, 6, 2), where
        assert (counts["deliveries"], len(receipt["attempts"])) == (2, attempts), where
        lines = await self.lines()
        assert sorted(line.run_id for line in lines) == sorted([*self.of_bob, self.live_of_bob]), where
        for run in self.of_ada:
            assert await in_cluster(self.lab, run) is None, where
            assert await self.lab.deliveries(run) == [], where
            assert await self.photos.objects(run) == [], where
        keys = {key for key in files_in(self.folder) if not key.startswith(("photos/", "erasures/"))}
        places = [manifest.place for manifest in await manifests(self.store)]
        assert keys == {key for place in places for key in (place.key, place.manifest_key)}, where
        audit = (await self.lab.client.list_all(AUDIT_ENTRY, self.lab.namespace))[0]
        assert {body["spec"]["action"] for body in audit} == {"person.erased"}, where


def stage_of(control_plane: ControlPlane, kubectl: Any, folder: Path, name: str) -> AbstractAsyncContextManager[Stage]:
    return staged(control_plane, kubectl, folder, name, Stage)


async def killed_at(stage: Stage, cut: int | None) -> tuple[Course, JsonObject]:
    course = Course(cut)
    try:
        return course, await (await stage.erasure(course)).run()
    except Killed:
        await asyncio.sleep(0.05)  # calls that were on their way arrive, as they would
    return course, {}


@pytest_asyncio.fixture
async def recorded(control_plane: ControlPlane, kubectl: Any, tmp_path: Path) -> list[str]:
    async with stage_of(control_plane, kubectl, tmp_path, "whole") as stage:
        course, receipt = await killed_at(stage, None)
        await stage.assert_others_are_there("undisturbed")
        await stage.assert_erased(receipt, "undisturbed", attempts=1)
        return course.points


async def test_wherever_an_erasure_is_killed_others_keep_all_and_the_next_one_ends_it(
    control_plane: ControlPlane, kubectl: Any, tmp_path: Path, recorded: list[str]
) -> None:
    steps = [
        *("put part", "get part", "put manifest", "get manifest", "delete manifest", "delete part"),
        *("DELETE runs", "DELETE webhookdeliveries", "delete photos", "POST auditentries"),
    ]
    for step in steps:
        assert {f"{step}: before", f"{step}: after"} <= set(recorded), step
    first, noted = recorded.index("POST auditentries: before"), recorded.index("DELETE runs: before")
    last = len(recorded) - recorded[::-1].index("delete photos: after")
    cuts = [cut for cut in range(first, len(recorded)) if cut % EVERY == 0 or "delete" in recorded[cut]]
    assert last < len(recorded)
    reached = 0
    for cut in cuts:
        async with stage_of(control_plane, kubectl, tmp_path, f"cut-{cut}") as stage:
            where = f"cut {cut}, {recorded[cut]}"
            course, _ = await killed_at(stage, cut)
            reached += course.dead  # what goes on at a time varies, and with it how many points there are
            await stage.assert_others_are_there(where)
            course, receipt = await killed_at(stage, None)
            await stage.assert_others_are_there(f"{where}, again")
            # Once the last note is written all was done, and the next erasure finds nothing.
            if receipt["erased"]["counts"]["runs"] or cut < last:
                before = len(receipt["attempts"]) if cut < noted else 2
                await stage.assert_erased(receipt, where, attempts=before)
    assert reached >= len(cuts) - 8
