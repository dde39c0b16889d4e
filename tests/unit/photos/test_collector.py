"""Sweeps of the operator: what goes from the photo store, and how little is remembered of very many runs."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from tests.waiting import eventually

from checklist_crds.archive import ArchiveStore, EncodedPart, Folder, PartPlace, Record, encode_part
from checklist_crds.ids import object_id
from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.errors import KubeConflict, KubeGone, KubeNotFound
from checklist_crds.photos.keys import PhotoFolder, photo_id, photo_key, thumbnail_key
from checklist_crds.photos.store import PhotoStore
from checklist_crds.platform.object_store import StoredObject, StoreUnavailable
from checklist_crds.resources.kinds import ORGANIZATION, RUN, WEBHOOK_DELIVERY, Kind
from checklist_crds.resources.legal_hold import LEGAL_HOLD_ANNOTATION
from checklist_crds.times import Clock, format_timestamp, utc_now
from checklist_operator.archive.archiver import Archiver
from checklist_operator.archive.membership import ArchiveMembership
from checklist_operator.controllers.photo_collector import PhotoCollector
from checklist_operator.controllers.retention import Retention
from checklist_operator.runtime.metrics import Metrics

HERE, ELSEWHERE = "checklists", "team-a"
MANY = 120
PAGE = 50
AT = "2026-11-21T12:00:00Z"
ACME_ID = object_id("org", "acme")
RESOLVED = {"organization": "acme", "templateId": "t-1", "templateVersion": 1, "templateName": "Opening"}
RESOLVED |= {"revisionRef": {"name": "t-1-v1"}, "identityMode": "anonymous", "stepCount": 1, "applicableSteps": 1}


def run_id(number: int) -> str:
    return f"r-00000000-0000-4000-8000-{number:012d}"


def key(run: str, name: str) -> str:
    return photo_key(ACME_ID, run, photo_id(run, name, "ab"))


class Cluster:
    """Runs by namespace; counts how they were read. `gone_after`: so many pages of runs, then the list has expired.

    `unlisted`: namespaces that a list of the whole cluster leaves out, as of an operator that serves only some.
    """

    def __init__(self) -> None:
        self.runs: dict[str, dict[str, dict[str, Any]]] = {HERE: {}, ELSEWHERE: {}}
        self.gets = self.lists = 0
        self.gone_after: int | None = None
        self.unlisted: set[str] = set()

    def add(self, run: str, *keys: str, namespace: str = HERE, organization: str = "acme") -> None:
        photo = {"index": 0, "contentType": "image/jpeg", "bytes": 1, "sha256": "ab", "width": 1, "height": 1}
        answer = {"value": "null", "photos": [photo | {"key": key} for key in keys], "at": AT}
        metadata = {"name": run, "namespace": namespace, "creationTimestamp": AT}
        status = {"answers": {"s-a": answer}, "resolved": {**RESOLVED, "organization": organization}}
        self.runs[namespace][run] = {"metadata": metadata, "spec": {}, "status": status}

    async def get(self, _: Kind, name: str, namespace: str) -> dict[str, Any]:
        self.gets += 1
        if name not in self.runs[namespace]:
            raise KubeNotFound("no such run")
        return self.runs[namespace][name]

    async def list_all(self, *_: Any, field_selector: str) -> tuple[list[dict[str, Any]], str]:
        name = field_selector.removeprefix("metadata.name=")
        listed = (runs for namespace, runs in self.runs.items() if namespace not in self.unlisted)
        return [runs[name] for runs in listed if name in runs], "1"

    async def pages(
        self, kind: Kind, namespace: str | None = None, **_: Any
    ) -> AsyncIterator[tuple[list[dict[str, Any]], str]]:
        if kind == ORGANIZATION:
            yield [{"metadata": {"name": "acme"}, "spec": {"namespace": ELSEWHERE}}], "1"
            return
        assert (kind, namespace in self.runs) == (RUN, True)
        bodies = list(self.runs[str(namespace)].values())
        for start in range(0, len(bodies), PAGE):
            if self.lists == self.gone_after:
                raise KubeGone("the version of the list is no longer kept")
            self.lists += 1
            yield bodies[start : start + PAGE], "1"


class Rig:
    """A collector for which everything in its store is old enough."""

    def __init__(self, folder: Path) -> None:
        self.cluster = Cluster()
        self.folder = folder
        self.removed: list[str] = []
        self.store = PhotoStore.open((folder / "photos").as_uri())
        self.archive = ArchiveStore.open((folder / "archive").as_uri())
        self.collector = self.collector_for(clock=lambda: utc_now() + timedelta(seconds=1), orphan_after=timedelta(0))

    def collector_for(self, *, clock: Clock, orphan_after: timedelta) -> PhotoCollector:
        return PhotoCollector(
            client=self.cluster,  # type: ignore[arg-type]
            store=self.store,
            archived=ArchiveMembership(self.archive, lambda _: False),
            clock=clock,
            namespaces=(HERE,),
            orphan_after=orphan_after,
            on_removed=self.removed.append,
            on_bug=self.removed.append,
        )

    async def put(self, *keys: str) -> None:
        file = self.folder / "file"
        file.write_bytes(b"x")
        for one in keys:
            await self.store.put(one, file, "image/jpeg")

    async def left(self) -> set[str]:
        return {found.key for folder in await self.store.folders() for found in await self.store.objects_of(folder)}


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(tmp_path)


async def many_runs(rig: Rig) -> tuple[set[str], set[str]]:
    """Runs in two namespaces, each with a photo and an orphan, and two that are gone: what must stay, and what go."""
    stay, go = set(), set()
    for number in range(MANY):
        run = run_id(number)
        used, orphan = key(run, "used"), key(run, "orphan")
        rig.cluster.add(run, used, namespace=ELSEWHERE if number % 3 == 0 else HERE)
        stay |= {used, thumbnail_key(used)}
        go |= {orphan, thumbnail_key(orphan)}
    for number in (MANY, MANY + 1):
        go.add(key(run_id(number), "gone"))
    await rig.put(*stay, *go)
    return stay, go


@pytest.mark.parametrize("gone_after", [None, 1], ids=["whole lists", "a list that expires in the middle"])
async def test_runs_are_read_in_pages(rig: Rig, gone_after: int | None) -> None:
    stay, go = await many_runs(rig)
    rig.cluster.gone_after = gone_after
    assert await rig.collector_for(clock=utc_now, orphan_after=timedelta(hours=1)).sweep() == 0, "all are young"
    assert await rig.left() == stay | go
    rig.cluster.lists = rig.cluster.gets = 0
    assert await rig.collector.sweep() == len(go)
    assert await rig.left() == stay
    assert rig.removed == ["Photo"] * len(go)
    if not gone_after:  # both of those that are gone, in both namespaces
        assert (rig.cluster.lists, rig.cluster.gets) == (3, 2 * 2)


async def test_few_runs_are_read_alone_and_what_a_killed_process_left_half_written_goes_too(rig: Rig) -> None:
    for number in range(MANY):
        rig.cluster.add(run_id(number))
    used = key(run_id(1), "used")
    rig.cluster.add(run_id(1), used)
    await rig.put(used, key(run_id(1), "orphan"), key(run_id(2), "orphan"))
    for half in (f"{used}#1", f"{key(run_id(2), 'gone')}#1"):
        path = rig.folder / "photos" / half
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"half of")
    assert await rig.collector.sweep() == 4
    assert (await rig.left(), await rig.store.folders()) == ({used}, [PhotoFolder(ACME_ID, run_id(1))])
    assert (rig.cluster.lists, rig.cluster.gets) == (0, 4)


@pytest.mark.parametrize("others", [1, MANY])
async def test_a_run_of_the_same_id_in_another_organization_costs_no_photo(rig: Rig, others: int) -> None:
    """Neither where a folder of the version before does not say whose it is, nor in that of its organization."""
    for number in range(others):
        used, before = key(run_id(number), "used"), PhotoFolder("", run_id(number)).key(photo_id("r", "b", "ab"))
        rig.cluster.add(run_id(number), used, before)
        rig.cluster.add(run_id(number), namespace=ELSEWHERE, organization="other")
        await rig.put(used, before)
    assert await rig.collector.sweep() == 0
    assert len(await rig.left()) == 2 * others


@pytest.mark.parametrize("others", [1, MANY])
async def test_former_folders_of_unserved_namespaces_stay(rig: Rig, others: int) -> None:
    rig.cluster.unlisted = {ELSEWHERE}
    for number in range(others):
        before = PhotoFolder("", run_id(number)).key(photo_id("r", "b", "ab"))
        rig.cluster.add(run_id(number), before, namespace=ELSEWHERE)
        await rig.put(before)
    assert await rig.collector.sweep() == 0
    rig.collector.run_removed({"metadata": {"name": run_id(0), "namespace": HERE}, "spec": {"resolved": RESOLVED}})
    await eventually(lambda: rig.collector.queue.is_idle)
    assert len(await rig.left()) == others


@pytest.mark.parametrize("others", [1, MANY])
async def test_a_run_that_cannot_be_read_keeps_its_own_photos_only(rig: Rig, others: int) -> None:
    """One that was admitted may be of a later release. One that was not is by hand, named like another's run."""
    later, gone = run_id(others), run_id(others + 1)
    for number in range(others):
        rig.cluster.add(run_id(number))
    for run, namespace in ((later, HERE), (gone, ELSEWHERE)):
        rig.cluster.add(run, namespace=namespace)
        rig.cluster.runs[namespace][run]["spec"]["expiresAt"] = "0000-01-01T00:00:00Z"
    del rig.cluster.runs[ELSEWHERE][gone]["status"]["resolved"]
    stays = {key(later, "used"), PhotoFolder("", later).key(photo_id("r", "b", "ab"))}
    await rig.put(*stays, *(key(run_id(number), "orphan") for number in range(others)), key(gone, "used"))
    assert await rig.collector.sweep() == others + 1
    assert await rig.left() == stays
    await rig.put(key(gone, "used"))
    for run in (later, gone):
        metadata = {"name": run, "namespace": HERE}
        rig.collector.run_removed({"metadata": metadata, "spec": {"resolved": RESOLVED}})
    await eventually(lambda: rig.collector.queue.is_idle)
    assert await rig.left() == stays


