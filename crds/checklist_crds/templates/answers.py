"""What a step accepts as its answer, and how the answer reads (contract section 4).

`validate_value` gives the normal form that is stored and sent: integral floats as integers, options in the order of
the step, times in UTC. It is idempotent, and for whatever JSON it gets it raises AnswerInvalid or nothing.
"""

import math
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Final

from pydantic import JsonValue

from ..errors import AnswerInvalid, Problem
from ..resources.template_definition import Step, StepType
from ..times import parse_timestamp
from ..values.dates import normal_date, normal_datetime, normal_time
from ..values.json_types import MAX_NUMBER, has_visible_text, text_fault, tidy_number
from .step_bounds import option_ids, rating_bounds, selection_bounds
from .structure import json_type_name

MAX_TEXT: Final = 500
MAX_LONG_TEXT: Final = 4_000
MAX_SCAN: Final = 500
MAX_SIGNER_NAME: Final = 200
# What binary fractions leave behind (0.1 + 0.2 is 0.30000000000000004), relative to the value.
_FLOAT_NOISE: Final = Decimal("1e-14")


def validate_value(step: Step, value: Any) -> JsonValue:
    """The normal form of an answer's value. Raises AnswerInvalid with problems at `value`.

    By type: boolean true or false; number and rating a number; choice an option id; multi_choice a list of option
    ids; text and scan a string; date `2026-11-21`; time `13:50` (or with seconds); datetime RFC 3339, given back in
    UTC; photo null, the photos being the answer; signature `{name}`, given back as `{url, name, signed_at}` with the
    two that only the server knows null, whatever the client sent. An instruction takes no answer.
    """
    if step.type is StepType.INSTRUCTION:
        raise _invalid("no_answer", "An instruction takes no answer.")
    return _VALIDATORS[step.type](step, value)


def display_value(step: Step, value: Any) -> str:
    """The answer as a person would read it: labels instead of ids, numbers with their unit. Empty for null."""
    if value is None:
        return ""
    config = step.config
    match step.type, value:
        case StepType.BOOLEAN, bool():
            return (config.true_label or "Yes") if value else (config.false_label or "No")
        case StepType.NUMBER, int() | float() if abs(value) <= MAX_NUMBER and not isinstance(value, bool):
            exact = Decimal(str(value))
            number = f"{exact:f}" if config.decimal is None else f"{exact:.{config.decimal}f}"
            return f"{number} {config.unit}" if config.unit else number
        case StepType.RATING, int():
            return _display_rating(step, value)
        case StepType.CHOICE, str():
            return _labels(step).get(value, value)
        case StepType.MULTI_CHOICE, list():
            labels = _labels(step)
            return ", ".join(labels.get(str(item), str(item)) for item in value) or "None"
        case StepType.DATETIME, str():
            return _display_datetime(value)
        case StepType.SIGNATURE, {"name": str(name)}:
            return f"Signed by {name}"
        case _:
            return str(value)


def validate_geo(value: Any) -> dict[str, float | None] | None:
    """A location `{lat, lng, accuracy_m}` (degrees, metres; accuracy_m null when the device did not say), or None
    for None. Raises AnswerInvalid with problems at `geo`."""
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


# --- one validator for each type


def _invalid(code: str, text: str, path: str = "value") -> AnswerInvalid:
    return AnswerInvalid(text, details=[Problem(path, code, text)])


def _wrong_type(wanted: str, value: Any) -> AnswerInvalid:
    return _invalid("wrong_type", f"The answer must be {wanted}, not {json_type_name(value)}.")


def _boolean(_: Step, value: Any) -> JsonValue:
    if not isinstance(value, bool):
        raise _wrong_type("true or false", value)
    return value


def _number(step: Step, value: Any) -> JsonValue:
    number = _finite(value)
    config = step.config
    if config.decimal is not None:
        number = _rounded(number, config.decimal)
    if config.min is not None and number < config.min:
        raise _invalid("out_of_range", f"The answer must be at least {config.min}.")
    if config.max is not None and number > config.max:
        raise _invalid("out_of_range", f"The answer must be at most {config.max}.")
    return number


