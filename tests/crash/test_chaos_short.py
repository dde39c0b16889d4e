"""The short form of `make chaos`: about a minute of kills under load; the long form has two hundred."""

from tests.crash.conftest import AssertHeld

from checklist_dev.faults.__main__ import GAPS
from checklist_dev.faults.kill_under_load import Size, kill_under_load
from checklist_dev.perf.judgement.transcript import Transcript
from checklist_dev.perf.load.rig import Rig

SIZE = Size(
    load_s=120.0,  # it ends as soon as both numbers are reached; a slow machine may take longer
    kills=15,
    events=500,
    settle_s=120.0,
    slow_runs=2,
    mean_life_s=1.5,
    pause_s=0.05,
)


async def test_chaos_loses_and_invents_nothing(rig: Rig, transcript: Transcript, assert_held: AssertHeld) -> None:
    result = await kill_under_load(rig, SIZE, GAPS, transcript, seed=20_261_121)
    assert_held(result)
    assert result.figures["operator_kills"] >= 3
    assert result.figures["failed_after_five_attempts"] >= 1, "a load without dead receivers proves little"