async def test_photos_of_archived_runs_stay(rig: Rig) -> None:
    runs = 2
    archived = [run_id(number) for number in range(runs)]
    await rig.put(*(key(run, "used") for run in archived), key(run_id(runs), "used"))
    metadata = {"namespace": HERE, "creationTimestamp": AT}
    records = [
        Record.of({"metadata": {**metadata, "name": run}, "spec": {"resolved": RESOLVED}}, None, []) for run in archived
    ]
    folder = Folder("org-00000000-0000-4000-8000-000000000001", "2026-11")
    part = encode_part(folder, records, written_at=utc_now(), written_by="operator-0")
    await rig.archive.put(part.place.key, part.content)
    await rig.archive.put(part.place.manifest_key, part.manifest.encoded())
    rig.cluster.add(archived[0], namespace=ELSEWHERE, organization="other")
    assert await rig.collector.sweep() == 1
    assert [folder.run_id for folder in await rig.store.folders()] == archived


class RewrittenArchive(ArchiveStore):
    """In each of the first `times` listings, the part is replaced by one with a run less."""

    parts: list[EncodedPart]
    times: int
    late: bool
    """Whether the listing has neither of them: it has passed the place of the new one already."""

    async def keep(self, part: EncodedPart) -> None:
        await self.put(part.place.key, part.content)
        await self.put(part.place.manifest_key, part.manifest.encoded())

    async def manifests(self, within: Folder | str | None = None) -> AsyncIterator[tuple[PartPlace, StoredObject]]:
        found = [one async for one in super().manifests(within)]
        if self.times:
            self.times -= 1
            old = self.parts.pop(0)
            await self.keep(self.parts[0])
            await self.delete([old.place.manifest_key, old.place.key])
            found = [] if self.late else found
        for one in found:
            yield one


