"""Step types number and rating."""

import math
from collections.abc import Iterator
from decimal import ROUND_CEILING, Decimal
from typing import Annotated, Any, Final

from pydantic import Field, JsonValue, Strict

from ..errors import Problem
from ..values.json_types import AS_INTEGER, MAX_NUMBER, Absentable, JsonModel, Number, Text, optional, tidy_number
from .base import EQUALITY, EXISTS, LISTS, ORDER, ShortText, StepOf, StepRules, invalid, wrong_type

MAX_RATING: Final = 100
MAX_DECIMALS: Final = 10
RANGE: Final = frozenset({"config.min", "config.max"})
# Rounding errors of binary fractions (0.1 + 0.2 is 0.30000000000000004), relative to the value.
_FLOAT_NOISE: Final = Decimal("1e-14")


class RangeConfig(JsonModel):
    """Of numbers, ratings and photos."""

    min: Absentable[Number] = optional(
        "Type number: smallest value. rating: lowest grade, an integer (default 1). "
        "photo: fewest photos, an integer (default 1)."
    )
    max: Absentable[Number] = optional(
        "Type number: largest value. rating: highest grade, an integer (default 5). "
        "photo: most photos, an integer (default 20)."
    )


class NumberConfig(RangeConfig):
    unit: Absentable[Annotated[Text, Field(max_length=50)]] = optional(
        "Type number: unit of measurement, shown after the value."
    )
    decimal: Absentable[Annotated[int, Field(ge=0, le=MAX_DECIMALS), Strict(), AS_INTEGER]] = optional(
        "Type number: how many decimals a value may have (default: any)."
    )


class RatingConfig(RangeConfig):
    low_label: Absentable[ShortText] = optional("Type rating: what the lowest grade means.")
    high_label: Absentable[ShortText] = optional("Type rating: what the highest grade means.")


class NumberRules(StepRules[NumberConfig]):
    config = NumberConfig
    operators = EQUALITY | ORDER | LISTS | EXISTS
    compared = (int | float, "a number")
    is_number = True

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

    def display(self, step: StepOf[NumberConfig], value: Any) -> str:
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= MAX_NUMBER:
            return str(value)
        exact, decimal, unit = Decimal(str(value)), step.config.decimal, step.config.unit
        number = f"{exact:f}" if decimal is None else f"{exact:.{decimal}f}"
        return f"{number} {unit}" if unit else number


class Rating(StepRules[RatingConfig]):
    config = RatingConfig
    operators = NumberRules.operators
    compared = (int, "an integer")
    is_number = True

    def config_problems(self, step: StepOf[RatingConfig], path: str, unread: set[str]) -> Iterator[Problem]:
        if unread & RANGE:
            return
        problems = list(integer_problems(step.config, path))
        yield from problems
        low, high = rating_bounds(step)
        if not problems and not -MAX_RATING <= low <= high <= MAX_RATING:
            text = f"A rating needs -{MAX_RATING} <= min <= max <= {MAX_RATING}, not min {low}, max {high}."
            yield Problem(path, "out_of_range", text)

    def validate(self, step: StepOf[RatingConfig], value: Any) -> JsonValue:
        low, high = rating_bounds(step)
        number = _finite(value)
        if not isinstance(number, int):
            raise invalid("wrong_type", f"The answer must be an integer, not {number}.")
        if not low <= number <= high:
            raise invalid("out_of_range", f"The answer must be between {low} and {high}.")
        return number

    def display(self, step: StepOf[RatingConfig], value: Any) -> str:
        if not isinstance(value, int):
            return str(value)
        low, high = rating_bounds(step)
        label = {low: step.config.low_label, high: step.config.high_label}.get(value)
        return f"{value} of {high} ({label})" if label else f"{value} of {high}"


def rating_bounds(step: StepOf[RatingConfig]) -> tuple[int, int]:
    """Returns the lowest and highest grade of a rating step."""
    low, high = step.config.min, step.config.max
    return 1 if low is None else int(low), 5 if high is None else int(high)


def integer_problems(config: RangeConfig, path: str) -> Iterator[Problem]:
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
