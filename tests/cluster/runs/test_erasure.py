"""Erasure while the archiver handles the same runs, and objects that leave the cluster once."""

import asyncio
import json
from datetime import timedelta
from pathlib import Path

import pytest
import zstandard
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
from tests.cluster.operator_lab import SERVER_KEY, Lab

from checklist_cli.console.progress import Progress
from checklist_cli.erasure.cluster_search import ClusterSearch
from checklist_cli.erasure.erasing import Erasure, Request
from checklist_cli.erasure.person import Person
from checklist_cli.erasure.search import Places
from checklist_crds.archive import ArchiveStore
from checklist_crds.photos.store import PhotoStore
from checklist_crds.resources.kinds import RUN, WEBHOOK_DELIVERY
from checklist_crds.resources.legal_hold import LEGAL_HOLD_ANNOTATION
from checklist_crds.secrets.sealing import ServerKeys
from checklist_crds.times import format_timestamp, utc_now
from checklist_crds.values.json_text import JsonObject

ADA = "ada@example.org"


class Stopped(BaseException):
    """The archiver is killed here."""


class GatedStore(ArchiveStore):
    """Waits before it writes what the gate is for, until it is opened; or is killed there."""

    def gate(self, ending: str, *, kill: bool = False) -> None:
        self.ending, self.kill = ending, kill
        self.reached, self.opened = asyncio.Event(), asyncio.Event()

    async def put(self, key: str, content: bytes) -> None:
        if key.endswith(self.ending) and not self.reached.is_set():
            self.reached.set()
            if self.kill:
                raise Stopped()
            await self.opened.wait()
        await super().put(key, content)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "archive"


async def people(lab: Lab, *, deliveries: int = 1) -> tuple[str, str]:
    """A run of Ada's and one of another person, both due to be archived."""
    await keep(lab, finishedRunsDays=30)
    ada, other = [await settled_run(lab, days_ago=40, deliveries=deliveries) for _ in range(2)]
    await lab.client.patch_status(RUN, ada, {"identity": {"name": "Ada", "email": ADA}}, lab.namespace)
    return ada, other


async def erased(lab: Lab, folder: Path, archive: ArchiveStore | None = None) -> JsonObject:
    quiet = Progress(lambda _: None)
    cluster = ClusterSearch(lab.client, lab.namespace, quiet)
    organization = await cluster.organization(lab.organization)
    identity = await cluster.identity(organization, Person(emails=frozenset({ADA})), ())
    archive = archive or ArchiveStore.open(folder.as_uri())
    places = Places(lab.client, archive, PhotoStore.open(folder.as_uri()), lab.namespace)
    request = Request(organization, identity, (("email", ADA),))
    return await Erasure(places, request, keys=ServerKeys(SERVER_KEY), written_by="a test", progress=quiet).run()


def holding(folder: Path, text: str) -> list[str]:
    """Files of the archive that hold the text, packed or not."""
    found = []
    for key in files_in(folder):
        content = (folder / key).read_bytes()
        if key.endswith(".zst"):
            content = zstandard.ZstdDecompressor().decompress(content)
        if text.encode() in content and not key.startswith("erasures/"):
            found.append(key)
    return found


@pytest.mark.parametrize("ending", [".json", ".jsonl.zst", ".manifest.json"])
async def test_an_erased_run_is_not_archived(lab: Lab, folder: Path, ending: str) -> None:
    """The archiver has read the run, and writes its part when the erasure is long over."""
    ada, other = await people(lab)
    store = GatedStore.open(folder.as_uri())
    store.gate(ending)
    archiving = Archiving.over(lab.client, store, lab.namespace)
    sweep = asyncio.create_task(archiving.retention.sweep())
    await asyncio.wait_for(store.reached.wait(), 20)
    receipt = await erased(lab, folder)
    in_work = ending == ".manifest.json"  # the part is there already, and no manifest lists it
    assert {run["id"] for run in receipt["erased"]["runs"]} == (set() if in_work else {ada})
    assert receipt["complete"] is not in_work, receipt["left"]
    assert await in_cluster(lab, ada) is None
    store.opened.set()
    await sweep
    assert await in_cluster(lab, ada) is None and await in_archive(store, ada) is None
    assert await in_cluster(lab, other) is None and await in_archive(store, other) is not None
    assert await delivery_names(lab) == set()
    assert holding(folder, ada) == [] and holding(folder, ADA) == []
    assert not [key for key in files_in(folder) if key.startswith("archive-unfinished/")]
    assert (await erased(lab, folder))["complete"]