@pytest.mark.parametrize("known", [False, True], ids=["first search", "later search"])
@pytest.mark.parametrize(("times", "late"), [(1, False), (1, True), (3, False), (5, False)])
async def test_no_archived_run_counts_as_missing_while_its_part_is_rewritten(
    tmp_path: Path, times: int, late: bool, known: bool
) -> None:
    archive = RewrittenArchive.open(tmp_path.as_uri())
    metadata = {"namespace": HERE, "creationTimestamp": AT}
    bodies = [{"metadata": {**metadata, "name": run_id(each)}, "spec": {"resolved": RESOLVED}} for each in range(7)]
    records = [Record.of(body, None, []) for body in bodies]
    made: dict[str, Any] = {"written_at": utc_now(), "written_by": "operator-0"}
    archive.parts = [encode_part(Folder(ACME_ID, "2026-11"), records[start:], **made) for start in range(6)]
    archive.times, archive.late = 0, late
    await archive.keep(archive.parts[0])
    archived = ArchiveMembership(archive, lambda _: False)
    if known:
        assert await archived.missing([run_id(6), run_id(8)]) == {run_id(8)}
    archive.times = times
    if times == 5 and not known:
        with pytest.raises(StoreUnavailable, match="rewritten"):
            await archived.missing([run_id(6), run_id(7)])
    assert await archived.missing([run_id(6), run_id(7)]) == {run_id(7)}


