"""Parses a template definition field by field and continues after errors.

pydantic stops using a part of a document at its first invalid field, but authors want all errors at once. So each
invalid part is replaced by a valid stand-in, the document is parsed again, and checks across fields run on the result,
without the stand-ins. A definition with stand-ins never leaves template validation.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from ..errors import Problem
from ..resources.step_condition import Clause, Comparison, Condition, When
from ..resources.template_definition import (
    MAX_SECTIONS,
    MAX_STEPS,
    PHOTO_TAGS,
    Definition,
    Execution,
    Option,
    PhotoBounds,
    Section,
    Settings,
    Step,
    StepConfig,
    StepType,
)
from ..step_types.expected import AUTHORED, EXPECTED_TAGS, ExpectedBounds, FlagPhotos, OnFlag
from ..values.json_types import JsonModel, json_type_name, text_fault, tidy_number

Location = tuple[str | int, ...]
"""Path in the document: `("sections", 0, "steps", 2, "label")`."""

_MAX_ROUNDS: Final = 8
_MAX_STAND_INS: Final = 1_000
"""Above this number of errors, checks across fields are skipped, since each replacement takes time."""
_TAGS: Final[Mapping[str, Sequence[str]]] = {"photo": PHOTO_TAGS, "expected": EXPECTED_TAGS}
"""Names that pydantic adds to paths: of the branches of fields with a union."""
_AUTHOR_ID_KINDS: Final = {"g": "section", "s": "step", "o": "option"}


@dataclass(frozen=True, slots=True)
class Reading:
    """A definition in which every part listed in `stand_ins` is a stand-in; None if nothing could be parsed."""

    definition: Definition | None
    problems: list[Problem]
    stand_ins: frozenset[Location]


def path_of(location: Location) -> str:
    """Formats a path: `sections[0].steps[2].label`."""
    text = ""
    for part in location:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text


def read_structure(data: object) -> Reading:
    """Parses `data` as far as possible, with one problem for each invalid field."""
    data, problems = _within_step_limit(data)
    stand_ins: set[Location] = set()
    for _ in range(_MAX_ROUNDS):
        try:
            return Reading(Definition.model_validate(data, context={AUTHORED: True}), problems, frozenset(stand_ins))
        except ValidationError as failure:
            errors = failure.errors(include_url=False)
        if len(problems) + len(errors) > _MAX_STAND_INS:
            problems += [_problem(_location(error), error) for error in errors[:_MAX_STAND_INS]]
            break
        for error in errors:
            location = _location(error)
            problems.append(_problem(location, error))
            site, stand_in = _stand_in(location, error)
            if site not in stand_ins:
                data = _replaced(data, site, stand_in)
                if error["type"] != "too_long" or not isinstance(error["input"], list):
                    stand_ins.add(site)
    return Reading(None, problems, frozenset(stand_ins))


def _within_step_limit(data: object) -> tuple[object, list[Problem]]:
    """Drops the steps beyond the limit: validating the 25,000 that fit into a body would take a second."""
    sections = data.get("sections") if isinstance(data, Mapping) else None
    if not isinstance(data, Mapping) or not isinstance(sections, list):
        return data, []
    problems: list[Problem] = []
    kept: list[object] = []
    room = MAX_STEPS
    count = 0
    for index, section in enumerate(sections[:MAX_SECTIONS]):
        steps = section.get("steps") if isinstance(section, Mapping) else None
        if isinstance(section, Mapping) and isinstance(steps, list):
            count += min(len(steps), MAX_STEPS)
            if len(steps) > MAX_STEPS:
                text = f"Has at most {MAX_STEPS} entries, not {len(steps)}."
                problems.append(Problem(path_of(("sections", index, "steps")), "too_many", text))
            kept.append({**section, "steps": steps[:room]} if len(steps) > room else section)
            room = max(0, room - len(steps))
        else:
            kept.append(section)
    if count > MAX_STEPS:
        text = f"A template has at most {MAX_STEPS} steps in all sections together, not {count}."
        problems.append(Problem("sections", "too_many", text))
    return ({**data, "sections": kept + sections[MAX_SECTIONS:]} if problems else data), problems


def _location(error: ErrorDetails) -> Location:
    location = error["loc"]
    return tuple(
        part for index, part in enumerate(location) if not (index and part in _TAGS.get(str(location[index - 1]), ()))
    )


# --- stand-ins


def _stand_in(location: Location, error: ErrorDetails) -> tuple[Location, Any]:
    """Returns the smallest replaceable part around `location` and its stand-in (None: leave it out)."""
    if error["type"] == "too_long" and isinstance(error["input"], list):
        return location, error["input"][: error["ctx"]["max_length"]]
    match location:
        case ("sections", int(), "steps", int(), "config", str(), *_):
            return location[:6], None
        case ("sections", int(), "steps", int(), *rest):
            return location[:5], _step_stand_in(rest[0] if rest else None, location)
        case ("sections", int(), *rest):
            return location[:3], _section_stand_in(rest[0] if rest else None, location)
        case ("settings" | "execution", str(), *_):
            return location[:2], None
        case (field, *_):
            return location[:1], {"name": "?", "sections": []}.get(str(field))
        case _:
            return (), {"name": "?", "sections": []}


def _step_stand_in(field: str | int | None, location: Location) -> Any:
    whole = {"id": f"s-__{location[1]}_{location[3]}", "type": StepType.INSTRUCTION.value, "label": "?"}
    return whole if field is None else whole.get(str(field))


def _section_stand_in(field: str | int | None, location: Location) -> Any:
    whole = {"id": f"g-__{location[1]}", "title": "?", "steps": []}
    return whole if field is None else whole.get(str(field))


def _replaced(data: Any, site: Location, value: Any) -> Any:
    """Returns a copy of `data` with another value at `site`; copies only the containers on the path."""
    if not site:
        return value
    head, rest = site[0], site[1:]
    if isinstance(data, Mapping):
        return {**data, head: _replaced(data.get(head), rest, value)}
    if isinstance(data, Sequence) and not isinstance(data, str) and isinstance(head, int) and head < len(data):
        return [*data[:head], _replaced(data[head], rest, value), *data[head + 1 :]]
    return data  # an enclosing part was replaced before


# --- messages


_WANTED: Final = {
    "string_type": "a string",
    "bool_type": "true or false",
    "int_type": "an integer",
    "float_type": "a number",
    "list_type": "a list",
    "model_type": "an object",
    "model_attributes_type": "an object",
    "dict_type": "an object",
}
_OWN_CODES: Final = {"text_too_long": "too_long"}


def _problem(location: Location, error: ErrorDetails) -> Problem:
    code, message = _words(location, error)
    return Problem(path_of(location), code, message)


def _words(location: Location, error: ErrorDetails) -> tuple[str, str]:
    kind, value, context = error["type"], error["input"], error.get("ctx", {})
    if kind == "missing":
        return "missing", f"{_field_name(location)} is required."
    if kind in _WANTED:
        return "wrong_type", f"Must be {_WANTED[kind]}, not {_shown(kind, value)}."
    if kind == "enum":
        return "unknown_value", f"Must be one of {_listed(context['expected'])}."
    if kind in {"too_long", "string_too_long"}:
        limit = context["max_length"]
        if isinstance(value, str):
            return "too_long", f"Has at most {limit} characters, not {len(value)}."
        return "too_many", f"Has at most {limit} entries, not {len(value)}."
    if kind == "too_short":
        return "too_few", "Must not be empty."
    if kind in {"string_too_short", "string_pattern_mismatch", "string_unicode"} and isinstance(value, str):
        return _text_words(value, str(context.get("pattern", "")))
    if kind in {"greater_than_equal", "less_than_equal"}:
        word, bound = ("least", "ge") if kind == "greater_than_equal" else ("most", "le")
        return "out_of_range", f"Must be at {word} {tidy_number(context[bound])}."
    if kind == "finite_number":
        return "out_of_range", "Must be a finite number."
    # Our own validators use the code as type.
    return _OWN_CODES.get(kind, kind), f"{error['msg'][0].upper()}{error['msg'][1:]}."


def _field_name(location: Location) -> str:
    return str(location[-1]) if location else "The definition"


def _shown(kind: str, value: object) -> str:
    return str(value) if kind == "int_type" and isinstance(value, float) else json_type_name(value)


def _listed(expected: str) -> str:
    return expected.replace("'", "").replace(" or ", ", ")


def _text_words(value: str, pattern: str) -> tuple[str, str]:
    if fault := text_fault(value):
        return "invalid_text", f"Text {fault}."
    for prefix, kind in _AUTHOR_ID_KINDS.items():
        if pattern.startswith(f"^{prefix}-"):
            return "pattern", f"A {kind} id is {prefix}- and 1 to 64 of the characters A-Z a-z 0-9 _ and -."
    return "blank", "Must not be blank."


# --- unknown fields

_CHILDREN: Final[Mapping[type[JsonModel], Mapping[str, type[JsonModel]]]] = {
    Definition: {"settings": Settings, "sections": Section, "execution": Execution},
    Section: {"steps": Step},
    Step: {"photo": PhotoBounds, "condition": Condition, "config": StepConfig},
    StepConfig: {"options": Option, "expected": ExpectedBounds, "on_flag": OnFlag},
    OnFlag: {"photos": FlagPhotos},
    Condition: {"when": When},
    When: {"all": Clause, "any": Clause},
    Clause: {"all": Comparison, "any": Comparison},
}


def unknown_field_problems(data: object, model: type[JsonModel] = Definition, location: Location = ()) -> list[Problem]:
    """Returns a problem for each unknown field; `read_structure` reports what is not an object."""
    if isinstance(data, list):
        items = [(index, item) for index, item in enumerate(data) if isinstance(item, Mapping)]
        return [problem for index, item in items for problem in unknown_field_problems(item, model, (*location, index))]
    if not isinstance(data, Mapping):
        return []
    known = model.model_fields
    problems = [
        Problem(path_of((*location, str(key))), "unknown_field", f"There is no field {str(key)[:100]!r} here.")
        for key in data
        if key not in known
    ]
    for name, child in _CHILDREN.get(model, {}).items():
        if name in data:
            problems += unknown_field_problems(data[name], child, (*location, name))
    return problems
