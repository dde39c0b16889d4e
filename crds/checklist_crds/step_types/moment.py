"""Days, times of day, and moments."""

from collections.abc import Callable
from typing import Any

from pydantic import JsonValue

from ..times import parse_timestamp
from ..values.dates import normal_date, normal_datetime, normal_time
from .base import EQUALITY, EXISTS, ORDER, StepOf, StepRules, invalid, wrong_type


class Moment(StepRules[Any]):
    operators = EQUALITY | ORDER | EXISTS

    def __init__(self, normal: Callable[[str], str], compared: str) -> None:
        self._normal, self.compared = normal, compared  # type: ignore[misc]

    def validate(self, step: StepOf[Any], value: Any) -> JsonValue:
        if not isinstance(value, str):
            raise wrong_type(self.compared, value)
        try:
            return self._normal(value)
        except ValueError:
            raise invalid("invalid_format", f"The answer must be {self.compared}.") from None

    def sort_key(self, value: Any) -> Any:
        try:
            return self._normal(value) if isinstance(value, str) else super().sort_key(value)
        except ValueError:
            return None

    def is_comparable(self, value: Any) -> bool:
        return isinstance(value, str) and self.sort_key(value) is not None


class _DateTime(Moment):
    def display(self, step: StepOf[Any], value: Any) -> str:
        try:
            moment = parse_timestamp(str(value))
        except (ValueError, OverflowError):
            return str(value)
        # Not strftime, which leaves out the zeros of years before 1000 on some systems.
        return moment.replace(tzinfo=None).isoformat(" ", "seconds" if moment.second else "minutes") + " UTC"


DATE = Moment(normal_date, "a date like 2026-11-21")
TIME = Moment(normal_time, "a time like 13:50")
DATETIME = _DateTime(normal_datetime, "a moment with its zone like 2026-11-21T13:50:00Z")
