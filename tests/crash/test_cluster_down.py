"""The Kubernetes API stands still, and is killed, while executors answer and deliveries are due."""

from tests.crash.conftest import AssertHeld

from checklist_dev.faults.__main__ import GAPS
from checklist_dev.faults.cluster_down import cluster_down
from checklist_dev.perf.judgement.transcript import Transcript
from checklist_dev.perf.load.rig import Rig

ANSWER_WITHIN_S = 9.0
"""Less than the time that one call to the Kubernetes API may take, so that no caller waited for it to end; the five
seconds that callers are promised are judged by `make chaos`, without neighbours."""


async def test_an_outage_is_503_and_heals(rig: Rig, transcript: Transcript, assert_held: AssertHeld) -> None:
    result = await cluster_down(rig, GAPS, transcript, outage_s=6.0, seed=20_261_121, answer_within_s=ANSWER_WITHIN_S)
    assert_held(result)
