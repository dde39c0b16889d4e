"""What the fields of one step must say about each other: its config, by type
(`step_types`), and what its author added (contract section 2).

Strict where a run could not be completed or an answer not be judged, lenient otherwise: a config field that means
nothing for the step's type is kept and ignored (`strict` reports it), and so are `required`, `photo` and `geo` on an
instruction, which takes no answer.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ..errors import Problem
from ..resources.template_definition import Step, StepConfig
from ..values.json_types import MAX_NUMBER, text_fault

MAX_CONFIG_DEPTH: Final = 10


def step_problems(step: Step, path: str, unread: set[str]) -> Iterator[Problem]:
    """What is wrong with a step whose fields fit one by one.

    `unread` names fields that did not (`type`, `photo`, `config`, `config.max`); rules that need them are left out.
    """
    if step.geo_required and not step.geo and "geo" not in unread:
        yield Problem(f"{path}.geo_required", "geo_not_captured", "Needs geo: true, or no location is ever captured.")
    if step.photo and step.type.rules.adds_photos and step.photo.min > step.photo.max:
        yield Problem(f"{path}.photo.min", "out_of_range", "Must not be above photo.max.")
    if "config" not in unread:
        if "type" not in unread:
            yield from step.type.rules.config_problems(step, f"{path}.config", unread)
        for name, value in (step.config.model_extra or {}).items():
            yield from _foreign_problems(name, value, f"{path}.config")


def meaningless_field_problems(step: Step, path: str) -> Iterator[Problem]:
    """Config fields that mean nothing for the step's type, known ones of other types among them (strict only)."""
    known = step.type.rules.config_fields
    for name in step.config.model_fields_set & StepConfig.model_fields.keys():
        if name not in known:
            text = f"Means nothing for a step of type {step.type.value}."
            yield Problem(f"{path}.config.{name}", "unknown_field", text)


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
