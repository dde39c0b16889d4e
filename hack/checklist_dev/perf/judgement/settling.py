"""After the load: wait until the service has come to rest, then gather every fact and judge it."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass

from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.errors import KubeError
from checklist_dev.perf.judgement.facts import ClusterState, Facts, Finding, cluster_state
from checklist_dev.perf.judgement.invariants import check_all
from checklist_dev.perf.judgement.transcript import Transcript
from checklist_dev.perf.load.client import ServiceClient
from checklist_dev.perf.load.executors import read_views
from checklist_dev.perf.load.ledger import Kill, RunRecord, lost_leases
from checklist_dev.perf.load.received import ReceiverLog
from checklist_dev.perf.load.rig import Rig

_LOOK_EVERY_S = 2.0
_AFTERMATH_S = 2.0
"""A transmission too many would come after the record of the last one."""


async def settle(
    kube: KubeClient, organization: str, transcript: Transcript, *, within_s: float
) -> tuple[ClusterState, Finding]:
    """The state at rest (or after `within_s`), and whether it came to rest."""
    started = time.monotonic()
    told = 0.0
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
        if elapsed - told >= 10.0:
            told = elapsed
            transcript.say(f"waiting for {len(left)} to settle, for example {left[0]}")
        await asyncio.sleep(_LOOK_EVERY_S)


@dataclass(frozen=True, slots=True)
class Stage:
    """Where a scene plays: one organization of one rig."""

    rig: Rig
    kube: KubeClient
    client: ServiceClient
    organization: str
    transcript: Transcript


async def judge(
    stage: Stage, records: Sequence[RunRecord], kills: Sequence[Kill], gaps: Sequence[float], *, settle_within_s: float
) -> tuple[list[Finding], Facts]:
    """Settle, read everything, check everything. The receivers are stopped."""
    state, settled = await settle(stage.kube, stage.organization, stage.transcript, within_s=settle_within_s)
    views = await read_views(stage.client, list(records))
    await asyncio.to_thread(stage.rig.stop_receivers)
    transmissions = list(ReceiverLog(stage.rig.receiver_log()).new())
    lost = [moment for name in stage.rig.programs for moment in lost_leases(stage.rig.programs[name].child.log)]
    facts = Facts(records, state, transmissions, [*kills, *lost], gaps, views)
    return [settled, *check_all(facts)], facts


def repetitions(facts: Facts) -> int:
    """Transmissions beyond one per event and attempt number: what crashes cost the receivers."""
    distinct = {(sent.event_id, sent.attempt) for sent in facts.transmissions}
    return len(facts.transmissions) - len(distinct)
