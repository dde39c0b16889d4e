"""`make bench`: prints a table and writes `.run/bench.json`. Missed goals are shown, and fail with --strict only."""

import argparse
import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from checklist_dev.failures import end_on_signals, run_tool, say
from checklist_dev.local.controlplane import APISERVER_MEMORY_TARGET
from checklist_dev.perf.bench.archive.archiving import ARCHIVE_SETTINGS, measure_archive
from checklist_dev.perf.bench.archive.month import measure_archived_month
from checklist_dev.perf.bench.archive.restoring import measure_restore
from checklist_dev.perf.bench.composing import measure_composing
from checklist_dev.perf.bench.events.answer_cost import measure_answer_cost
from checklist_dev.perf.bench.events.deliveries import measure_deliveries, measure_latency, measure_retries
from checklist_dev.perf.bench.events.overload import measure_overload
from checklist_dev.perf.bench.events.requests import measure_requests
from checklist_dev.perf.bench.growth.idle import measure_memory
from checklist_dev.perf.bench.growth.scale import measure_start
from checklist_dev.perf.bench.growth.sizing import measure_sizes
from checklist_dev.perf.bench.report import Figure, table, write_report
from checklist_dev.perf.bench.sizes import QUICK, Sizes
from checklist_dev.perf.bench.stage import Stage, staged
from checklist_dev.perf.bench.traffic.dashboard import measure_dashboard
from checklist_dev.perf.bench.traffic.large_templates import SETTINGS as LARGE_TEMPLATES_SETTINGS
from checklist_dev.perf.bench.traffic.large_templates import measure_large_templates
from checklist_dev.perf.bench.traffic.photos import measure_uploads
from checklist_dev.perf.bench.traffic.waiting import measure_waiting
from checklist_dev.perf.bench.traffic.web import measure_web
from checklist_dev.perf.load.neighbours import watching
from checklist_dev.perf.load.release_before import code_of
from checklist_dev.perf.load.rig import Rig
from checklist_dev.repository import STATE
from checklist_dev.system.tether import end_with_parent


@dataclass(frozen=True, slots=True)
class Part:
    """`fsync`: False hides the pauses of a small machine's disk, which can take hundreds of milliseconds."""

    measure: Callable[[Stage, Sizes], Awaitable[list[Figure]]]
    fsync: bool = True
    settings: Mapping[str, str] = field(default_factory=dict)
    memory_target: str | None = None


PARTS: Final[dict[str, Part]] = {
    "requests": Part(measure_requests),
    "answers": Part(measure_answer_cost),
    "overload": Part(measure_overload),
    "latency": Part(measure_latency),
    "deliveries": Part(measure_deliveries),
    "retries": Part(measure_retries),
    "photos": Part(measure_uploads, fsync=False),
    "web": Part(measure_web),
    "dashboard": Part(measure_dashboard, fsync=False),
    "waiting": Part(measure_waiting, fsync=False),
    "templates": Part(measure_large_templates, fsync=False, settings=LARGE_TEMPLATES_SETTINGS),
    "scale": Part(measure_start),
    "memory": Part(measure_memory, memory_target=APISERVER_MEMORY_TARGET),
    "archive": Part(measure_archive, settings=ARCHIVE_SETTINGS),
    "archived-month": Part(measure_archived_month, fsync=False),
    "restore": Part(measure_restore),
    "sizing": Part(measure_sizes),
}
COMPOSING: Final = "composing"
"""The part without a service."""
NAMES: Final = (*PARTS, COMPOSING)
FOLDER: Final = STATE / "bench"
REPORT: Final = STATE / "bench.json"


async def run_bench(folder: Path, sizes: Sizes, parts: list[str], *, against: str | None = None) -> list[Figure]:
    """Measure each part with its own control plane, independent of the others. Raises Failure if something cannot be
    measured. `against`: a revision to compare the part `answers` with."""
    figures: list[Figure] = []
    for name in parts:
        say(f"{name} ...")
        if name == COMPOSING:
            async with watching() as share:
                figures += await asyncio.to_thread(measure_composing, sizes.prompts)
        else:
            part = PARTS[name]
            rig = Rig(folder / name, fsync=part.fsync, settings=part.settings, memory_target=part.memory_target)
            try:
                await asyncio.to_thread(rig.start)
                async with watching() as share, staged(rig) as stage:
                    if name == "answers" and against is not None:
                        figures += await _answers_against(stage, sizes, folder / "answers-before", against)
                    else:
                        figures += await part.measure(stage, sizes)
            finally:
                await asyncio.to_thread(rig.stop)
        if share.percent is not None:
            figures.append(Figure(f"{name}: processor time of other programs", share.percent, "%"))
    return figures


async def _answers_against(stage: Stage, sizes: Sizes, folder: Path, revision: str) -> list[Figure]:
    rig = Rig(folder, fsync=stage.rig.fsync, memory_target=None)
    try:
        await asyncio.to_thread(rig.start)
        code = await asyncio.to_thread(code_of, revision, folder / "code")
        async with staged(rig, code) as before:
            return await measure_answer_cost(stage, sizes, before=before)
    finally:
        await asyncio.to_thread(rig.stop)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m checklist_dev.perf.bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to check that it works; figures are void")
    parser.add_argument("--only", action="append", choices=NAMES, help="only this part; can be repeated")
    parser.add_argument("--live-runs", type=int, help="runs of the part `scale` (default: 100000)")
    parser.add_argument("--moved-runs", type=int, help="runs of the part `archive` (default: 10000)")
    parser.add_argument(
        "--against", metavar="REVISION", help="also measure the part `answers` of this revision, alternating with ours"
    )
    parser.add_argument("--strict", action="store_true", help="exit code 1 if a goal is missed")
    arguments = parser.parse_args()
    end_with_parent()
    end_on_signals()
    sizes: Any = QUICK if arguments.quick else Sizes()
    wanted = {"live_runs": arguments.live_runs, "moved_runs": arguments.moved_runs}
    sizes = replace(sizes, **{name: runs for name, runs in wanted.items() if runs})
    bench = run_bench(FOLDER, sizes, arguments.only or list(NAMES), against=arguments.against)
    figures = asyncio.run(bench)
    write_report(REPORT, figures)
    print(table(figures))
    missed = [figure.name for figure in figures if figure.holds is False]
    say(f"missed: {json.dumps(missed)}" if missed else "every goal holds")
    say(f"report {REPORT}, logs {FOLDER}")
    return 1 if missed and arguments.strict else 0


if __name__ == "__main__":
    run_tool(main)
