"""The results of `make soak`: a table, and `soak.json` with all samples."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from checklist_dev.perf.bench.report import in_columns
from checklist_dev.perf.judgement.facts import Finding
from checklist_dev.perf.soak.flatness import WARM_UP, Verdict


@dataclass(slots=True)
class Outcome:
    """`samples`: seconds since the start of the load and value, by measure."""

    about: Mapping[str, Any]
    verdicts: Sequence[Verdict] = ()
    findings: Sequence[Finding] = ()
    figures: dict[str, Any] = field(default_factory=dict)
    samples: Mapping[str, Sequence[tuple[float, float]]] = field(default_factory=dict)

    @property
    def broken(self) -> list[str]:
        """Names of broken guarantees."""
        flat = [f"{verdict.name}: {verdict.why}" for verdict in self.verdicts if verdict.holds is False]
        return flat + [finding.name for finding in self.findings if not finding.holds]

    def as_json(self) -> dict[str, Any]:
        return {
            "holds": not self.broken,
            **self.about,
            "warm_up": f"the first {WARM_UP:.0%} of the load",
            "measures": [verdict.as_json() for verdict in self.verdicts],
            "findings": [finding.as_json() for finding in self.findings],
            "figures": self.figures,
            "samples": self.samples,
        }


def write_report(path: Path, outcome: Outcome) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(outcome.as_json(), indent=1, ensure_ascii=False) + "\n")


def table(verdicts: Sequence[Verdict]) -> str:
    rows = [("", "measure", "after warm-up", "at the end", "highest", "an hour", "allowed", "")]
    for verdict in verdicts:
        mark = {True: "flat", False: "BROKEN", None: ""}[verdict.holds]
        level = f", <= {verdict.bound.level:g}" if verdict.bound.level else ""
        allowed = f"{verdict.allowed or verdict.bound.rise:+g}{level}"
        values = (verdict.first, verdict.last, verdict.highest)
        shown = [f"{value:,.1f} {verdict.unit}".strip() for value in values]
        rows.append((mark, verdict.name, *shown, f"{verdict.rise:+,.1f}", allowed, verdict.why))  # type: ignore[arg-type]
    return in_columns(rows)
