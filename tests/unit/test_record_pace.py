"""How long results of first attempts may wait to be written to their runs."""

import pytest

from checklist_operator.controllers.record_pace import (
    ENOUGH,
    GATHER_S,
    LONGEST_S,
    MOST_WAITING,
    QUIET_S,
    WRITES_PER_S,
    RecordPace,
)


class Time:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def pace(time: Time) -> RecordPace:
    return RecordPace(time)


def crowd(pace: RecordPace, runs: int, results: int = 1) -> None:
    for number in range(runs):
        pace.waits(number, results)


def test_a_lone_result_is_written_at_once_unless_more_is_under_way(pace: RecordPace) -> None:
    crowd(pace, 1)
    assert pace.patience_s(0, more_to_come=False, urgent=False) == 0
    assert pace.patience_s(0, more_to_come=True, urgent=False) == GATHER_S


def test_under_load_writes_keep_to_a_pace_and_wait_no_longer_than_allowed(pace: RecordPace) -> None:
    crowd(pace, 45)
    assert pace.patience_s(0, more_to_come=False, urgent=False) == pytest.approx(45 / WRITES_PER_S)
    crowd(pace, 400)
    assert pace.patience_s(0, more_to_come=False, urgent=False) == LONGEST_S


def test_what_is_urgent_does_not_wait(pace: RecordPace) -> None:
    crowd(pace, 60)
    assert pace.patience_s(0, more_to_come=False, urgent=True) == 0
    assert pace.patience_s(0, more_to_come=True, urgent=True) == GATHER_S


def test_enough_results_of_one_run_are_worth_a_write(pace: RecordPace) -> None:
    crowd(pace, 60)
    pace.waits(7, ENOUGH)
    assert pace.patience_s(7, more_to_come=False, urgent=False) == 0
    assert pace.patience_s(8, more_to_come=False, urgent=False) > 1


def test_what_a_crash_would_repeat_is_bounded(pace: RecordPace) -> None:
    crowd(pace, MOST_WAITING // 2, results=2)
    assert pace.patience_s(0, more_to_come=False, urgent=False) == LONGEST_S
    pace.waits("one more", 1)
    assert pace.patience_s(0, more_to_come=False, urgent=False) == 0


def test_when_the_load_is_over_everything_is_written(pace: RecordPace, time: Time) -> None:
    crowd(pace, 60)
    time.now += QUIET_S + 0.01
    assert pace.patience_s(0, more_to_come=False, urgent=False) == 0
    pace.waits("somebody", 1)
    assert pace.patience_s(0, more_to_come=False, urgent=False) > 1


def test_what_was_written_or_forgotten_counts_no_more(pace: RecordPace) -> None:
    crowd(pace, 60)
    for number in range(59):
        pace.waits(number, 0)
    pace.waits("never seen", 0)
    assert pace.patience_s(59, more_to_come=False, urgent=False) == 0
