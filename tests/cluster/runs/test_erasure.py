"""An erasure while the archiver handles the same runs: the second sees the first."""

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest
import zstandard
from tests.cluster.archive_lab import Archiving, delivery_names, files_in, in_archive, in_cluster, keep, settled_run
from tests.cluster.operator_lab import SERVER_KEY, Lab

from checklist_cli.console.progress import Progress
from checklist_cli.erasure.cluster_look import ClusterLook
from checklist_cli.erasure.erasing import Erasure, Request
from checklist_cli.erasure.looking import Places
from checklist_cli.erasure.person import Person
from checklist_crds.archive import ArchiveStore
from checklist_crds.kube.client import JsonObject
from checklist_crds.photos.store import PhotoStore
from checklist_crds.resources.kinds import RUN
from checklist_crds.secrets.sealing import ServerKeys
from checklist_crds.times import utc_now

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


async def erased(lab: Lab, folder: Path) -> JsonObject:
    quiet = Progress(lambda _: None)
    cluster = ClusterLook(lab.client, lab.namespace, quiet)
    organization = await cluster.organization(lab.organization)
    identity = await cluster.identity(organization, Person(emails=frozenset({ADA})), ())
    stores = ArchiveStore.open(folder.as_uri()), PhotoStore.open(folder.as_uri())
    places = Places(lab.client, *stores, lab.namespace)
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
