"""Reports the evaluation: missing and extra features by prompt, and scores by trade, language and kind."""

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from .scoring import Score

OVERALL_FLOOR: Final = 0.81
"""What the composer reaches with messy prompts in their writer's words, less a point."""
LANGUAGE_FLOORS: Final = {"en": 0.79, "de": 0.81, "es": 0.83, "fr": 0.83}
"""The same of each language."""
LOW: Final = 0.75
"""Prompts below this need attention."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """All scores. `overall`: the mean of the prompts' scores, `pooled`: of all features."""

    scores: Sequence[Score]

    @property
    def overall(self) -> float:
        return sum(score.value for score in self.scores) / len(self.scores)

    @property
    def pooled(self) -> float:
        return sum(score.found for score in self.scores) / sum(score.expected for score in self.scores)

    @property
    def low(self) -> list[Score]:
        """Prompts that need attention, the worst first."""
        return sorted((score for score in self.scores if score.value < LOW), key=lambda score: score.value)

    @property
    def holds(self) -> bool:
        return self.overall >= OVERALL_FLOOR


def details(scores: Iterable[Score], below: float = 1.01) -> str:
    """One paragraph for each prompt whose score is below `below`."""
    return "\n".join(_paragraph(score) for score in scores if score.value < below)


def _paragraph(score: Score) -> str:
    case = score.case
    lines = [f"{_percent(score.value)}  {case.language}  {case.id}  ({case.trade}, {case.kind})"]
    lines += [f"        missing  {name}" for name in score.missing]
    lines += [f"        extra    {name}" for name in score.extras]
    return "\n".join(lines)


def summary(verdict: Verdict) -> str:
    """Scores by language, kind and trade, and overall."""
    lines = []
    for title, key in (("language", "language"), ("kind", "kind"), ("trade", "trade")):
        groups: dict[str, list[float]] = defaultdict(list)
        for score in verdict.scores:
            groups[getattr(score.case, key)].append(score.value)
        lines.append(f"{'prompts':>7}  {'mean':>6}  {'lowest':>6}  {title}")
        lines += [
            f"{len(values):7}  {_percent(sum(values) / len(values))}  {_percent(min(values))}  {name}"
            for name, values in sorted(groups.items())
        ]
        lines.append("")
    lines.append(
        f"{len(verdict.scores)} prompts: {_percent(verdict.overall).strip()} overall (floor {OVERALL_FLOOR:.1%}), "
        f"{verdict.pooled:.1%} of all features, {len(verdict.low)} below {LOW:.0%}"
    )
    return "\n".join(lines)


def write_report(path: Path, verdict: Verdict) -> None:
    """`{overall, pooled, below_floor, prompts: [{id, language, trade, kind, score, missing, extra}]}`"""
    report: dict[str, Any] = {
        "overall": round(verdict.overall, 4),
        "pooled": round(verdict.pooled, 4),
        "below_floor": [score.case.id for score in verdict.low],
        "prompts": [
            {
                "id": score.case.id,
                "language": score.case.language,
                "trade": score.case.trade,
                "kind": score.case.kind,
                "score": round(score.value, 4),
                "missing": score.missing,
                "extra": list(score.extras),
            }
            for score in verdict.scores
        ],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n", "utf-8")


def _percent(share: float) -> str:
    return f"{share:6.1%}"
