"""Measures idle API and operator (memory, start), and kube-apiserver after many answers.

Idle memory is the proportional set size (PSS) of all processes of a program: shared pages count once.
"""

import asyncio
from collections.abc import Sequence
from typing import Final

from checklist_dev.perf.bench.answers import USUAL_STEPS, answers_to, open_runs, runs_needed, template_of
from checklist_dev.perf.bench.report import Figure, Goal
from checklist_dev.perf.bench.sizes import Sizes
from checklist_dev.perf.bench.stage import Stage
from checklist_dev.perf.load.pace import rate_of
from checklist_dev.perf.load.probes import family_of, resident_mib, shared_mib
from checklist_dev.perf.load.rig import Program

MOST_OF_APISERVER_MIB: Final = 1.2e9 / 2**20
"""1.2 GB."""
MOST_MIB: Final = 250.0 * 1e6 / 2**20
"""250 MB."""
START_S: Final = 5.0


async def measure_memory(stage: Stage, sizes: Sizes) -> list[Figure]:
    """Measure idle programs after a start, and the control plane's memory after thousands of answers."""
    await stage.stop()
    idle = await _idle((stage.api, stage.operator), for_s=sizes.idle_s)
    template_id = await stage.client.create_template(template_of(USUAL_STEPS))
    people = await open_runs(stage.client, template_id, [stage.hook], runs_needed(sizes.remembered_answers))
    await rate_of(answer.give for answer in answers_to(people))
    memory = {name: resident_mib(pid) for name, pid in stage.rig.pids().items()}
    name = f"memory (RSS) of kube-apiserver after {sizes.remembered_answers:,} answers"
    others = ", ".join(f"{name} {mib:.0f}" for name, mib in memory.items())
    return [*idle, Figure(name, memory["kube-apiserver"], "MiB", Goal("<=", MOST_OF_APISERVER_MIB), others)]


async def _idle(programs: Sequence[Program], *, for_s: float) -> list[Figure]:
    """Measure an API and an operator with one organization. Raises Failure."""
    starts = []
    for program in programs:
        await asyncio.to_thread(program.start)
        starts.append(await asyncio.to_thread(program.wait_ready))
    await asyncio.sleep(for_s)
    memory = [_pss_mib(program) for program in programs]
    parts = ", ".join(
        f"{program.name} {mib:.0f} (resident {program.rss_mib():.0f})"
        for program, mib in zip(programs, memory, strict=True)
    )
    return [
        Figure("idle memory of API and operator together", sum(memory), "MiB", Goal("<=", MOST_MIB), parts),
        *(
            Figure(f"start to ready, {program.name}", seconds, "s", Goal("<=", START_S))
            for program, seconds in zip(programs, starts, strict=True)
        ),
    ]


def _pss_mib(program: Program) -> float:
    return sum(map(shared_mib, family_of(program.child.pid)))
