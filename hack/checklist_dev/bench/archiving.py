"""How fast settled runs go from the cluster into the archive: written, read back, compared, and only then deleted.

The baseline is the least that letting go of a run takes here: its deletion alone, by one bare client.
"""

import asyncio
import json
import time
from datetime import timedelta
from functools import partial
from typing import Any, Final

from checklist_crds.archive import ArchiveReader, ArchiveStore
from checklist_crds.kube.client import KubeClient, KubeConnection
from checklist_crds.resources.kinds import ORGANIZATION, RUN
from checklist_crds.times import format_timestamp, utc_now
from checklist_dev.bench.etcd_size import size_of, tidied
from checklist_dev.bench.raw import RawCluster, RunFactory, rate_of
from checklist_dev.bench.report import Figure, Goal
from checklist_dev.bootstrap import NAMESPACE
from checklist_dev.failures import Failure
from checklist_dev.load.checklist import TEMPLATE
from checklist_dev.load.client import ServiceClient
from checklist_dev.load.rig import Program, Rig

ARCHIVE_SETTINGS: Final = {"CHECKLISTS_SWEEP_SECONDS": "0.5"}
BASELINE_PART: Final = 5
"""The baseline deletes one run for so many of ours."""
_AT_ONCE: Final = 24
_WITHIN_S: Final = 900.0
_AGO: Final = timedelta(days=40)
_ANSWERS: Final = 12
_MIB: Final = 2**20


async def measure_archive(rig: Rig, *, runs: int) -> list[Figure]:
    """`runs` runs with a dozen answers each, all of them due at once."""
    account = await asyncio.to_thread(rig.new_account)
    api, operator = rig.add_api(), rig.add_operator()
    await asyncio.to_thread(rig.start_all)
    async with ServiceClient([api.url], account.api_key) as client:
        template_id = await client.create_template(TEMPLATE)
        reply = await client.dispatch({"template_id": template_id, "executor_ref": "bench"})
    for program in (api, operator):
        await asyncio.to_thread(program.child.stop)
    connection = await KubeConnection.load(str(rig.cluster.kubeconfig))
    async with RawCluster(connection) as cluster, KubeClient(connection) as kube:
        factory = RunFactory(await cluster.get_run(reply.body["run_id"]), rig.keys, webhook=False)
        bare = await _delete(kube, await settled_runs(cluster, factory, runs // BASELINE_PART))
        before = await asyncio.to_thread(tidied, rig.cluster.etcd_url)
        names = await settled_runs(cluster, factory, runs)
        full = await asyncio.to_thread(tidied, rig.cluster.etcd_url)
        keep = {"spec": {"retention": {"finishedRunsDays": _AGO.days - 10}}}
        await kube.patch(ORGANIZATION, account.organization_id, keep)
        size = len(await cluster.read_run(names[0]))
        operator.start()
        await asyncio.to_thread(operator.wait_ready)
        seconds = await _archived(operator, runs)
        left = len(await cluster.list_runs(field_selector="status.settled=true"))
        _, metrics = await asyncio.to_thread(operator.get, "/metrics")
    written = _value(metrics, "checklists_archived_bytes_total")
    missing = set(names) - await _ids(rig)
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
            f"archive: etcd when {runs:,} runs have come and gone, in use, of what it was before",
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
    """Names of runs whose status says that they were completed forty days ago. `words` are in each answer.

    They are created now: an older `createdAt` would void the seal, and the operator would admit and count them.
    """
    ended = format_timestamp(utc_now() - _AGO)
    made = [factory.make() for _ in range(count)]
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

    async def one(name: str, body: bytes) -> None:
        await cluster.create_run(body)
        await cluster.patch_run_status(name, status)

    await rate_of(partial(one, name, body) for name, body in made)
    return [name for name, _ in made]


async def _delete(kube: KubeClient, names: list[str]) -> float:
    return await rate_of((partial(kube.delete, RUN, name, NAMESPACE) for name in names), concurrency=_AT_ONCE)


async def _archived(operator: Program, runs: int) -> float:
    """Seconds from an operator that is ready until all are archived, the pause before its first sweep included."""
    started = time.monotonic()
    while time.monotonic() - started < _WITHIN_S:
        _, text = await asyncio.to_thread(operator.get, "/metrics")
        if _value(text, "checklists_runs_archived_total") >= runs:
            return time.monotonic() - started
        await asyncio.sleep(0.1)
    raise Failure(f"{runs} runs were not archived within {_WITHIN_S:.0f} s")


async def _ids(rig: Rig) -> set[str]:
    """Of all runs in the archive, each part verified."""
    store = ArchiveStore.open((rig.folder / "photos").absolute().as_uri())
    reader, found = ArchiveReader(store), set()
    async for place, _ in store.manifests():
        manifest = await store.manifest(place)
        if manifest is not None:
            found |= {record.run_id for record in await reader.runs(manifest)}
    return found


def _value(metrics: str, name: str) -> float:
    return next((float(line.split()[1]) for line in metrics.splitlines() if line.startswith(f"{name} ")), 0.0)
