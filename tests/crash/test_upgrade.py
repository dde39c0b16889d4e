"""From the release before to this one, back, and forward again, while people answer."""

from tests.crash.conftest import AssertHeld

from checklist_dev.faults.__main__ import GAPS, UPGRADE
from checklist_dev.faults.upgrade import upgrade_and_roll_back
from checklist_dev.perf.judgement.transcript import Transcript
from checklist_dev.perf.load.rig import Rig


async def test_rolling_updates_lose_nothing(rig: Rig, transcript: Transcript, assert_held: AssertHeld) -> None:
    result = await upgrade_and_roll_back(rig, UPGRADE, GAPS, transcript, seed=20_261_126)
    assert_held(result)
    assert result.figures["runs_with_records_as_text"] >= 3
    assert result.figures["runs_with_records_as_objects"] >= 3, "the release before wrote nothing that is read here"
