"""Measures the erasure of one person among many archived runs: the command as a process, including its proof.

Every part is read twice with its digest, and parts with runs of the person are rewritten. One person is in half of the
parts; the worst case is a reference in all of them.
"""

import asyncio
import json
import os
import resource
from pathlib import Path
from typing import Final

import aiohttp

from checklist_crds.ids import object_id
from checklist_crds.photos.keys import photo_id, photo_key, thumbnail_key
from checklist_dev.failures import Failure
from checklist_dev.local.bootstrap import NAMESPACE
from checklist_dev.perf.bench.archive.restoring import run_command
from checklist_dev.perf.bench.reading import until_listed
from checklist_dev.perf.bench.report import Figure, Goal
from checklist_dev.perf.bench.stage import Stage
from checklist_dev.perf.load.archive import records_in
from checklist_dev.perf.load.client import Json
from checklist_dev.perf.load.rig import Rig

EMAIL: Final = "ada.lovelace@example.org"
_INTERVAL: Final = 1000
"""One of so many runs is the person's."""
_REFERENCE: Final = "ref 7"
_PHOTO_BYTES: Final = 300_000


def is_hers(number: int, count: int) -> bool:
    """Whether run `number` of `count` archived runs was answered by the person."""
    return number % min(_INTERVAL, count // 3) == 3


async def measure_erasure(stage: Stage, session: aiohttp.ClientSession, ids: list[str], *, live: int) -> list[Figure]:
    """Erase while an API lists all archived runs, `ids`, and `live` ones, one of which was dispatched to her."""
    rig, store = stage.rig, stage.archive()
    hers = [one for number, one in enumerate(ids) if is_hers(number, len(ids))]
    by_reference = {one for number, one in enumerate(ids) if number % 97 == 7}
    organization = stage.account.organization_id
    await asyncio.to_thread(_put_photos, rig.folder / "photos", object_id("org", organization), hers)
    seconds, receipt = await _erase(rig, organization, "--email", EMAIL)
    noticed_s = await until_listed(session, len(ids) - len(hers) + live - 1)
    worst_s, worst = await _erase(rig, organization, "--executor-ref", _REFERENCE)
    gone = {run["id"] for run in receipt["erased"]["runs"]}
    if not gone.issuperset(hers) or len(gone) != len(hers) + 1:
        raise Failure(f"{len(gone)} runs were erased, not the {len(hers) + 1} of the person")
    found = {record.run_id async for record in records_in(store)}
    wanted = set(ids) - set(hers) - by_reference
    counts, others = receipt["erased"]["counts"], worst["erased"]["counts"]
    photos = [file for one in hers for file in (rig.folder / "photos" / "photos" / one).glob("*")]
    return [
        Figure(
            f"erasure of one person among {len(ids):,} archived runs, with proof",
            seconds,
            "s",
            Goal("<=", 60),
            f"{counts['runs']} runs, {counts['photo_objects']} objects of photos, {counts['parts']} of "
            f"{receipt['proof']['looked_at']['archive_parts']} parts rewritten; next to an API that lists all; "
            f"{receipt['processor_s']:.0f} s of processor time",
        ),
        Figure(
            "... erasure of a reference in every part",
            worst_s,
            "s",
            Goal("<=", 60),
            f"{others['runs']} runs, {others['parts']} parts rewritten; {worst['processor_s']:.0f} s of processor time",
        ),
        Figure("... erasure: until a running API stopped listing them", noticed_s, "s", Goal("<=", 30)),
        Figure(
            "erasure: runs unaccounted for",
            len(wanted ^ found) + len(photos),
            "",
            Goal("==", 0),
            f"{len(wanted - found)} of others missing, {len(found - wanted) + len(photos)} of the person left",
        ),
    ]


def _processor_s() -> float:
    """Processor time of all ended child processes."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ended.ru_utime + ended.ru_stime


def _put_photos(folder: Path, organization: str, runs: list[str]) -> None:
    """Write a photo and its thumbnail for each run; `organization`: public id."""
    for run_id in runs:
        key = photo_key(organization, run_id, photo_id(run_id, None, ""))
        (folder / key).parent.mkdir(parents=True)
        (folder / key).write_bytes(os.urandom(_PHOTO_BYTES))
        (folder / thumbnail_key(key)).write_bytes(os.urandom(_PHOTO_BYTES // 20))


async def _erase(rig: Rig, organization: str, *who: str) -> tuple[float, Json]:
    """The seconds of the process, and the receipt."""
    named = ("--organization", organization, "--namespace", NAMESPACE, *who, "--yes")
    before = _processor_s()
    seconds, printed = await run_command(rig, rig.cluster.kubeconfig, "erase", *named)
    receipt: Json = json.loads(printed)
    receipt["processor_s"] = _processor_s() - before
    if any(receipt["proof"]["left"].values()):
        raise Failure(f"the receipt lists something left: {receipt['proof']['left']}")
    return seconds, receipt
