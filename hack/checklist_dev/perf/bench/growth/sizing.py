"""Measures the cost of one more run: bytes in etcd, memory of API and operator. For the table of docs/sizing.md.

The runs are copies of two that were answered over REST, with delivered webhooks: one in progress, one completed and
settled. etcd is compacted and defragmented before its size is read; each program is restarted with the existing
objects, so that its memory is the current need and not a past one. The first reading is taken with a quarter of the
runs, to exclude one-time costs such as buffers and heaps.
"""

import asyncio
import copy
import json
from collections.abc import Mapping
from functools import partial
from typing import Final

from checklist_crds.ids import new_id
from checklist_crds.resources.delivery_records import recorded_events
from checklist_dev.local.etcd import tidied
from checklist_dev.perf.bench.report import Figure
from checklist_dev.perf.bench.sizes import Sizes
from checklist_dev.perf.bench.stage import Stage
from checklist_dev.perf.load.checklist import STEPS
from checklist_dev.perf.load.client import Json
from checklist_dev.perf.load.raw import RunFactory, fill

_AT_REST_S: Final = 8.0
_MIB: Final = 2**20


async def measure_sizes(stage: Stage, sizes: Sizes) -> list[Figure]:
    """Measure with `sized_runs` of each kind. Raises Failure."""
    cluster, runs = stage.cluster, sizes.sized_runs
    under_way = await stage.answered(STEPS[: len(STEPS) // 2], submit=False, expires_in_hours=72)
    settled = await stage.answered(STEPS, submit=True, expires_in_hours=72)
    await stage.stop()
    figures: list[Figure] = []
    empty = await _sizes(stage)
    for what, example in (("live", under_way), ("settled", settled)):
        factory, like = RunFactory(example, stage.rig.keys), partial(_status_like, example)
        await fill(cluster, factory, runs // 4, status=like)
        before = await _sizes(stage)
        await fill(cluster, factory, runs, status=like)
        after = await _sizes(stage)
        body = len(json.dumps(example, ensure_ascii=False, separators=(",", ":")).encode())
        basis = f"{runs:,} runs; {len(example['status']['answers'])} answers, {body:,} B as JSON"
        each = {name: (after[name] - before[name]) / runs for name in after}
        figures.append(Figure(f"etcd: one more {what} run", each["etcd"], "B", None, basis))
        figures += [
            Figure(f"sizing: memory of the {name} for one more {what} run", each[name] / 1024, "KiB", None, basis)
            for name in ("API", "operator")
        ]
    all_runs = f"{2 * (runs + runs // 4):,} runs"
    return [
        *figures,
        *(
            Figure(f"{name}: memory with {what} (RSS)", found[name] / _MIB, "MiB")
            for what, found in (("no run", empty), (all_runs, after))
            for name in ("API", "operator")
        ),
    ]


def _status_like(example: Json, _: int) -> Json:
    status: Json = copy.deepcopy(example["status"])
    for event_id in recorded_events(status):  # unique, since the API indexes events by id
        status["records"] = status["records"].replace(event_id, new_id("evt"))
    return status


async def _sizes(stage: Stage) -> Mapping[str, float]:
    """Sizes in bytes; of each program at rest after a start of its own."""
    sizes = {"etcd": float((await asyncio.to_thread(tidied, stage.rig.cluster.etcd_url)).in_use)}
    for name, program in (("API", stage.api), ("operator", stage.operator)):
        program.start()
        await asyncio.to_thread(partial(program.wait_ready, timeout_s=300.0))
        await asyncio.sleep(_AT_REST_S)
        sizes[name] = program.rss_mib() * _MIB
        await stage.stop(program)
    return sizes
