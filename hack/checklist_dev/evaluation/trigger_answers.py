"""Translates a rubric's answer into values of a template's step: the stated ones, and all others."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from checklist_crds.resources.template_definition import Option, Step, StepType
from checklist_crds.step_types.number import rating_bounds

from .batches import Item, numbers
from .step_answers import means_no, means_yes
from .words import folded, says

_COMPARED: Final = re.compile(r"\s*(<=|>=|≤|≥|<|>)\s*(.+)")
_SIGNS: Final[dict[str, Callable[[float, float], bool]]] = {
    "<": lambda value, bound: value < bound,
    ">": lambda value, bound: value > bound,
    "<=": lambda value, bound: value <= bound,
    ">=": lambda value, bound: value >= bound,
    "≤": lambda value, bound: value <= bound,
    "≥": lambda value, bound: value >= bound,
}
_AT_MOST: Final = re.compile(
    r"max|hochst|bis|unter|nicht (uber|mehr( als)?)|weniger|below|under|less|<|≤|up to|at most|not (over|above|exceed)"
    r"|(no|not) more( than)?|hasta|menos de|no (super|mas( de)?)|por debajo|inferior|jusqu|moins de"
    r"|pas (depass|plus( de)?)"
)
_AT_LEAST: Final = re.compile(
    r"min\b|mind|minim|uber|mehr als|nicht (unter|weniger( als)?)|over|above|more than|at least|(no|not) (below|under)"
    r"|(no|not) less( than)?|>|≥|mas de|al menos|por lo menos|no (baj|menos( de)?)|por encima|superior|au moins|plus de"
    r"|pas moins( de)?"
)
_SUPPOSED: Final = re.compile(r"\b(if|when|wenn|falls|sobald|bei|si|cuando|quand|lorsque)\b[^.,;:]*$")
"""A limit after this is a case outside the limit."""
_GOOD: Final = re.compile(r"in ordnung|i\.o|gut|good|fine|bien|buen|bon|conform|pass|bestanden|intact|intakt")
_NEGATED: Final = re.compile(r"\b(no|not|never|without|free|kein\w*|nicht|ohne|sin|ningun\w*|pas|sans|aucun\w*|non)\b")


@dataclass(frozen=True, slots=True)
class Reading:
    """One interpretation of the answer: stated values, and other relevant ones. None: no answer."""

    stated: tuple[Any, ...]
    others: tuple[Any, ...]


def readings(trigger: Item, answers: Sequence[str], source: Step, prompt: str) -> list[Reading]:
    """Interpretations of the trigger item's answers on the step that serves it, possibly none."""
    match source.type:
        case StepType.BOOLEAN:
            return list(_of_boolean(trigger, answers, source))
        case StepType.CHOICE | StepType.MULTI_CHOICE:
            return list(_of_options(answers, source))
        case StepType.NUMBER | StepType.RATING:
            return list(_of_numbers(trigger, answers, source, prompt))
        case _:
            return [Reading((None,), ("x",)) if answers[0] == "no" else Reading(("x",), (None,))]


def _of_boolean(trigger: Item, answers: Sequence[str], source: Step) -> Iterator[Reading]:
    values = {_as_boolean(trigger, answer, source) for answer in answers}
    label = folded(source.label)
    is_negated = bool(_NEGATED.search(label)) and not _NEGATED.search(folded(trigger.say))
    is_negated |= any(f"un{word}" in label for word in re.split(r"[\s|]+", folded(trigger.say)))
    for value in (True, False):
        if values == {value} or None in values or is_negated:
            yield Reading((value,), (not value,))


def _as_boolean(trigger: Item, answer: str, source: Step) -> bool | None:
    """None: the step does not show which one it is."""
    if means_yes(answer) or means_no(answer):
        return means_yes(answer)
    true_label, false_label = source.config.true_label or "", source.config.false_label or ""
    if named := [label for label in (true_label, false_label) if says(label, answer)]:
        return min(named, key=len) == true_label  # `dicht` is in `undicht`, too
    if answer == "out":
        return None
    others = [option for option in trigger.options if option != answer]
    if says(source.label, answer) is not any(says(source.label, option) for option in others):
        return says(source.label, answer)
    return None


