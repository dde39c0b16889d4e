"""Suppositions about numbers: `above 8 °C`, `below 3`, `out of range`."""

from checklist_crds.condition_types import Operator
from checklist_crds.template_types import StepType

from ..draft import DraftComparison, DraftCondition, DraftStep
from ..naming import label_of
from .quantities import amount_at, bounds_in
from .supposed import Source, content_of, content_of_label, words_of
from .words import Span


def by_number(supposed: Span, near: list[DraftStep]) -> DraftCondition | None:
    numbers = [step for step in near if step.type in {StepType.NUMBER, StepType.RATING}]
    if not numbers:
        return None
    about = content_of(supposed)
    comparison = _comparison(supposed)
    if comparison is None:
        return _beyond_bounds(supposed, numbers, about)
    op, value, unit, other = comparison
    if not value.is_integer():
        numbers = [step for step in numbers if step.type is StepType.NUMBER]  # grades are integers
    # A number of people is in no unit.
    candidates = [
        step for step in numbers if unit is None or step.unit == unit or (step.unit is None and step.decimal is None)
    ]
    if not candidates and unit:  # measured before, without saying in what
        unsaid = [step for step in numbers if step.unit is None and step.decimal is None]
        shared = [len(about & content_of_label(step.label, supposed)) for step in unsaid]
        if any(shared):
            step = unsaid[shared.index(max(shared))]
            step.unit, candidates = unit, [step]
    named = [step for step in candidates if about & content_of_label(step.label, supposed)]
    if not candidates or (
        not named and unit is None and not supposed.has("pronoun") and about and candidates[0] is not near[0]
    ):
        return None
    step = max(named, key=lambda item: len(about & content_of_label(item.label, supposed))) if named else candidates[0]
    if step.type is StepType.NUMBER:
        step.unit = step.unit or unit
    comparisons = [DraftComparison(step, op, value)]
    if other is not None:
        comparisons.append(DraftComparison(step, other[0], other[1]))
    return DraftCondition(comparisons, any_of=other is not None and op is Operator.LT)


def by_count(supposed: Span, near: list[DraftStep]) -> DraftCondition | None:
    """`Number of loose rivets`, `if any rivet is loose`: more than none was counted."""
    if not supposed.has("anything", "finds", "bad", "there") or _comparison(supposed) is not None:
        return None
    about = content_of(supposed)
    for step in near:
        if step.type is not StepType.NUMBER or step.unit is not None or step.decimal != 0:
            continue
        label = words_of(step.label, supposed)
        counted = label.find("count") or label.find("how_much")
        if counted is not None and about & content_of(label.sub(counted[1])):
            none = supposed.has("not") and not label.has("not")
            return DraftCondition([DraftComparison(step, Operator.EQ if none else Operator.GT, 0.0)])
    return None


def _comparison(supposed: Span) -> tuple[Operator, float, str | None, tuple[Operator, float] | None] | None:
    """The operator and the number: `above 8 °C`; for a range two of each."""
    for position in range(len(supposed)):
        amount = amount_at(supposed, position)
        if amount is None:
            continue
        bounds = bounds_in(supposed, position)
        if bounds and bounds.minimum is not None and bounds.maximum is not None:
            if supposed.has("not", "outside"):
                return Operator.LT, bounds.minimum, bounds.unit, (Operator.GT, bounds.maximum)
            return Operator.GTE, bounds.minimum, bounds.unit, (Operator.LTE, bounds.maximum)
        for role, op in (("after_number_least", Operator.GTE), ("after_number_most", Operator.LTE)):
            if supposed.at(role, amount.end):
                return op, amount.value, amount.unit, None
        for role, op in (
            ("at_least", Operator.GTE),
            ("at_most", Operator.LTE),
            ("below", Operator.LT),
            ("above", Operator.GT),
        ):
            for back in range(min(5, position), 0, -1):
                if supposed.at(role, position - back) == back or (
                    back <= position
                    and supposed.at(role, position - back)
                    and position - back + supposed.at(role, position - back) == position
                ):
                    return op, amount.value, amount.unit, None
        if supposed.has("below"):
            return Operator.LT, amount.value, amount.unit, None
        if supposed.has("above"):
            return Operator.GT, amount.value, amount.unit, None
        return Operator.EQ, amount.value, amount.unit, None
    return None


def _beyond_bounds(supposed: Span, numbers: list[DraftStep], about: set[str]) -> DraftCondition | None:
    high, low, outside = supposed.has("too_high"), supposed.has("too_low"), supposed.has("outside")
    if not (high or low or outside):
        return None
    named = [step for step in numbers if about & content_of_label(step.label, supposed)]
    step = (named or numbers)[0]
    comparisons = []
    if step.minimum is not None and (low or outside):
        comparisons.append(DraftComparison(step, Operator.LT, step.minimum))
    if step.maximum is not None and (high or outside):
        comparisons.append(DraftComparison(step, Operator.GT, step.maximum))
    return DraftCondition(comparisons, any_of=True) if comparisons else None


def by_new_number(supposed: Span) -> Source | None:
    """`if the temperature is above 8 °C`, when nothing measured it: then it has to be measured."""
    comparison = _comparison(supposed)
    if comparison is None or (comparison[2] is None and not supposed.has("number_noun")):
        return None
    op, value, unit, other = comparison
    bounds = bounds_in(supposed)
    rest = supposed.without(bounds.start, bounds.end) if bounds else supposed
    while len(rest) > 1 and rest.at("article"):
        rest = rest.sub(rest.at("article"))
    kind = bounds.kind if bounds else None
    noun = supposed.words.language.quantities.get(kind or "", "")
    label = label_of(
        rest.text
        if len(rest) and rest.has("number_noun")
        else f"{rest.text} {noun}"
        if not rest.has("pronoun")
        else noun
    )
    if not label:
        return None
    step = DraftStep(label, StepType.NUMBER, unit=unit, subject=rest.text)
    comparisons = [DraftComparison(step, op, value)]
    if other is not None:
        comparisons.append(DraftComparison(step, other[0], other[1]))
    return Source(DraftCondition(comparisons, any_of=other is not None and op is Operator.LT), step)
