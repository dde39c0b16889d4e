"""What it takes to erase one person among many archived runs: the command as a process, its proof included.

Every part is read twice with its digest, and those that hold the person are written anew. One person is in half of the
parts; the worst case is a reference that is in all of them.
"""

import asyncio
import json
import os
import resource
from pathlib import Path
from typing import Any, Final

import aiohttp

from checklist_crds.archive import ArchiveReader, ArchiveStore
from checklist_crds.ids import object_id
from checklist_crds.kube.client import KubeClient, KubeConnection
from checklist_crds.photos.keys import photo_id, photo_key, thumbnail_key
from checklist_dev.bench.archived_month import example_of, fill, records
from checklist_dev.bench.reading import until_listed
from checklist_dev.bench.report import Figure, Goal
from checklist_dev.bench.restoring import run_command
from checklist_dev.bootstrap import NAMESPACE
from checklist_dev.failures import Failure
from checklist_dev.load.checklist import TEMPLATE
from checklist_dev.load.client import ServiceClient
from checklist_dev.load.rig import Rig

_EMAIL: Final = "ada.lovelace@example.org"
_EVERY: Final = 1000
"""Of the runs is hers."""
_REFERENCE: Final = "ref 7"
_PHOTO_BYTES: Final = 300_000
_WITHIN_S: Final = 600.0
Json = dict[str, Any]


async def measure_erasure(rig: Rig, *, archived_runs: int) -> list[Figure]:
    """Beside an API that lists all of them."""
    account = await asyncio.to_thread(rig.new_account)
    api = rig.add_api()
    await asyncio.to_thread(rig.start_all)
    async with ServiceClient([api.url], account.api_key) as client:
        template_id = await client.create_template(TEMPLATE)
        run_id = str((await client.dispatch({"template_id": template_id})).body["run_id"])
        live = str((await client.dispatch({"template_id": template_id, "executor_ref": _EMAIL})).body["run_id"])
    async with KubeClient(await KubeConnection.load(str(rig.cluster.kubeconfig))) as kube:
        example, revision = await example_of(kube, run_id)
    await asyncio.to_thread(api.child.stop)
    store = ArchiveStore.open((rig.folder / "photos").absolute().as_uri())
    every = min(_EVERY, archived_runs // 3)
    of_a_month = records(
        example, revision, archived_runs, lambda n: {"name": "Ada", "email": _EMAIL.title()} if n % every == 3 else None
    )
    ids = await fill(store, object_id("org", account.organization_id), of_a_month)
    hers = [one for number, one in enumerate(ids) if number % every == 3]
    by_reference = {one for number, one in enumerate(ids) if number % 97 == 7}
    await asyncio.to_thread(_put_photos, rig.folder / "photos", object_id("org", account.organization_id), hers)
    await asyncio.to_thread(api.start)
    await asyncio.to_thread(api.wait_ready)
    headers = {"Authorization": f"Bearer {account.api_key}"}
    async with aiohttp.ClientSession(api.url, trust_env=False, headers=headers) as session:
        await until_listed(session, archived_runs + 2)
        seconds, receipt = await _erase(rig, account.organization_id, "--email", _EMAIL)
        left = archived_runs + 1 - len(hers)
        noticed_s = await until_listed(session, left)
        worst_s, worst = await _erase(rig, account.organization_id, "--executor-ref", _REFERENCE)
    gone = {run["id"] for run in receipt["erased"]["runs"]}
    if gone != {*hers, live}:
        raise Failure(f"{len(gone)} runs were erased, not the {len(hers) + 1} of the person")
    found = set(await _run_ids(store))
    wanted = set(ids) - set(hers) - by_reference
    counts, others = receipt["erased"]["counts"], worst["erased"]["counts"]
    photos = [file for one in hers for file in (rig.folder / "photos" / "photos" / one).glob("*")]
    return [
        Figure(
            f"erasure of one person among {archived_runs:,} archived runs, with proof",
            seconds,
            "s",
            Goal("<=", 60),
            f"{counts['runs']} runs, {counts['photo_objects']} objects of photos, {counts['parts']} of "
            f"{receipt['proof']['looked_at']['archive_parts']} parts written anew; beside an API that lists all; "
            f"{receipt['processor_s']:.0f} s of processor time",
        ),
        Figure(
            "... erasure of a reference that is in every part",
            worst_s,
            "s",
            Goal("<=", 60),
            f"{others['runs']} runs, {others['parts']} parts written anew; {worst['processor_s']:.0f} s of processor",
        ),
        Figure("... erasure: until a running API listed them no more", noticed_s, "s", Goal("<=", 30)),
        Figure(
            "erasure: runs unaccounted for",
            len(wanted ^ found) + len(photos),
            "",
            Goal("==", 0),
            f"{len(wanted - found)} of others gone, {len(found - wanted) + len(photos)} left of who was erased",
        ),
    ]


def _processor_s() -> float:
    """Of all processes that were started here and have ended."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ended.ru_utime + ended.ru_stime


def _put_photos(folder: Path, organization: str, runs: list[str]) -> None:
    """A photo and its thumbnail of each of them; `organization`: the public id."""
    for run_id in runs:
        key = photo_key(organization, run_id, photo_id(run_id, None, ""))
        (folder / key).parent.mkdir(parents=True)
        (folder / key).write_bytes(os.urandom(_PHOTO_BYTES))
        (folder / thumbnail_key(key)).write_bytes(os.urandom(_PHOTO_BYTES // 20))


async def _erase(rig: Rig, organization: str, *who: str) -> tuple[float, Json]:
    """Seconds of the process, and the receipt."""
    named = ("--organization", organization, "--namespace", NAMESPACE, *who, "--yes")
    before = _processor_s()
    seconds, printed = await run_command(rig, rig.cluster.kubeconfig, "erase", *named)
    receipt: Json = json.loads(printed)
    receipt["processor_s"] = _processor_s() - before
    if any(receipt["proof"]["left"].values()):
        raise Failure(f"the receipt says that something is left: {receipt['proof']['left']}")
    return seconds, receipt


async def _run_ids(store: ArchiveStore) -> list[str]:
    """Of all parts, each line looked at."""
    reader, found = ArchiveReader(store), list[str]()
    async for place, _ in store.manifests():
        manifest = await store.manifest(place)
        if manifest is not None:
            found += [record.run_id for record in await reader.runs(manifest)]
    return found
