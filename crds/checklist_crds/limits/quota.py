"""The arithmetic of the monthly quota (specification, "Limits"; contract section 5).

A run is counted **before** it is created, in the organization's status, by a conditional write. Between the two a
process may die; therefore the count remembers which run ids it was raised for (`pending`), until somebody has seen
that the run exists (confirm) or that it never will (release). So `used` equals the runs made, whatever crashes.

Runs are counted per UTC calendar month of dispatch; cancelled, expired and deleted runs still count.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from ..times import format_timestamp, parse_timestamp


class Verdict(StrEnum):
    """What became of one wish to dispatch."""

    RESERVED = "reserved"
    RETAKEN = "retaken"
    """Reserved, and the count is that of an earlier request for the same id, which was presumed dead."""
    OVER_QUOTA = "over_quota"
    ALREADY_PENDING = "already_pending"


@dataclass(frozen=True, slots=True)
class Quota:
    """`Organization.status.quota`: the month, the runs counted in it (also by day), and the ids not yet seen."""

    period: str = ""
    used: int = 0
    pending: dict[str, datetime] = field(default_factory=dict)
    by_day: dict[int, int] = field(default_factory=dict)
    """The runs of `used` by day of the month. A status that an older release began to count lacks its first days."""

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
        """The count as of `now`: a new month starts at zero. A clock that jumps back never reopens a past month."""
        current = period_of(now)
        return self if self.period >= current else Quota(current, 0, self.pending)


def period_of(moment: datetime) -> str:
    """`2026-11`"""
    return moment.astimezone(UTC).strftime("%Y-%m")


def resets_at(period: str) -> datetime:
    """The first instant of the month after `period`."""
    year, month = (int(part) for part in period.split("-"))
    return datetime(year + month // 12, month % 12 + 1, 1, tzinfo=UTC)


def reserve(
    quota: Quota, run_ids: Iterable[str], *, limit: int | None, now: datetime, retake_after_s: float = 10.0
) -> tuple[Quota, dict[str, Verdict]]:
    """Count each run id, first come first served, up to `limit` (None = unlimited).

    An id that is pending already (a concurrent request with the same Idempotency-Key) is not counted again; when
    its first request is older than `retake_after_s` it is presumed dead and the id is taken over: its run is one of
    this day and month from now on.
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
    """The runs exist: they stay counted and need no memory."""
    done = set(run_ids)
    return replace(quota, pending={run_id: at for run_id, at in quota.pending.items() if run_id not in done})


def release(quota: Quota, run_ids: Iterable[str]) -> Quota:
    """The runs will never exist: they are counted no more, if they were counted in this month."""
    undone = set(run_ids) & quota.pending.keys()
    refunded = [quota.pending[run_id] for run_id in undone if _is_counted(quota, quota.pending[run_id])]
    pending = {run_id: at for run_id, at in quota.pending.items() if run_id not in undone}
    by_day = dict(quota.by_day)
    for since in refunded:
        _subtract(by_day, _day(quota, since))
    return replace(quota, used=max(0, quota.used - len(refunded)), pending=pending, by_day=by_day)


def still_counted(quota: Quota, counts: Iterable[tuple[str, datetime | None]]) -> set[str]:
    """Of ids and the moments at which somebody counted them, those whose count is that very one (None: any).

    Who counted an id a while ago may have been presumed dead meanwhile, and the count be another request's now, whose
    run is being made: only that one may take it back.
    """
    return {
        run_id
        for run_id, at in counts
        if (kept := quota.pending.get(run_id)) is not None
        and (at is None or format_timestamp(at) == format_timestamp(kept))
    }


def usage(quota: Quota, *, limit: int | None, now: datetime) -> dict[str, Any]:
    """`{limit, used, resets_at}` as the 402 body and GET /v1/usage show it."""
    quota = quota.at(now)
    return {"limit": limit, "used": quota.used, "resets_at": format_timestamp(resets_at(quota.period))}


def days(quota: Quota, *, now: datetime) -> list[dict[str, Any]]:
    """`[{day: "2026-11-01", used: 0}, ...]`: every day of the month until today."""
    quota = quota.at(now)
    last = max([_day(quota, now), *quota.by_day])
    return [{"day": f"{quota.period}-{day:02}", "used": quota.by_day.get(day, 0)} for day in range(1, last + 1)]


def _is_counted(quota: Quota, since: datetime) -> bool:
    """Whether a run that is pending since then was counted in this month."""
    return period_of(since) == quota.period


def _day(quota: Quota, moment: datetime) -> int:
    """The day of the month. A clock that is still in the month before counts for the first."""
    return moment.astimezone(UTC).day if period_of(moment) == quota.period else 1


def _subtract(by_day: dict[int, int], day: int) -> None:
    left = by_day.get(day, 0) - 1
    if left > 0:
        by_day[day] = left
    else:
        by_day.pop(day, None)
