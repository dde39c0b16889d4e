"""Figures of a soak for docs/sizing.md: the cost of a run."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from checklist_crds.archive import Folder, Record, encode_part
from checklist_crds.archive.part import MAX_RUNS
from checklist_crds.times import utc_now
from checklist_dev.perf.load.executors import Executors
from checklist_dev.perf.load.neighbours import Share
from checklist_dev.perf.load.probes import family_of, processor_s
from checklist_dev.perf.load.rig import Rig
from checklist_dev.perf.soak.flatness import WARM_UP
from checklist_dev.perf.soak.measures import MEASURES, Watcher


@dataclass(frozen=True, slots=True)
class Processors:
    """Processor seconds of each program so far."""

    seconds: dict[str, float]

    @classmethod
    def of(cls, rig: Rig) -> Self:
        families = {name: family_of(pid) for name, pid in rig.pids().items()}
        return cls(
            {name: sum(processor_s(pid, with_ended_children=True) for pid in pids) for name, pids in families.items()}
        )

    def since(self, rig: Rig, runs: int) -> dict[str, float]:
        """Milliseconds per run, without workers that ended meanwhile, such as the API's photo workers."""
        now = self.of(rig).seconds
        return {name: round((now[name] - before) / runs * 1000, 1) for name, before in self.seconds.items()}


def _photo_store_bytes(folder: Path) -> int:
    """Size of photos and thumbnails, without the archive in the same folder."""
    archives = {folder / "archive", folder / "archive-unfinished"}
    return sum(
        path.stat().st_size
        for path in folder.rglob("*")
        if path.is_file() and not any(archive in path.parents for archive in archives)
    )


def _retries(executors: Executors) -> int:
    """Number of repeated requests."""
    return sum(act.tries - 1 for record in executors.records for act in record.acts)


def figures_of(rig: Rig, executors: Executors, watcher: Watcher, used: Processors, *, load_s: float) -> dict[str, Any]:
    """Figures by name in the report; medians exclude the warm-up."""
    counters, made = watcher.counters, len(executors.records)
    photos = sum(act.op.kind == "photo" and act.done for record in executors.records for act in record.acts)
    archived = counters.get("checklists_runs_archived_total", 0.0)
    medians = {
        f"median: {measure.name}": float(f"{statistics.median(values):.4g}")
        for measure in MEASURES
        if (values := [value for at, value in watcher.samples[measure.name] if at > load_s * WARM_UP])
    }
    return {
        "runs": made,
        "runs_a_second": round(made / load_s, 3),
        "acknowledged_changes": executors.acknowledged,
        "photos": photos,
        "tries_in_vain": _retries(executors),
        "archived_runs": round(archived),
        "photo_bytes_kept_a_photo": round(counters.get("checklists_photo_bytes_total", 0.0) / max(1, photos)),
        "photo_store_bytes_a_photo": _photo_store_bytes(rig.folder / "photos") // max(1, photos),
        **{f"processor_ms_a_run: {name}": ms for name, ms in used.since(rig, max(1, made)).items()},
        **medians,
    }


def archive_bytes_a_run(records: Sequence[Record]) -> int:
    """Bytes per run with its deliveries, in full parts as in a busy organization; a soak's own parts are small."""
    if not records:
        return 0
    folder, now = Folder("org-00000000-0000-4000-8000-000000000000", "2026-01"), utc_now()
    parts = [records[start : start + MAX_RUNS] for start in range(0, len(records), MAX_RUNS)]
    encoded = [encode_part(folder, part, written_at=now, written_by="soak") for part in parts]
    return sum(len(part.content) + len(part.manifest.encoded()) for part in encoded) // len(records)


def share_of_others(share: Share) -> dict[str, float]:
    """The share of other programs in the machine's processors during the load; empty if not available."""
    return {} if share.percent is None else {"processor_percent_of_other_programs": round(share.percent, 1)}
