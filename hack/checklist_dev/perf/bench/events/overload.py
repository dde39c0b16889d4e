"""Twice the capacity in an open loop: accepted requests stay fast, others are refused early, and other work is on time.

Then the same next to a process that uses one and a half cores, which starves kube-apiserver: slow, but no outage.
"""

import asyncio
import statistics
import time
from collections.abc import Iterator
from functools import partial
from itertools import islice
from typing import Final

from checklist_crds.kube.client import KubeClient
from checklist_crds.resources.kinds import API_KEY, LEASE
from checklist_crds.secrets import api_keys
from checklist_crds.secrets.digest import digest
from checklist_crds.times import parse_timestamp
from checklist_dev.local.bootstrap import NAMESPACE
from checklist_dev.perf.bench.answers import USUAL_STEPS, Planned, answers_to, open_runs, template_of
from checklist_dev.perf.bench.report import Figure, Goal, percentile
from checklist_dev.perf.bench.sizes import Sizes
from checklist_dev.perf.bench.stage import Stage
from checklist_dev.perf.load.client import Person, Reply, new_op
from checklist_dev.perf.load.neighbours import busy_neighbours
from checklist_dev.perf.load.pace import Call, at_steady_rate, rate_of, until
from checklist_dev.perf.load.raw import RawCluster

NEIGHBOUR_CORES: Final = 1.5
_AT_ONCE: Final = 16
_WITHIN_S: Final = 120.0


