"""`make soak` in its short form: everything at once for a minute. Accounts and measures are judged, times are not."""

import json
from pathlib import Path

from checklist_dev.perf.judgement.transcript import Transcript
from checklist_dev.perf.soak.load import Pace
from checklist_dev.perf.soak.measures import MEASURES
from checklist_dev.perf.soak.soaking import Size, Soak

SHORT = Size(
    load_s=60.0, pace=Pace(runs_per_s=0.5, pause_s=0.2, photo_share=0.12), history=60, retention_s=15.0, sweep_s=3.0
)


async def test_everything_is_accounted_for_and_every_measure_taken(tmp_path: Path) -> None:
    outcome = await Soak(tmp_path / "soak", SHORT, Transcript(tmp_path / "soak.txt"), seed=1).run()
    broken = [finding.as_json() for finding in outcome.findings if not finding.holds]
    assert broken == [], json.dumps(broken, indent=1)
    assert len(outcome.findings) >= 20
    judged = [measure.name for measure in MEASURES if measure.bound is not None]
    assert [verdict.name for verdict in outcome.verdicts] == judged
    assert [verdict.name for verdict in outcome.verdicts if not verdict.samples] == []
    assert {verdict.holds for verdict in outcome.verdicts} == {None}  # a minute is too short for a trend
    figures = outcome.figures
    for name in ("photos", "events_failed_after_five_attempts", "archive_bytes_a_run", "photo_store_bytes_a_photo"):
        assert figures[name] > 0, name
    assert figures["archived_runs"] > SHORT.history
