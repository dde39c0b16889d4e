"""Budgets of the language model per organization and in total: requests, tokens, cost.

Counted by UTC hour and day in the memory of one process. The maximum cost of a call is reserved before it and settled
after it, so that limits hold for concurrent calls and any response.
"""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from checklist_crds.times import Clock

from ...settings.language_model import ModelSettings
from .failures import ModelFailure, Reason

AT_ONCE: Final = 16
"""Maximum number of concurrent prompts."""
AT_ONCE_OF_ONE: Final = 4
"""Maximum of one organization."""
_MILLION: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Reservation:
    """Maximum use of one call, in tokens."""

    organization: str
    sent: int
    written: int
    day: datetime


class Allowance:
    """One per process."""

    def __init__(self, settings: ModelSettings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._hour: datetime | None = None
        self._day: datetime | None = None
        self._prompts_of_hour: Counter[str] = Counter()
        self._prompts_of_day: Counter[str] = Counter()
        self._tokens_of_day: Counter[str] = Counter()
        self._cost_of_day = 0.0
        self._running: Counter[str] = Counter()

    def begin(self, organization: str) -> None:
        """Count a prompt; `end` must follow. Raises ModelFailure (busy, limit)."""
        now = self._turn_over()
        if self._running.total() >= AT_ONCE or self._running[organization] >= AT_ONCE_OF_ONE:
            raise ModelFailure(Reason.BUSY, retry_after_s=1.0)
        hour, day = self._settings.limit
        if day is not None and self._prompts_of_day[organization] >= day:
            raise ModelFailure(Reason.LIMIT, "prompts of the day", retry_after_s=_until_tomorrow(now))
        if hour is not None and self._prompts_of_hour[organization] >= hour:
            raise ModelFailure(Reason.LIMIT, "prompts of the hour", retry_after_s=_until_next_hour(now))
        self._prompts_of_hour[organization] += 1
        self._prompts_of_day[organization] += 1
        self._running[organization] += 1

    def end(self, organization: str) -> None:
        self._running[organization] -= 1
        if self._running[organization] <= 0:
            del self._running[organization]

    def reserve(self, organization: str, sent: int, written: int) -> Reservation:
        """Reserve the maximum tokens of a call. Raises ModelFailure (limit, budget)."""
        now = self._turn_over()
        tokens, cost = self._settings.tokens_per_day, self._settings.cost_per_day
        if tokens is not None and self._tokens_of_day[organization] + sent + written > tokens:
            raise ModelFailure(Reason.LIMIT, "tokens of the day", retry_after_s=_until_tomorrow(now))
        if cost is not None and self._cost_of_day + self.cost_of(sent, written) > cost:
            raise ModelFailure(Reason.BUDGET, "cost of the day", retry_after_s=_until_tomorrow(now))
        self._tokens_of_day[organization] += sent + written
        self._cost_of_day += self.cost_of(sent, written)
        return Reservation(organization, sent, written, _day_of(now))

    def settle(self, reservation: Reservation, sent: int, written: int) -> None:
        """Replace a reservation by the actual use. An aborted call keeps its reservation."""
        if self._turn_over() and reservation.day != self._day:
            return  # already reset
        self._tokens_of_day[reservation.organization] += sent + written - reservation.sent - reservation.written
        self._cost_of_day += self.cost_of(sent, written) - self.cost_of(reservation.sent, reservation.written)

    def cost_of(self, sent: int, written: int) -> float:
        """Return the cost in the currency of the prices."""
        return (sent * self._settings.prices.sent + written * self._settings.prices.written) / _MILLION

    def _turn_over(self) -> datetime:
        """Reset counters of past hours and days; returns the current time."""
        now = self._clock()
        hour, day = now.replace(minute=0, second=0, microsecond=0), _day_of(now)
        if hour != self._hour:
            self._hour = hour
            self._prompts_of_hour.clear()
        if day != self._day:
            self._day = day
            self._prompts_of_day.clear()
            self._tokens_of_day.clear()
            self._cost_of_day = 0.0
        return now


def _day_of(now: datetime) -> datetime:
    return now.replace(hour=0, minute=0, second=0, microsecond=0)


def _until_next_hour(now: datetime) -> float:
    return (now.replace(minute=0, second=0, microsecond=0) + timedelta(hours=1) - now).total_seconds()


def _until_tomorrow(now: datetime) -> float:
    return (_day_of(now) + timedelta(days=1) - now).total_seconds()
