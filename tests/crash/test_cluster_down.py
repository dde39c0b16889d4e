"""The Kubernetes API stands still, and is killed, while executors answer and deliveries are due."""

from collections.abc import Callable

from checklist_dev.chaos.__main__ import GAPS
from checklist_dev.chaos.cluster_down import cluster_down
from checklist_dev.chaos.transcript import Result, Transcript


async def test_callers_are_told_at_once_and_everything_catches_up_by_itself(
    started_rig, transcript: Transcript, assert_held: Callable[[Result], None]
) -> None:
    async with started_rig() as rig:
        result = await cluster_down(rig, GAPS, transcript, outage_s=6.0, seed=20_261_121)
    transcript.tell(result.findings)
    assert_held(result)
