"""Figures: a value with its goal and the baseline that it was compared with."""

import json
import statistics
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Goal:
    """`Goal("<=", 250)`"""

    relation: str
    bound: float

    def holds(self, value: float) -> bool:
        match self.relation:
            case ">=":
                return value >= self.bound
            case "<=":
                return value <= self.bound
            case _:
                return value == self.bound

    def __str__(self) -> str:
        return f"{self.relation} {self.bound:g}"


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the result. `spread`: min and max over the rounds; `baseline`: a text with its value."""

    name: str
    value: float
    unit: str
    goal: Goal | None = None
    baseline: str = ""
    spread: tuple[float, float] | None = None

    @property
    def holds(self) -> bool | None:
        """None without a goal."""
        return self.goal.holds(self.value) if self.goal else None

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "value": _rounded(self.value),
            "unit": self.unit,
            "goal": str(self.goal) if self.goal else None,
            "holds": self.holds,
            "baseline": self.baseline or None,
            "min": _rounded(self.spread[0]) if self.spread else None,
            "max": _rounded(self.spread[1]) if self.spread else None,
        }


def of_rounds(name: str, values: Sequence[float], unit: str, *, goal: Goal | None = None, baseline: str = "") -> Figure:
    """The median over the rounds, with min and max."""
    return Figure(name, statistics.median(values), unit, goal, baseline, (min(values), max(values)))


def unaccounted(name: str, expected: Set[Hashable], arrived: Iterable[Hashable], *, bad_signatures: int = 0) -> Figure:
    """What is missing, unknown or doubled in `arrived`, or badly signed; the goal is 0."""
    received = Counter(arrived)
    missing, strange = len(expected - received.keys()), len(received.keys() - expected)
    twice = sum(times - 1 for times in received.values())
    counts = f"{len(expected)}: {missing} missing, {strange} unknown, {twice} twice, {bad_signatures} badly signed"
    return Figure(name, missing + strange + twice + bad_signatures, "", Goal("==", 0), counts)


def percentile(values: Sequence[float], percent: float) -> float:
    """The nearest-rank percentile: the smallest value not exceeded by at least `percent` of them."""
    ordered = sorted(values)
    rank = max(1, -(-len(ordered) * percent // 100))
    return ordered[int(rank) - 1]


def table(figures: Sequence[Figure]) -> str:
    rows = [("", "figure", "value", "min..max", "goal", "baseline")]
    for figure in figures:
        mark = {True: "holds", False: "MISSED", None: ""}[figure.holds]
        spread = f"{_text(figure.spread[0])}..{_text(figure.spread[1])}" if figure.spread else ""
        value = f"{_text(figure.value)} {figure.unit}".strip()
        rows.append((mark, figure.name, value, spread, str(figure.goal or ""), figure.baseline))
    return in_columns(rows)


def in_columns(rows: Sequence[Sequence[str]]) -> str:
    """Align rows; the first one is the header, the last column is not padded."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    lines = [
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[-1]]).rstrip()
        for row in rows
    ]
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:]])


def write_report(path: Path, figures: Sequence[Figure]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps([figure.as_json() for figure in figures], indent=2, ensure_ascii=False) + "\n")


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")


def _text(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
