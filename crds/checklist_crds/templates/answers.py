"""Validates and formats answers (contract section 4).

`validate_value` returns the normal form that is stored and sent: integral floats as integers, options in the order of
the step, times in UTC. It is idempotent, and raises only AnswerInvalid for any JSON.
"""

from collections.abc import Mapping
from datetime import date
from typing import Any

from pydantic import JsonValue

from ..errors import AnswerInvalid, Problem
from ..resources.template_definition import Step
from ..step_types.display_text import ENGLISH, DisplayText
from ..values.json_types import MAX_NUMBER, json_type_name, tidy_number


def validate_value(step: Step, value: Any) -> JsonValue:
    """Returns the normal form of an answer's value. Raises AnswerInvalid with problems at `value`."""
    return step.type.rules.validate(step, value)


def display_value(step: Step, value: Any, words: DisplayText = ENGLISH) -> str:
    """Formats the answer for people: labels instead of ids, numbers with their unit. Empty for null."""
    return "" if value is None else step.type.rules.display(step, value, words)


def is_flagged(step: Step, value: Any, today: date) -> bool:
    """Whether a valid value is outside what the step expects. `today`: the day of the answer."""
    expected = step.config.expected
    if not step.expects or expected is None or value is None:
        return False
    return not step.type.rules.is_expected(expected, value, today)


def expected_text(step: Step, words: DisplayText = ENGLISH) -> str:
    """Formats what the step expects for people; empty if it expects nothing."""
    expected = step.config.expected
    return step.type.rules.expected_text(step, expected, words) if step.expects and expected is not None else ""


def validate_geo(value: Any) -> dict[str, float | None] | None:
    """Returns a location `{lat, lng, accuracy_m}` (degrees, metres; accuracy_m null if unknown), or None for None.
    Raises AnswerInvalid with problems at `geo`."""
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise AnswerInvalid(details=[Problem("geo", "wrong_type", f"Must be an object, not {json_type_name(value)}.")])
    problems: list[Problem] = []
    location: dict[str, float | None] = {}
    for name, low, high in (("lat", -90, 90), ("lng", -180, 180), ("accuracy_m", 0, MAX_NUMBER)):
        number = value.get(name)
        if number is None and name == "accuracy_m":
            location[name] = None
        elif number is None:
            problems.append(Problem(f"geo.{name}", "missing", f"{name} is required."))
        elif isinstance(number, bool) or not isinstance(number, int | float):
            text = f"Must be a number, not {json_type_name(number)}."
            problems.append(Problem(f"geo.{name}", "wrong_type", text))
        elif not low <= number <= high:
            problems.append(Problem(f"geo.{name}", "out_of_range", f"Must be between {low} and {high}."))
        else:
            location[name] = tidy_number(number)
    if problems:
        raise AnswerInvalid("The location is not valid.", details=problems)
    return location
