"""The arithmetic of the monthly quota: exact, and honest about runs that were counted but never made."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from checklist_crds.quota import Quota, Verdict, confirm, period_of, release, reserve, resets_at, usage

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def test_runs_are_refused_exactly_at_the_limit() -> None:
    quota, verdicts = reserve(Quota(), ["a", "b", "c"], limit=2, now=NOW)
    assert list(verdicts.values()) == [Verdict.RESERVED, Verdict.RESERVED, Verdict.OVER_QUOTA]
    assert quota.used == 2
    assert set(quota.pending) == {"a", "b"}


def test_a_limit_of_zero_refuses_everything_and_no_limit_refuses_nothing() -> None:
    _, none_allowed = reserve(Quota(), ["a"], limit=0, now=NOW)
    _, all_allowed = reserve(Quota(used=10**6, period="2026-11"), ["a"], limit=None, now=NOW)
    assert none_allowed["a"] is Verdict.OVER_QUOTA
    assert all_allowed["a"] is Verdict.RESERVED


def test_a_confirmed_run_stays_counted_and_a_released_one_does_not() -> None:
    quota, _ = reserve(Quota(), ["a", "b"], limit=None, now=NOW)
    quota = release(confirm(quota, ["a"]), ["b"])
    assert (quota.used, quota.pending) == (1, {})


def test_releasing_twice_or_something_unknown_changes_nothing() -> None:
    quota, _ = reserve(Quota(), ["a"], limit=None, now=NOW)
    once = release(quota, ["a"])
    assert release(once, ["a", "zzz"]) == once


def test_a_confirmed_run_cannot_be_released_any_more() -> None:
    quota, _ = reserve(Quota(), ["a"], limit=None, now=NOW)
    assert release(confirm(quota, ["a"]), ["a"]).used == 1


def test_an_id_that_is_being_dispatched_is_not_counted_twice() -> None:
    quota, _ = reserve(Quota(), ["a"], limit=None, now=NOW)
    again, verdicts = reserve(quota, ["a"], limit=None, now=NOW + timedelta(seconds=3))
    assert verdicts["a"] is Verdict.ALREADY_PENDING
    assert again.used == 1


def test_an_id_whose_first_request_died_is_taken_over_without_counting_again() -> None:
    quota, _ = reserve(Quota(), ["a"], limit=1, now=NOW)
    again, verdicts = reserve(quota, ["a"], limit=1, now=NOW + timedelta(seconds=10))
    assert verdicts["a"] is Verdict.RESERVED
    assert again.used == 1


def test_a_new_month_starts_at_zero_and_keeps_what_is_pending() -> None:
    quota, _ = reserve(Quota(), ["a"], limit=1, now=NOW)
    later = datetime(2026, 12, 1, tzinfo=UTC)
    quota, verdicts = reserve(quota, ["b"], limit=1, now=later)
    assert verdicts["b"] is Verdict.RESERVED
    assert (quota.period, quota.used) == ("2026-12", 1)
    assert release(quota, ["a"]).used == 1, "a run of the old month gives nothing back to the new one"


def test_a_clock_that_jumps_back_does_not_reopen_the_past_month() -> None:
    quota = Quota("2026-12", 5)
    assert quota.at(NOW) == quota


def test_the_month_ends_at_the_first_instant_of_the_next_one_in_utc() -> None:
    assert resets_at("2026-12") == datetime(2027, 1, 1, tzinfo=UTC)
    assert resets_at("2026-02") == datetime(2026, 3, 1, tzinfo=UTC)
    assert period_of(datetime.fromisoformat("2026-12-01T00:30:00+02:00")) == "2026-11"


def test_usage_speaks_of_the_current_month() -> None:
    assert usage(Quota("2026-10", 7), limit=9, now=NOW) == {
        "limit": 9,
        "used": 0,
        "resets_at": "2026-12-01T00:00:00.000Z",
    }


def test_the_status_form_reads_back() -> None:
    quota, _ = reserve(Quota(), ["a"], limit=None, now=NOW)
    assert Quota.parse(quota.as_status()) == quota
    assert Quota.parse(None) == Quota()


_STEP = st.tuples(st.sampled_from(["reserve", "confirm", "release"]), st.integers(0, 12))


@given(st.lists(_STEP, max_size=60), st.integers(0, 6))
def test_used_is_always_the_runs_made_plus_those_pending(steps: list[tuple[str, int]], limit: int) -> None:
    quota, made = Quota(), set[str]()
    for action, number in steps:
        run_id = str(number)
        match action:
            case "reserve" if run_id not in made:
                quota, _ = reserve(quota, [run_id], limit=limit, now=NOW)
            case "confirm" if run_id in quota.pending:
                quota = confirm(quota, [run_id])
                made.add(run_id)
            case "release":
                quota = release(quota, [run_id])
        assert quota.used == len(made) + len(quota.pending) <= limit
