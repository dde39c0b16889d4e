"""Measures disaster recovery: the backup of many live runs, and its restore into an empty cluster, by the command."""

import asyncio
import os
import re
import sys
import time
from pathlib import Path

from checklist_crds.kube.client import KubeConnection
from checklist_crds.resources.kinds import RUN
from checklist_crds.times import format_timestamp, utc_now
from checklist_dev.failures import Failure
from checklist_dev.local.bootstrap import NAMESPACE
from checklist_dev.local.controlplane import ControlPlane
from checklist_dev.local.crd_install import install_crds
from checklist_dev.perf.bench.growth.scale import NOT_WHILE_MEASURED
from checklist_dev.perf.bench.report import Figure, Goal
from checklist_dev.perf.bench.sizes import Sizes
from checklist_dev.perf.bench.stage import Stage
from checklist_dev.perf.load.checklist import STEPS
from checklist_dev.perf.load.client import Json
from checklist_dev.perf.load.raw import RawCluster, RunFactory, fill
from checklist_dev.perf.load.rig import Rig

_CREATED = re.compile(r"([\d,]+) created, ([\d,]+) existed")
_ENDS_WITHIN_S = 3600.0


async def measure_restore(stage: Stage, sizes: Sizes) -> list[Figure]:
    """Half of the runs have all their answers; all have a webhook without unsent events."""
    rig, cluster, live_runs = stage.rig, stage.cluster, sizes.restored_runs
    example = await stage.answered(STEPS, submit=False)
    await stage.stop()
    await fill(
        cluster,
        RunFactory(example, rig.keys),
        live_runs - 1,
        spec=lambda _: {"expiresAt": format_timestamp(utc_now() + NOT_WHILE_MEASURED)},
        status=lambda number: example["status"] if number % 2 else None,
    )
    bytes_of_one = len(await cluster.read_run(example["metadata"]["name"]))
    url = (rig.folder / "backup").absolute().as_uri()
    backup_s, _ = await run_command(rig, rig.cluster.kubeconfig, "backup", "--to", url)
    verify_s, _ = await run_command(rig, rig.cluster.kubeconfig, "backup", "--verify", url)
    stored = sum(file.stat().st_size for file in (rig.folder / "backup").rglob("*") if file.is_file())
    with ControlPlane(rig.folder / "target", ephemeral=rig.cluster.ephemeral, memory_target=None) as target:
        await asyncio.to_thread(_prepare, target)
        restore_s, printed = await run_command(rig, target.kubeconfig, "restore", "--from", url)
        differ = await _differing(stage.connection, await KubeConnection.load(str(target.kubeconfig)))
        again_s, again = await run_command(rig, target.kubeconfig, "restore", "--from", url)
    made, there = _counts(printed)
    if there or _counts(again) != (0, 0):
        raise Failure(f"a restore into an empty cluster printed {printed!r}, and repeated {again!r}")
    half = f"half of them with {len(STEPS)} answers, {bytes_of_one:,} bytes each as JSON"
    return [
        Figure(
            f"restore of {live_runs:,} live runs into an empty cluster",
            restore_s,
            "s",
            Goal("<=", 300),
            f"{half}; {made:,} objects, {made / restore_s:,.0f} a second; repeated: {again_s:.1f} s",
        ),
        Figure("restore: runs that differ afterwards", differ, "", Goal("==", 0), "spec and status of each"),
        Figure(
            f"backup of {live_runs:,} live runs",
            backup_s,
            "s",
            None,
            f"{stored / 1024**2:.1f} MiB in the store; read back and verified in {verify_s:.1f} s",
        ),
    ]


async def run_command(rig: Rig, kubeconfig: Path, *arguments: str) -> tuple[float, str]:
    """Run the command; returns its seconds and output. Raises Failure if the exit status is not 0."""
    environment = {
        **{key: value for key, value in os.environ.items() if not key.startswith("CHECKLISTS_")},
        "KUBECONFIG": str(kubeconfig),
        "CHECKLISTS_SERVER_KEY": rig.keys.server_key,
        "CHECKLISTS_SEALING_KEYS": rig.keys.sealing_keys,
        "CHECKLISTS_PHOTO_STORE": (rig.folder / "photos").absolute().as_uri(),
    }
    started = time.perf_counter()
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "checklist_cli", *arguments),
        env=environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        printed, complained = await asyncio.wait_for(process.communicate(), _ENDS_WITHIN_S)
    except BaseException:
        process.kill()
        raise
    took_s = time.perf_counter() - started
    if process.returncode != 0:
        raise Failure(
            f"checklist-dispatch {arguments[0]} ended with {process.returncode}: {complained.decode()[-500:]}"
        )
    return took_s, printed.decode()


def _prepare(target: ControlPlane) -> None:
    install_crds(target.run_kubectl)
    target.run_kubectl("create", "namespace", NAMESPACE)


def _counts(printed: str) -> tuple[int, int]:
    match = _CREATED.search(printed)
    if match is None:
        raise Failure(f"the restore did not print its counts: {printed!r}")
    made, there = (int(text.replace(",", "")) for text in match.groups())
    return made, there


async def _differing(source: KubeConnection, target: KubeConnection) -> int:
    """The number of runs that differ in spec or status, or are missing on one side. A restore copies the sealed
    admission of a run into its status, since the new object is created later than the seal allows."""

    def status_of(run: Json) -> Json:
        return {"resolved": {**run["spec"]["resolved"], "bound": True}, **(run.get("status") or {})}

    async def runs(connection: KubeConnection) -> dict[str, tuple[Json, Json]]:
        async with RawCluster(connection) as cluster:
            return {
                body["metadata"]["name"]: (body["spec"], status_of(body))
                async for page in cluster.pages(RUN)
                for body in page
            }

    before, after = await runs(source), await runs(target)
    return sum(before.get(name) != after.get(name) for name in before.keys() | after.keys())
