"""The Kubernetes API stands still, and is killed, while executors answer and deliveries are due."""

from tests.crash.conftest import AssertHeld

from checklist_dev.chaos.__main__ import GAPS
from checklist_dev.chaos.cluster_down import cluster_down
from checklist_dev.chaos.transcript import Transcript
from checklist_dev.load.rig import Rig


async def test_callers_are_told_at_once_and_everything_catches_up_by_itself(
    rig: Rig, transcript: Transcript, assert_held: AssertHeld
) -> None:
    result = await cluster_down(rig, GAPS, transcript, outage_s=6.0, seed=20_261_121)
    assert_held(result)