async def test_while_the_archive_cannot_be_read_nothing_is_taken_for_gone(rig: Rig) -> None:
    await rig.put(key(run_id(1), "gone"))
    archive = rig.folder / "archive"
    archive.rmdir()
    archive.write_text("not a folder")
    assert await rig.collector.sweep() == 0
    archive.unlink()
    assert await rig.collector.sweep() == 1


NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)


class KeepingCluster:
    """One organization that keeps everything, a run for every question, and the objects that are put into it."""

    def __init__(self) -> None:
        self.deliveries: list[dict[str, Any]] = []
        self.runs: list[dict[str, Any]] = []
        self.retention: dict[str, Any] = {}
        self.runs_read = 0
        self.deleted: list[str] = []
        self.held_after: int | None = None
        """The organization is put under a legal hold after so many deletions."""
        self.changed: set[str] = set()
        """Objects that have changed since they were listed."""

    def organization(self) -> dict[str, Any]:
        held = {LEGAL_HOLD_ANNOTATION: "true"} if len(self.deleted) == self.held_after else {}
        spec = {"displayName": "Acme", "retention": self.retention}
        return {"metadata": {"name": "acme", "annotations": held}, "spec": spec}

    async def pages(self, kind: Kind, *_: Any, **__: Any) -> AsyncIterator[tuple[list[dict[str, Any]], str]]:
        objects = {ORGANIZATION: [self.organization()], WEBHOOK_DELIVERY: self.deliveries, RUN: self.runs}
        yield objects.get(kind, []), "1"

    async def list_all(self, *_: Any, field_selector: str) -> tuple[list[dict[str, Any]], str]:
        name = field_selector.removeprefix("spec.runRef.name=")
        return [one for one in self.deliveries if one["spec"]["runRef"]["name"] == name], "1"

    async def delete(self, _: Kind, name: str, *__: Any, **___: Any) -> None:
        if name in self.changed:
            raise KubeConflict("changed")
        self.deleted.append(name)

    async def get(self, kind: Kind, name: str, _: str | None = None) -> dict[str, Any]:
        if kind == ORGANIZATION:
            return self.organization()
        self.runs_read += 1
        return {"metadata": {"name": name}}


