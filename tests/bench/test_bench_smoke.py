"""`make bench` in its smallest size: the shape of the report and the accounting, never a time."""

from dataclasses import replace
from pathlib import Path

from checklist_dev.perf.bench.__main__ import NAMES, run_bench
from checklist_dev.perf.bench.report import Figure
from checklist_dev.perf.bench.sizes import QUICK

TINY = replace(
    QUICK, rounds=1, posts=32, gets=32, latency_rounds=1, latency_round_s=1.0, deliveries=90, retries=60,
    retries_within_s=2.0, retrying_runs=6, photos=4, quiet_s=0.5, live_runs=120,
    large_templates=3, archived_runs=700, idle_s=0.5, remembered_answers=90,
)  # fmt: skip
# Figures that say how fast: not asserted on a busy machine.
EXACT = ("unaccounted", "writes at start", "that differ")


async def test_every_figure_is_measured_and_every_event_accounted_for(tmp_path: Path) -> None:
    figures = await run_bench(tmp_path, TINY, list(NAMES))
    shapes = [set(figure.as_json()) for figure in figures]
    assert all(shape >= {"name", "value", "unit", "goal", "holds", "baseline"} for shape in shapes)
    names = [figure.name for figure in figures]
    assert len(set(names)) == len(names)
    assert [name for name in names if name.startswith(("POST", "GET"))] != []
    exact = [figure for figure in figures if any(word in figure.name for word in EXACT)]
    assert len(exact) == 9
    assert _wrong(exact) == []


def _wrong(figures: list[Figure]) -> list[str]:
    return [f"{figure.name}: {figure.value} ({figure.baseline})" for figure in figures if figure.value != 0]
