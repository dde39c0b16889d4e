"""The arithmetic of the monthly quota: exact, and honest about runs that were counted but never made."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.kube.memory_cluster import MemoryCluster
from tests.waiting import eventually

from checklist_crds.kube.quota_ledger import QuotaLedger
from checklist_crds.limits.quota import (
    Quota,
    Verdict,
    confirm,
    days,
    period_of,
    release,
    reserve,
    resets_at,
    still_counted,
    usage,
)
from checklist_crds.resources.kinds import ORGANIZATION

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def test_runs_are_refused_exactly_at_the_limit() -> None:
    quota, verdicts = reserve(Quota(), ["a", "b", "c"], limit=2, now=NOW)
    assert list(verdicts.values()) == [Verdict.RESERVED, Verdict.RESERVED, Verdict.OVER_QUOTA]
    assert (quota.used, set(quota.pending)) == (2, {"a", "b"})
    for seconds, verdict in ((3, Verdict.ALREADY_PENDING), (10, Verdict.RETAKEN)):
        again, verdicts = reserve(quota, ["a"], limit=2, now=NOW + timedelta(seconds=seconds))
        assert (verdicts["a"], again.used) == (verdict, 2), "it is not counted twice"
    assert reserve(Quota(), ["a"], limit=0, now=NOW)[1]["a"] is Verdict.OVER_QUOTA
    assert reserve(Quota(used=10**6, period="2026-11"), ["a"], limit=None, now=NOW)[1]["a"] is Verdict.RESERVED


@given(st.lists(st.integers(0, 9), max_size=9), st.lists(st.integers(0, 9), max_size=12), st.none() | st.integers(0, 8))
def test_ids_at_once_are_counted_as_one_after_the_other(before: list[int], asked: list[int], limit: int | None) -> None:
    """Whatever is pending already, for a moment or so long that it is taken over."""
    quota, _ = reserve(Quota(), [str(number) for number in before if number % 2], limit=None, now=NOW)
    later = NOW + timedelta(seconds=10)
    quota, _ = reserve(quota, [str(number) for number in before], limit=None, now=later)
    ids = list(dict.fromkeys(map(str, asked)))
    at_once, verdicts = reserve(quota, ids, limit=limit, now=later)
    for run_id in ids:
        quota, alone = reserve(quota, [run_id], limit=limit, now=later)
        assert alone[run_id] is verdicts[run_id]
    assert at_once == quota


def test_a_count_is_taken_back_by_its_maker_and_not_after_it_was_taken_over() -> None:
    quota, _ = reserve(Quota(), ["a", "b"], limit=None, now=NOW)
    later = NOW + timedelta(seconds=10)
    quota, _ = reserve(quota, ["a"], limit=None, now=later)
    assert still_counted(quota, [("a", NOW), ("b", NOW), ("c", NOW)]) == {"b"}
    assert still_counted(quota, [("a", later + timedelta(microseconds=7)), ("b", later)]) == {"a"}, "to the millisecond"
    assert still_counted(quota, [("a", None), ("c", None)]) == {"a"}


def test_a_new_month_starts_at_zero_and_keeps_what_is_pending() -> None:
    quota, _ = reserve(Quota(), ["a"], limit=1, now=NOW)
    later = datetime(2026, 12, 1, tzinfo=UTC)
    quota, verdicts = reserve(quota, ["b"], limit=1, now=later)
    assert verdicts["b"] is Verdict.RESERVED
    assert (quota.period, quota.used) == ("2026-12", 1)
    assert release(quota, ["a"]).used == 1, "a run of the old month gives nothing back to the new one"


def test_months_are_of_utc_and_do_not_open_again() -> None:
    assert resets_at("2026-12") == datetime(2027, 1, 1, tzinfo=UTC)
    assert resets_at("2026-02") == datetime(2026, 3, 1, tzinfo=UTC)
    assert period_of(datetime.fromisoformat("2026-12-01T00:30:00+02:00")) == "2026-11"
    assert Quota("2026-12", 5).at(NOW) == Quota("2026-12", 5), "of a clock that jumps back"
    of_this_month = {"limit": 9, "used": 0, "resets_at": "2026-12-01T00:00:00.000Z"}
    assert usage(Quota("2026-10", 7), limit=9, now=NOW) == of_this_month


_ACTION = st.sampled_from(["reserve", "confirm", "release"])


@given(st.lists(st.tuples(_ACTION, st.integers(0, 12)), max_size=60), st.integers(0, 6))
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


def test_days_are_counted_and_a_month_that_began_before_they_were_still_reads() -> None:
    assert Quota.parse(None) == Quota()
    old = Quota.parse({"period": "2026-11", "used": 7, "pending": []})
    quota, _ = reserve(old, ["a", "b"], limit=None, now=NOW)
    quota = release(quota, ["b"])
    assert (quota.used, quota.by_day) == (8, {21: 1})
    assert days(quota, now=NOW)[-2:] == [{"day": "2026-11-20", "used": 0}, {"day": "2026-11-21", "used": 1}]
    assert release(old, ["a"]) == old


def test_a_run_that_is_taken_over_counts_for_the_day_and_month_of_its_maker() -> None:
    before_midnight = datetime(2026, 11, 30, 23, 59, 55, tzinfo=UTC)
    quota, _ = reserve(Quota(), ["a"], limit=1, now=before_midnight)
    quota, verdicts = reserve(quota, ["a"], limit=1, now=before_midnight + timedelta(seconds=15))
    assert verdicts["a"] is Verdict.RETAKEN
    assert (quota.period, quota.used, quota.by_day) == ("2026-12", 1, {1: 1})
    assert release(quota, ["a"]).used == 0
    same_month, _ = reserve(Quota(), ["a"], limit=1, now=NOW)
    same_month, _ = reserve(same_month, ["a"], limit=1, now=NOW + timedelta(days=1))
    assert (same_month.used, same_month.by_day) == (1, {22: 1})


@given(st.lists(st.tuples(_ACTION, st.integers(0, 9), st.integers(0, 40)), max_size=60))
def test_the_days_always_add_up_to_what_is_used(story: list[tuple[str, int, int]]) -> None:
    """Over months, with runs that are taken over and given back days later, and with what is written read again."""
    quota, now = Quota(), datetime(2026, 11, 1, tzinfo=UTC)
    for action, number, hours in story:
        now += timedelta(hours=hours)
        match action:
            case "reserve":
                quota, _ = reserve(quota, [str(number)], limit=20, now=now)
            case "confirm":
                quota = confirm(quota, [str(number)])
            case "release":
                quota = release(quota, [str(number)])
        written = quota.as_status()
        assert Quota.parse(written) == quota
        quota = Quota.parse(written)
        assert sum(quota.by_day.values()) == quota.used
        assert all(1 <= day <= 31 and used > 0 for day, used in quota.by_day.items())
        assert len(written["byDay"]) <= 31


@pytest.mark.looptime
@pytest.mark.parametrize(("action", "arguments", "used"), [("release", [NOW], 0), ("confirm", [], 2)])
async def test_confirmations_survive_other_writers(action: str, arguments: list[datetime], used: int) -> None:
    cluster: Any = MemoryCluster()
    cluster.put(ORGANIZATION, "acme", {"displayName": "Acme"})

    def quota() -> Quota:
        return Quota.parse(cluster.read(ORGANIZATION, "acme")["status"].get("quota"))

    api, operator = (QuotaLedger(cluster, lambda: NOW) for _ in range(2))
    await api.reserve("acme", "r-1")
    getattr(operator, action)("acme", "r-1", *arguments)
    await eventually(lambda: not quota().pending)
    # The operator remembers the count as it is now. Another run is counted, and its process dies.
    await api.reserve("acme", "r-2")
    await eventually(lambda: quota().pending.keys() == {"r-2"})
    getattr(operator, action)("acme", "r-2", *arguments)
    await eventually(lambda: not quota().pending)
    assert quota().used == used


@pytest.mark.looptime
async def test_what_is_counted_ahead_is_given_out_once_and_the_rest_given_back() -> None:
    cluster: Any = MemoryCluster()
    cluster.put(ORGANIZATION, "acme", {"displayName": "Acme"})
    ledger, taken = QuotaLedger(cluster, lambda: NOW), list[str]()
    for burst in (1, 20, 60, 60, 1, 7):
        reservations = await asyncio.gather(*(ledger.take("acme") for _ in range(burst)))
        assert {reservation.verdict for _, reservation in reservations} == {Verdict.RESERVED}
        taken += [run_id for run_id, _ in reservations]
    taken += [(await ledger.take("acme"))[0] for _ in range(200)]
    assert cluster.asked["patch"] <= 20, "a write counts many"
    await ledger.flush("acme")
    quota = Quota.parse(cluster.read(ORGANIZATION, "acme")["status"].get("quota"))
    assert (quota.used, quota.pending.keys()) == (len(taken), set(taken))
