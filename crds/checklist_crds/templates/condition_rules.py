"""Whether a condition makes sense: its form, its source, its operator and its value (contract section 3).

A source is always an earlier step, so there are no cycles, and one pass in order decides which steps apply.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from ..errors import Problem
from ..resources.condition import MAX_COMPARISONS, Clause, Comparison, Condition, Operator, When
from ..resources.template_definition import Step, StepType
from ..values.dates import normal_date, normal_datetime, normal_time
from .step_bounds import option_ids

_EQUALITY: Final = frozenset({Operator.EQ, Operator.NE})
_ORDER: Final = frozenset({Operator.GT, Operator.GTE, Operator.LT, Operator.LTE})
_LISTS: Final = frozenset({Operator.IN, Operator.NOT_IN})
_CONTAINMENT: Final = frozenset({Operator.CONTAINS, Operator.NOT_CONTAINS})
_EXISTS: Final = frozenset({Operator.EXISTS})

OPERATORS: Final[Mapping[StepType, frozenset[Operator]]] = {
    StepType.BOOLEAN: _EQUALITY | _EXISTS,
    StepType.NUMBER: _EQUALITY | _ORDER | _LISTS | _EXISTS,
    StepType.RATING: _EQUALITY | _ORDER | _LISTS | _EXISTS,
    StepType.CHOICE: _EQUALITY | _LISTS | _EXISTS,
    StepType.MULTI_CHOICE: _CONTAINMENT | _EXISTS,
    StepType.TEXT: _EQUALITY | _CONTAINMENT | _EXISTS,
    StepType.SCAN: _EQUALITY | _CONTAINMENT | _EXISTS,
    StepType.DATE: _EQUALITY | _ORDER | _EXISTS,
    StepType.TIME: _EQUALITY | _ORDER | _EXISTS,
    StepType.DATETIME: _EQUALITY | _ORDER | _EXISTS,
    StepType.PHOTO: _EXISTS,
    StepType.SIGNATURE: _EXISTS,
    StepType.INSTRUCTION: frozenset(),
}


@dataclass(frozen=True, slots=True)
class Sources:
    """What a condition of one step may refer to. A step that is None is there, but of unknown type."""

    earlier: Mapping[str, Step | None]
    own_id: str
    all_ids: Collection[str]


def condition_problems(condition: Condition, path: str, sources: Sources) -> Iterator[Problem]:
    """What is wrong with a condition whose fields fit one by one; `path` is the condition's."""
    when, path = condition.when, f"{path}.when"
    comparisons = 0
    for part, part_path in _parts(when, path):
        form = _form_problem(part, part_path)
        if form:
            yield form
        elif part.all is None and part.any is None:
            comparisons += 1
            yield from _comparison_problems(part, part_path, sources)
        elif isinstance(part, Clause):
            for comparison, comparison_path in _members(part, part_path):
                comparisons += 1
                yield from _comparison_problems(comparison, comparison_path, sources)
    if comparisons > MAX_COMPARISONS:
        yield Problem(path, "too_many", f"A condition has at most {MAX_COMPARISONS} comparisons, not {comparisons}.")


def _parts(when: When, path: str) -> Iterator[tuple[When | Clause, str]]:
    """The condition itself, and the parts of its groups."""
    yield when, path
    for name, clauses in (("all", when.all), ("any", when.any)):
        for index, clause in enumerate(clauses or ()):
            yield clause, f"{path}.{name}[{index}]"


def _members(clause: Clause, path: str) -> Iterator[tuple[Comparison, str]]:
    for name, comparisons in (("all", clause.all), ("any", clause.any)):
        for index, comparison in enumerate(comparisons or ()):
            yield comparison, f"{path}.{name}[{index}]"


def _form_problem(part: When | Clause, path: str) -> Problem | None:
    compares = any(field is not None for field in (part.step, part.op, part.value))
    forms = compares + (part.all is not None) + (part.any is not None)
    if forms == 1:
        return None
    code = "missing" if forms == 0 else "ambiguous_condition"
    return Problem(path, code, "Must be one of: a comparison with step, op and value; all; any.")


def _comparison_problems(part: When | Clause | Comparison, path: str, sources: Sources) -> Iterator[Problem]:
    for name in ("step", "op", "value"):
        if getattr(part, name) is None:
            yield Problem(f"{path}.{name}", "missing", f"{name} is required.")
    if part.step is None:
        return
    if part.step not in sources.earlier:
        yield Problem(f"{path}.step", "invalid_reference", _reference_text(part.step, sources))
        return
    source = sources.earlier[part.step]
    if source is None or part.op is None:
        return
    if part.op not in OPERATORS[source.type]:
        yield Problem(f"{path}.op", "operator_not_allowed", _operator_text(part.op, source))
    elif part.value is not None and (fault := _value_fault(part.op, part.value, source)):
        yield Problem(f"{path}.value", *fault)


def _reference_text(step_id: str, sources: Sources) -> str:
    if step_id == sources.own_id:
        return "A step cannot depend on its own answer."
    if step_id in sources.all_ids:
        return f"{step_id} comes later; a condition refers to an earlier step."
    return f"There is no step {step_id} in this template."


def _operator_text(op: Operator, source: Step) -> str:
    allowed = [operator.value for operator in Operator if operator in OPERATORS[source.type]]
    if not allowed:
        return f"{source.id} is an instruction; it takes no answer that could be compared."
    return f"{source.id} is a {source.type.value} step; {op.value} is not for it, but: {', '.join(allowed)}."


def _value_fault(op: Operator, value: Any, source: Step) -> tuple[str, str] | None:
    if op is Operator.EXISTS:
        return None if isinstance(value, bool) else ("value_type", "exists is compared with true or false.")
    if op not in _LISTS:
        return _scalar_fault(value, source)
    if not isinstance(value, list) or not value:
        return "value_type", f"{op.value} needs a list of at least one value."
    return next((fault for item in value if (fault := _scalar_fault(item, source))), None)


def _scalar_fault(value: Any, source: Step) -> tuple[str, str] | None:
    match source.type:
        case StepType.BOOLEAN:
            fits = isinstance(value, bool)
            wanted = "true or false"
        case StepType.NUMBER:
            fits = isinstance(value, int | float) and not isinstance(value, bool)
            wanted = "a number"
        case StepType.RATING:
            fits = isinstance(value, int) and not isinstance(value, bool)
            wanted = "an integer"
        case StepType.DATE:
            fits, wanted = _is_form(normal_date, value), "a date like 2026-11-21"
        case StepType.TIME:
            fits, wanted = _is_form(normal_time, value), "a time like 13:50"
        case StepType.DATETIME:
            fits, wanted = _is_form(normal_datetime, value), "a moment with its zone like 2026-11-21T13:50:00Z"
        case StepType.CHOICE | StepType.MULTI_CHOICE:
            return _option_fault(value, source)
        case _:
            fits, wanted = isinstance(value, str), "a string"
    return None if fits else ("value_type", f"{source.id} is a {source.type.value} step; the value must be {wanted}.")


def _option_fault(value: Any, source: Step) -> tuple[str, str] | None:
    if not isinstance(value, str):
        return "value_type", f"{source.id} is a {source.type.value} step; the value must be an option id."
    if source.config.options and value not in option_ids(source):
        return "unknown_option", f"{source.id} has no option {value[:100]}."
    return None


def _is_form(normal: Callable[[str], str], value: Any) -> bool:
    try:
        return isinstance(value, str) and bool(normal(value))
    except ValueError:
        return False
