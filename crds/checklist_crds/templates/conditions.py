"""Evaluates which steps apply, which are answered, and which are missing (contract section 3).

Three terms, from wide to narrow:

- a step *has a value* when there is something to compare: a value, for a photo step at least one photo, for text and
  scan something visible;
- a step *is answered* when it has a value, enough photos, and its location if required; if the answer is outside what
  is expected, also the note and the photos that are asked for then;
- a step *applies* when its condition holds. Conditions compare values, so that a follow-up question appears at once and
  does not wait for the photos of its source step.

Sources are earlier steps only, so one pass in order suffices. All functions expect a valid definition; a comparison
between incompatible values is false.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from ..resources.step_condition import Clause, Comparison, When
from ..resources.template_definition import Definition, Step
from ..step_types.base import AnswerLike, Operator
from ..values.json_types import has_visible_text


@dataclass(frozen=True, slots=True)
class Progress:
    """Counts over the steps that apply now and take an answer (specification, "Run", `progress`)."""

    total: int
    answered: int
    skipped: int


_NOTHING: Final = object()


def applicable_step_ids(
    definition: Definition, answers: Mapping[str, AnswerLike], skipped: Collection[str]
) -> frozenset[str]:
    """Returns the ids of steps whose condition holds now, including instructions."""
    applicable: dict[str, Step] = {}
    given: dict[str, Any] = {}

    def value_of(step_id: str) -> Any:
        if step_id not in given:
            step, answer = applicable.get(step_id), answers.get(step_id)
            given[step_id] = _NOTHING
            if step is not None and answer is not None and step_id not in skipped and step.type.rules.has_value(answer):
                given[step_id] = answer.value
        return given[step_id]

    def holds(part: When | Clause | Comparison) -> bool:
        if isinstance(part, Comparison):
            return _compare(applicable.get(part.step), part.op, part.value, value_of(part.step))
        if part.all is not None:
            return all(holds(member) for member in part.all)
        if part.any is not None:
            return any(holds(member) for member in part.any)
        if part.step is None or part.op is None:
            return False
        return _compare(applicable.get(part.step), part.op, part.value, value_of(part.step))

    for step in definition.all_steps:
        if step.condition is None or holds(step.condition.when):
            applicable[step.id] = step
    return frozenset(applicable)


def comparisons_of(part: When | Clause | Comparison) -> Iterator[Comparison]:
    """Yields all comparisons of a condition, in order."""
    if isinstance(part, Comparison):
        yield part
    elif part.step is not None:
        yield Comparison(step=part.step, op=part.op, value=part.value)
    else:
        for each in part.all or part.any or ():
            yield from comparisons_of(each)


def is_answered(step: Step, answer: AnswerLike | None) -> bool:
    """Whether the answer is complete: value, required photos and location, and what is asked of a flagged answer."""
    if answer is None or not step.type.rules.has_value(answer):
        return False
    bounds = step.photo_bounds
    if bounds is not None and len(answer.photos) < bounds.min:
        return False
    return (not step.geo_required or answer.geo is not None) and flag_gap(step, answer) is None


def flag_gap(step: Step, answer: AnswerLike | None) -> Literal["note", "photos"] | None:
    """Returns what a flagged answer lacks of what the step asks for then, or None."""
    asked = step.on_flag
    if asked is None or answer is None or not answer.flagged:
        return None
    if asked.note and not has_visible_text(answer.note or ""):
        return "note"
    return "photos" if len(answer.photos) < asked.fewest_photos else None


def flagged_steps(definition: Definition, answers: Mapping[str, AnswerLike], skipped: Collection[str]) -> list[Step]:
    """Returns the steps that apply now and have a flagged answer, in order."""
    if not any(answer.flagged for answer in answers.values()):
        return []
    found = [(step, answers.get(step.id)) for step in _answerable(definition, answers, skipped)]
    return [step for step, answer in found if answer is not None and answer.flagged and step.id not in skipped]


def progress(definition: Definition, answers: Mapping[str, AnswerLike], skipped: Collection[str]) -> Progress:
    """Returns the progress of a run. A skipped step does not count as answered."""
    steps = _answerable(definition, answers, skipped)
    left = [step for step in steps if step.id not in skipped]
    answered = sum(is_answered(step, answers.get(step.id)) for step in left)
    return Progress(total=len(steps), answered=answered, skipped=len(steps) - len(left))


def missing_required(definition: Definition, answers: Mapping[str, AnswerLike], skipped: Collection[str]) -> list[Step]:
    """Returns the steps that prevent completion, in order: required ones that are not answered, and those with a
    flagged answer without its note or photos."""
    return [
        step
        for step in _answerable(definition, answers, skipped)
        if (step.required and (step.id in skipped or not is_answered(step, answers.get(step.id))))
        or (step.id not in skipped and flag_gap(step, answers.get(step.id)) is not None)
    ]


def _answerable(definition: Definition, answers: Mapping[str, AnswerLike], skipped: Collection[str]) -> list[Step]:
    applicable = applicable_step_ids(definition, answers, skipped)
    return [step for step in definition.all_steps if step.id in applicable and step.type.rules.takes_answer]


def _compare(source: Step | None, op: Operator, wanted: Any, given: Any) -> bool:
    """Evaluates one comparison. `given` is _NOTHING when the source is unanswered, skipped or does not apply."""
    if op is Operator.EXISTS:
        return (given is not _NOTHING) is wanted
    if source is None or given is _NOTHING:
        return False
    match op:
        case Operator.IN | Operator.NOT_IN:
            if not isinstance(wanted, list):
                return False
            found = any(_order(source, given, item) == 0 for item in wanted)
            return found is (op is Operator.IN)
        case Operator.CONTAINS | Operator.NOT_CONTAINS:
            # Membership for options, substring (case matters) for text.
            if not isinstance(wanted, str) or not isinstance(given, str | list):
                return False
            return (wanted in given) is (op is Operator.CONTAINS)
        case _:
            order = _order(source, given, wanted)
            return order is not None and _ORDERS[op](order)


_ORDERS: Final = {
    Operator.EQ: lambda order: order == 0,
    Operator.NE: lambda order: order != 0,
    Operator.GT: lambda order: order > 0,
    Operator.GTE: lambda order: order >= 0,
    Operator.LT: lambda order: order < 0,
    Operator.LTE: lambda order: order <= 0,
}


def _order(source: Step, given: Any, wanted: Any) -> int | None:
    """Returns -1, 0 or 1 if `given` is before, equal to or after `wanted`; None if they cannot be compared."""
    sort_key = source.type.rules.sort_key
    left, right = sort_key(given), sort_key(wanted)
    if left is None or right is None or (isinstance(left, str) is not isinstance(right, str)):
        return None
    return int(left > right) - int(left < right)
