"""The plan's last runs, wanted by many processes at once."""

from tests.crash.conftest import AssertHeld

from checklist_dev.faults.quota_boundary import quota_boundary
from checklist_dev.perf.judgement.transcript import Transcript
from checklist_dev.perf.load.rig import Rig


async def test_four_processes_give_out_exactly_the_runs_of_the_plan(
    rig: Rig, transcript: Transcript, assert_held: AssertHeld
) -> None:
    result = await quota_boundary(rig, transcript, processes=4, each=200, limit=500)
    assert_held(result)
    assert result.figures["answers"] == {"201": 500, "402": 300}
