"""When an answer was given, and when it arrived (contract section 11).

An answer that was given without network arrives later. Clients send `given_at`, corrected by the clock difference that
they measured; a wrong clock never refuses an answer.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

ARRIVED_AT_ONCE: Final = timedelta(seconds=1)
"""Up to this delay only one time is stored, so that answers given online need no more room."""


@dataclass(frozen=True, slots=True)
class AnswerTimes:
    """`received_at`: None if the answer arrived at once."""

    at: datetime
    received_at: datetime | None = None


def answer_times(given_at: datetime | None, *, dispatched_at: datetime, now: datetime) -> AnswerTimes:
    """Limits `given_at` to the time from dispatch to now; without it, the answer was given now."""
    if given_at is None:
        return AnswerTimes(now)
    given_at = given_at.replace(microsecond=given_at.microsecond // 1000 * 1000)
    at = min(max(given_at, dispatched_at), now)
    return AnswerTimes(at, now if now - at > ARRIVED_AT_ONCE else None)
