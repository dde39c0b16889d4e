"""Measures how fast settled runs are archived: written, read back, compared, and then deleted.

The baseline is the deletion alone by one bare client.
"""

import asyncio
import json
from datetime import timedelta
from functools import partial
from typing import Any, Final

from checklist_crds.resources.kinds import ORGANIZATION, RUN
from checklist_crds.times import format_timestamp, utc_now
from checklist_dev.local.bootstrap import NAMESPACE
from checklist_dev.local.etcd import size_of, tidied
from checklist_dev.perf.bench.report import Figure, Goal
from checklist_dev.perf.bench.sizes import Sizes
from checklist_dev.perf.bench.stage import Stage
from checklist_dev.perf.load.archive import records_in
from checklist_dev.perf.load.pace import rate_of, until
from checklist_dev.perf.load.probes import total
from checklist_dev.perf.load.raw import RawCluster, RunFactory, fill

ARCHIVE_SETTINGS: Final = {"CHECKLISTS_SWEEP_SECONDS": "0.5"}
BASELINE_PART: Final = 5
"""The baseline deletes one run for this many of ours."""
_AT_ONCE: Final = 24
_WITHIN_S: Final = 900.0
_AGO: Final = timedelta(days=40)
_ANSWERS: Final = 12
_MIB: Final = 2**20


async def measure_archive(stage: Stage, sizes: Sizes) -> list[Figure]:
    """Archive runs with a dozen answers each, all due at once."""
    rig, operator, cluster, runs = stage.rig, stage.operator, stage.cluster, sizes.moved_runs
    factory = RunFactory(await stage.example(executor_ref="bench"), rig.keys, webhook=False)
    await stage.stop()
    gone = await settled_runs(cluster, factory, runs // BASELINE_PART)
    bare = await rate_of((partial(stage.kube.delete, RUN, name, NAMESPACE) for name in gone), concurrency=_AT_ONCE)
    before = await asyncio.to_thread(tidied, rig.cluster.etcd_url)
    names = await settled_runs(cluster, factory, runs)
    full = await asyncio.to_thread(tidied, rig.cluster.etcd_url)
    keep = {"spec": {"retention": {"finishedRunsDays": _AGO.days - 10}}}
    await stage.kube.patch(ORGANIZATION, stage.account.organization_id, keep)
    size = len(await cluster.read_run(names[0]))
    await stage.start(operator)
    metrics = ""

    async def is_over() -> bool:
        nonlocal metrics
        _, metrics = await asyncio.to_thread(operator.get, "/metrics")
        return (total(metrics, "checklists_runs_archived_total") or 0.0) >= runs

    # Includes the pause before its first sweep.
    seconds = await until(is_over, f"archived: {runs} runs", within_s=_WITHIN_S)
    left = len(await cluster.list_runs(field_selector="status.settled=true"))
    written = total(metrics, "checklists_archived_bytes_total") or 0.0
    missing = set(names) - {record.run_id async for record in records_in(stage.archive())}
    memory = operator.rss_mib()
    at_once = await asyncio.to_thread(size_of, rig.cluster.etcd_url)
    after = await asyncio.to_thread(tidied, rig.cluster.etcd_url)
    return [
        Figure(
            f"archive: {runs:,} runs of {size / 1024:.1f} KiB, read back and deleted",
            runs / seconds,
            "runs/s",
            Goal(">=", 300),
            f"deleted alone by one bare client, {_AT_ONCE} at a time: {bare:.0f} runs/s",
        ),
        Figure("archive: bytes of a run in it", written / runs, "B", None, f"in the cluster {size} B as JSON"),
        Figure("archive: operator's memory (RSS) after it", memory, "MiB"),
        Figure(
            f"archive: etcd in use after {runs:,} runs were created and deleted, relative to before",
            after.in_use / before.in_use,
            "x",
            Goal("<=", 1.1),
            f"{before.in_use / _MIB:.1f} MiB before, {full.in_use / _MIB:.1f} with them, {after.in_use / _MIB:.1f} "
            f"after compaction and defragmentation, which made its file {after.file / _MIB:.1f} MiB of "
            f"{at_once.file / _MIB:.1f}",
        ),
        Figure("archive: runs unaccounted for", len(missing) + left, "", Goal("==", 0), f"{runs} runs, {left} left"),
    ]


async def settled_runs(
    cluster: RawCluster, factory: RunFactory, count: int, *, words: str = "as a person writes it"
) -> list[str]:
    """Create runs that were completed forty days ago; returns their names. `words` are in each answer.

    Their creation time is now: an older `createdAt` would void the seal, and the operator would admit and count them.
    """
    ended = format_timestamp(utc_now() - _AGO)
    answers = {
        f"s-{number}": {"value": json.dumps(f"answer {number}, {words}"), "at": ended} for number in range(_ANSWERS)
    }
    condition = {"type": "Completed", "status": "True", "reason": "Submitted", "lastTransitionTime": ended}
    status: dict[str, Any] = {
        "phase": "Completed",
        "completedAt": ended,
        "answers": answers,
        "settled": True,
        "conditions": [condition],
        "progress": {"total": _ANSWERS, "answered": _ANSWERS, "skipped": 0},
    }

    return await fill(cluster, factory, count, status=lambda _: status)