def _of_options(answers: Sequence[str], source: Step) -> Iterator[Reading]:
    options = source.config.options or []

    def value(option: Option) -> Any:
        return [option.id] if source.type is StepType.MULTI_CHOICE else option.id

    named = {option.id for answer in answers if (option := _option(answer, options)) is not None}
    sets = [named] if len(named) >= len(set(answers)) else []
    if not sets and any(answer in ("yes", "no", "out") for answer in answers):
        sets = [ids for option in options for ids in ({option.id}, {each.id for each in options} - {option.id})]
    for ids in sets:
        yield Reading(
            tuple(value(option) for option in options if option.id in ids),
            tuple(value(option) for option in options if option.id not in ids),
        )


def _option(answer: str, options: Sequence[Option]) -> Option | None:
    """The option that the answer names."""
    if answer in ("yes", "no"):
        bad = [option for option in options if means_no(option.label)]
        good = [option for option in options if option not in bad and (means_yes(option.label) or _is_good(option))]
        found = good if answer == "yes" else bad
        return found[0] if len(found) == 1 else None
    named = [option for option in options if says(option.label, answer)]
    return min(named, key=lambda option: len(option.label), default=None)


def _is_good(option: Option) -> bool:
    return _GOOD.search(folded(option.label)) is not None


def _of_numbers(trigger: Item, answers: Sequence[str], source: Step, prompt: str) -> Iterator[Reading]:
    known = [number for answer in answers for number in numbers(answer)]
    limit = sorted(numbers(trigger.limit or "")) if "out" in answers else []
    if set(answers) & {"yes", "no"}:
        yield from (Reading(*pair) if "yes" in answers else Reading(*pair[::-1]) for pair in _SOMETHING)
    elif known or limit:
        is_exact = any(re.match(r"\s*(<=|>=|≤|≥|-?\d)", answer) for answer in answers)
        probes = _probes([*known, *limit], is_exact=is_exact)
        if source.type is StepType.RATING:
            low, high = rating_bounds(source)
            probes = [float(grade) for grade in range(low, high + 1) if is_exact or grade not in known]
        for is_outside in _outside(limit, prompt):
            tests = [_test(answer, is_outside) for answer in answers]
            stated = tuple(probe for probe in probes if any(test(probe) for test in tests))
            if stated:
                yield Reading(stated, tuple(probe for probe in probes if probe not in stated))


_SOMETHING: Final[Sequence[tuple[tuple[Any, ...], tuple[Any, ...]]]] = (((1,), (0,)), ((1,), (None,)))


def _probes(bounds: Sequence[float], *, is_exact: bool) -> list[float]:
    """Values one unit of the last decimal around each number, and between them; the numbers themselves only if the
    side of a bound matters."""
    unit = 10.0 ** -max(len(f"{bound:g}".partition(".")[2]) for bound in bounds)
    found = {round(bound + sign * unit, 10) for bound in bounds for sign in (-1, 1)}
    found |= {(low + high) / 2 for low, high in pairwise(sorted(bounds))}
    return sorted(found | set(bounds) if is_exact else found - set(bounds))


def _test(answer: str, is_outside: Callable[[float], bool]) -> Callable[[float], bool]:
    if answer == "out":
        return is_outside
    if compared := _COMPARED.match(answer):
        sign, bound = _SIGNS[compared[1]], numbers(compared[2])[:1]
        return lambda value: bool(bound) and sign(value, bound[0])
    return lambda value: value in numbers(answer)


def _outside(limit: Sequence[float], prompt: str) -> Iterator[Callable[[float], bool]]:
    """Interpretations of outside the limit: both sides of two numbers, either side of one."""
    if len(limit) != 1:
        yield lambda value: bool(limit) and not limit[0] <= value <= limit[-1]
        return
    (bound,) = limit
    is_most, is_least = _says_direction(prompt, bound)
    if is_most or not is_least:
        yield lambda value: value > bound
    if is_least or not is_most:
        yield lambda value: value < bound


def _says_direction(prompt: str, bound: float) -> tuple[bool, bool]:
    """Whether the prompt names the number as a maximum, and as a minimum."""
    text = folded(prompt).replace(",", ".")
    said: set[bool] = set()
    for found in re.finditer(rf"(?<![\d.]){re.escape(f'{abs(bound):g}')}(?!\.?\d)", text):
        before = text[max(0, found.start() - 30) : found.start()]
        words = [
            (word.end(), word.end() - word.start(), is_most)
            for is_most, pattern in ((True, _AT_MOST), (False, _AT_LEAST))
            for word in pattern.finditer(before)
        ]
        if words:  # the last match, and `not below` over `below`
            said.add(max(words)[2] is not (_SUPPOSED.search(before) is not None))
    return True in said, False in said
