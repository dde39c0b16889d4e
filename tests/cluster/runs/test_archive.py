"""Settled runs move into the archive when their time in the cluster is over, and not before."""

import asyncio
import shutil
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.cluster.archive_lab import (
    Archiving,
    delivery_names,
    files_in,
    in_archive,
    in_cluster,
    keep,
    manifests,
    removed_deliveries,
    settled_run,
)
from tests.cluster.operator_lab import Lab

from checklist_crds.archive import ArchiveStore, month_of
from checklist_crds.ids import object_id
from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.errors import KubeGone
from checklist_crds.resources.kinds import ORGANIZATION, RUN, TEMPLATE_REVISION, WEBHOOK_DELIVERY, Kind
from checklist_crds.resources.legal_hold import LEGAL_HOLD_ANNOTATION
from checklist_crds.runs.photos import keys_in_use
from checklist_crds.times import format_timestamp, utc_now
from checklist_crds.values.json_text import JsonObject
from checklist_dev.local.kubectl import Kubectl

HOLD = {"metadata": {"annotations": {LEGAL_HOLD_ANNOTATION: "true"}}}
RELEASE = {"metadata": {"annotations": {LEGAL_HOLD_ANNOTATION: None}}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "photos"  # where `rest` looks for it


@pytest.fixture
def store(folder: Path) -> ArchiveStore:
    return ArchiveStore.open(folder.as_uri())


@pytest.fixture
def archiving(lab: Lab, store: ArchiveStore) -> Archiving:
    return Archiving.over(lab.client, store, lab.namespace)


class Altered(ArchiveStore):
    """Gives parts back with one bit turned."""

    async def get(self, key: str) -> bytes | None:
        content = await super().get(key)
        if content is None or not key.endswith(".zst"):
            return content
        return content[:-1] + bytes([content[-1] ^ 1])


class Interrupted(ArchiveStore):
    """`then` happens as soon as a manifest was written, once."""

    then: Any = None

    async def put(self, key: str, content: bytes) -> None:
        await super().put(key, content)
        if key.endswith(".manifest.json") and self.then is not None:
            then, self.then = self.then, None
            await then()


class Forgetful(KubeClient):
    """The connections of `shared`; its first list of runs is no longer kept when the second page is asked for."""

    def __init__(self, shared: KubeClient) -> None:
        self.__dict__.update(shared.__dict__)
        self.lists = 0

    async def pages(self, kind: Kind, *arguments: Any, **named: Any) -> AsyncIterator[tuple[list[JsonObject], str]]:
        self.lists += kind == RUN
        first = kind == RUN and self.lists == 1
        async for page in super().pages(kind, *arguments, **named, **({"page": 1} if first else {})):
            yield page
            if first:
                raise KubeGone("the version of the list is no longer kept")


async def test_a_list_that_takes_too_long_is_begun_again(lab: Lab, store: ArchiveStore) -> None:
    await keep(lab, finishedRunsDays=30)
    runs = {await settled_run(lab, days_ago=31) for _ in range(3)}
    client = Forgetful(lab.client)
    assert await Archiving.over(client, store, lab.namespace).retention.sweep() == 3
    assert client.lists == 2
    assert {run for manifest in await manifests(store) for run in manifest.run_ids} == runs


async def test_a_due_run_moves_with_its_objects(lab: Lab, store: ArchiveStore, archiving: Archiving) -> None:
    await keep(lab, finishedRunsDays=30)
    old, young = await settled_run(lab, days_ago=31, deliveries=2), await settled_run(lab, days_ago=29)
    still_open = await lab.dispatch()
    body, deliveries = await in_cluster(lab, old), await lab.deliveries(old)
    assert body is not None
    revision = await lab.client.get(TEMPLATE_REVISION, body["spec"]["resolved"]["revisionRef"]["name"], lab.namespace)
    assert await archiving.retention.sweep() == 3
    assert await in_cluster(lab, old) is None
    assert None not in (await in_cluster(lab, young), await in_cluster(lab, still_open))
    assert await delivery_names(lab) == set()
    record = await in_archive(store, old)
    assert record is not None
    for one in (body, revision, *deliveries):
        one["metadata"].pop("managedFields", None)
    deliveries.sort(key=lambda one: str(one["metadata"]["name"]))
    assert (record.run, record.revision, list(record.deliveries)) == (body, revision, deliveries)
    assert (record.row["run_id"], record.row["phase"]) == (old, "cancelled")
    definition = record.definition()
    assert definition is not None
    assert definition.name == "Opening"
    (manifest,) = await manifests(store)
    assert manifest.run_ids == (old,)
    assert (manifest.organization, manifest.month) == (object_id("org", lab.organization), month_of(utc_now()))
    assert archiving.gone == []  # whose photos would be deleted
    assert archiving.value("checklists_runs_archived_total") == 1
    assert archiving.value("checklists_archived_bytes_total") == manifest.size
    assert archiving.value("checklists_archive_available") == 1
    assert await archiving.retention.sweep() == 0


async def test_without_archive_due_runs_are_counted(lab: Lab, store: ArchiveStore, folder: Path) -> None:
    await keep(lab, finishedRunsDays=30, deliveriesDays=0.5)
    run, young = await settled_run(lab, days_ago=31, deliveries=1), await settled_run(lab, deliveries=1)
    tomorrow = utc_now() + timedelta(days=1)
    archiving = Archiving.over(lab.client, store, lab.namespace, clock=lambda: tomorrow, is_on=False)
    assert await archiving.retention.sweep() == 0
    assert None not in (await in_cluster(lab, run), await in_cluster(lab, young))
    assert len(await delivery_names(lab)) == 2
    assert files_in(folder) == set()
    assert archiving.value("checklists_archive_backlog_runs") == 1
    assert archiving.value("checklists_archive_backlog_seconds") == 0
    await keep(lab, archive=False)  # to delete for good needs no archive
    assert await archiving.retention.sweep() == 3  # the run, and both deliveries
    assert archiving.gone == [(lab.namespace, run)]
    assert archiving.value("checklists_archive_backlog_runs") == 0


async def test_a_legal_hold_keeps_runs(lab: Lab, folder: Path, archiving: Archiving, kubectl: Kubectl) -> None:
    await keep(lab, finishedRunsDays=30, deliveriesDays=0.001)
    run, other = await settled_run(lab, days_ago=31, deliveries=1), await settled_run(lab, days_ago=31)
    await lab.client.patch(ORGANIZATION, lab.organization, HOLD)
    assert await archiving.retention.sweep() == 0
    await keep(lab, finishedRunsDays=30, deliveriesDays=0.001, archive=False)
    assert await archiving.retention.sweep() == 0
    assert files_in(folder) == set()
    await keep(lab, finishedRunsDays=30, deliveriesDays=0.001)
    await lab.client.patch(ORGANIZATION, lab.organization, RELEASE)
    kubectl("annotate", "clrun", run, "-n", lab.namespace, f"{LEGAL_HOLD_ANNOTATION}=true")
    header, row = kubectl("get", "clrun", run, "-n", lab.namespace, "-o", "wide").splitlines()
    assert row[header.index("LEGAL HOLD") :].split()[0] == "true"
    await archiving.retention.sweep()
    assert await in_cluster(lab, other) is None
    assert await in_cluster(lab, run) is not None
    assert len(await delivery_names(lab)) == 1
    assert archiving.value("checklists_held_runs") == 1
    assert archiving.value("checklists_archive_backlog_runs") == 0
    await lab.client.patch(RUN, run, RELEASE, lab.namespace)
    await archiving.retention.sweep()
    assert (await in_cluster(lab, run), await delivery_names(lab)) == (None, set())
    assert archiving.value("checklists_held_runs") == 0


async def test_changes_while_a_part_is_written(lab: Lab, folder: Path) -> None:
    await keep(lab, finishedRunsDays=30)
    run = await settled_run(lab, days_ago=31, deliveries=2)
    changed, _ = await delivery_names(lab)
    note = {"metadata": {"annotations": {"example.com/note": "late"}}}
    store = Interrupted.open(folder.as_uri())
    archiving = Archiving.over(lab.client, store, lab.namespace)
    store.then = lambda: lab.client.patch(RUN, run, HOLD, lab.namespace)
    for _ in range(2):
        await archiving.retention.sweep()
    assert await in_cluster(lab, run) is not None

    await lab.client.patch(RUN, run, RELEASE, lab.namespace)
    store.then = lambda: lab.client.patch(WEBHOOK_DELIVERY, changed, note, lab.namespace)
    assert await archiving.retention.sweep() == 3
    assert (await in_cluster(lab, run), await delivery_names(lab)) == (None, set())
    record = await in_archive(store, run)
    assert record is not None
    notes = {one["metadata"]["name"]: one["metadata"].get("annotations") for one in record.deliveries}
    assert len(notes) == 2
    assert notes[changed] == note["metadata"]["annotations"]
    assert not [key for key in files_in(folder) if key.startswith("archive-unfinished/")]


async def test_while_the_store_is_away_nothing_is_deleted_and_then_it_goes_on(
    lab: Lab, folder: Path, store: ArchiveStore, archiving: Archiving, caplog: pytest.LogCaptureFixture
) -> None:
    await keep(lab, finishedRunsDays=30, deliveriesDays=40)
    run, other = await settled_run(lab, days_ago=31, deliveries=1), await settled_run(lab, days_ago=33)
    shutil.rmtree(folder)
    folder.write_text("not a folder")
    for failures in (1, 2):
        assert await archiving.retention.sweep() == 0
        assert archiving.value("checklists_archive_failures_total", reason="store") == failures
    assert None not in (await in_cluster(lab, run), await in_cluster(lab, other))
    assert archiving.value("checklists_archive_available") == 0
    assert "nothing is deleted until it does" in str([vars(line)["about"] for line in caplog.records])
    assert archiving.value("checklists_archive_backlog_runs") == 2
    assert archiving.value("checklists_archive_backlog_seconds") // 86_400 == 3
    folder.unlink()
    assert await archiving.retention.sweep() == 3
    assert await in_archive(store, run) is not None
    assert archiving.value("checklists_archive_backlog_runs") == 0
    assert archiving.value("checklists_archive_backlog_seconds") == 0
    assert archiving.value("checklists_archive_available") == 1


async def test_a_store_that_gives_back_something_else_is_not_believed(lab: Lab, folder: Path) -> None:
    await keep(lab, finishedRunsDays=30)
    run = await settled_run(lab, days_ago=31)
    archiving = Archiving.over(lab.client, Altered.open(folder.as_uri()), lab.namespace)
    for _ in range(2):
        assert await archiving.retention.sweep() == 0
    assert await in_cluster(lab, run) is not None
    assert archiving.value("checklists_archive_failures_total", reason="damaged") >= 2
    assert not [key for key in files_in(folder) if key.endswith(".manifest.json")]
    store = ArchiveStore.open(folder.as_uri())
    healed = Archiving.over(lab.client, store, lab.namespace)
    assert await healed.retention.sweep() == 1
    assert await in_archive(store, run) is not None
    assert not [key for key in files_in(folder) if key.startswith("archive-unfinished/")]


async def test_deliveries_are_archived_before_their_run(lab: Lab, store: ArchiveStore, archiving: Archiving) -> None:
    """One that was replayed a moment ago stays: its time begins again."""
    await keep(lab, deliveriesDays=0.03)  # they failed an hour ago
    run = await settled_run(lab, deliveries=3)
    *gone, replayed = await lab.deliveries(run)
    stays, now = replayed["metadata"]["name"], format_timestamp(utc_now())
    last = {"lastReplay": {"requestedAt": now, "attemptedAt": now, "outcome": "timeout"}}
    await lab.client.patch_status(WEBHOOK_DELIVERY, stays, last, lab.namespace)
    assert await archiving.retention.sweep() == 2
    assert await delivery_names(lab) == {stays}
    assert await in_cluster(lab, run) is not None
    (removed,) = await removed_deliveries(store)
    assert removed.run_id == run
    specs = {body["metadata"]["name"]: body["spec"] for body in gone}
    assert {body["metadata"]["name"]: body["spec"] for body in removed.deliveries} == specs
    assert await in_archive(store, run) is None


async def test_a_leader_finishes_unfinished_parts(lab: Lab, store: ArchiveStore) -> None:
    await keep(lab, finishedRunsDays=30)
    run = await settled_run(lab, days_ago=31)
    former = Archiving.over(lab.client, store, lab.namespace, leads=lambda: False)
    assert await former.retention.sweep() == 0, "one that does not lead for certain deletes nothing"
    assert await in_cluster(lab, run) is not None
    assert [place async for place, _ in store.unfinished()] != []
    assert await Archiving.over(lab.client, store, lab.namespace).retention.sweep() == 1
    assert [place async for place, _ in store.unfinished()] == []
    assert [manifest.run_ids for manifest in await manifests(store)] == [(run,)]
    assert await in_cluster(lab, run) is None


async def test_small_parts_wait_and_revisions_may_be_missing(lab: Lab, store: ArchiveStore, folder: Path) -> None:
    await keep(lab, finishedRunsDays=30)
    run = await settled_run(lab, days_ago=30.1)
    await lab.client.delete(TEMPLATE_REVISION, (await lab.run(run)).admitted_as.revision_ref.name, lab.namespace)
    patient = Archiving.over(lab.client, store, lab.namespace)
    assert await patient.retention.sweep() == 0
    assert (patient.value("checklists_archive_backlog_runs"), files_in(folder)) == (1, set())
    later = Archiving.over(lab.client, store, lab.namespace, clock=lambda: utc_now() + timedelta(hours=4))
    assert await later.retention.sweep() == 1
    assert await in_cluster(lab, run) is None
    record = await in_archive(store, run)
    assert record is not None
    assert (record.revision, record.definition()) == (None, None)
    assert keys_in_use(record.parsed().status) == frozenset()


async def test_lists_are_unchanged_during_archiving(lab: Lab, rest: httpx.AsyncClient, archiving: Archiving) -> None:
    """The real archiver moves runs while the real API is asked for them."""

    async def shown(path: str) -> bytes:
        response = await rest.get(path, headers={"X-Request-Id": "same"})
        assert response.status_code == 200, (path, response.text)
        return response.content

    runs = [await settled_run(lab, days_ago=40 + number, deliveries=number % 2) for number in range(12)]
    staying = await lab.dispatch()
    paths = [f"/v1/runs/{run}" for run in (*runs, staying)] + ["/v1/runs?per_page=100", "/v1/runs?status=cancelled"]
    before = {path: await shown(path) for path in paths}
    moving, looks = True, 0

    async def keep_asking(some: list[str]) -> None:
        nonlocal looks
        while moving:
            for path in some:
                assert await shown(path) == before[path], path
                looks += 1

    async def move() -> None:
        nonlocal moving
        try:
            for days in (48, 44, 30):
                await keep(lab, finishedRunsDays=days)
                await archiving.retention.sweep()
            await asyncio.sleep(1.5)
        finally:
            moving = False

    await asyncio.gather(move(), *(keep_asking(paths[number::4]) for number in range(4)), keep_asking(paths[-2:]))
    assert looks > len(paths)
    assert [await in_cluster(lab, run) for run in runs] == [None] * len(runs)
    assert await in_cluster(lab, staying) is not None
    assert archiving.value("checklists_runs_archived_total") == len(runs)
