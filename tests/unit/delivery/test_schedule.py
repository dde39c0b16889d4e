from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checklist_crds.times import format_timestamp, parse_timestamp
from checklist_operator.attempts.schedule import MAX_ATTEMPTS, RetrySchedule

FINISHED = datetime(2026, 11, 21, 13, 50, tzinfo=UTC)


def no_jitter() -> float:
    return 0.0


def test_the_four_gaps_lie_between_five_attempts() -> None:
    due = [RetrySchedule().next_attempt_at(FINISHED, attempt, no_jitter) for attempt in range(1, MAX_ATTEMPTS + 1)]
    assert due == [*(FINISHED + timedelta(seconds=gap) for gap in (30, 120, 600, 3600)), None]
    for attempt in (0, -1, 6):
        with pytest.raises(ValueError, match="1 to 5"):
            RetrySchedule().next_attempt_at(FINISHED, attempt, no_jitter)


@given(
    finished=st.datetimes(min_value=datetime(2026, 1, 1), max_value=datetime(2100, 1, 1), timezones=st.just(UTC)),
    attempt=st.integers(1, 4),
    jitter=st.floats(0, 1, exclude_max=True),
)
def test_an_attempt_is_never_early(finished: datetime, attempt: int, jitter: float) -> None:
    schedule = RetrySchedule()
    due = schedule.next_attempt_at(finished, attempt, lambda: jitter)
    assert due is not None
    gap = timedelta(seconds=schedule.gaps[attempt - 1])
    assert parse_timestamp(format_timestamp(due)) == due
    assert gap <= due - finished <= gap + min(gap * 0.05, timedelta(seconds=15)) + timedelta(milliseconds=1)


def test_jitter_adds_up_to_a_twentieth_and_at_most_fifteen_seconds() -> None:
    almost_one = 0.999_999
    for attempt, most in [(1, 1.5), (2, 6.0), (3, 15.0), (4, 15.0)]:
        without = RetrySchedule().next_attempt_at(FINISHED, attempt, no_jitter)
        with_most = RetrySchedule().next_attempt_at(FINISHED, attempt, lambda: almost_one)
        assert without and with_most
        assert (with_most - without).total_seconds() == pytest.approx(most, abs=0.002)


def test_the_setting_is_four_numbers_of_seconds() -> None:
    assert RetrySchedule.parse("30, 120,600,3600") == RetrySchedule()
    assert RetrySchedule.parse("0.1,0.2,0.3,0.4").gaps == (0.1, 0.2, 0.3, 0.4)
    exact = RetrySchedule.parse("1,2,3,4", jitter_fraction=0)
    assert exact.next_attempt_at(FINISHED, 2, lambda: 0.9) == FINISHED + timedelta(seconds=2)
    wrong_counts = ["", "30", "30,120,600", "30,120,600,3600,21600", "1,2,,4"]
    wrong_numbers = ["1,2,3,x", "1,2,3,0", "1,2,3,-1", "1,2,3,nan", "1,2,3,inf"]
    for text in wrong_counts + wrong_numbers:
        with pytest.raises(ValueError, match="30,120,600,3600"):
            RetrySchedule.parse(text)