def _finite(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _wrong_type("a number", value)
    if isinstance(value, float) and not math.isfinite(value):
        raise _invalid("out_of_range", "The answer must be a finite number.")
    if abs(value) > MAX_NUMBER:
        raise _invalid("out_of_range", f"The answer must be between -{MAX_NUMBER} and {MAX_NUMBER}.")
    return tidy_number(value)


def _rounded(number: float, decimals: int) -> float:
    """The number without the noise of binary fractions; refused when it really has more decimals."""
    exact = Decimal(str(number))
    rounded = round(exact, decimals)
    if abs(exact - rounded) > abs(exact) * _FLOAT_NOISE:
        raise _invalid("too_many_decimals", f"The answer may have at most {decimals} decimals.")
    return number if exact == rounded else tidy_number(float(rounded))


def _rating(step: Step, value: Any) -> JsonValue:
    low, high = rating_bounds(step)
    number = _finite(value)
    if not isinstance(number, int):
        raise _invalid("wrong_type", f"The answer must be an integer, not {number}.")
    if not low <= number <= high:
        raise _invalid("out_of_range", f"The answer must be between {low} and {high}.")
    return number


def _choice(step: Step, value: Any) -> JsonValue:
    if not isinstance(value, str):
        raise _wrong_type("an option id", value)
    if value not in option_ids(step):
        raise _invalid("unknown_option", f"The step has no option {_quoted(value)}.")
    return value


def _multi_choice(step: Step, value: Any) -> JsonValue:
    if not isinstance(value, list):
        raise _wrong_type("a list of option ids", value)
    known = option_ids(step)
    for item in value:
        if not isinstance(item, str):
            raise _invalid("wrong_type", f"The answer must be a list of option ids, not of {json_type_name(item)}.")
        if item not in known:
            raise _invalid("unknown_option", f"The step has no option {_quoted(item)}.")
    chosen = set(value)
    if len(chosen) < len(value):
        raise _invalid("duplicate_option", "An option can be selected only once.")
    fewest, most = selection_bounds(step)
    if len(chosen) < fewest:
        raise _invalid("too_few", f"At least {fewest} must be selected.")
    if len(chosen) > most:
        raise _invalid("too_many", f"At most {most} can be selected.")
    return [option for option in known if option in chosen]


def _text(step: Step, value: Any) -> JsonValue:
    return _string(step, value, MAX_LONG_TEXT if step.config.multiline else MAX_TEXT)


def _scan(step: Step, value: Any) -> JsonValue:
    return _string(step, value, MAX_SCAN)


def _string(step: Step, value: Any, limit: int) -> str:
    if not isinstance(value, str):
        raise _wrong_type("a string", value)
    if len(value) > limit:
        raise _invalid("too_long", f"The answer may have at most {limit} characters, not {len(value)}.")
    if fault := text_fault(value):
        raise _invalid("invalid_text", f"The answer {fault}.")
    if step.required and not has_visible_text(value):
        raise _invalid("blank", "The answer must not be blank.")
    return value


def _photo(_: Step, value: Any) -> JsonValue:
    if value is not None:
        raise _wrong_type("null (its photos are the answer)", value)
    return None


def _signature(_: Step, value: Any) -> JsonValue:
    if not isinstance(value, Mapping):
        raise _wrong_type("an object with the signer's name", value)
    name = value.get("name")
    if not isinstance(name, str):
        code = "missing" if name is None else "wrong_type"
        raise _invalid(code, "The signer's name is required, as a string.", "value.name")
    if fault := text_fault(name):
        raise _invalid("invalid_text", f"The name {fault}.", "value.name")
    if not has_visible_text(name):
        raise _invalid("blank", "The name must not be blank.", "value.name")
    name = name.strip()
    if len(name) > MAX_SIGNER_NAME:
        raise _invalid("too_long", f"The name may have at most {MAX_SIGNER_NAME} characters.", "value.name")
    return {"url": None, "name": name, "signed_at": None}


def _moment(normal: Callable[[str], str], wanted: str) -> Callable[[Step, Any], JsonValue]:
    def validate(_: Step, value: Any) -> JsonValue:
        if not isinstance(value, str):
            raise _wrong_type(wanted, value)
        try:
            return normal(value)
        except ValueError:
            raise _invalid("invalid_format", f"The answer must be {wanted}.") from None

    return validate


_VALIDATORS: Final[Mapping[StepType, Callable[[Step, Any], JsonValue]]] = {
    StepType.BOOLEAN: _boolean,
    StepType.PHOTO: _photo,
    StepType.NUMBER: _number,
    StepType.CHOICE: _choice,
    StepType.TEXT: _text,
    StepType.RATING: _rating,
    StepType.MULTI_CHOICE: _multi_choice,
    StepType.DATE: _moment(normal_date, "a date like 2026-11-21"),
    StepType.TIME: _moment(normal_time, "a time like 13:50"),
    StepType.DATETIME: _moment(normal_datetime, "a moment with its zone like 2026-11-21T13:50:00Z"),
    StepType.SIGNATURE: _signature,
    StepType.SCAN: _scan,
}


def _quoted(text: str) -> str:
    return repr(text[:80])


# --- display


def _labels(step: Step) -> dict[str, str]:
    return {option.id: option.label for option in step.config.options or ()}


def _display_rating(step: Step, value: int) -> str:
    low, high = rating_bounds(step)
    label = {low: step.config.low_label, high: step.config.high_label}.get(value)
    return f"{value} of {high} ({label})" if label else f"{value} of {high}"


def _display_datetime(value: str) -> str:
    try:
        moment = parse_timestamp(value)
    except (ValueError, OverflowError):
        return value
    # Not strftime, which leaves out the zeros of years before 1000 on some systems.
    return moment.replace(tzinfo=None).isoformat(" ", "seconds" if moment.second else "minutes") + " UTC"
