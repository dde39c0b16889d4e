"""The scene: starts the processes, runs the load, and judges."""

import asyncio
import time
from collections import Counter

import aiohttp

from checklist_crds.kube.client import KubeClient, KubeConnection
from checklist_dev.faults.replicas.checks import check_all
from checklist_dev.faults.replicas.workload import Workload
from checklist_dev.local.bootstrap import NAMESPACE
from checklist_dev.local.people import sign_in
from checklist_dev.perf.judgement.facts import Finding
from checklist_dev.perf.judgement.transcript import Result, Transcript
from checklist_dev.perf.load.rig import Rig

OPERATIONS = 100_000
REPLICAS = 4
LONGEST_S = 3600.0
CLIENTS = 32
_DISPATCHES_OF_ALL = 0.05
"""Share of all operations; the plan allows fewer than are requested, so that the limit is reached."""


async def mixed_operations(
    rig: Rig, transcript: Transcript, *, operations: int = OPERATIONS, for_s: float = LONGEST_S, seed: int
) -> Result:
    """Raises Failure if the service cannot be started."""
    limit = max(10, int(operations * _DISPATCHES_OF_ALL))
    account = await asyncio.to_thread(rig.new_account, runs_per_month=limit)
    programs = [rig.add_api(f"replica-{number}") for number in range(REPLICAS)]
    await asyncio.to_thread(rig.start_all)
    transcript.title(f"{operations} operations of {CLIENTS} clients at {REPLICAS} API processes, seed {seed}")
    connection = await KubeConnection.load(str(rig.cluster.kubeconfig))
    async with (
        KubeClient(connection, answer_within_s=30.0) as kube,
        aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0), timeout=aiohttp.ClientTimeout(total=60), trust_env=False
        ) as session,
    ):
        person = await sign_in(kube, organization=account.organization_id, namespace=NAMESPACE)
        workload = Workload(session, [program.url for program in programs], account.api_key, seed=seed)
        await workload.prepare(person)
        reporting = asyncio.create_task(_report(workload, transcript))
        started = time.monotonic()
        await workload.run(operations, clients=CLIENTS, for_s=for_s)
        seconds = time.monotonic() - started
        reporting.cancel()
        if any(op.uncertain for op in workload.history.of("dispatch")):
            await asyncio.to_thread(rig.add_operator().start)
        final = await workload.finish(kube, account.organization_id, limit)
    history = workload.history
    kinds = Counter(op.kind for op in history.ops)
    figures = {
        "operations": len(history.ops),
        "seconds": round(seconds, 1),
        "runs": len(final.runs),
        "plan": limit,
        "writes_acknowledged": sum(op.ok and op.wrote is not None and op.kind != "list" for op in history.ops),
        "refused": sum(400 <= op.status < 500 for op in history.ops),
        "unanswered": sum(op.uncertain for op in history.ops),
        **{f"of_{kind}": count for kind, count in sorted(kinds.items())},
    }
    few = [] if len(history.ops) >= operations else [f"{len(history.ops)} in {seconds:.0f} s"]
    findings = [*check_all(history, final), Finding("the load was as large as planned", operations, few)]
    return Result("mixed operations", findings, figures, rig.logs())


async def _report(workload: Workload, transcript: Transcript) -> None:
    while True:
        await asyncio.sleep(20)
        transcript.say(f"{len(workload.history.ops)} operations")
