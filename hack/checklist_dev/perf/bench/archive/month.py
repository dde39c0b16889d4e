"""Measures an archived month: the API that lists, reads and exports its runs, and the erasure of a person."""

import asyncio
import json
import random
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Final

from checklist_crds.archive import ArchiveStore, Folder, Record, encode_part, month_of
from checklist_crds.archive.part import MAX_RUNS
from checklist_crds.ids import new_id, object_id
from checklist_crds.resources.kinds import TEMPLATE_REVISION
from checklist_crds.resources.run import RunPhase
from checklist_crds.times import format_timestamp, utc_now
from checklist_dev.local.bootstrap import NAMESPACE
from checklist_dev.perf.bench.archive.erasure import EMAIL, is_hers, measure_erasure
from checklist_dev.perf.bench.archive.exporting import measure_exports
from checklist_dev.perf.bench.reading import seconds_of, slowest_list, until_listed
from checklist_dev.perf.bench.report import Figure, Goal, percentile
from checklist_dev.perf.bench.sizes import Sizes
from checklist_dev.perf.bench.stage import Stage
from checklist_dev.perf.load.checklist import STEPS, value_for
from checklist_dev.perf.load.client import Json
from checklist_dev.perf.load.raw import RunFactory, fill

FIRST_DAY: Final = datetime(2026, 3, 1, tzinfo=UTC)
MONTH: Final = timedelta(days=31)
_PROGRESS: Final = {"total": len(STEPS), "answered": len(STEPS), "skipped": 0}
_READ: Final = 200


async def measure_archived_month(stage: Stage, sizes: Sizes) -> list[Figure]:
    """Measure an API without an archive, then with the archived runs of one month."""
    api, archived = stage.api, sizes.archived_runs
    example = await stage.example()
    await stage.example(executor_ref=EMAIL)
    await stage.client.insist("GET", "/v1/runs")
    without = api.rss_mib()
    await stage.stop()
    organization = object_id("org", stage.account.organization_id)
    revision_name = example["spec"]["resolved"]["revisionRef"]["name"]
    revision = await stage.kube.get(TEMPLATE_REVISION, revision_name, NAMESPACE)
    ids = await _fill_archive(stage.archive(), organization, _records(example, revision, archived))
    template_id = str(example["spec"]["resolved"]["templateId"])
    await stage.start(api)
    async with stage.session() as session:
        await until_listed(session, archived + 2)
        listed_s = time.monotonic() - api.started_at
        with_archive = api.rss_mib()
        worst, seconds = await slowest_list(session, "/v1/runs", template_id, FIRST_DAY + MONTH / 2)
        anywhere = random.Random(9).sample(ids, min(_READ, len(ids)))
        apart = [await seconds_of(session, f"/v1/runs/{run_id}") for run_id in anywhere]
        added = api.rss_mib() - without
        now = format_timestamp(utc_now())
        rng = random.Random(9)
        await fill(
            stage.cluster,
            RunFactory(example, stage.rig.keys, webhook=False),
            sizes.exported_of_cluster,
            status=lambda _: _completed(rng, now, now),
        )
        live = sizes.exported_of_cluster + 2
        await until_listed(session, archived + live)
        end = format_timestamp(FIRST_DAY + MONTH)
        exports = await measure_exports(
            stage, session, example, end=end, archived=archived, live=sizes.exported_of_cluster
        )
        erasure = await measure_erasure(stage, session, ids, live=live)
    with_runs = f"with {archived:,} archived runs"
    return [
        Figure(
            "list across cluster and archive, slowest of every filter and page",
            seconds * 1000,
            "ms",
            Goal("<=", 1000),
            worst,
        ),
        Figure(f"API {with_runs}: process start to all of them listed", listed_s, "s"),
        Figure(
            f"API {with_runs}: memory (RSS) that they add",
            added,
            "MiB",
            Goal("<=", 96),
            f"{without:.0f} MiB without, {with_archive:.0f} MiB when all were listed, more after lists and reads",
        ),
        Figure("GET of an archived run anywhere, p95", percentile(apart, 95) * 1000, "ms"),
        *exports,
        *erasure,
    ]


def _records(example: Json, revision: Json, count: int) -> Iterator[Record]:
    """Runs of a month by time: four fifths completed, the others cancelled or expired; with many references."""
    rng = random.Random(9)
    for number in range(count):
        created_at = FIRST_DAY + MONTH * (number / count)
        began, ended = format_timestamp(created_at), format_timestamp(created_at + timedelta(minutes=10))
        spec = {**example["spec"], "createdAt": began, "executorRef": f"ref {number % 97}"}
        if number % 5:
            status = _completed(rng, began, ended)
        elif number % 2:
            status = {"phase": RunPhase.CANCELLED.value, "cancelledAt": ended, "cancelReason": "not today"}
        else:
            status, spec = {"phase": RunPhase.EXPIRED.value}, {**spec, "expiresAt": ended}
        if is_hers(number, count):
            status["identity"] = {"name": "Ada", "email": EMAIL.title()}
        metadata = {**example["metadata"], "name": new_id("r"), "resourceVersion": str(1_000 + number)}
        status = {"progress": _PROGRESS, **status, "settled": True}
        yield Record.of({**example, "metadata": metadata, "spec": spec, "status": status}, revision, ())


def _completed(rng: random.Random, began: str, ended: str) -> Json:
    """The status of a completed run with all its answers."""
    values = {step["id"]: json.dumps(value_for(rng, step["type"])) for step in STEPS}
    return {
        "phase": RunPhase.COMPLETED.value,
        "settled": True,
        "startedAt": began,
        "completedAt": ended,
        "progress": _PROGRESS,
        "answers": {step: {"value": value, "at": ended, "revision": 1} for step, value in values.items()},
    }


async def _fill_archive(store: ArchiveStore, organization: str, records: Iterator[Record]) -> list[str]:
    """Write parts as the archiver does; returns the ids of their runs."""
    found: list[str] = []
    while some := list(islice(records, MAX_RUNS)):
        folder = Folder(organization, month_of(some[0].created_at))
        part = await asyncio.to_thread(
            encode_part, folder, some, written_at=some[-1].created_at, written_by="the bench"
        )
        await store.put(part.place.key, part.content)
        await store.put(part.place.manifest_key, part.manifest.encoded())
        found += part.manifest.run_ids
    return found
