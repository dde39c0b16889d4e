"""`make soak` in its short form: everything at once for a minute. Accounts and measures are judged, times are not."""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

import pytest

from checklist_dev.chaos.transcript import Transcript
from checklist_dev.repository import ROOT
from checklist_dev.soak.load import Pace
from checklist_dev.soak.measures import MEASURES
from checklist_dev.soak.report import table
from checklist_dev.soak.soaking import Size, Soak

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
    assert not outcome.broken
    figures = outcome.figures
    for name in ("photos", "events_failed_after_five_attempts", "archive_bytes_a_run", "photo_store_bytes_a_photo"):
        assert figures[name] > 0, name
    assert figures["archived_runs"] > SHORT.history
    assert all(verdict.name in table(outcome.verdicts) for verdict in outcome.verdicts)


@pytest.mark.skipif(sys.platform != "linux", reason="signals and /proc")
async def test_an_interrupt_ends_it_with_what_is_known(tmp_path: Path) -> None:
    report, folder = tmp_path / "soak.json", tmp_path / "soak"
    command = [sys.executable, "-m", "checklist_dev.soak", "--minutes", "5", "--rate", "1", "--history", "20"]
    command += ["--retention", "5"]
    process = await asyncio.create_subprocess_exec(
        *command,
        *("--folder", str(folder), "--out", str(report), "--seed", "1"),
        cwd=ROOT,
        env=os.environ,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    assert process.stdout is not None
    told: list[str] = []
    async for line in process.stdout:
        told.append(line.decode())
        if "in the cluster; memory" in told[-1]:
            process.send_signal(signal.SIGINT)
            break
    rest, _ = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode == 130, "".join(told) + rest.decode()
    written = json.loads(report.read_text())
    assert written["interrupted"] is True
    assert written["holds"] is False
    assert next(measure for measure in written["measures"] if measure["name"] == "API: memory")["samples"] > 0
    assert (folder / "samples.csv").read_text().count("operator: memory") > 0
    assert not (folder / "controlplane").exists()
