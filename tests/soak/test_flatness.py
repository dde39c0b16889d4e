"""The rule of `make soak` on made-up series: what leaks is found, what only goes up and down is not."""

import math
import random
from collections.abc import Callable

import pytest

from checklist_dev.soak.flatness import Bound, Verdict, judge

LOAD_S = 1800.0
EVERY_S = 5.0
MEMORY = Bound(rise=20.0)


def verdict(value_at: Callable[[float], float], bound: Bound = MEMORY, load_s: float = LOAD_S) -> Verdict:
    times = [number * EVERY_S for number in range(int(load_s / EVERY_S))]
    return judge("memory", "MiB", [(at, value_at(at)) for at in times], bound, load_s=load_s)


def noise(seed: int, deviation: float) -> Callable[[], float]:
    rng = random.Random(seed)
    return lambda: rng.gauss(0.0, deviation)


@pytest.mark.parametrize("seed", range(20))
def test_a_leak_of_a_megabyte_a_minute_is_found_in_noise(seed: int) -> None:
    wobble = noise(seed, 3.0)
    found = verdict(lambda at: 120 + at / 60 + wobble())
    assert found.holds is False
    assert found.rise == pytest.approx(60, abs=10)


def test_a_leak_in_steps_is_found() -> None:
    """An allocator takes memory from the kernel in pieces."""
    assert verdict(lambda at: 120 + 4 * math.floor(at / 240)).holds is False


def test_a_leak_under_a_sawtooth_is_found() -> None:
    assert verdict(lambda at: 120 + at / 60 + 15 * (at % 60) / 60).holds is False


@pytest.mark.parametrize("period_s", [15.0, 60.0, 61.7, 90.0, 130.0, 300.0])
@pytest.mark.parametrize("phase_s", [0.0, 20.0, 45.0])
def test_a_sawtooth_is_flat(period_s: float, phase_s: float) -> None:
    assert verdict(lambda at: 120 + 30 * ((at + phase_s) % period_s) / period_s).holds is True


@pytest.mark.parametrize("seed", range(20))
def test_noise_is_flat(seed: int) -> None:
    wobble = noise(seed, 4.0)
    assert verdict(lambda at: 120 + wobble()).holds is True


def test_a_warm_up_that_ends_is_flat() -> None:
    assert verdict(lambda at: 80 + min(at, 500.0) / 5).holds is True


def test_a_cache_that_fills_up_is_flat() -> None:
    assert verdict(lambda at: 200 - 100 * math.exp(-at / 250)).holds is True


@pytest.mark.parametrize("at_s", [700.0, 1000.0, 1200.0, 1500.0])
def test_one_step_is_flat(at_s: float) -> None:
    assert verdict(lambda at: 120 + 12 * (at > at_s)).holds is True


def test_a_burst_of_a_neighbour_is_flat() -> None:
    assert verdict(lambda at: 0.1 + 25 * (1300 < at < 1380), Bound(rise=20, level=30)).holds is True


def test_what_falls_is_flat() -> None:
    assert verdict(lambda at: 200 - at / 60).holds is True


def test_a_level_that_is_kept_too_high_is_found() -> None:
    found = verdict(lambda at: 31.0, Bound(rise=20, level=30))
    assert found.holds is False
    assert "above 30" in found.why


def test_a_leak_below_the_bound_is_told_and_allowed() -> None:
    found = verdict(lambda at: 120 + at / 240)
    assert found.holds is True
    assert found.rise == pytest.approx(15)


def test_one_descriptor_lost_every_two_minutes_is_found() -> None:
    assert verdict(lambda at: 60 + math.floor(at / 120), Bound(rise=12)).holds is False


@pytest.mark.parametrize("phase_s", [0.0, 170.0, 340.0, 510.0])
def test_what_sways_for_longer_than_a_block_is_flat_and_a_leak_under_it_is_found(phase_s: float) -> None:
    """As memory does that is given back every eleven minutes."""

    def tooth(at: float) -> float:
        return 120 + 6 * ((at + phase_s) % 680) / 680

    bound = Bound(rise=20, sway=10)
    assert verdict(tooth, bound).holds is True
    assert verdict(lambda at: tooth(at) + 0.3 * at / 60, bound).holds is True  # 18 an hour is allowed
    assert verdict(lambda at: tooth(at) + at / 60, bound).holds is False
    # With time the sway hides less: what half an hour could not tell, three hours do.
    assert verdict(lambda at: tooth(at) + 0.45 * at / 60, bound, 3 * 3600).holds is False


@pytest.mark.parametrize("seed", range(20))
def test_a_walk_at_random_within_its_sway_is_flat(seed: int) -> None:
    rng, at_now = random.Random(seed), 70.0

    def walk(_: float) -> float:
        nonlocal at_now
        at_now = min(76.0, max(64.0, at_now + rng.choice((-1, 0, 1)) * 0.5))
        return at_now

    assert verdict(walk, Bound(rise=12, sway=12)).holds is True


def test_the_rise_that_is_allowed_is_told_for_the_window_that_was_judged() -> None:
    bound = Bound(rise=20, sway=10)
    assert verdict(lambda at: 120, bound).allowed == pytest.approx(30)
    assert verdict(lambda at: 120, bound, 3 * 3600).allowed == 20


def test_too_short_a_load_is_not_judged() -> None:
    found = verdict(lambda at: 120 + at, load_s=600.0)
    assert found.holds is None
    assert "too short" in found.why


def test_a_series_with_holes_does_not_pass() -> None:
    series = [(number * EVERY_S, 120.0) for number in range(360) if not 900 < number * EVERY_S < 1200]
    found = judge("memory", "MiB", series, MEMORY, load_s=LOAD_S)
    assert found.holds is False
    assert "not measured" in found.why


def test_nothing_at_all_does_not_pass() -> None:
    assert judge("memory", "MiB", [], MEMORY, load_s=LOAD_S).holds is False
