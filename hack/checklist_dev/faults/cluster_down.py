"""The Kubernetes API hangs or is down: callers get an error within seconds, nothing is half-done, work catches up."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from checklist_dev.faults.killer import Killer
from checklist_dev.perf.judgement.facts import Finding
from checklist_dev.perf.judgement.settling import Stage, judge, staged
from checklist_dev.perf.judgement.transcript import Result, Transcript
from checklist_dev.perf.load.client import Person, Reply, ServiceClient, new_op
from checklist_dev.perf.load.plan import Op, RunPlan
from checklist_dev.perf.load.rig import Rig

ANSWER_WITHIN_S = 5.0
"""The promise to callers, on a machine that is not overloaded."""
SETTLE_WITHIN_S = 90.0
"""Mostly the operator's delay before it releases the quota of runs that were never created."""
_AT_ONCE = 40
_BACK_WITHIN_S = 15.0
_EVERY_S = 0.5


@dataclass(frozen=True, slots=True)
class Outage:
    """How the Kubernetes API fails and recovers."""

    name: str
    begin: Callable[[], None]
    end: Callable[[], None]


@dataclass(frozen=True, slots=True)
class Probe:
    """A request that needs the cluster."""

    name: str
    send: Callable[[], Awaitable[Reply]]


async def cluster_down(
    rig: Rig,
    gaps: list[float],
    transcript: Transcript,
    *,
    outage_s: float,
    seed: int,
    answer_within_s: float = ANSWER_WITHIN_S,
) -> Result:
    """Two outages of `outage_s` seconds, during answers, failing deliveries and expiries."""
    api, operator = rig.add_api("down-api"), rig.add_operator("operator-down")
    cluster = rig.cluster
    outages = [
        Outage("stopped with SIGSTOP", cluster.pause_apiserver, cluster.resume_apiserver),
        Outage("killed", lambda: cluster.stop_apiserver(kill=True), cluster.start_apiserver),
    ]
    findings: list[Finding] = []
    figures: dict[str, Any] = {}
    guard = Killer([api, operator], mean_life_s=1.0, seed=seed)
    async with staged(rig, transcript, f"{len(outages)} outages of the Kubernetes API", seed=seed) as stage:
        helper = asyncio.create_task(guard.look_after())
        for outage in outages:
            transcript.title(f"the Kubernetes API is {outage.name} for {outage_s:.0f} s")
            replies, back_s = await _live_through(outage, outage_s, stage)
            finding = _finding(outage, replies, answer_within_s)
            findings.append(finding)
            late = [] if back_s <= _BACK_WITHIN_S else [f"the first success came {back_s:.1f} s after the end"]
            findings.append(Finding(f"{outage.name}: the API recovers by itself", 1, late))
            figures[outage.name] = {"probes": finding.checked, "serves_again_after_s": round(back_s, 2)}
            transcript.say(f"{finding.checked} requests meanwhile; it serves again {back_s:.2f} s after the end")
        judged, facts = await judge(stage, guard.kills, gaps, settle_within_s=SETTLE_WITHIN_S)
        helper.cancel()
        findings += judged
        waited = stage.executors
        findings.append(Finding("every executor is answered in the end", len(waited.records), waited.failures))
    for program in (api, operator):
        await asyncio.to_thread(program.child.stop)
    figures |= {
        "runs": len(facts.state.runs),
        "transmissions": len(facts.transmissions),
        "programs_that_ended_by_themselves": guard.ended_by_themselves,
        "lost_leases": len(facts.kills),
    }
    return Result("cluster down", findings, figures, rig.logs())


