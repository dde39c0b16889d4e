"""Judges the answer that a step accepts for an item: type, options, bounds, unit, limit, photos."""

import re
from collections.abc import Iterator
from typing import Final

from checklist_crds.resources.template_definition import Step, StepType
from checklist_crds.step_types.expected import ExpectedBounds
from checklist_crds.step_types.number import rating_bounds

from .batches import Item, numbers
from .findings import Finding, cost, harm, misfit, worst
from .words import folded, says

_TYPES: Final = {
    "yes": {StepType.BOOLEAN},
    "number": {StepType.NUMBER},
    "text": {StepType.TEXT},
    "date": {StepType.DATE, StepType.TIME, StepType.DATETIME},
    "one": {StepType.CHOICE},
    "many": {StepType.MULTI_CHOICE},
    "rating": {StepType.RATING},
    "photo": {StepType.PHOTO},
    "sign": {StepType.SIGNATURE},
    "geo": set[StepType](),
    "scan": {StepType.SCAN},
    "info": {StepType.INSTRUCTION, StepType.BOOLEAN},
}
_TICKS: Final = {StepType.BOOLEAN, StepType.INSTRUCTION}
"""Steps whose answer has no value."""
_VALUES: Final = {"number", "text", "date", "one", "many", "rating", "scan"}
_YES: Final = re.compile(r"(yes|y|ja|si|oui|ok|okay)\b")
_NO: Final = re.compile(r"(no|n|nein|non|nicht|not|pas|kein\w*)\b")
_PHOTO_WORDS: Final = "photo|foto|picture|bild|imagen|image"


def text_of(step: Step) -> str:
    """The step's label and hint."""
    return f"{step.label} {step.hint or ''}"


def means_yes(text: str) -> bool:
    return bool(_YES.match(folded(text)))


def means_no(text: str) -> bool:
    return bool(_NO.match(folded(text)))


def takes(kind: str, step: Step, *, optional: bool = False) -> bool:
    """Whether the step has the type `kind`."""
    if kind == "photo" and (bounds := step.photo_bounds) is not None:
        return bounds.min >= 1 or optional
    return step.geo if kind == "geo" else step.type in _TYPES[kind]


def answer_findings(item: Item, step: Step) -> list[Finding]:
    """All findings about the answer that the step accepts for the item."""
    types = type_findings(item, step)
    findings = types + list(_shown(item, step)) + list(_photos(item, step))
    if worst(types) == 0:
        findings += [*_options(item, step), *_bounds(item, step)]
    return findings


def type_findings(item: Item, step: Step) -> list[Finding]:
    """Empty if the step's type is accepted, else the least severe finding."""
    if any(takes(kind, step, optional=item.optional) for kind in item.kinds):
        return []
    return [min((_wrong_type(kind, item, step) for kind in item.kinds), key=lambda finding: finding.weight)]


def _wrong_type(kind: str, item: Item, step: Step) -> Finding:
    what = f"{item.say!r} asks for {item.type}, the step {step.label!r} is {step.type.value}"
    is_tick, is_text = step.type in _TICKS, step.type is StepType.TEXT
    if kind == "sign":
        harmless = is_text or step.type is StepType.PHOTO
        return misfit("type", what) if harmless else harm("signature", what)
    if kind == "photo" and step.photo_bounds is not None:
        return misfit("type", f"{what}, whose photos are optional")
    if kind == "photo":
        return harm("value_as_tick" if is_tick else "type", what)
    if kind in ("one", "many"):
        return _wrong_choice(kind, item, step, what)
    if is_tick and (kind in _VALUES or kind == "geo"):
        return harm("value_as_tick", what)
    return misfit("type", what)


def _wrong_choice(kind: str, item: Item, step: Step, what: str) -> Finding:
    if step.type in (StepType.CHOICE, StepType.MULTI_CHOICE):
        if missing := missing_options(item, step):
            return harm("options", f"{what}, without {missing}")
        return harm("options", what) if kind == "many" else misfit("options", what)
    if step.type is StepType.TEXT:
        missing = [option for option in item.options if not says(text_of(step), option)]
        return harm("options", f"{what}, without {missing}") if missing else misfit("options", what)
    if kind == "one" and step.type is StepType.BOOLEAN and shows_opposites(item, step):
        return misfit("options", what)
    if step.type in _TICKS:
        return harm("value_as_tick", what)
    return harm("options", f"{what}, without any options")


