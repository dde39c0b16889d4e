"""Retry schedule (specification, "Retry schedule"; delivery profile, "Schedule").

Five attempts have four gaps, each from the end of the failed attempt. The result is an absolute time that the caller
stores, so a restart neither shortens nor resets a gap. Jitter only adds: no attempt is early.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Self

from checklist_crds.resources.delivery import MAX_ATTEMPTS

DEFAULT_GAPS: Final = (30.0, 120.0, 600.0, 3600.0)
_LONGEST_GAP: Final = 7 * 86_400.0

RandomSource = Callable[[], float]
"""A number in [0, 1), for example `random.random`."""


@dataclass(frozen=True, slots=True)
class RetrySchedule:
    """The four gaps in seconds, and the jitter added to each: a fraction of the gap, at most `jitter_cap_s`."""

    gaps: tuple[float, float, float, float] = DEFAULT_GAPS
    jitter_fraction: float = 0.05
    jitter_cap_s: float = 15.0

    @classmethod
    def parse(cls, text: str, *, jitter_fraction: float = 0.05) -> Self:
        """Parses the setting, for example `"30,120,600,3600"`. Raises ValueError that says what is expected."""
        try:
            numbers = [float(part) for part in text.split(",")]
        except ValueError:
            numbers = []
        if len(numbers) != MAX_ATTEMPTS - 1 or not all(0 < number <= _LONGEST_GAP for number in numbers):
            raise ValueError(
                f"the retry gaps must be four numbers of seconds above 0 and up to 7 days, "
                f'separated by commas, such as "30,120,600,3600", not {text!r}'
            )
        first, second, third, fourth = numbers
        return cls((first, second, third, fourth), jitter_fraction=jitter_fraction)

    def next_attempt_at(self, attempt_finished_at: datetime, attempt_no: int, rng: RandomSource) -> datetime | None:
        """Returns the earliest time of attempt `attempt_no + 1`, in whole milliseconds; None after the fifth attempt.

        Rounded up, because storing truncates to milliseconds, which would be early.
        """
        if not 1 <= attempt_no <= MAX_ATTEMPTS:
            raise ValueError(f"attempts are numbered 1 to {MAX_ATTEMPTS}, not {attempt_no}")
        if attempt_no == MAX_ATTEMPTS:
            return None
        gap = self.gaps[attempt_no - 1]
        jitter = rng() * min(gap * self.jitter_fraction, self.jitter_cap_s)
        due = attempt_finished_at + timedelta(seconds=gap + jitter)
        return due + timedelta(microseconds=math.ceil(due.microsecond / 1000) * 1000 - due.microsecond)