def delivery(number: int, finished_at: datetime) -> dict[str, Any]:
    return {
        "metadata": {"name": f"evt-{number}", "namespace": "checklists", "resourceVersion": "1"},
        "spec": {"organizationRef": {"name": "acme"}, "runRef": {"name": f"r-00000000-0000-4000-8000-{number:012}"}},
        "status": {"settled": True, "finishedAt": format_timestamp(finished_at)},
    }


def finished_run(number: int, ended_at: str) -> dict[str, Any]:
    metadata = {"name": run_id(number), "namespace": HERE, "creationTimestamp": AT, "resourceVersion": "1"}
    ended = {"type": "Completed", "status": "True", "reason": "Completed", "lastTransitionTime": ended_at}
    status = {"phase": "Completed", "settled": True, "resolved": RESOLVED, "conditions": [ended]}
    return {"metadata": metadata, "spec": {}, "status": status}


def retention_of(cluster: KeepingCluster, folder: Path, clock: Clock) -> Retention:
    client, metrics = cast(KubeClient, cluster), Metrics()
    both: dict[str, Any] = {"clock": clock, "metrics": metrics, "on_removed": lambda _: None}
    archiver = Archiver(client, ArchiveStore.open(folder.as_uri()), writer="operator", leads=lambda: True, **both)
    return Retention(
        client=client,
        archiver=archiver,
        audit_entries=9,
        namespaces=("checklists",),
        on_run_removed=lambda _: None,
        **both,
    )


async def test_an_object_that_cannot_be_read_keeps_no_other_one(tmp_path: Path) -> None:
    cluster = KeepingCluster()
    cluster.retention = {"finishedRunsDays": 1, "archive": False}
    for number, at in enumerate((AT, "0000-01-01T00:00:00Z", AT)):
        cluster.runs.append(finished_run(number, at))
        cluster.deliveries.append(delivery(number + 3, NOW - timedelta(days=1)))
        cluster.deliveries[-1]["status"]["finishedAt"] = at
    later = NOW + timedelta(days=9)
    await retention_of(cluster, tmp_path, lambda: later).sweep()
    assert cluster.deleted == [run_id(0), run_id(2)]
    assert cluster.runs_read == 2


@pytest.mark.parametrize("deletions", range(1, 7))
async def test_a_legal_hold_during_a_sweep_ends_the_deletions(tmp_path: Path, deletions: int) -> None:
    cluster = KeepingCluster()
    cluster.retention = {"finishedRunsDays": 1, "deliveriesDays": 1, "archive": False}
    cluster.runs = [finished_run(number, AT) for number in range(2)]
    cluster.deliveries = [delivery(number, NOW - timedelta(days=1)) for number in (0, 0, 1, 8, 9)]
    cluster.held_after = deletions
    await retention_of(cluster, tmp_path, lambda: NOW + timedelta(days=9)).sweep()
    assert len(cluster.deleted) == deletions


async def test_deliveries_stay_with_a_run_that_has_changed_during_the_sweep(tmp_path: Path) -> None:
    """It may be under a legal hold of its own now."""
    cluster = KeepingCluster()
    cluster.retention = {"finishedRunsDays": 1, "archive": False}
    cluster.runs, cluster.changed = [finished_run(number, AT) for number in range(2)], {run_id(0)}
    cluster.deliveries = [delivery(number, NOW) for number in range(2)]
    await retention_of(cluster, tmp_path, lambda: NOW + timedelta(minutes=5)).sweep()
    assert cluster.deleted == [run_id(1), "evt-1"]


async def test_runs_of_deliveries_that_have_left_are_forgotten(tmp_path: Path) -> None:
    cluster, now = KeepingCluster(), NOW
    retention = retention_of(cluster, tmp_path, lambda: now)
    most = 0
    for sweep in range(100):  # every five minutes, ten new deliveries in each; the older ones have left
        cluster.deliveries = [delivery(10 * sweep + each, now - timedelta(minutes=20)) for each in range(10)]
        await retention.sweep()
        await retention.sweep()
        most = max(most, retention.runs_remembered)
        now += timedelta(minutes=5)
    assert cluster.runs_read == 1000  # each run once: what was seen just now is not read again
    assert most <= 130
