"""How long the programs take to start: a fresh process until all of its modules are loaded, as the image starts it.

Cold means that the files are not in memory: the kernel is asked to forget them before each start. (It may keep what
other programs use meanwhile.) What follows until a program is ready is the part `memory`'s to measure.
"""

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

from checklist_dev.bench.report import Figure, Goal, of_rounds
from checklist_dev.repository import ROOT

GOAL_S: Final = 3.0
ROUNDS: Final = 5
PROGRAMS: Final = {"API": "checklist_api.__main__", "operator": "checklist_operator.__main__"}


def measure_imports() -> list[Figure]:
    """Cold and warm, for both programs, one after the other."""
    figures = []
    for name, module in PROGRAMS.items():
        files = _files_of(module)
        _seconds(module)
        warm = [_seconds(module) for _ in range(ROUNDS)]
        cold = []
        for _ in range(ROUNDS):
            _forget(files)
            cold.append(_seconds(module))
        what = f"{len(files)} files"
        figures.append(of_rounds(f"start of the {name}, cold", cold, "s", goal=Goal("<=", GOAL_S), baseline=what))
        figures.append(of_rounds(f"start of the {name}, warm", warm, "s"))
    return figures


def _seconds(module: str) -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", f"import {module}"], cwd=ROOT, check=True)
    return time.perf_counter() - began


def _files_of(module: str) -> list[Path]:
    """What it loads: sources, their bytecode, and shared libraries."""
    script = (
        f"import sys, {module}\n"
        "names = {getattr(each, '__file__', None) for each in sys.modules.values()}\n"
        "names |= {getattr(each, '__cached__', None) for each in sys.modules.values()}\n"
        "names |= {line.split()[-1] for line in open('/proc/self/maps') if '/' in line}\n"
        "print(*filter(None, names), sep='\\n')"
    )
    answer = subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [path for path in map(Path, answer.splitlines()) if path.is_file()]


def _forget(files: list[Path]) -> None:
    for path in files:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(descriptor)
