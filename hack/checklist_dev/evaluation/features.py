"""Compares a step of a template with the expected features."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from checklist_crds.resources.step_condition import Comparison
from checklist_crds.resources.template_definition import Condition, Definition, Section, Step, StepType
from checklist_crds.step_types.number import rating_bounds
from checklist_crds.templates.conditions import applicable_step_ids, comparisons_of

from .cases import ExpectedStep
from .words import folded, says


@dataclass(frozen=True, slots=True)
class Feature:
    """One expected feature; `found` is the share that is present, 0 to 1."""

    name: str
    found: float


@dataclass(frozen=True, slots=True)
class Given:
    """An answer."""

    value: Any
    photos: Sequence[Any] = ()
    geo: Any = None
    flagged: bool | None = None
    note: str | None = None


_NOTHING: Final = Given(None)


def means(expected: ExpectedStep, step: Step) -> bool:
    """Whether the step can be the expected one: it has its words."""
    return says(f"{step.label} {step.hint or ''}", expected.say)


def step_features(expected: ExpectedStep, section: Section, step: Step, definition: Definition) -> Iterator[Feature]:
    """The step as a feature, and the expected features of it."""
    what = expected.say or expected.type or "a step"
    yield Feature(f"step {what!r}", 1)
    for name, holds in _judged(expected, section, step, definition):
        yield Feature(f"{what!r}: {name}", float(holds))


def _judged(
    expected: ExpectedStep, section: Section, step: Step, definition: Definition
) -> Iterator[tuple[str, bool | float]]:
    if expected.type is not None:
        yield f"type {expected.type}", step.type.value in expected.type.split("|")
    if expected.section is not None:
        yield f"in section {expected.section!r}", says(section.title, expected.section)
    for name in ("geo", "required"):
        wanted = getattr(expected, name)
        if wanted is not None:
            yield f"{name} {wanted}", getattr(step, name) is wanted
    if expected.hint is not None:
        yield f"says {expected.hint!r}", says(f"{step.label} {step.hint or ''}", expected.hint)
    if expected.when is not None:
        yield f"when {expected.when or 'always'}", _condition_fits(expected.when, step, definition)
    yield from _judged_config(expected, step)


def _judged_config(expected: ExpectedStep, step: Step) -> Iterator[tuple[str, bool | float]]:
    if expected.unit is not None:
        yield f"unit {expected.unit}", _unit_fits(expected.unit, step)
    for name, bound, number in zip(("min", "max"), (expected.min, expected.max), _bounds(step), strict=True):
        if bound is not None:
            yield f"{name} {bound}", _bound_fits(bound, number)
    for name, pattern, label in (
        ("lowest", expected.low, step.config.low_label),
        ("highest", expected.high, step.config.high_label),
    ):
        if pattern is not None:
            yield f"{name} grade {pattern!r}", says(label or "", pattern)
    if expected.options is not None:
        yield f"options {expected.options}", _options_share(expected.options, step)
    if expected.multiline is not None:
        yield f"multiline {expected.multiline}", bool(step.config.multiline) is expected.multiline
    bounds = step.photo_bounds
    if expected.photos is not None:
        yield f"photos {expected.photos}", bounds is not None and expected.photos in ("any", bounds.min)
    if expected.photos_max is not None:
        yield f"at most {expected.photos_max} photos", bounds is not None and bounds.max == expected.photos_max


def _bounds(step: Step) -> tuple[float | None, float | None]:
    if step.type is StepType.RATING:
        return rating_bounds(step)
    return step.config.min, step.config.max


def _bound_fits(wanted: float | str, bound: float | None) -> bool:
    if wanted == "none" or bound is None:
        return wanted == "none" and bound is None
    return abs(bound - float(wanted)) < 1e-6


def _unit_fits(wanted: str, step: Step) -> bool:
    unit = folded(step.config.unit or "").replace(" ", "").rstrip(".")
    return unit in {"" if each == "none" else folded(each).replace(" ", "") for each in wanted.split("|")}


def _options_share(wanted: Sequence[str], step: Step) -> float:
    labels = [option.label for option in step.config.options or ()]
    found = 0
    left = list(labels)
    for pattern in wanted:
        label = min((label for label in left if says(label, pattern)), key=len, default=None)
        if label is not None:
            left.remove(label)
            found += 1
    return found / max(len(wanted), len(labels))


def _condition_fits(wanted: Sequence[Sequence[Any]], step: Step, definition: Definition) -> bool:
    if not wanted:
        return step.condition is None
    if step.condition is None:
        return False
    comparisons = list(comparisons_of(step.condition.when))
    sources = {each.id: each for _, each in definition.steps()}
    for comparison in comparisons:
        source = sources[comparison.step]
        mine = [each for each in comparisons if each.step == source.id]
        for words, applies, applies_not in wanted:
            if (
                says(source.label, str(words))
                and _applies(source, mine, step, applies)
                and not _applies(source, mine, step, applies_not)
            ):
                return True
    return False


def _applies(source: Step, comparisons: Sequence[Comparison], step: Step, answer: Any) -> bool:
    """Whether the step applies with this answer to its source, ignoring other steps of its condition."""
    any_of = step.condition is not None and step.condition.when.any is not None
    clauses = [each.model_dump(mode="json") for each in comparisons]
    condition = Condition.model_validate({"when": {"any" if any_of else "all": clauses}})
    pair = Definition(
        name="pair",
        sections=[
            Section(
                id="g-pair",
                title="pair",
                steps=[
                    source.model_copy(update={"condition": None}),
                    step.model_copy(update={"condition": condition}),
                ],
            )
        ],
    )
    given = Given(None, photos=["photo"]) if source.type is StepType.PHOTO else Given(_value(source, answer))
    return step.id in applicable_step_ids(pair, {source.id: given if answer is not None else _NOTHING}, ())


def _value(source: Step, answer: Any) -> Any:
    """The answer as stored in a run: the id of the option whose label has the words."""
    if source.type not in (StepType.CHOICE, StepType.MULTI_CHOICE):
        return answer
    named = [option for option in source.config.options or () if says(option.label, str(answer))]
    identifier = min(named, key=lambda option: len(option.label)).id if named else "o-nothing"
    return [identifier] if source.type is StepType.MULTI_CHOICE else identifier
