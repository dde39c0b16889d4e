"""Step types number and rating."""

import math
from collections.abc import Iterator
from datetime import date
from decimal import ROUND_CEILING, Decimal
from typing import Annotated, Any, Final, Generic, TypeVar

from pydantic import Field, JsonValue, Strict

from ..errors import Problem
from ..values.json_types import AS_INTEGER, MAX_NUMBER, Absentable, JsonModel, Number, Text, optional, tidy_number
from .answer_schemas import Criterion, exact
from .base import EQUALITY, EXISTS, LISTS, ORDER, Operator, ShortText, StepOf, StepRules, invalid, wrong_type
from .display_text import ENGLISH, DisplayText
from .expected import Expected, ExpectedBounds, ExpectedConfig
from .photo_bounds import MAX_PHOTOS_PER_STEP

MAX_RATING: Final = 100
MAX_DECIMALS: Final = 10
RANGE: Final = frozenset({"config.min", "config.max"})
# Rounding errors of binary fractions (0.1 + 0.2 is 0.30000000000000004), relative to the value.
_FLOAT_NOISE: Final = Decimal("1e-14")
_BOUNDS: Final = {
    Operator.GT: "exclusiveMinimum",
    Operator.GTE: "minimum",
    Operator.LT: "exclusiveMaximum",
    Operator.LTE: "maximum",
}


class RangeConfig(JsonModel):
    """Of numbers, ratings and photos."""

    min: Absentable[Number] = optional(
        "Type number: smallest value. rating: lowest grade, an integer (default 1). "
        "photo: fewest photos, an integer (default 1)."
    )
    max: Absentable[Number] = optional(
        "Type number: largest value. rating: highest grade, an integer (default 5). "
        f"photo: most photos, an integer (default {MAX_PHOTOS_PER_STEP})."
    )


class NumberConfig(RangeConfig, ExpectedConfig):
    unit: Absentable[Annotated[Text, Field(max_length=50)]] = optional(
        "Type number: unit of measurement, shown after the value."
    )
    decimal: Absentable[Annotated[int, Field(ge=0, le=MAX_DECIMALS), Strict(), AS_INTEGER]] = optional(
        "Type number: how many decimals a value may have (default: any)."
    )


class RatingConfig(RangeConfig, ExpectedConfig):
    low_label: Absentable[ShortText] = optional("Type rating: what the lowest grade means.")
    high_label: Absentable[ShortText] = optional("Type rating: what the highest grade means.")


_Range = TypeVar("_Range", bound=RangeConfig)


class _Numeric(StepRules[_Range], Generic[_Range]):
    operators = EQUALITY | ORDER | LISTS | EXISTS
    json_type = "number"
    is_number = True

    def expected_problems(self, step: StepOf[_Range], expected: Expected, path: str) -> Iterator[Problem]:
        if not isinstance(expected, ExpectedBounds):
            yield Problem(path, "wrong_type", f"A {step.type.value} step expects an object with min or max.")
            return
        low, high = expected.min, expected.max
        lowest, highest = self._range(step)
        if low is None and high is None:
            yield Problem(path, "missing", "Needs min or max.")
        elif low is not None and high is not None and low > high:
            yield Problem(f"{path}.min", "out_of_range", "Must not be above expected.max.")
        elif low is not None and highest is not None and low > highest:
            yield Problem(f"{path}.min", "out_of_range", f"Must not be above {highest}, the highest possible answer.")
        elif high is not None and lowest is not None and high < lowest:
            yield Problem(f"{path}.max", "out_of_range", f"Must not be below {lowest}, the lowest possible answer.")

    def is_expected(self, expected: Expected, value: Any, today: date) -> bool:
        if not isinstance(expected, ExpectedBounds) or isinstance(value, bool) or not isinstance(value, int | float):
            return True
        return (expected.min is None or value >= expected.min) and (expected.max is None or value <= expected.max)

    def expected_text(self, step: StepOf[_Range], expected: Expected, words: DisplayText = ENGLISH) -> str:
        if not isinstance(expected, ExpectedBounds):
            return ""
        low, high = expected.min, expected.max
        if low is not None and high is not None:
            return words.between(self._expected_number(step, low, words), self._expected_number(step, high, words))
        if low is not None:
            return words.at_least(self._expected_number(step, low, words))
        return "" if high is None else words.at_most(self._expected_number(step, high, words))

    def _range(self, step: StepOf[_Range]) -> tuple[float | None, float | None]:
        """Returns the lowest and highest possible answer."""
        return step.config.min, step.config.max

    def _expected_number(self, step: StepOf[_Range], number: float, words: DisplayText) -> str:
        return self.display(step, number, words)

    def comparison_criterion(self, op: Operator, wanted: Any) -> Criterion:
        bound = _BOUNDS.get(op)
        return super().comparison_criterion(op, wanted) if bound is None else exact({"type": "number", bound: wanted})


