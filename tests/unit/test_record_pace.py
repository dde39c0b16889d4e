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
    now = 100.0

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


def patience(pace: RecordPace, run: int = 0, *, more: bool = False, urgent: bool = False) -> float:
    return pace.patience_s(run, more_to_come=more, urgent=urgent)


def test_a_lone_result_is_written_at_once_unless_more_is_under_way(pace: RecordPace) -> None:
    crowd(pace, 1)
    assert patience(pace) == 0
    assert patience(pace, more=True) == GATHER_S


def test_under_load_writes_keep_to_a_pace_and_wait_no_longer_than_allowed_unless_urgent(pace: RecordPace) -> None:
    crowd(pace, 45)
    assert patience(pace) == pytest.approx(45 / WRITES_PER_S)
    crowd(pace, 400)
    assert patience(pace) == LONGEST_S
    assert patience(pace, urgent=True) == 0
    assert patience(pace, more=True, urgent=True) == GATHER_S


def test_enough_results_of_one_run_are_worth_a_write(pace: RecordPace) -> None:
    crowd(pace, 60)
    pace.waits(7, ENOUGH)
    assert patience(pace, 7) == 0
    assert patience(pace, 8) > 1


def test_what_a_crash_would_repeat_is_bounded(pace: RecordPace) -> None:
    crowd(pace, MOST_WAITING // 2, results=2)
    assert patience(pace) == LONGEST_S
    pace.waits("one more", 1)
    assert patience(pace) == 0


def test_when_the_load_is_over_everything_is_written_and_what_was_written_counts_no_more(
    pace: RecordPace, time: Time
) -> None:
    crowd(pace, 60)
    time.now += QUIET_S + 0.01
    assert patience(pace) == 0
    pace.waits("another", 1)
    assert patience(pace) > 1
    for number in range(59):
        pace.waits(number, 0)
    pace.waits("another", 0)
    pace.waits("never seen", 0)
    assert patience(pace, 59) == 0
