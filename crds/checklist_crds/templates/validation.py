"""Validates template definitions, for REST, operator and tests.

All problems are reported at once: of fields (`structure`), of conditions (`condition_rules`), and here of steps and
across the template (contract sections 2 and 3).

Validation is strict where a run could not be completed or an answer not be validated, else lenient: a config field
without meaning for the step's type is kept and ignored (`strict` reports it), like `required`, `photo` and `geo` on an
instruction.

Codes of problems: missing, wrong_type, blank, invalid_text, pattern, unknown_value, too_long, too_many, too_few,
too_deep, out_of_range, duplicate_id, duplicate_option, identity_scope_mismatch, geo_not_captured, nothing_expected,
ambiguous_condition, invalid_reference, operator_not_allowed, value_type, unknown_option, unknown_field (strict),
more_problems.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from ..errors import Problem, ValidationFailed
from ..platform.weighted_lru import weight_of
from ..resources.template_definition import Definition, IdentityRequired, Scope, Step, StepConfig
from ..values.json_types import MAX_NUMBER, text_fault
from .condition_rules import Sources, condition_problems
from .structure import Location, Reading, path_of, read_structure, unknown_field_problems

MAX_PROBLEMS: Final = 100
"""A body of 256 KiB can contain a hundred thousand problems; the response must not."""
MAX_CONFIG_DEPTH: Final = 10


def parse_definition(data: Mapping[str, Any], *, strict: bool = False) -> Definition:
    """Parses a definition. Unknown fields are ignored, or refused if `strict`.

    Raises ValidationFailed with all problems in its details.
    """
    reading, problems = _examine(data, strict=strict)
    if reading.definition is None or problems:
        raise ValidationFailed("The template is not valid.", details=problems)
    return reading.definition


def canonical_size(data: Mapping[str, Any]) -> int:
    """Returns the size of a definition as compact JSON with all defaults, in bytes; an invalid one is sized as is."""
    reading, problems = _examine(data, strict=False)
    valid = reading.definition is not None and not problems
    return weight_of(reading.definition.to_tdl() if valid and reading.definition is not None else data)


def definition_problems(data: object, *, strict: bool = False) -> list[Problem]:
    """Returns all problems of a definition; empty for a valid one. Never raises."""
    return _examine(data, strict=strict)[1]


def runnable_problems(definition: Definition) -> list[Problem]:
    """Returns why a valid definition cannot be dispatched: without steps it can be stored, but not dispatched."""
    if any(True for _ in definition.steps()):
        return []
    return [Problem("sections", "template_not_runnable", "The template has no steps.")]


def _examine(data: object, *, strict: bool) -> tuple[Reading, list[Problem]]:
    reading = read_structure(data)
    problems = list(reading.problems)
    if reading.definition is not None:
        problems += _template_problems(reading.definition, reading.stand_ins)
        problems += _all_step_problems(reading.definition, reading.stand_ins)
    if strict:
        problems += unknown_field_problems(data)
        if reading.definition is not None:
            for location, step in _located_steps(reading.definition):
                if (*location, "type") not in reading.stand_ins:
                    problems += _meaningless_field_problems(step, path_of(location))
    if len(problems) > MAX_PROBLEMS:
        text = f"And at least {len(problems) - MAX_PROBLEMS} more problems."
        problems = [*problems[:MAX_PROBLEMS], Problem("", "more_problems", text)]
    return reading, problems


def _located_steps(definition: Definition) -> Iterator[tuple[Location, Step]]:
    for section_index, section in enumerate(definition.sections):
        for step_index, step in enumerate(section.steps):
            yield ("sections", section_index, "steps", step_index), step


def _template_problems(definition: Definition, stand_ins: frozenset[Location]) -> Iterator[Problem]:
    steps = _located_steps(definition)
    sections = [(("sections", index), section.id) for index, section in enumerate(definition.sections)]
    yield from _duplicates(sections, stand_ins, "section")
    yield from _duplicates([(location, step.id) for location, step in steps], stand_ins, "step")
    execution = definition.execution
    if (
        execution.scope is Scope.MEMBER
        and execution.identity_required is not IdentityRequired.MEMBER
        and ("execution", "identity_required") not in stand_ins
    ):
        text = "A scope of member needs identity_required: member."
        yield Problem("execution.identity_required", "identity_scope_mismatch", text)


def _duplicates(
    located: Iterable[tuple[Location, str]], stand_ins: frozenset[Location], kind: str
) -> Iterator[Problem]:
    first: dict[str, Location] = {}
    for location, identifier in located:
        if location in stand_ins or (*location, "id") in stand_ins:
            continue
        if identifier in first:
            text = f"The {kind} id {identifier} is used already at {path_of(first[identifier])}."
            yield Problem(path_of((*location, "id")), "duplicate_id", text)
        else:
            first[identifier] = location


def _all_step_problems(definition: Definition, stand_ins: frozenset[Location]) -> Iterator[Problem]:
    unread = _unread_fields(stand_ins)
    all_ids = frozenset(step.id for _, step in definition.steps())
    earlier: dict[str, Step | None] = {}
    for location, step in _located_steps(definition):
        fields = unread.get(location, set())
        if location not in stand_ins:
            yield from _step_problems(step, path_of(location), fields)
            if step.condition is not None:
                sources = Sources(earlier, step.id, all_ids)
                yield from condition_problems(step.condition, path_of((*location, "condition")), sources)
        # Of duplicate ids, the first one is used.
        earlier.setdefault(step.id, None if "type" in fields or location in stand_ins else step)


def _unread_fields(stand_ins: frozenset[Location]) -> dict[Location, set[str]]:
    """Returns the fields of each step that could not be parsed: `{"type", "config.max"}`."""
    fields: dict[Location, set[str]] = {}
    for location in stand_ins:
        if len(location) > 4:
            fields.setdefault(location[:4], set()).add(path_of(location[4:]))
    return fields


def _step_problems(step: Step, path: str, unread: set[str]) -> Iterator[Problem]:
    """Yields problems of a step whose single fields are valid.

    `unread` lists fields that are not (`type`, `photo`, `config`, `config.max`); rules that need them are skipped.
    """
    if step.geo_required and not step.geo and "geo" not in unread:
        yield Problem(f"{path}.geo_required", "geo_not_captured", "Needs geo: true, or no location is ever captured.")
    if step.photo and step.type.rules.adds_photos and step.photo.min > step.photo.max:
        yield Problem(f"{path}.photo.min", "out_of_range", "Must not be above photo.max.")
    if "config" not in unread:
        if "type" not in unread:
            yield from step.type.rules.config_problems(step, f"{path}.config", unread)
            yield from _expected_problems(step, f"{path}.config", unread)
        for name, value in (step.config.model_extra or {}).items():
            yield from _foreign_problems(name, value, f"{path}.config")


def _expected_problems(step: Step, path: str, unread: set[str]) -> Iterator[Problem]:
    rules, config = step.type.rules, step.config
    if "expected" not in rules.config_fields or "config.expected" in unread:
        return
    if config.expected is not None and not unread & {"config.min", "config.max", "config.options"}:
        yield from rules.expected_problems(step, config.expected, f"{path}.expected")
    asked = config.on_flag
    if asked is None:
        return
    if config.expected is None:
        yield Problem(f"{path}.on_flag", "nothing_expected", "Needs config.expected, or no answer is ever flagged.")
    if asked.photos is not None and asked.fewest_photos > asked.most_photos:
        yield Problem(f"{path}.on_flag.photos.min", "out_of_range", "Must not be above on_flag.photos.max.")


def _meaningless_field_problems(step: Step, path: str) -> Iterator[Problem]:
    """Yields config fields without meaning for the step's type, known or unknown (strict only)."""
    known = step.type.rules.config_fields
    for name in step.config.model_fields_set & StepConfig.model_fields.keys():
        if name not in known:
            text = f"Means nothing for a step of type {step.type.value}."
            yield Problem(f"{path}.config.{name}", "unknown_field", text)


def _foreign_problems(name: str, value: Any, path: str) -> Iterator[Problem]:
    """Yields problems of unknown config fields, which are kept and must therefore be storable JSON."""
    waiting: list[tuple[Any, int]] = [(name, 0), (value, 1)]
    while waiting:  # no recursion: input may be nested deeper than Python's stack
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