async def _plan(stage: Stage, template_id: str, answers: int) -> tuple[list[Person], Iterator[Planned]]:
    """Runs and `answers` answers, ordered by step. There are more runs than concurrent requests, since changes of one
    run are serialized."""
    people = await open_runs(stage.client, template_id, [stage.hook], max(2 * _AT_ONCE, -(-answers // USUAL_STEPS)))
    return people, islice(answers_to(people), answers)


async def measure_overload(stage: Stage, sizes: Sizes) -> list[Figure]:
    """Find the capacity with some answers, then offer twice as many."""
    template_id = await stage.client.create_template(template_of(USUAL_STEPS))
    for answers in (sizes.answers // 4, sizes.answers):  # the first ones warm up
        _, planned = await _plan(stage, template_id, answers)
        capacity = await rate_of((answer.give for answer in planned), concurrency=_AT_ONCE)
    found = Figure(f"capacity: answers with a webhook, {USUAL_STEPS} steps, {_AT_ONCE} at once", capacity, "/s")
    twice = await _window(stage, template_id, "twice the capacity", capacity, sizes.overload_s)
    with busy_neighbours(NEIGHBOUR_CORES, stage.rig.folder / "logs"):
        where = f"the same with {NEIGHBOUR_CORES} busy cores"
        starved = await _window(stage, template_id, where, capacity, sizes.overload_s)
    return [found, *twice, *starved]


async def _window(stage: Stage, template_id: str, where: str, capacity: float, for_s: float) -> list[Figure]:
    per_s = 2 * capacity
    people, planned = await _plan(stage, template_id, int(per_s * for_s))
    terms = await _lease_transitions(stage.kube)
    replies: list[tuple[Planned, Reply]] = []

    def give(each: Planned) -> Call:
        async def once() -> None:
            body = {"op_id": new_op(), "value": each.value}
            reply = await each.person.write("PUT", f"/answers/{each.step_id}", body, insist=False)
            replies.append((each, reply))

        return once

    offered = at_steady_rate(map(give, planned), per_second=per_s)
    rate, revoked_s, late_s = await asyncio.gather(
        offered, _revocation_s(stage, for_s / 3), _lateness_of_expiry_s(stage, template_id, for_s / 2)
    )
    lasted_s = len(replies) / rate
    taken = [reply.seconds for _, reply in replies if reply.ok]
    refused = [reply for _, reply in replies if _is_early(reply)]
    wrong = [reply for _, reply in replies if not reply.ok and not _is_early(reply)]
    missing = await _missing(stage.cluster, people, {each.key for each, reply in replies if reply.ok})
    waits = [int(reply.headers["Retry-After"]) for reply in refused]
    rates = f"{len(replies) / for_s:,.0f}/s offered, {len(taken) / lasted_s:,.0f}/s taken, {len(refused)} refused"
    spread = f"of {len(replies)}; Retry-After {min(waits)} to {max(waits)} s" if waits else f"of {len(replies)}"
    example = f"{len(replies)} requests" + (f", one is {wrong[0].status} {wrong[0].body}" if wrong else "")
    return [
        Figure(f"{where}: accepted answers, p99", percentile(taken, 99), "s", Goal("<=", 3), rates),
        Figure(f"{where}: the same, p50", statistics.median(taken), "s"),
        Figure(f"{where}: accepted, relative to the capacity", len(taken) / lasted_s / capacity, "x"),
        *_of_refusals(where, [reply.seconds for reply in refused], spread),
        Figure(f"{where}: reported as an outage, or not answered", len(wrong), "", Goal("==", 0), example),
        Figure(f"{where}: acknowledged answers that are missing", missing, "", Goal("==", 0)),
        Figure(f"{where}: a revoked key is refused after", revoked_s, "s", Goal("<=", 1)),
        Figure(f"{where}: run.expired comes after expires_at by", late_s, "s", Goal("<=", 3)),
        Figure(f"{where}: changes of the leader", await _lease_transitions(stage.kube) - terms, "", Goal("==", 0)),
    ]


def _of_refusals(where: str, seconds: list[float], spread: str) -> list[Figure]:
    """Empty if nothing was refused."""
    if not seconds:
        return []
    return [Figure(f"{where}: refused, p99", percentile(seconds, 99), "s", Goal("<=", 1), spread)]


def _is_early(reply: Reply) -> bool:
    """Whether it was refused for overload, with the details for a retry."""
    details = reply.body.get("details") or [{}]
    overloaded = reply.status == 429 or (reply.status == 503 and details[0].get("code") == "overloaded")
    return overloaded and reply.headers.get("Retry-After", "").isdecimal()


async def _missing(cluster: RawCluster, people: list[Person], acknowledged: set[tuple[str, str]]) -> int:
    for person in people:
        answers = (await cluster.get_run(person.run_id)).get("status", {}).get("answers", {})
        acknowledged -= {(person.run_id, step_id) for step_id in answers}
    return len(acknowledged)


async def _revocation_s(stage: Stage, after_s: float) -> float:
    """Seconds from the patch that revokes another organization's key until the API refuses the key."""
    key = (await asyncio.to_thread(stage.rig.new_account)).api_key
    ask = partial(stage.client.once, "GET", "/v1/templates?per_page=1", None, {"Authorization": f"Bearer {key}"})

    async def is_answered_with(status: int) -> bool:
        return (await ask()).status == status

    await asyncio.sleep(after_s)
    await until(partial(is_answered_with, 200), "taken: a new key", within_s=_WITHIN_S)
    await stage.kube.patch(API_KEY, api_keys.object_name(digest(key)), {"spec": {"revoked": True}}, NAMESPACE)
    refused = partial(is_answered_with, 401)
    return await until(refused, "refused: a revoked key", within_s=_WITHIN_S, every_s=0.02)


async def _lateness_of_expiry_s(stage: Stage, template_id: str, expires_after_s: float) -> float:
    """Seconds from `expires_at` to the first byte of `run.expired`."""
    webhook, log = {**stage.webhook, "events": ["run.expired"]}, stage.log()
    wanted = {"template_id": template_id, "expires_in_hours": expires_after_s / 3600, "webhook": webhook}
    run = (await stage.client.dispatch(wanted)).body
    expires_at = parse_timestamp(run["expires_at"]).timestamp()
    await asyncio.sleep(max(0.0, expires_at - time.time()))
    late = list[float]()

    async def has_come() -> bool:
        late.extend(each.at - expires_at for each in log.new() if each.run_id == run["run_id"])
        return bool(late)

    await until(has_come, "there: run.expired", within_s=_WITHIN_S)
    return late[0]


async def _lease_transitions(kube: KubeClient) -> int:
    leases, _ = await kube.list_all(LEASE, NAMESPACE)
    return sum(int(lease["spec"].get("leaseTransitions") or 0) for lease in leases)
