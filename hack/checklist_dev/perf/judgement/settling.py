"""The setup of a scene, and the end of its load: wait until the service is at rest, collect the facts, judge."""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from checklist_crds.kube.client import KubeClient, KubeConnection
from checklist_crds.kube.errors import KubeError
from checklist_dev.perf.judgement.facts import ClusterState, Facts, Finding, cluster_state
from checklist_dev.perf.judgement.invariants import check_all
from checklist_dev.perf.judgement.transcript import Transcript
from checklist_dev.perf.load.checklist import TEMPLATE
from checklist_dev.perf.load.client import ServiceClient
from checklist_dev.perf.load.executors import Executors, read_views
from checklist_dev.perf.load.ledger import Kill, lost_leases
from checklist_dev.perf.load.received import ReceiverLog
from checklist_dev.perf.load.receivers import Receivers
from checklist_dev.perf.load.rig import Rig

_LOOK_EVERY_S = 2.0
_AFTERMATH_S = 2.0
"""A superfluous transmission would follow the record of the last one."""


async def settle(
    kube: KubeClient, organization: str, transcript: Transcript, *, within_s: float
) -> tuple[ClusterState, Finding]:
    """The state at rest or after `within_s`, and whether it came to rest."""
    started = time.monotonic()
    reported = 0.0
    while True:
        try:
            state = await cluster_state(kube, organization)
            left = state.unsettled() + [f"{run_id}: pending in the quota" for run_id in state.quota.pending]
        except KubeError as error:
            state, left = None, [f"the Kubernetes API: {error.message}"]
        elapsed = time.monotonic() - started
        if state is not None and (not left or elapsed > within_s):
            await asyncio.sleep(_AFTERMATH_S)
            name = f"everything settles within {within_s:.0f} s ({elapsed:.0f} s)"
            return await cluster_state(kube, organization), Finding(name, len(state.runs), left)
        if elapsed - reported >= 10.0:
            reported = elapsed
            transcript.say(f"waiting for {len(left)} to settle, for example {left[0]}")
        await asyncio.sleep(_LOOK_EVERY_S)


@dataclass(frozen=True, slots=True)
class Stage:
    """One organization of a rig, and executors who dispatch its checklist."""

    rig: Rig
    kube: KubeClient
    client: ServiceClient
    organization: str
    template_id: str
    executors: Executors
    rng: random.Random
    transcript: Transcript


@asynccontextmanager
async def staged(rig: Rig, transcript: Transcript, title: str, *, seed: int) -> AsyncIterator[Stage]:
    """Start the rig's programs. Raises Failure."""
    rng = random.Random(seed)
    account = await asyncio.to_thread(rig.new_account)
    receivers = Receivers(rig, seed=seed)
    await asyncio.to_thread(rig.start_all)
    transcript.title(f"{title}, seed {seed}")
    connection = await KubeConnection.load(str(rig.cluster.kubeconfig))
    async with (
        ServiceClient([api.url for api in rig.apis], account.api_key, seed=seed) as client,
        KubeClient(connection, answer_within_s=30.0) as kube,
    ):
        template_id = await client.create_template(TEMPLATE)
        executors = Executors(client, template_id, receivers.url_for, rng=rng)
        yield Stage(rig, kube, client, account.organization_id, template_id, executors, rng, transcript)


async def judge(
    stage: Stage, kills: Sequence[Kill], gaps: Sequence[float], *, settle_within_s: float
) -> tuple[list[Finding], Facts]:
    """Settle, read everything, check everything. Stops the receivers."""
    records = stage.executors.records
    state, settled = await settle(stage.kube, stage.organization, stage.transcript, within_s=settle_within_s)
    views = await read_views(stage.client, records)
    await asyncio.to_thread(stage.rig.stop_receivers)
    transmissions = list(ReceiverLog(stage.rig.receiver_log()).new())
    lost = [moment for program in stage.rig.programs.values() for moment in lost_leases(program.child.log)]
    facts = Facts(records, state, transmissions, [*kills, *lost], gaps, views)
    return [settled, *check_all(facts)], facts


def repetitions(facts: Facts) -> int:
    """Transmissions beyond one per event and attempt number: the duplicates that crashes cause."""
    distinct = {(sent.event_id, sent.attempt) for sent in facts.transmissions}
    return len(facts.transmissions) - len(distinct)