async def test_unfinished_parts_are_reported_and_removed(lab: Lab, folder: Path) -> None:
    ada, other = await people(lab, deliveries=0)
    store = GatedStore.open(folder.as_uri())
    store.gate(".manifest.json", kill=True)
    with pytest.raises(Stopped):
        await Archiving.over(lab.client, store, lab.namespace).retention.sweep()
    receipt = await erased(lab, folder)
    assert not receipt["complete"] and receipt["proof"]["left"]["unfinished_parts"] == 1
    assert await in_cluster(lab, ada) is None
    later = utc_now() + timedelta(minutes=11)
    for _ in range(2):
        await Archiving.over(lab.client, store, lab.namespace, clock=lambda: later).retention.sweep()
    assert holding(folder, ada) == []
    assert await in_archive(store, other) is not None
    again = await erased(lab, folder)
    assert again["complete"] and len(again["attempts"]) == 2
    assert {run["id"] for run in again["erased"]["runs"]} == {ada}


class HoldingStore(ArchiveStore):
    """When the erasure has noted its runs, one of them is put under a legal hold, and the erasure may be killed."""

    lab: Lab
    run: str
    kill: bool

    async def put(self, key: str, content: bytes) -> None:
        await super().put(key, content)
        hold = {"metadata": {"annotations": {LEGAL_HOLD_ANNOTATION: "true"}}}
        await self.lab.client.patch(RUN, self.run, hold, self.lab.namespace)
        if self.kill:
            raise Stopped()


@pytest.mark.parametrize("kill", [False, True])
async def test_no_note_is_left_of_a_run_that_is_kept_for_a_new_hold(lab: Lab, folder: Path, kill: bool) -> None:
    """It would be removed from the archive later."""
    ada, _ = await people(lab, deliveries=0)
    store = HoldingStore.open(folder.as_uri())
    store.lab, store.run, store.kill = lab, ada, kill
    if kill:
        with pytest.raises(Stopped):
            await erased(lab, folder, store)
        store.kill = False
    receipt = await erased(lab, folder, store)
    assert [held["run"] for held in receipt["held"]] == [ada]
    assert await in_cluster(lab, ada) is not None
    [note] = [key for key in files_in(folder) if key.startswith("erasures/")]
    noted = json.loads((folder / note).read_text())
    assert (noted["runs"], noted["state"], noted["receipt"]) == ({}, "done", receipt)


@pytest.fixture
def archive(tmp_path: Path) -> ArchiveStore:
    return ArchiveStore.open((tmp_path / "archive").as_uri())


HELD = {"metadata": {"finalizers": ["example.com/held"]}}
LET_GO = {"metadata": {"finalizers": None}}


async def test_what_a_finalizer_holds_goes_into_the_archive_once(lab: Lab, archive: ArchiveStore) -> None:
    in_four_days = utc_now() + timedelta(days=4)
    archiving = Archiving.over(lab.client, archive, lab.namespace, clock=lambda: in_four_days)
    await keep(lab, finishedRunsDays=30, deliveriesDays=3)
    run = await settled_run(lab, days_ago=31)
    with_delivery = await settled_run(lab, days_ago=10, deliveries=1)
    [delivery] = await lab.deliveries(with_delivery)
    names = ((RUN, run), (WEBHOOK_DELIVERY, str(delivery["metadata"]["name"])))
    for kind, name in names:
        await lab.client.patch(kind, name, HELD, lab.namespace)
    for _ in range(3):
        await archiving.retention.sweep()
    assert await in_archive(archive, run) is not None
    assert len(await removed_deliveries(archive)) == 1
    assert len(await manifests(archive)) == 2, "a part for the run, a part for the delivery"
    for kind, name in names:
        await lab.client.patch(kind, name, LET_GO, lab.namespace)
        assert await lab.is_gone(kind, name)


async def test_a_run_that_was_never_admitted_leaves_whichever_organization_it_names(
    lab: Lab, archive: ArchiveStore
) -> None:
    archiving = Archiving.over(lab.client, archive, lab.namespace)
    await keep(lab, finishedRunsDays=30)
    ended = format_timestamp(utc_now() - timedelta(days=31))
    expired = {"type": "Completed", "status": "False", "reason": "RunExpired", "lastTransitionTime": ended}
    run = await lab.apply_run(organizationRef={"name": lab.organization}, templateRef={"name": "none"})
    status = {"phase": "Expired", "settled": True, "conditions": [expired]}
    await lab.client.patch_status(RUN, run, status, lab.namespace)
    await archiving.retention.sweep()
    assert await lab.is_gone(RUN, run)
    assert (await manifests(archive), archiving.value("checklists_archive_failures_total", reason="unreadable")) == (
        [],
        0,
    )