class NumberRules(_Numeric[NumberConfig]):
    config = NumberConfig
    compared = (int | float, "a number")

    def config_problems(self, step: StepOf[NumberConfig], path: str, unread: set[str]) -> Iterator[Problem]:
        low, high, decimal = step.config.min, step.config.max, step.config.decimal
        if low is None or high is None or unread & RANGE:
            return
        if low > high:
            yield Problem(f"{path}.min", "out_of_range", "Must not be above config.max.")
        elif decimal is not None:
            unit = Decimal(1).scaleb(-decimal)
            first = (Decimal(str(low)) / unit).to_integral_value(ROUND_CEILING) * unit
            if first > Decimal(str(high)):
                text = f"No number with {decimal} decimals lies between {low} and {high}."
                yield Problem(f"{path}.decimal", "out_of_range", text)

    def validate(self, step: StepOf[NumberConfig], value: Any) -> JsonValue:
        number = _finite(value)
        config = step.config
        if config.decimal is not None:
            number = _rounded(number, config.decimal)
        if config.min is not None and number < config.min:
            raise invalid("out_of_range", f"The answer must be at least {config.min}.")
        if config.max is not None and number > config.max:
            raise invalid("out_of_range", f"The answer must be at most {config.max}.")
        return number

    def value_schema(self, step: StepOf[NumberConfig]) -> dict[str, Any]:
        low, high, decimal, unit = step.config.min, step.config.max, step.config.decimal, step.config.unit
        # No `multipleOf` for decimals: in binary floating point 0.3 is not a multiple of 0.1.
        schema: dict[str, Any] = {"type": "integer" if decimal == 0 else "number"}
        schema |= {name: bound for name, bound in (("minimum", low), ("maximum", high)) if bound is not None}
        return schema | ({"description": f"Unit: {unit}"} if unit else {})

    def display(self, step: StepOf[NumberConfig], value: Any, words: DisplayText = ENGLISH) -> str:
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= MAX_NUMBER:
            return str(value)
        exact, decimal, unit = Decimal(str(value)), step.config.decimal, step.config.unit
        number = words.number(f"{exact:f}" if decimal is None else f"{exact:.{decimal}f}")
        return f"{number} {unit}" if unit else number


class Rating(_Numeric[RatingConfig]):
    config = RatingConfig
    compared = (int, "an integer")

    def config_problems(self, step: StepOf[RatingConfig], path: str, unread: set[str]) -> Iterator[Problem]:
        if unread & RANGE:
            return
        problems = list(integer_problems(step.config, path))
        yield from problems
        low, high = rating_bounds(step)
        if not problems and not -MAX_RATING <= low <= high <= MAX_RATING:
            text = f"A rating needs -{MAX_RATING} <= min <= max <= {MAX_RATING}, not min {low}, max {high}."
            yield Problem(path, "out_of_range", text)

    def expected_problems(self, step: StepOf[RatingConfig], expected: Expected, path: str) -> Iterator[Problem]:
        problems = list(integer_problems(expected, path)) if isinstance(expected, ExpectedBounds) else []
        yield from problems or super().expected_problems(step, expected, path)

    def _range(self, step: StepOf[RatingConfig]) -> tuple[float | None, float | None]:
        return (step.config.min, step.config.max) if list(integer_problems(step.config, "")) else rating_bounds(step)

    def _expected_number(self, step: StepOf[RatingConfig], number: float, words: DisplayText) -> str:
        return words.number(str(number))

    def validate(self, step: StepOf[RatingConfig], value: Any) -> JsonValue:
        low, high = rating_bounds(step)
        number = _finite(value)
        if not isinstance(number, int):
            raise invalid("wrong_type", f"The answer must be an integer, not {number}.")
        if not low <= number <= high:
            raise invalid("out_of_range", f"The answer must be between {low} and {high}.")
        return number

    def value_schema(self, step: StepOf[RatingConfig]) -> dict[str, Any]:
        low, high = rating_bounds(step)
        return {"type": "integer", "minimum": low, "maximum": high}

    def display(self, step: StepOf[RatingConfig], value: Any, words: DisplayText = ENGLISH) -> str:
        if not isinstance(value, int):
            return str(value)
        low, high = rating_bounds(step)
        label = {low: step.config.low_label, high: step.config.high_label}.get(value)
        return words.rating(value, high, label)


def rating_bounds(step: StepOf[RatingConfig]) -> tuple[int, int]:
    """Returns the lowest and highest grade of a rating step."""
    low, high = step.config.min, step.config.max
    return 1 if low is None else int(low), 5 if high is None else int(high)


def integer_problems(config: RangeConfig | ExpectedBounds, path: str) -> Iterator[Problem]:
    for name, value in (("min", config.min), ("max", config.max)):
        if isinstance(value, float):
            yield Problem(f"{path}.{name}", "wrong_type", f"Must be an integer, not {value}.")


def _finite(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise wrong_type("a number", value)
    if isinstance(value, float) and not math.isfinite(value):
        raise invalid("out_of_range", "The answer must be a finite number.")
    if abs(value) > MAX_NUMBER:
        raise invalid("out_of_range", f"The answer must be between -{MAX_NUMBER} and {MAX_NUMBER}.")
    return tidy_number(value)


def _rounded(number: float, decimals: int) -> float:
    """Returns the number without rounding errors; refuses one with more decimals."""
    exact = Decimal(str(number))
    rounded = round(exact, decimals)
    if abs(exact - rounded) > abs(exact) * _FLOAT_NOISE:
        raise invalid("too_many_decimals", f"The answer may have at most {decimals} decimals.")
    return number if exact == rounded else tidy_number(float(rounded))
