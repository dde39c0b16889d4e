"""Thousands of deliveries to receivers that mean harm: each gets its verdict, and the sender keeps nothing of them.

The receivers, their verdicts and the measuring are those of the tests (`tests/delivery/`); here they meet in greater
number.
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
"""Of every receiver: more than ten thousand deliveries."""
_TEST: Final = "tests/delivery/test_hostile_memory.py"
_FIGURES: Final = re.compile(r"^(\d+) deliveries: ([\d.]+) -> ([\d.]+) MiB$", re.MULTILINE)
_SHOWN: Final = 30


async def hostile_receivers(folder: Path, transcript: Transcript, *, rounds: int) -> Result:
    """`rounds` of all receivers. Each round takes some seconds, since many of them let a delivery time out."""
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
    """What the test said. Whoever ends well without any figure has sent nothing."""
    figures = _FIGURES.search(output)
    sent = int(figures[1]) if figures else 0
    broken = [] if status == 0 and sent else output.splitlines()[-_SHOWN:] or [f"it ended with {status}"]
    told = {"deliveries": sent, "mib_before": float(figures[2]), "mib_after": float(figures[3])} if figures else {}
    name = "each delivery gets its verdict, and they leave at most 20 MiB in memory"
    return Result("hostile receivers", [Finding(name, sent, broken)], told, {"pytest": log})
