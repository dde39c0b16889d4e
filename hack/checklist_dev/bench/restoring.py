"""What a lost cluster costs: the backup of many live runs, and the restore of it into an empty one, by the command."""

import asyncio
import os
import re
import sys
import time
from functools import partial
from pathlib import Path

from checklist_crds.kube.client import KubeConnection
from checklist_crds.resources.kinds import RUN
from checklist_crds.times import utc_now
from checklist_dev.bench.answers import USUAL_STEPS, answers_to, open_runs, template_of
from checklist_dev.bench.raw import Json, RawCluster, RunFactory, rate_of
from checklist_dev.bench.report import Figure, Goal
from checklist_dev.bench.scale import NOT_WHILE_MEASURED, URL
from checklist_dev.bootstrap import NAMESPACE
from checklist_dev.controlplane import ControlPlane
from checklist_dev.crd_install import install_crds
from checklist_dev.failures import Failure
from checklist_dev.load.client import ServiceClient
from checklist_dev.load.rig import Rig

_MADE = re.compile(r"([\d,]+) made, ([\d,]+) were there")
_ENDS_WITHIN_S = 3600.0


async def measure_restore(rig: Rig, *, live_runs: int) -> list[Figure]:
    """Half of the runs have all their answers; all have a webhook, and none an event left to send."""
    account = await asyncio.to_thread(rig.new_account)
    api = rig.add_api()
    await asyncio.to_thread(rig.start_all)
    connection = await KubeConnection.load(str(rig.cluster.kubeconfig))
    async with RawCluster(connection) as cluster:
        async with ServiceClient([api.url], account.api_key) as client:
            template_id = await client.create_template(template_of(USUAL_STEPS))
            [person] = await open_runs(client, template_id, [URL], 1)
            for planned in answers_to([person]):
                await planned.give()
        await asyncio.to_thread(api.child.stop)
        example = await cluster.get_run(person.run_id)
        answered = {name: value for name, value in example["status"].items() if name != "outbox"}
        await _fill(cluster, RunFactory(example, rig.keys), answered, live_runs - 1)
        bytes_of_one = len(await cluster.read_run(person.run_id))
    url = (rig.folder / "backup").absolute().as_uri()
    backup_s, _ = await run_command(rig, rig.cluster.kubeconfig, "backup", "--to", url)
    verify_s, _ = await run_command(rig, rig.cluster.kubeconfig, "backup", "--verify", url)
    stored = sum(file.stat().st_size for file in (rig.folder / "backup").rglob("*") if file.is_file())
    with ControlPlane(rig.folder / "target", ephemeral=rig.cluster.ephemeral, memory_target=None) as target:
        await asyncio.to_thread(_prepare, target)
        restore_s, told = await run_command(rig, target.kubeconfig, "restore", "--from", url)
        differ = await _differing(connection, await KubeConnection.load(str(target.kubeconfig)))
        again_s, again = await run_command(rig, target.kubeconfig, "restore", "--from", url)
    made, there = _counts(told)
    if there or _counts(again) != (0, 0):
        raise Failure(f"a restore into an empty cluster told {told!r}, and once more {again!r}")
    half = f"half of them with {USUAL_STEPS} answers, {bytes_of_one:,} bytes each as JSON"
    return [
        Figure(
            f"restore of {live_runs:,} live runs into an empty cluster",
            restore_s,
            "s",
            Goal("<=", 300),
            f"{half}; {made:,} objects, {made / restore_s:,.0f} a second; once more: {again_s:.1f} s",
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


async def _fill(cluster: RawCluster, factory: RunFactory, answered: Json, count: int) -> None:
    async def one(number: int) -> None:
        name, body = factory.make(expiresAt=(utc_now() + NOT_WHILE_MEASURED).strftime("%Y-%m-%dT%H:%M:%SZ"))
        await cluster.create_run(body)
        if number % 2:
            await cluster.patch_run_status(name, answered)

    await rate_of((partial(one, number) for number in range(count)), concurrency=32)


async def run_command(rig: Rig, kubeconfig: Path, *arguments: str) -> tuple[float, str]:
    """Seconds of the process, and what it printed. Raises Failure when it ends with anything but 0."""
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


def _counts(told: str) -> tuple[int, int]:
    match = _MADE.search(told)
    if match is None:
        raise Failure(f"the restore did not say what it made: {told!r}")
    made, there = (int(text.replace(",", "")) for text in match.groups())
    return made, there


async def _differing(source: KubeConnection, target: KubeConnection) -> int:
    """Runs whose spec or status is not the same in both, and those that one of them lacks. A restore copies what the
    seal of a run vouched for into its status, since the new object is created later than the seal allows."""

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
