"""Whether a measure that should stay as it is does so: a pure judgement of a series of samples.

The rule. The first third of the load is warm-up. What follows is cut into twelve blocks of the same length, and each
block stands for its median: so a tooth of a sawtooth, a burst, a busy neighbour is one point among many or none. The
slope is that of Theil and Sen: the median of the slopes between all pairs of blocks. A measure **rises** when its slope
is above its bound *and* that of each half of the blocks is above half of the bound. A leak goes on, and is in both
halves; a cache that fills up, an arena that is taken once, is in one of them.

A slope is told for an hour. What a measure does in hours cannot be told from twenty minutes when it goes up and down
for longer than a block: memory that is given back every ten minutes, receivers that are away for a while. So a
measure has a *sway*, too: over the whole window the slope must make more than that, or it is none. The longer the
soak, the less the sway matters. A measure may also have a level that no block may be above.
"""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final

WARM_UP: Final = 1 / 3
BLOCKS: Final = 12
LEAST_JUDGED_S: Final = 600.0
"""Of the window after the warm-up: in less, a few pages of memory look like megabytes an hour."""
_HOUR_S: Final = 3600.0

Series = Sequence[tuple[float, float]]
"""(seconds since the load began, value), in order."""


@dataclass(frozen=True, slots=True)
class Bound:
    """By how much a measure may rise in an hour, above which level none of its blocks may be, and by how much it goes
    up and down in ten minutes while it stays what it is."""

    rise: float
    level: float | None = None
    sway: float = 0.0

    def over(self, window_s: float) -> float:
        """The rise of an hour that is believed after a window of that length."""
        return max(self.rise, self.sway * _HOUR_S / window_s)


@dataclass(frozen=True, slots=True)
class Verdict:
    """`holds` is None where nothing was judged; `why` says so, or what is broken."""

    name: str
    unit: str
    bound: Bound
    samples: int
    first: float = 0.0
    """The median of the first block after the warm-up, and of the last one."""
    last: float = 0.0
    highest: float = 0.0
    rise: float = 0.0
    """An hour, as what is allowed."""
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
    """`load_s`: how long the load was meant to last, of which the first third does not count."""
    began = load_s * WARM_UP
    window = [(at, value) for at, value in series if began <= at <= load_s]
    blocks = _blocks(window, began, load_s)
    if len(blocks) < BLOCKS:
        why = f"samples in {len(blocks)} of {BLOCKS} blocks only: it was not measured all the time"
        # A series with holes is no reason to believe that all is well.
        return Verdict(
            name, unit, bound, len(series), holds=False if load_s - began >= LEAST_JUDGED_S else None, why=why
        )
    values = [value for _, value in blocks]
    rise = slope(blocks) * _HOUR_S
    halves = [slope(half) * _HOUR_S for half in (blocks[: BLOCKS // 2], blocks[BLOCKS // 2 :])]
    allowed = bound.over(load_s - began)
    told = Verdict(name, unit, bound, len(series), values[0], values[-1], max(values), rise, allowed)
    if load_s - began < LEAST_JUDGED_S:
        return _judged(told, None, "too short to judge a trend")
    if rise > allowed and min(halves) > allowed / 2:
        return _judged(told, False, f"it rises, in both halves ({halves[0]:.4g} and {halves[1]:.4g} an hour)")
    if bound.level is not None and max(values) > bound.level:
        return _judged(
            told, False, f"it was above {bound.level:g} for {_times(values, bound.level)} of {BLOCKS} blocks"
        )
    return _judged(told, True, "")


def slope(points: Series) -> float:
    """Of Theil and Sen: the median of the slopes between all pairs."""
    return statistics.median(
        (after[1] - before[1]) / (after[0] - before[0]) for before, after in combinations(points, 2)
    )


def _blocks(window: Series, began: float, ended: float) -> list[tuple[float, float]]:
    """The middle and the median of each block that has samples."""
    length = (ended - began) / BLOCKS
    of_block: dict[int, list[float]] = {}
    for at, value in window:
        of_block.setdefault(min(BLOCKS - 1, int((at - began) / length)), []).append(value)
    return [(began + (number + 0.5) * length, statistics.median(of_block[number])) for number in sorted(of_block)]


def _judged(told: Verdict, holds: bool | None, why: str) -> Verdict:
    return Verdict(
        *(told.name, told.unit, told.bound, told.samples, told.first, told.last, told.highest, told.rise, told.allowed),
        holds,
        why,
    )


def _times(values: Sequence[float], level: float) -> int:
    return sum(value > level for value in values)


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")
