"""Step types text, scan, date, time and datetime."""

from collections.abc import Callable, Iterator, Mapping
from datetime import date, timedelta
from typing import Annotated, Any, ClassVar, Final

from pydantic import Field, JsonValue

from ..errors import Problem
from ..times import parse_timestamp
from ..values.dates import normal_date, normal_datetime, normal_time
from ..values.json_types import Absentable, Bool, JsonModel, Text, has_visible_text, optional, text_fault
from .answer_schemas import NEVER, POSSIBLY_VISIBLE, VISIBLE, Criterion, all_of, exact, literal, sorts_after
from .base import (
    CONTAINMENT,
    EQUALITY,
    EXISTS,
    ORDER,
    AnswerLike,
    Operator,
    StepOf,
    StepRules,
    invalid,
    wrong_type,
)
from .display_text import ENGLISH, DisplayText
from .expected import Expected, ExpectedBounds, ExpectedConfig

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

    def value_schema(self, step: StepOf[TextConfig]) -> dict[str, Any]:
        return (POSSIBLY_VISIBLE if step.required else {"type": "string"}) | {"maxLength": self.limit(step)}

    def has_value(self, answer: AnswerLike) -> bool:
        return isinstance(answer.value, str) and has_visible_text(answer.value)

    def value_criterion(self) -> Criterion:
        return VISIBLE.of_member("value")

    def comparison_criterion(self, op: Operator, wanted: Any) -> Criterion:
        # A blank text counts as no value, so no comparison with it holds.
        equals = op in EQUALITY
        if equals and not has_visible_text(wanted):
            return NEVER if op is Operator.EQ else VISIBLE
        meets = exact({"const": wanted} if equals else {"pattern": literal(wanted)})
        return all_of([VISIBLE, meets if op in {Operator.EQ, Operator.CONTAINS} else meets.negated()])


class Scan(TextRules):
    config = ScanConfig

    def limit(self, step: StepOf[TextConfig]) -> int:
        return MAX_TEXT


class TimeRules(StepRules[Any]):
    """`normal` returns the stored form, or raises ValueError."""

    operators = EQUALITY | ORDER | EXISTS

    def __init__(self, normal: Callable[[str], str], wanted: str, schema: Mapping[str, str]) -> None:
        self._normal, self._wanted, self._schema = normal, wanted, schema
        self.compared = (str, wanted)  # type: ignore[misc]

    def validate(self, step: StepOf[Any], value: Any) -> JsonValue:
        if not isinstance(value, str):
            raise wrong_type(self._wanted, value)
        try:
            return self._normal(value)
        except ValueError:
            raise invalid("invalid_format", f"The answer must be {self._wanted}.") from None

    def value_schema(self, step: StepOf[Any]) -> dict[str, Any]:
        return {"type": "string", **self._schema}

    def comparison_criterion(self, op: Operator, wanted: Any) -> Criterion:
        key = self._normal(wanted)
        if op in EQUALITY:
            return super().comparison_criterion(op, key)
        after = {"pattern": sorts_after(key, or_equal=op in {Operator.GTE, Operator.LT})}
        return exact({"type": "string"} | (after if op in {Operator.GT, Operator.GTE} else {"not": after}))

    def sort_key(self, value: Any) -> Any:
        try:
            return self._normal(value) if isinstance(value, str) else super().sort_key(value)
        except ValueError:
            return None


class DateConfig(ExpectedConfig):
    pass


class _Date(TimeRules):
    config = DateConfig

    def expected_problems(self, step: StepOf[Any], expected: Expected, path: str) -> Iterator[Problem]:
        if not isinstance(expected, ExpectedBounds):
            yield Problem(path, "wrong_type", "A date step expects an object with not_before or not_after.")
            return
        first, last = expected.not_before, expected.not_after
        if first is None and last is None:
            yield Problem(path, "missing", "Needs not_before or not_after.")
        elif first is not None and last is not None and first > last:
            yield Problem(f"{path}.not_before", "out_of_range", "Must not be above expected.not_after.")

    def is_expected(self, expected: Expected, value: Any, today: date) -> bool:
        if not isinstance(expected, ExpectedBounds) or not isinstance(value, str):
            return True
        # Compared as numbers of days: a bound may be outside of the calendar.
        days = (date.fromisoformat(value) - today) // timedelta(days=1)
        first, last = expected.not_before, expected.not_after
        return (first is None or days >= first) and (last is None or days <= last)

    def expected_text(self, step: StepOf[Any], expected: Expected, words: DisplayText = ENGLISH) -> str:
        if not isinstance(expected, ExpectedBounds):
            return ""
        bounds = ((words.not_before, expected.not_before), (words.not_after, expected.not_after))
        return words.items([text(days) for text, days in bounds if days is not None])

    def display(self, step: StepOf[Any], value: Any, words: DisplayText = ENGLISH) -> str:
        return words.date(str(value))


class _Time(TimeRules):
    def display(self, step: StepOf[Any], value: Any, words: DisplayText = ENGLISH) -> str:
        return words.time(str(value))


class _DateTime(TimeRules):
    def display(self, step: StepOf[Any], value: Any, words: DisplayText = ENGLISH) -> str:
        try:
            moment = parse_timestamp(str(value))
        except (ValueError, OverflowError):
            return str(value)
        return words.moment(moment)


_HOUR_MINUTE: Final = "(?:[01][0-9]|2[0-3]):[0-5][0-9]"
DATE: Final = _Date(
    normal_date, "a date like 2026-11-21", {"format": "date", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"}
)
# The JSON Schema format "time" requires seconds and a zone.
TIME: Final = _Time(normal_time, "a time like 13:50", {"pattern": f"^{_HOUR_MINUTE}(?::[0-5][0-9])?$"})
DATETIME: Final = _DateTime(
    normal_datetime,
    "a moment with its zone like 2026-11-21T13:50:00Z",
    {
        "format": "date-time",
        "pattern": rf"^[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}T{_HOUR_MINUTE}:[0-5][0-9]\.[0-9]{{3}}Z$",
    },
)
