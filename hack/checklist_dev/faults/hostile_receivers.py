"""Thousands of deliveries to hostile receivers: each gets its outcome, and the sender's memory does not grow.

It runs the test of `tests/delivery/`, with its receivers and measurements, at a larger scale.
"""

import asyncio
import os
import re
import sys
from pathlib import Path
from typing import Final

from checklist_dev.perf.judgement.facts import Finding
from checklist_dev.perf.judgement.transcript import Result, Transcript
from checklist_dev.repository import ROOT

ALL_ROUNDS: Final = 46
"""Rounds of a long run: more than ten thousand deliveries."""
_TEST: Final = "tests/delivery/test_hostile_memory.py"
_FIGURES: Final = re.compile(r"^(\d+) deliveries: ([\d.]+) -> ([\d.]+) MiB$", re.MULTILINE)
_SHOWN: Final = 30


async def hostile_receivers(folder: Path, transcript: Transcript, *, rounds: int) -> Result:
    """Send `rounds` deliveries to all receivers. A round takes seconds, since many deliveries time out."""
    transcript.title(f"hostile receivers, {rounds} deliveries to each")
    log = _log_in(folder)
    with log.open("wb") as file:
        child = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "pytest", "-q", "-s", _TEST),
            cwd=ROOT,
            env={**os.environ, "CHECKLISTS_HOSTILE_ROUNDS": str(rounds)},
            stdout=file,
            stderr=asyncio.subprocess.STDOUT,
        )
        try:
            status = await child.wait()
        finally:
            if child.returncode is None:
                child.terminate()
    return judged(status, log.read_text(errors="replace"), str(log))


def _log_in(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder / "pytest.log"


def judged(status: int, output: str, log: str) -> Result:
    """The result of the test. Success without figures means that nothing was sent."""
    figures = _FIGURES.search(output)
    sent = int(figures[1]) if figures else 0
    broken = [] if status == 0 and sent else output.splitlines()[-_SHOWN:] or [f"it ended with {status}"]
    summary = {"deliveries": sent, "mib_before": float(figures[2]), "mib_after": float(figures[3])} if figures else {}
    name = "each delivery gets its outcome, and they leave at most 20 MiB in memory"
    return Result("hostile receivers", [Finding(name, sent, broken)], summary, {"pytest": log})
