"""Several API processes, hundreds of concurrent dispatches, the last runs of a plan: exactly the limit is dispatched.

Independent of the machine's speed: requests without an answer are repeated with their Idempotency-Key, and if the
cluster did not answer an API, so that it is unknown whether a run was created, an operator resolves it after the race.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Sequence

from checklist_crds.kube.client import KubeClient, KubeConnection
from checklist_dev.perf.judgement.facts import ClusterState, Finding
from checklist_dev.perf.judgement.settling import settle
from checklist_dev.perf.judgement.transcript import Result, Transcript
from checklist_dev.perf.load.checklist import TEMPLATE
from checklist_dev.perf.load.client import Reply, ServiceClient
from checklist_dev.perf.load.rig import Program, Rig

ANSWER_WITHIN_S = 60.0
DEFINITE_WITHIN_S = 300.0
SETTLE_WITHIN_S = 120.0
"""The operator resolves a counted run that was not confirmed after half a minute."""


async def quota_boundary(
    rig: Rig, transcript: Transcript, *, processes: int = 4, each: int = 200, limit: int = 500
) -> Result:
    """Send `each` concurrent dispatches to each of `processes`, with a plan of `limit` runs."""
    apis = [rig.add_api(f"quota-api-{number}") for number in range(processes)]
    account = await asyncio.to_thread(rig.new_account, runs_per_month=limit)
    await asyncio.to_thread(_start, apis)
    transcript.title(f"{processes} API processes x {each} dispatches at once, a plan of {limit} runs")
    connection = await KubeConnection.load(str(rig.cluster.kubeconfig))
    async with KubeClient(connection, answer_within_s=30.0) as kube:
        clients = [
            ServiceClient([api.url], account.api_key, seed=number, answer_within_s=ANSWER_WITHIN_S)
            for number, api in enumerate(apis)
        ]
        try:
            template = await clients[0].create_template(TEMPLATE)
            for client in clients:  # warm the caches of every process before the race
                await client.insist("GET", f"/v1/templates/{template}")
            started = time.monotonic()
            body = {"template_id": template}
            replies = await asyncio.gather(
                *(client.dispatch(body, for_s=DEFINITE_WITHIN_S) for client in clients for _ in range(each))
            )
            race_s = time.monotonic() - started
            await asyncio.to_thread(_start, [operator := rig.add_operator("quota-operator")])
            state, settled = await settle(kube, account.organization_id, transcript, within_s=SETTLE_WITHIN_S)
            usage = await clients[-1].insist("GET", "/v1/usage")
            findings = [settled, *_judge(replies, usage, state, wanted=min(limit, processes * each), limit=limit)]
            findings.append(
                Finding("no request is answered with 500", len(replies), [f for c in clients for f in c.faults])
            )
        finally:
            for client in clients:
                await client.__aexit__(None, None, None)
    for program in (operator, *apis):
        await asyncio.to_thread(program.child.stop)
    figures = {
        "seconds": round(race_s, 2),
        "dispatches_per_s": round(len(replies) / race_s, 1),
        "answers": dict(Counter(str(reply.status) for reply in replies)),
        "tries": sum(reply.tries for reply in replies),
        "runs": len(state.runs),
        "used": state.quota.used,
    }
    return Result("quota boundary", findings, figures, rig.logs())


def _judge(replies: Sequence[Reply], usage: Reply, state: ClusterState, *, wanted: int, limit: int) -> list[Finding]:
    made = [reply.body["run_id"] for reply in replies if reply.status == 201]
    refused = [reply for reply in replies if reply.status == 402]
    strange = [reply for reply in replies if reply.status not in {201, 402}]
    counts = []
    if len(made) != wanted:
        counts.append(f"{len(made)} dispatches were acknowledged, expected {wanted}")
    if len(set(made)) != len(made):
        counts.append("the same run was given to two callers")
    if state.runs.keys() != set(made):
        counts.append(f"{len(state.runs)} runs exist, {len(set(made))} were acknowledged")
    if (state.quota.used, usage.body.get("used")) != (wanted, wanted):
        counts.append(f"used is {state.quota.used}, and {usage.body.get('used')} by GET /v1/usage")
    wrong = [f"402 says {dict(reply.body)}" for reply in refused if not _says_why(reply, limit)]
    wrong += [f"{reply.status} {dict(reply.body)}" for reply in strange]
    return [
        Finding("exactly the limit is dispatched", len(replies), counts),
        Finding("every refusal is 402 quota_exceeded with limit, used and resets_at", len(refused), wrong),
    ]


def _says_why(reply: Reply, limit: int) -> bool:
    details = reply.body.get("details")
    if not isinstance(details, dict) or reply.error != "quota_exceeded":
        return False
    return details.get("limit") == limit == details.get("used") and bool(details.get("resets_at"))


def _start(programs: Sequence[Program]) -> None:
    for program in programs:
        program.start()
    for program in programs:
        program.wait_ready(timeout_s=DEFINITE_WITHIN_S)
