"""When an answer was given, on which day, and when it arrived (contract section 11).

An answer that was given without network arrives later. Clients send `given_at`, corrected by the clock difference that
they measured; a wrong clock never refuses an answer.
"""

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Final

ARRIVED_AT_ONCE: Final = timedelta(seconds=1)
"""Up to this delay only one time is stored, so that answers given online need no more room."""
_WESTERNMOST: Final = timedelta(hours=-12)
_EASTERNMOST: Final = timedelta(hours=14)
"""Offsets of the earliest and the latest day on earth."""


@dataclass(frozen=True, slots=True)
class AnswerTimes:
    """`received_at`: None if the answer arrived at once. `today`: the person's day, by the offset of `given_at`."""

    at: datetime
    today: date
    received_at: datetime | None = None


def answer_times(given_at: datetime | None, *, dispatched_at: datetime, now: datetime) -> AnswerTimes:
    """Limits `given_at` to the time from dispatch to now; without it, the answer was given now."""
    if given_at is None:
        return AnswerTimes(now, now.astimezone(UTC).date())
    given_at = given_at.replace(microsecond=given_at.microsecond // 1000 * 1000)
    at = min(max(given_at, dispatched_at), now).astimezone(UTC)
    today = at.astimezone(given_at.tzinfo).date()
    today = min(max(today, (at + _WESTERNMOST).date()), (at + _EASTERNMOST).date())
    return AnswerTimes(at, today, now if now - at > ARRIVED_AT_ONCE else None)
