"""Step types text, scan, date, time and datetime."""

from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Final

from pydantic import Field, JsonValue

from ..times import parse_timestamp
from ..values.dates import normal_date, normal_datetime, normal_time
from ..values.json_types import Absentable, Bool, JsonModel, Text, has_visible_text, optional, text_fault
from .base import (
    CONTAINMENT,
    EQUALITY,
    EXISTS,
    ORDER,
    AnswerLike,
    StepOf,
    StepRules,
    invalid,
    wrong_type,
)

MAX_TEXT: Final = 500
MAX_LONG_TEXT: Final = 4_000

Placeholder = Absentable[Annotated[Text, Field(max_length=500)]]
_PLACEHOLDER: Final = "Type text: shown in the empty field."


class TextConfig(JsonModel):
    multiline: Absentable[Bool] = optional(
        "Type text: whether the answer may be long, up to 4,000 characters instead of 500 (default false)."
    )
    placeholder: Placeholder = optional(_PLACEHOLDER)


class ScanConfig(JsonModel):
    placeholder: Placeholder = optional(_PLACEHOLDER)


class TextRules(StepRules[TextConfig]):
    config: ClassVar[type[JsonModel]] = TextConfig
    operators = EQUALITY | CONTAINMENT | EXISTS

    def limit(self, step: StepOf[TextConfig]) -> int:
        """Returns the maximum number of characters of an answer."""
        return MAX_LONG_TEXT if step.config.multiline else MAX_TEXT

    def validate(self, step: StepOf[TextConfig], value: Any) -> JsonValue:
        if not isinstance(value, str):
            raise wrong_type("a string", value)
        limit = self.limit(step)
        if len(value) > limit:
            raise invalid("too_long", f"The answer may have at most {limit} characters, not {len(value)}.")
        if fault := text_fault(value):
            raise invalid("invalid_text", f"The answer {fault}.")
        if step.required and not has_visible_text(value):
            raise invalid("blank", "The answer must not be blank.")
        return value

    def has_value(self, answer: AnswerLike) -> bool:
        return isinstance(answer.value, str) and has_visible_text(answer.value)


class Scan(TextRules):
    config = ScanConfig

    def limit(self, step: StepOf[TextConfig]) -> int:
        return MAX_TEXT


class Moment(StepRules[Any]):
    """`normal` returns the stored form, or raises ValueError."""

    operators = EQUALITY | ORDER | EXISTS

    def __init__(self, normal: Callable[[str], str], wanted: str) -> None:
        self._normal, self._wanted = normal, wanted
        self.compared = (str, wanted)  # type: ignore[misc]

    def validate(self, step: StepOf[Any], value: Any) -> JsonValue:
        if not isinstance(value, str):
            raise wrong_type(self._wanted, value)
        try:
            return self._normal(value)
        except ValueError:
            raise invalid("invalid_format", f"The answer must be {self._wanted}.") from None

    def sort_key(self, value: Any) -> Any:
        try:
            return self._normal(value) if isinstance(value, str) else super().sort_key(value)
        except ValueError:
            return None


class _DateTime(Moment):
    def display(self, step: StepOf[Any], value: Any) -> str:
        try:
            moment = parse_timestamp(str(value))
        except (ValueError, OverflowError):
            return str(value)
        # Not strftime, which omits leading zeros of years before 1000 on some systems.
        return moment.replace(tzinfo=None).isoformat(" ", "seconds" if moment.second else "minutes") + " UTC"


DATE: Final = Moment(normal_date, "a date like 2026-11-21")
TIME: Final = Moment(normal_time, "a time like 13:50")
DATETIME: Final = _DateTime(normal_datetime, "a moment with its zone like 2026-11-21T13:50:00Z")
