"""The short form of the scene of takeovers: one kill, two clean ends, under load."""

import signal

from tests.crash.conftest import AssertHeld

from checklist_dev.faults.__main__ import GAPS
from checklist_dev.faults.kill_under_load import Size
from checklist_dev.faults.takeovers import take_over
from checklist_dev.perf.judgement.transcript import Transcript
from checklist_dev.perf.load.rig import Rig

SIGNALS = (signal.SIGTERM, signal.SIGKILL, signal.SIGTERM)


async def test_a_takeover_loses_nothing(rig: Rig, transcript: Transcript, assert_held: AssertHeld) -> None:
    size = Size(
        load_s=180.0, kills=len(SIGNALS), events=250, settle_s=120.0, executors=16, slow_runs=2, events_per_s=12.0
    )
    result = await take_over(rig, GAPS, transcript, signals=SIGNALS, size=size, seed=20_261_122)
    assert_held(result)
    assert [len(result.figures[f"seconds_after_{number.name}"]) for number in set(SIGNALS)] == [
        SIGNALS.count(number) for number in set(SIGNALS)
    ]
