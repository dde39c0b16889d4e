"""What one more run costs: bytes in etcd, memory of API and operator. For the table of docs/sizing.md.

The runs are copies of two that people answered over REST, with webhooks that arrived: one that is under way, one that
is completed and settled. etcd is compacted and defragmented before it is asked for its size; each program is started
anew beside what is there, so its memory is what it needs, and not what it once needed. A quarter as many are there
already when the first look is taken: what the first runs cost once, buffers and heaps, is no cost of one more.
"""

import asyncio
import copy
import json
import random
from collections.abc import Mapping
from functools import partial
from typing import Final

from checklist_crds.ids import new_id
from checklist_crds.kube.client import KubeConnection
from checklist_crds.resources.delivery_records import recorded_events, waiting_events
from checklist_dev.bench.answers import SECRET
from checklist_dev.bench.etcd_size import tidied
from checklist_dev.bench.raw import RawCluster, RunFactory, rate_of
from checklist_dev.bench.report import Figure
from checklist_dev.failures import Failure
from checklist_dev.load.checklist import STEPS, TEMPLATE, value_for
from checklist_dev.load.client import Json, Person, ServiceClient, new_op
from checklist_dev.load.rig import Program, Rig

_SETTLED_WITHIN_S: Final = 30.0
_AT_REST_S: Final = 8.0
_MIB: Final = 2**20


async def measure_sizes(rig: Rig, *, runs: int) -> list[Figure]:
    """`runs` of each kind. Raises Failure."""
    account = await asyncio.to_thread(rig.new_account)
    port = rig.start_receiver()
    api, operator = rig.add_api(), rig.add_operator()
    await asyncio.to_thread(rig.start_all)
    connection = await KubeConnection.load(str(rig.cluster.kubeconfig))
    async with RawCluster(connection) as cluster:
        async with ServiceClient([api.url], account.api_key) as client:
            webhook = {"url": f"http://127.0.0.1:{port}/ok/hook", "secret": SECRET, "events": ["*"]}
            wish = {"template_id": await client.create_template(TEMPLATE), "expires_in_hours": 72, "webhook": webhook}
            under_way = await _answered(client, cluster, wish, STEPS[: len(STEPS) // 2], submit=False)
            settled = await _answered(client, cluster, wish, STEPS, submit=True)
        for program in (api, operator):
            await asyncio.to_thread(program.child.stop)
        figures: list[Figure] = []
        empty = await _sizes(rig, api, operator)
        for what, example in (("live", under_way), ("settled", settled)):
            await _fill(cluster, RunFactory(example, rig.keys), example, runs // 4)
            before = await _sizes(rig, api, operator)
            await _fill(cluster, RunFactory(example, rig.keys), example, runs)
            after = await _sizes(rig, api, operator)
            body = len(json.dumps(example, ensure_ascii=False, separators=(",", ":")).encode())
            told = f"{runs:,} runs; {len(example['status']['answers'])} answers, {body:,} B as JSON"
            each = {name: (after[name] - before[name]) / runs for name in after}
            figures.append(Figure(f"etcd: one more {what} run", each["etcd"], "B", None, told))
            figures += [
                Figure(f"sizing: memory of the {name} for one more {what} run", each[name] / 1024, "KiB", None, told)
                for name in ("API", "operator")
            ]
    return [
        *figures,
        Figure("API: memory beside no run (RSS)", empty["API"] / _MIB, "MiB"),
        Figure("operator: memory beside no run (RSS)", empty["operator"] / _MIB, "MiB"),
        Figure(f"API: memory beside {2 * (runs + runs // 4):,} runs (RSS)", after["API"] / _MIB, "MiB"),
        Figure(f"operator: memory beside {2 * (runs + runs // 4):,} runs (RSS)", after["operator"] / _MIB, "MiB"),
    ]


async def _answered(client: ServiceClient, cluster: RawCluster, wish: Json, steps: list[Json], *, submit: bool) -> Json:
    """The Run object of a run whose `steps` were answered, once all its events are delivered."""
    rng = random.Random(0)
    reply = await client.dispatch(wish)
    person = Person(client, reply.body["run_id"], reply.body["link"])
    for step in steps:
        await person.answer(step["id"], value_for(rng, step["type"]), op_id=new_op())
    if submit:
        await person.submit(op_id=new_op())
    events = len(steps) + submit
    for _ in range(int(_SETTLED_WITHIN_S / 0.2)):
        run = await cluster.get_run(person.run_id)
        status = run["status"]
        sent = len(recorded_events(status)) == events and not waiting_events(status)
        if sent and bool(status.get("settled")) == submit:
            return run
        await asyncio.sleep(0.2)
    raise Failure(f"run {person.run_id} had not delivered {events} events after {_SETTLED_WITHIN_S:.0f} s")


async def _fill(cluster: RawCluster, factory: RunFactory, example: Json, count: int) -> None:
    made = [factory.make() for _ in range(count)]

    async def one(name: str, body: bytes) -> None:
        status = copy.deepcopy(example["status"])
        for event_id in recorded_events(status):  # the API lists events by their ids
            status["records"] = status["records"].replace(event_id, new_id("evt"))
        await cluster.create_run(body)
        await cluster.patch_run_status(name, status)

    await rate_of(partial(one, name, body) for name, body in made)


async def _sizes(rig: Rig, api: Program, operator: Program) -> Mapping[str, float]:
    """Bytes, of each program at rest after a start of its own."""
    sizes = {"etcd": float((await asyncio.to_thread(tidied, rig.cluster.etcd_url)).in_use)}
    for name, program in (("API", api), ("operator", operator)):
        program.start()
        await asyncio.to_thread(partial(program.wait_ready, timeout_s=300.0))
        await asyncio.sleep(_AT_REST_S)
        sizes[name] = program.rss_mib() * _MIB
        await asyncio.to_thread(program.child.stop)
    return sizes