async def _live_through(outage: Outage, outage_s: float, stage: Stage) -> tuple[list[tuple[str, Reply]], float]:
    """The replies during the outage, and the seconds from its end to the first success."""
    client, executors, template_id = stage.client, stage.executors, stage.template_id
    person, run_id = await _open_run(client, template_id)
    probes = _probes(client, person, run_id, template_id)
    for probe in probes[-1:]:  # warm the caches, as in a running service
        await probe.send()
    # Runs answered just before, runs that expire during the outage, and retries that are due during it.
    before = [executors.perform(plan) for plan in _plans_before(outage_s)]
    await asyncio.gather(*before)
    await asyncio.to_thread(outage.begin)
    started = time.monotonic()
    during = asyncio.gather(*(executors.work(_once(plan)) for plan in _plans_during()))
    answered: list[tuple[str, Reply]] = []
    while time.monotonic() - started < outage_s:
        sent = probes if answered else probes * (_AT_ONCE // len(probes))
        replies = await asyncio.gather(*(probe.send() for probe in sent))
        into_it_s = time.monotonic() - started
        answered += [
            (f"{into_it_s:.1f} s into it, {probe.name}", reply) for probe, reply in zip(sent, replies, strict=True)
        ]
        await asyncio.sleep(_EVERY_S)
    await asyncio.to_thread(outage.end)
    ended = time.monotonic()
    await client.insist("GET", f"/v1/runs/{run_id}")
    back_s = time.monotonic() - ended
    await during
    return answered, back_s


def _finding(outage: Outage, replies: list[tuple[str, Reply]], answer_within_s: float) -> Finding:
    problems = [f"{name}: {problem}" for name, reply in replies if (problem := _problem_with(reply, answer_within_s))]
    return Finding(f"{outage.name}: 503 with Retry-After in less than {answer_within_s:.0f} s", len(replies), problems)


def _problem_with(reply: Reply, answer_within_s: float) -> str | None:
    if reply.status != 503:
        return f"answered {reply.status} {reply.error} after {reply.seconds:.2f} s"
    if reply.seconds >= answer_within_s:
        return f"took {reply.seconds:.2f} s"
    retry_after = reply.headers.get("Retry-After", "")
    if not retry_after.isdecimal() or int(retry_after) < 1:
        return f"Retry-After is {retry_after!r}"
    return None if reply.error == "service_unavailable" else f"the error is {reply.error!r}"


async def _open_run(client: ServiceClient, template_id: str) -> tuple[Person, str]:
    reply = await client.dispatch({"template_id": template_id, "executor_ref": "abandoned"})
    return Person(client, reply.body["run_id"], reply.body["link"]), str(reply.body["run_id"])


def _probes(client: ServiceClient, person: Person, run_id: str, template_id: str) -> list[Probe]:
    """Requests without retries: each may be done or not, but not half-done."""
    request = {"template_id": template_id, "executor_ref": "abandoned"}

    def write(method: str, path: str, body: dict[str, Any]) -> Callable[[], Awaitable[Reply]]:
        return lambda: person.write(method, path, {**body, "op_id": new_op()}, insist=False)

    return [
        Probe("POST /v1/runs", lambda: client.once("POST", "/v1/runs", request)),
        Probe("PUT answer", write("PUT", "/answers/s-closed", {"value": True})),
        Probe("POST skip", write("POST", "/steps/s-note/skip", {})),
        Probe("GET executor's run", lambda: person.read(insist=False)),
        Probe("GET /v1/runs/{run_id}", lambda: client.once("GET", f"/v1/runs/{run_id}")),
    ]


def _plans_before(outage_s: float) -> list[RunPlan]:
    answer = Op("answer", "s-closed", True)
    whole = (answer, Op("answer", "s-degrees", 4.5), Op("answer", "s-smell", "o-none"), Op("answer", "s-code", "x"))
    expiring = [RunPlan("ok", (answer,), expires_in_s=outage_s * part) for part in (0.3, 0.6, 0.9)]
    failing = [RunPlan("twice", (answer,)), RunPlan("dead", (answer,))]
    return [*[RunPlan("ok", (*whole, Op("submit"))) for _ in range(8)], *expiring, *failing]


def _plans_during() -> list[RunPlan]:
    """Runs of clients that retry; some are in progress when the outage begins."""
    return [RunPlan("ok", (Op("answer", "s-closed", number % 2 == 0), Op("skip", "s-lamp"))) for number in range(10)]


def _once(plan: RunPlan) -> Callable[[], RunPlan | None]:
    plans = [plan]
    return lambda: plans.pop() if plans else None
