"""The rule of `make soak` on made-up series: a leak is found, and a value that only goes up and down is flat."""

import math
import random
from collections.abc import Callable

import pytest

from checklist_dev.perf.soak.flatness import Bound, Verdict, judge

LOAD_S = 1800.0
EVERY_S = 5.0
MEMORY = Bound(rise=20.0)
NOISE = random.Random(11)
Series = Callable[[float], float]


def verdict(value_at: Series, bound: Bound = MEMORY, load_s: float = LOAD_S) -> Verdict:
    times = [number * EVERY_S for number in range(int(load_s / EVERY_S))]
    return judge("memory", "MiB", [(at, value_at(at)) for at in times], bound, load_s=load_s)


@pytest.mark.parametrize(
    ("holds", "value_at", "bound"),
    {
        "a megabyte a minute in noise": (False, lambda at: 120 + at / 60 + NOISE.gauss(0, 3), MEMORY),
        "a leak in steps": (False, lambda at: 120 + 4 * math.floor(at / 240), MEMORY),
        "a leak under a sawtooth": (False, lambda at: 120 + at / 60 + 15 * (at % 60) / 60, MEMORY),
        "a descriptor every two minutes": (False, lambda at: 60 + math.floor(at / 120), Bound(rise=12)),
        "a level above the limit": (False, lambda at: 31.0, Bound(rise=20, level=30)),
        "noise": (True, lambda at: 120 + NOISE.gauss(0, 4), MEMORY),
        "a sawtooth": (True, lambda at: 120 + 30 * ((at + 20) % 61.7) / 61.7, MEMORY),
        "a slow sawtooth": (True, lambda at: 120 + 30 * (at % 300) / 300, MEMORY),
        "a warm-up that ends": (True, lambda at: 80 + min(at, 500.0) / 5, MEMORY),
        "a cache that fills up": (True, lambda at: 200 - 100 * math.exp(-at / 250), MEMORY),
        "one step": (True, lambda at: 120 + 12 * (at > 1000), MEMORY),
        "a burst of a neighbour": (True, lambda at: 0.1 + 25 * (1300 < at < 1380), Bound(rise=20, level=30)),
        "a falling value": (True, lambda at: 200 - at / 60, MEMORY),
        "a leak below the bound": (True, lambda at: 120 + at / 240, MEMORY),
    }.values(),
)
def test_a_leak_is_found_and_a_swaying_value_is_flat(holds: bool, value_at: Series, bound: Bound) -> None:
    assert verdict(value_at, bound).holds is holds


@pytest.mark.parametrize("phase_s", [0.0, 340.0])
def test_a_leak_is_found_under_a_sway_longer_than_a_block(phase_s: float) -> None:
    """As memory does that is given back every eleven minutes."""

    def tooth(at: float) -> float:
        return 120 + 6 * ((at + phase_s) % 680) / 680

    bound = Bound(rise=20, sway=10)
    assert verdict(tooth, bound).holds is True
    assert verdict(lambda at: tooth(at) + at / 60, bound).holds is False
    # With time the sway hides less: what half an hour could not show, three hours do.
    assert verdict(lambda at: tooth(at) + 0.45 * at / 60, bound, 3 * 3600).holds is False


def test_a_series_that_is_short_or_has_holes_does_not_pass() -> None:
    assert verdict(lambda at: 120 + at, load_s=600.0).holds is None
    series = [(number * EVERY_S, 120.0) for number in range(360) if not 900 < number * EVERY_S < 1200]
    assert judge("memory", "MiB", series, MEMORY, load_s=LOAD_S).holds is False
    assert judge("memory", "MiB", [], MEMORY, load_s=LOAD_S).holds is False
