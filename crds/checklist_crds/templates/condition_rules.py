"""Validates conditions: form, source, operator and value (contract section 3).

A source is always an earlier step, so there are no cycles, and one pass in order decides which steps apply.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import Problem
from ..resources.step_condition import MAX_COMPARISONS, Clause, Comparison, Condition, When
from ..resources.template_definition import Step
from ..step_types.base import LISTS, Operator


@dataclass(frozen=True, slots=True)
class Sources:
    """The steps that a condition of one step may refer to. None: a step of unknown type."""

    earlier: Mapping[str, Step | None]
    own_id: str
    all_ids: Collection[str]


def condition_problems(condition: Condition, path: str, sources: Sources) -> Iterator[Problem]:
    """Yields problems of a condition whose single fields are valid; `path` is the condition's."""
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
    """Yields the condition itself and the parts of its groups."""
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
    if part.op not in source.type.rules.operators:
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
    allowed = [operator.value for operator in Operator if operator in source.type.rules.operators]
    if not allowed:
        return f"{source.id} is an instruction; it takes no answer that could be compared."
    return f"{source.id} is a {source.type.value} step; {op.value} is not for it, but: {', '.join(allowed)}."


def _value_fault(op: Operator, value: Any, source: Step) -> tuple[str, str] | None:
    if op is Operator.EXISTS:
        return None if isinstance(value, bool) else ("value_type", "exists is compared with true or false.")
    comparison_fault = source.type.rules.comparison_fault
    if op not in LISTS:
        return comparison_fault(source, value)
    if not isinstance(value, list) or not value:
        return "value_type", f"{op.value} needs a list of at least one value."
    return next((fault for item in value if (fault := comparison_fault(source, item))), None)
