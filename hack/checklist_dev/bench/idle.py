"""What API and operator cost while nobody asks anything of them: memory, start, processor.

Memory is the proportional share (PSS) of all processes of each program: pages that both map count once.
"""

import asyncio
import os
import time
from pathlib import Path
from typing import Final

from checklist_dev.bench.report import Figure, Goal
from checklist_dev.failures import Failure
from checklist_dev.load.rig import Program, Rig

MOST_MIB: Final = 250.0 * 1e6 / 2**20
"""250 MB."""
START_S: Final = 5.0


async def measure_idle(rig: Rig, *, for_s: float) -> list[Figure]:
    """An API and an operator with one organization, some seconds after their start. Raises Failure."""
    await asyncio.to_thread(rig.new_account)
    programs = [rig.add_api(), rig.add_operator()]
    starts, worked = [], []
    for program in programs:
        await asyncio.to_thread(program.start)
        starts.append(await asyncio.to_thread(program.wait_ready))
        worked.append(_processor_s(program))
    before = [_processor_s(program) for program in programs]
    began = time.monotonic()
    await asyncio.sleep(for_s)
    elapsed = time.monotonic() - began
    busy = [after - first for after, first in zip(map(_processor_s, programs), before, strict=True)]
    memory = [_pss_mib(program) for program in programs]
    parts = ", ".join(
        f"{program.name} {mib:.0f} (resident {program.rss_mib():.0f})"
        for program, mib in zip(programs, memory, strict=True)
    )
    return [
        Figure("idle memory of API and operator together", sum(memory), "MiB", Goal("<=", MOST_MIB), parts),
        *(_start(program, seconds, used_s) for program, seconds, used_s in zip(programs, starts, worked, strict=True)),
        Figure("idle processor of both", 100 * sum(busy) / elapsed, "%", None, f"of one, over {elapsed:.0f} s"),
    ]


def _start(program: Program, seconds: float, used_s: float) -> Figure:
    goal = Goal("<=", START_S)
    return Figure(f"start to ready, {program.name}", seconds, "s", goal, f"{used_s:.1f} s of processor time")


def _family(program: Program) -> list[int]:
    """The process and all that it has started. Raises Failure where the kernel does not tell."""
    found = [program.child.pid]
    for pid in found:
        try:
            for task in Path(f"/proc/{pid}/task").iterdir():
                found += [int(child) for child in (task / "children").read_text().split()]
        except OSError as error:
            raise Failure(f"the processes of {program.name} are unknown here: {error}") from None
    return found


def _pss_mib(program: Program) -> float:
    kib = 0
    for pid in _family(program):
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        kib += next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return kib / 1024


def _processor_s(program: Program) -> float:
    ticks = 0
    for pid in _family(program):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")
