"""What the fields of one step must say about each other: its config, by type (contract section 2).

Strict where a run could not be completed or an answer not be judged, lenient otherwise: a config field that means
nothing for the step's type is kept and ignored (`strict` reports it), and so are `required`, `photo` and `geo` on an
instruction, which takes no answer.
"""

from collections.abc import Collection, Iterator, Mapping
from decimal import ROUND_CEILING, Decimal
from typing import Any, Final

from ..errors import Problem
from ..resources.template_definition import MAX_PHOTOS_PER_STEP, MAX_RATING, Step, StepConfig, StepType
from ..values.json_types import MAX_NUMBER, text_fault
from .step_bounds import DEFAULT_RATING, photo_step_bounds, selection_bounds

MAX_CONFIG_DEPTH: Final = 10

CONFIG_FIELDS: Final[Mapping[StepType, frozenset[str]]] = {
    StepType.BOOLEAN: frozenset({"true_label", "false_label"}),
    StepType.PHOTO: frozenset({"min", "max"}),
    StepType.NUMBER: frozenset({"unit", "min", "max", "decimal"}),
    StepType.CHOICE: frozenset({"options"}),
    StepType.MULTI_CHOICE: frozenset({"options", "min_selected", "max_selected"}),
    StepType.TEXT: frozenset({"multiline", "placeholder"}),
    StepType.RATING: frozenset({"min", "max", "low_label", "high_label"}),
    StepType.SCAN: frozenset({"placeholder"}),
}


def step_problems(step: Step, path: str, unread: Collection[str] = ()) -> Iterator[Problem]:
    """What is wrong with a step whose fields fit one by one.

    `unread` names fields that did not (`type`, `photo`, `config`, `config.max`); rules that need them are left out.
    """
    if step.geo_required and not step.geo and "geo" not in unread:
        yield Problem(f"{path}.geo_required", "geo_not_captured", "Needs geo: true, or no location is ever captured.")
    if step.photo and step.type not in {StepType.PHOTO, StepType.INSTRUCTION} and step.photo.min > step.photo.max:
        yield Problem(f"{path}.photo.min", "out_of_range", "Must not be above photo.max.")
    if "config" not in unread:
        if "type" not in unread:
            yield from _config_problems(step, f"{path}.config", unread)
        for name, value in (step.config.model_extra or {}).items():
            yield from _foreign_problems(name, value, f"{path}.config")


def meaningless_field_problems(step: Step, path: str) -> Iterator[Problem]:
    """Config fields that mean nothing for the step's type, known ones of other types among them (strict only)."""
    known = CONFIG_FIELDS.get(step.type, frozenset())
    for name in step.config.model_fields_set & StepConfig.model_fields.keys():
        if name not in known:
            text = f"Means nothing for a step of type {step.type.value}."
            yield Problem(f"{path}.config.{name}", "unknown_field", text)


def _config_problems(step: Step, path: str, unread: Collection[str]) -> Iterator[Problem]:
    bounds_read = not {"config.min", "config.max"} & set(unread)
    match step.type:
        case StepType.PHOTO if bounds_read and "photo" not in unread:
            yield from _photo_step_problems(step, path)
        case StepType.RATING if bounds_read:
            yield from _rating_problems(step, path)
        case StepType.NUMBER if bounds_read:
            yield from _number_problems(step.config, path)
        case StepType.CHOICE | StepType.MULTI_CHOICE if "config.options" not in unread:
            yield from _option_problems(step, path)
            if step.type is StepType.MULTI_CHOICE and not {"config.min_selected", "config.max_selected"} & set(unread):
                yield from _selection_problems(step, path)


def _integer_problems(config: StepConfig, path: str) -> Iterator[Problem]:
    for name, value in (("min", config.min), ("max", config.max)):
        if isinstance(value, float):
            yield Problem(f"{path}.{name}", "wrong_type", f"Must be an integer, not {value}.")


