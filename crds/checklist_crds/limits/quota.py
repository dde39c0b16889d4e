"""Arithmetic of the monthly quota (specification, "Limits"; contract section 5).

A run is counted **before** it is created, in the organization's status, by a conditional write. Since the process may
crash in between, the count keeps the run's id as `pending` until it is confirmed (the run exists) or released (it never
will). So `used` equals the number of created runs, whatever crashes.

Runs are counted per UTC calendar month of dispatch; cancelled, expired and deleted runs still count.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from ..times import format_timestamp, parse_timestamp


class Verdict(StrEnum):
    """Result of one reservation."""

    RESERVED = "reserved"
    RETAKEN = "retaken"
    """Reserved, by taking over the count of an earlier request for the same id, which is presumed dead."""
    OVER_QUOTA = "over_quota"
    ALREADY_PENDING = "already_pending"


@dataclass(frozen=True, slots=True)
class Quota:
    """`Organization.status.quota`: the month, its count (also by day), and the pending ids."""

    period: str = ""
    used: int = 0
    pending: dict[str, datetime] = field(default_factory=dict)
    by_day: dict[int, int] = field(default_factory=dict)
    """`used` by day of the month. A status written by an older release lacks its first days."""

    @classmethod
    def parse(cls, data: dict[str, Any] | None) -> "Quota":
        data = data or {}
        pending = {entry["runId"]: parse_timestamp(entry["since"]) for entry in data.get("pending") or []}
        by_day = {int(entry["day"]): int(entry["used"]) for entry in data.get("byDay") or []}
        return cls(str(data.get("period", "")), int(data.get("used", 0)), pending, by_day)

    def as_status(self) -> dict[str, Any]:
        pending = [{"runId": run_id, "since": format_timestamp(at)} for run_id, at in self.pending.items()]
        by_day = [{"day": day, "used": used} for day, used in sorted(self.by_day.items()) if used]
        return {"period": self.period, "used": self.used, "byDay": by_day, "pending": pending}

    def at(self, now: datetime) -> "Quota":
        """Returns the count as of `now`: a new month starts at zero. A clock set back never reopens a past month."""
        current = period_of(now)
        return self if self.period >= current else Quota(current, 0, self.pending)


def period_of(moment: datetime) -> str:
    """`2026-11`"""
    return moment.astimezone(UTC).strftime("%Y-%m")


def resets_at(period: str) -> datetime:
    """Returns the start of the month after `period`."""
    year, month = (int(part) for part in period.split("-"))
    return datetime(year + month // 12, month % 12 + 1, 1, tzinfo=UTC)


def reserve(
    quota: Quota, run_ids: Iterable[str], *, limit: int | None, now: datetime, retake_after_s: float = 10.0
) -> tuple[Quota, dict[str, Verdict]]:
    """Counts each run id, first come first served, up to `limit` (None = unlimited).

    A pending id (of a concurrent request with the same Idempotency-Key) is not counted again; if its first request is
    older than `retake_after_s`, that is presumed dead and the id is taken over: its run counts for the current day and
    month.
    """
    quota = quota.at(now)
    used, pending, by_day, verdicts = quota.used, dict(quota.pending), dict(quota.by_day), {}
    today = _day(quota, now)
    for run_id in run_ids:
        since = pending.get(run_id)
        if since is not None and (now - since).total_seconds() < retake_after_s:
            verdicts[run_id] = Verdict.ALREADY_PENDING
            continue
        if since is not None and _is_counted(quota, since):
            used -= 1
            _subtract(by_day, _day(quota, since))
        elif limit is not None and used >= limit:
            verdicts[run_id] = Verdict.OVER_QUOTA
            continue
        used += 1
        by_day[today] = by_day.get(today, 0) + 1
        pending[run_id] = now
        verdicts[run_id] = Verdict.RESERVED if since is None else Verdict.RETAKEN
    return replace(quota, used=used, pending=pending, by_day=by_day), verdicts


def confirm(quota: Quota, run_ids: Iterable[str]) -> Quota:
    """Removes ids from `pending`; their runs stay counted."""
    done = set(run_ids)
    return replace(quota, pending={run_id: at for run_id, at in quota.pending.items() if run_id not in done})


def release(quota: Quota, run_ids: Iterable[str]) -> Quota:
    """Removes ids from `pending`, and from the count if they were counted in this month."""
    undone = set(run_ids) & quota.pending.keys()
    refunded = [quota.pending[run_id] for run_id in undone if _is_counted(quota, quota.pending[run_id])]
    pending = {run_id: at for run_id, at in quota.pending.items() if run_id not in undone}
    by_day = dict(quota.by_day)
    for since in refunded:
        _subtract(by_day, _day(quota, since))
    return replace(quota, used=max(0, quota.used - len(refunded)), pending=pending, by_day=by_day)


def still_counted(quota: Quota, counts: Iterable[tuple[str, datetime | None]]) -> set[str]:
    """Returns the ids whose current count is from the given time (None: any).

    A request that is presumed dead may have lost its count to another request, whose run is being created: only that
    one may release it.
    """
    return {
        run_id
        for run_id, at in counts
        if (kept := quota.pending.get(run_id)) is not None
        and (at is None or format_timestamp(at) == format_timestamp(kept))
    }


def usage(quota: Quota, *, limit: int | None, now: datetime) -> dict[str, Any]:
    """Returns `{limit, used, resets_at}` for the 402 body and GET /v1/usage."""
    quota = quota.at(now)
    return {"limit": limit, "used": quota.used, "resets_at": format_timestamp(resets_at(quota.period))}


def days(quota: Quota, *, now: datetime) -> list[dict[str, Any]]:
    """Returns `[{day: "2026-11-01", used: 0}, ...]` for every day of the month until today."""
    quota = quota.at(now)
    last = max([_day(quota, now), *quota.by_day])
    return [{"day": f"{quota.period}-{day:02}", "used": quota.by_day.get(day, 0)} for day in range(1, last + 1)]


def _is_counted(quota: Quota, since: datetime) -> bool:
    """Whether a run pending since `since` was counted in this month."""
    return period_of(since) == quota.period


def _day(quota: Quota, moment: datetime) -> int:
    """Returns the day of the month; 1 if the clock is still in the previous month."""
    return moment.astimezone(UTC).day if period_of(moment) == quota.period else 1


def _subtract(by_day: dict[int, int], day: int) -> None:
    left = by_day.get(day, 0) - 1
    if left > 0:
        by_day[day] = left
    else:
        by_day.pop(day, None)