def shows_opposites(item: Item, step: Step) -> bool:
    """Whether a boolean's yes and no stand for the item's two options."""
    if len(item.options) != 2:
        return False
    one, other = item.options
    labels = (step.config.true_label or "", step.config.false_label or "")
    if any(labels):
        return any(says(labels[0], a) and says(labels[1], b) for a, b in ((one, other), (other, one)))
    if any((means_yes(a) and means_no(b)) or _negates(b, a) for a, b in ((one, other), (other, one))):
        return True
    return says(step.label, one) or says(step.label, other)


def _negates(text: str, other: str) -> bool:
    return text != other and (text.endswith(other) or (means_no(text) and other in text))


def missing_options(item: Item, step: Step) -> list[str]:
    """The rubric's options without an option in the step; each option counts once."""
    left = [option.label for option in step.config.options or ()]
    missing = []
    for wanted in sorted(item.options, key=len, reverse=True):
        label = min((label for label in left if says(label, wanted)), key=len, default=None)
        if label is None:
            missing.append(wanted)
        else:
            left.remove(label)
    return missing


def _options(item: Item, step: Step) -> Iterator[Finding]:
    if not item.options or step.type not in (StepType.CHOICE, StepType.MULTI_CHOICE):
        return
    labels = [option.label for option in step.config.options or ()]
    if missing := missing_options(item, step):
        yield harm("options", f"{item.say!r}: the options {labels} lack {missing}")
    elif len(labels) > len(item.options):
        yield misfit("options", f"{item.say!r}: too many options, {labels}")


def _bounds(item: Item, step: Step) -> Iterator[Finding]:
    low, high = step.config.min, step.config.max
    if step.type is StepType.RATING and item.range is not None and rating_bounds(step) != item.range:
        yield misfit("bound", f"{item.say!r}: rated from {rating_bounds(step)}, not {item.range}")
    if step.type is not StepType.NUMBER:
        return
    if item.range is None:
        bounds = [bound for bound in (None if low == 0 else low, high) if bound is not None]
        if bounds:
            yield harm("bound", f"{item.say!r}: the step {step.label!r} rejects values beyond {bounds}")
    elif low not in (None, item.range[0]) or high not in (None, item.range[1]):
        yield harm("bound", f"{item.say!r}: the step {step.label!r} accepts {low} to {high}, not {item.range}")


def _shown(item: Item, step: Step) -> Iterator[Finding]:
    """The unit and the limit must be shown."""
    if item.unit is not None and not _has_unit(item.unit, step):
        yield cost("unit", f"{item.say!r}: no unit {item.unit} in {step.label!r}")
    shown, wanted = ({abs(number) for number in numbers(each)} for each in (text_of(step), item.limit or ""))
    if item.limit is not None and not (wanted <= shown if wanted else says(text_of(step), item.limit)):
        yield cost("limit", f"{item.say!r}: {step.label!r} does not show {item.limit}")
    expected = step.config.expected
    if isinstance(expected, ExpectedBounds):
        bounds = {abs(bound) for bound in (expected.min, expected.max) if bound is not None}
        if not bounds <= wanted:
            yield misfit("limit", f"{item.say!r}: {step.label!r} expects {sorted(bounds)}, not {item.limit}")


def _has_unit(unit: str, step: Step) -> bool:
    own = folded(step.config.unit or "").replace(" ", "").rstrip(".")
    for alternative in unit.split("|"):
        sign = folded(alternative).replace("_", " ")
        if own == sign.replace(" ", "").rstrip("."):
            return True
        end = "" if len(sign) > 2 else r"(?!\w)"  # `min` matches `minutes`, `m` must not
        if re.search(rf"(?<![^\W\d]){re.escape(sign)}{end}", folded(text_of(step))):
            return True
    return False


def _photos(item: Item, step: Step) -> Iterator[Finding]:
    """`photos` must be attached to the step, or be the step."""
    bounds = step.photo_bounds
    if not item.photos or (bounds is None and "photo" in item.kinds):
        return
    if bounds is None:
        is_shown = says(text_of(step), _PHOTO_WORDS)
        what = f"{item.say!r}: the step {step.label!r} accepts no photos"
        yield misfit("lost", what) if is_shown else harm("lost", what)
    elif bounds.max < item.photos:
        yield misfit("bound", f"{item.say!r}: at most {bounds.max} photos, not {item.photos}")
    elif bounds.min < item.photos and not item.optional:
        yield cost("required", f"{item.say!r}: {bounds.min} photos suffice, not {item.photos}")
