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

from .times import format_timestamp, parse_timestamp


class Verdict(StrEnum):
    """What became of one wish to dispatch."""

    RESERVED = "reserved"
    OVER_QUOTA = "over_quota"
    ALREADY_PENDING = "already_pending"


@dataclass(frozen=True, slots=True)
class Quota:
    """`Organization.status.quota`: the month, the runs counted in it, and the ids counted but not yet seen."""

    period: str = ""
    used: int = 0
    pending: dict[str, datetime] = field(default_factory=dict)

    @classmethod
    def parse(cls, data: dict[str, Any] | None) -> "Quota":
        data = data or {}
        pending = {entry["runId"]: parse_timestamp(entry["since"]) for entry in data.get("pending") or []}
        return cls(str(data.get("period", "")), int(data.get("used", 0)), pending)

    def as_status(self) -> dict[str, Any]:
        pending = [{"runId": run_id, "since": format_timestamp(at)} for run_id, at in self.pending.items()]
        return {"period": self.period, "used": self.used, "pending": pending}

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
    its first request is older than `retake_after_s` it is presumed dead and the id is taken over.
    """
    quota = quota.at(now)
    used, pending, verdicts = quota.used, dict(quota.pending), {}
    for run_id in run_ids:
        since = pending.get(run_id)
        if since is not None:
            taken_over = (now - since).total_seconds() >= retake_after_s
            verdicts[run_id] = Verdict.RESERVED if taken_over else Verdict.ALREADY_PENDING
            if taken_over:
                pending[run_id] = now
        elif limit is not None and used >= limit:
            verdicts[run_id] = Verdict.OVER_QUOTA
        else:
            used += 1
            pending[run_id] = now
            verdicts[run_id] = Verdict.RESERVED
    return replace(quota, used=used, pending=pending), verdicts


def confirm(quota: Quota, run_ids: Iterable[str]) -> Quota:
    """The runs exist: they stay counted and need no memory."""
    done = set(run_ids)
    return replace(quota, pending={run_id: at for run_id, at in quota.pending.items() if run_id not in done})


def release(quota: Quota, run_ids: Iterable[str]) -> Quota:
    """The runs will never exist: they are counted no more, if they were counted in this month."""
    undone = set(run_ids) & quota.pending.keys()
    refund = sum(1 for run_id in undone if period_of(quota.pending[run_id]) == quota.period)
    pending = {run_id: at for run_id, at in quota.pending.items() if run_id not in undone}
    return replace(quota, used=max(0, quota.used - refund), pending=pending)


def usage(quota: Quota, *, limit: int | None, now: datetime) -> dict[str, Any]:
    """`{limit, used, resets_at}` as the 402 body and GET /v1/usage show it."""
    quota = quota.at(now)
    return {"limit": limit, "used": quota.used, "resets_at": format_timestamp(resets_at(quota.period))}