def _photo_step_problems(step: Step, path: str) -> Iterator[Problem]:
    problems = list(_integer_problems(step.config, path))
    yield from problems
    smallest, largest = photo_step_bounds(step)
    if not problems and not (0 <= smallest <= largest and 1 <= largest <= MAX_PHOTOS_PER_STEP):
        wanted = f"0 <= min <= max and 1 <= max <= {MAX_PHOTOS_PER_STEP}"
        yield Problem(path, "out_of_range", f"A photo step needs {wanted}, not min {smallest}, max {largest}.")


def _rating_problems(step: Step, path: str) -> Iterator[Problem]:
    problems = list(_integer_problems(step.config, path))
    yield from problems
    if problems:
        return
    low = DEFAULT_RATING[0] if step.config.min is None else step.config.min
    high = DEFAULT_RATING[1] if step.config.max is None else step.config.max
    if not -MAX_RATING <= low <= high <= MAX_RATING:
        text = f"A rating needs -{MAX_RATING} <= min <= max <= {MAX_RATING}, not min {low}, max {high}."
        yield Problem(path, "out_of_range", text)


def _number_problems(config: StepConfig, path: str) -> Iterator[Problem]:
    if config.min is None or config.max is None:
        return
    if config.min > config.max:
        yield Problem(f"{path}.min", "out_of_range", "Must not be above config.max.")
    elif config.decimal is not None:
        unit = Decimal(1).scaleb(-config.decimal)
        first = (Decimal(str(config.min)) / unit).to_integral_value(ROUND_CEILING) * unit
        if first > Decimal(str(config.max)):
            text = f"No number with {config.decimal} decimals lies between {config.min} and {config.max}."
            yield Problem(f"{path}.decimal", "out_of_range", text)


def _option_problems(step: Step, path: str) -> Iterator[Problem]:
    options = step.config.options
    if options is None:
        yield Problem(f"{path}.options", "missing", f"A {step.type.value} step needs options to choose from.")
    elif not options:
        yield Problem(f"{path}.options", "too_few", f"A {step.type.value} step needs at least one option.")
    seen: set[str] = set()
    for index, option in enumerate(options or ()):
        if option.id in seen:
            text = f"The option id {option.id} is used twice in this step."
            yield Problem(f"{path}.options[{index}].id", "duplicate_id", text)
        seen.add(option.id)


def _selection_problems(step: Step, path: str) -> Iterator[Problem]:
    count = len(step.config.options or ())
    fewest, most = selection_bounds(step)
    if not count:
        return  # reported as missing options
    if most > count:
        yield Problem(f"{path}.max_selected", "out_of_range", f"Must not be above the number of options, {count}.")
    if fewest > min(most, count):
        text = f"Must not be above {min(most, count)}, the most options that can be selected."
        yield Problem(f"{path}.min_selected", "out_of_range", text)


def _foreign_problems(name: str, value: Any, path: str) -> Iterator[Problem]:
    """Config fields that TDL does not know are kept as they are, so they must be JSON that can be kept."""
    waiting: list[tuple[Any, int]] = [(name, 0), (value, 1)]
    while waiting:  # no recursion: what somebody sent may be nested deeper than Python's stack
        item, depth = waiting.pop()
        if fault := _foreign_fault(item, depth):
            yield Problem(f"{path}.{name}", *fault)
            return
        if isinstance(item, Mapping):
            waiting += [(key, depth) for key in item] + [(child, depth + 1) for child in item.values()]
        elif isinstance(item, list):
            waiting += [(child, depth + 1) for child in item]


def _foreign_fault(item: Any, depth: int) -> tuple[str, str] | None:
    if depth > MAX_CONFIG_DEPTH:
        return "too_deep", f"May be nested at most {MAX_CONFIG_DEPTH} levels deep."
    if isinstance(item, str) and (fault := text_fault(item)):
        return "invalid_text", f"Text {fault}."
    if isinstance(item, int | float) and not -MAX_NUMBER <= item <= MAX_NUMBER:
        return "out_of_range", f"Numbers must be finite and between -{MAX_NUMBER} and {MAX_NUMBER}."
    return None
