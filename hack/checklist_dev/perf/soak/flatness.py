"""Judges whether a measure stays stable, as a pure function of a series of samples.

The rule. The first third of the load is warm-up. The rest is divided into twelve blocks of the same length, and each
block is represented by its median, so that a peak of a sawtooth, a burst or a busy neighbour affects one point or none.
The slope is the Theil-Sen estimator: the median of the slopes between all pairs of blocks. A measure **rises** if its
slope is above its bound *and* that of each half of the blocks is above half of the bound. A leak continues and is in
both halves; a cache that fills up, or memory that is allocated once, is in one of them.

Slopes are per hour. A measure that fluctuates for longer than a block, such as memory released every ten minutes or
receivers that are down for a while, cannot be judged from twenty minutes. Therefore a measure has a *sway*, too: the
rise over the whole window must exceed it. The longer the soak, the less the sway matters. A measure may also have a
level that no block may exceed.
"""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Final

WARM_UP: Final = 1 / 3
BLOCKS: Final = 12
LEAST_JUDGED_S: Final = 600.0
"""The window after the warm-up: in a shorter one, a few pages of memory look like megabytes per hour."""
_HOUR_S: Final = 3600.0

Series = Sequence[tuple[float, float]]
"""(seconds since the start of the load, value), in order."""


@dataclass(frozen=True, slots=True)
class Bound:
    """`rise`: allowed rise per hour; `level`: maximum of the blocks; `sway`: normal fluctuation in ten minutes."""

    rise: float
    level: float | None = None
    sway: float = 0.0

    def over(self, window_s: float) -> float:
        """The significant rise per hour for a window of that length."""
        return max(self.rise, self.sway * _HOUR_S / window_s)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The judgement of one measure. `holds`: None if it was not judged; `why`: the reason, or what is wrong."""

    name: str
    unit: str
    bound: Bound
    samples: int
    first: float = 0.0
    """Medians of the first block after the warm-up, and of the last one."""
    last: float = 0.0
    highest: float = 0.0
    rise: float = 0.0
    """Per hour, like `allowed`."""
    allowed: float = 0.0
    holds: bool | None = None
    why: str = ""

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "unit": self.unit,
            "samples": self.samples,
            "first": _rounded(self.first),
            "last": _rounded(self.last),
            "highest_block": _rounded(self.highest),
            "rise_an_hour": _rounded(self.rise),
            "rise_allowed": _rounded(self.allowed),
            "level_allowed": self.bound.level,
            "holds": self.holds,
            "why": self.why or None,
        }


def judge(name: str, unit: str, series: Series, bound: Bound, *, load_s: float) -> Verdict:
    """Judge a series. `load_s`: planned duration of the load, whose first third is warm-up."""
    began = load_s * WARM_UP
    window = [(at, value) for at, value in series if began <= at <= load_s]
    blocks = _blocks(window, began, load_s)
    if len(blocks) < BLOCKS:
        why = f"samples in only {len(blocks)} of {BLOCKS} blocks: the measurement has gaps"
        # A series with gaps must not pass.
        return Verdict(
            name, unit, bound, len(series), holds=False if load_s - began >= LEAST_JUDGED_S else None, why=why
        )
    values = [value for _, value in blocks]
    rise = slope(blocks) * _HOUR_S
    halves = [slope(half) * _HOUR_S for half in (blocks[: BLOCKS // 2], blocks[BLOCKS // 2 :])]
    allowed = bound.over(load_s - began)
    verdict = Verdict(name, unit, bound, len(series), values[0], values[-1], max(values), rise, allowed)
    if load_s - began < LEAST_JUDGED_S:
        return replace(verdict, holds=None, why="too short to judge a trend")
    if rise > allowed and min(halves) > allowed / 2:
        why = f"it rises, in both halves ({halves[0]:.4g} and {halves[1]:.4g} per hour)"
        return replace(verdict, holds=False, why=why)
    if bound.level is not None and max(values) > bound.level:
        above = sum(value > bound.level for value in values)
        return replace(verdict, holds=False, why=f"it was above {bound.level:g} in {above} of {BLOCKS} blocks")
    return replace(verdict, holds=True)


def slope(points: Series) -> float:
    """The Theil-Sen estimator: the median of the slopes between all pairs."""
    return statistics.median(
        (after[1] - before[1]) / (after[0] - before[0]) for before, after in combinations(points, 2)
    )


def _blocks(window: Series, began: float, ended: float) -> list[tuple[float, float]]:
    """The middle and median of each block with samples."""
    length = (ended - began) / BLOCKS
    of_block: dict[int, list[float]] = {}
    for at, value in window:
        of_block.setdefault(min(BLOCKS - 1, int((at - began) / length)), []).append(value)
    return [(began + (number + 0.5) * length, statistics.median(of_block[number])) for number in sorted(of_block)]


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")
