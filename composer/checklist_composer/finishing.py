"""Converts a draft to a definition: ids, limits and defaults."""

from dataclasses import dataclass
from math import ceil, floor
from typing import Any, Final

from checklist_crds.resources.step_condition import MAX_COMPARISONS
from checklist_crds.resources.template_definition import (
    MAX_OPTIONS,
    MAX_PHOTOS_PER_STEP,
    MAX_SECTIONS,
    MAX_STEPS,
    MAX_TITLE,
    Definition,
    Operator,
    StepType,
)
from checklist_crds.templates.validation import parse_definition

from .draft import CHOICES, Draft, DraftComparison, DraftCondition, DraftStep
from .language import Language, language_of
from .naming import cut, id_part, label_of, visible


@dataclass(frozen=True, slots=True)
class Finished:
    """A definition, and the draft's steps with their ids, in order."""

    definition: Definition
    steps: list[tuple[str, DraftStep]]


_MAX_NAME: Final = 120
_NAMED: Final = 3
"""Number of parts in a generated name."""
_SHORT: Final = 4
_MAX_NUMBER: Final = 1e15
_MAX_ALL_COMPARISONS: Final = 2_000
"""In all steps together: ten in each of 500 steps would exceed the request limit."""


def finish(draft: Draft) -> Finished:
    """The definition; always valid if the draft has a step."""
    finisher = _Finisher(draft)
    definition = parse_definition(finisher.document())
    return Finished(
        definition, [(finisher.step_ids[id(step)], step) for step in draft.steps() if id(step) in finisher.step_ids]
    )


class _Finisher:
    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.language: Language = language_of(draft.locale)
        self.step_ids: dict[int, str] = {}
        self.options: dict[int, dict[str, str]] = {}
        self.comparisons = 0
        self.compared: dict[int, list[dict[str, Any]]] = {}
        """Comparisons by the identity of their condition, which several steps may share."""

    def document(self) -> dict[str, Any]:
        """The definition as a JSON object."""
        texts = self.language.texts
        sections: list[dict[str, Any]] = []
        used_sections: dict[str, int] = {}
        used_steps: dict[str, int] = {}
        count = 0
        for section in self.draft.sections:
            steps = [step for step in section.steps if visible(step.label)][: MAX_STEPS - count]
            if not steps or len(sections) == MAX_SECTIONS:
                continue
            count += len(steps)
            title = cut(label_of(section.title or self.draft.name or texts["section"]), 200)[0] or texts["section"]
            sections.append(
                {
                    "id": "g-" + id_part(title, used_sections, "section"),
                    "title": title if visible(title) else texts["section"],
                    "steps": [self._step(step, used_steps) for step in steps],
                }
            )
        name = cut(label_of(self.draft.name or self._name()), _MAX_NAME)[0]
        return {
            "name": name if visible(name) else texts["checklist"],
            "tags": [tag[:64] for tag in dict.fromkeys(self.draft.tags) if visible(tag)][:50],
            "settings": {
                "allow_skip": bool(self.draft.allow_skip),
                "signature_on_complete": bool(self.draft.signature_on_complete),
                "est_minutes": self.draft.est_minutes
                or max(1, round(sum(_minutes(step) for step in self.draft.steps()))),
            },
            "execution": {
                "scope": "any",
                "identity_required": "external" if self.draft.identity_required else "none",
            },
            "sections": sections,
        }

    def _name(self) -> str:
        """A name from the titles of sections, else from the first subjects."""
        titles = [section.title for section in self.draft.sections if section.title and section.steps]
        if titles:
            return ", ".join(titles[:_NAMED])
        subjects = [step.subject or step.label for step in self.draft.steps()]
        short = [label_of(subject) for subject in subjects if len(subject.split()) <= _SHORT] or [
            self.draft.steps()[0].label
        ]
        first, others = (
            short[0],
            [
                # German nouns keep their capitals.
                item[:1].lower() + item[1:] if item[1:2].islower() and self.draft.locale != "de" else item
                for item in short[1:_NAMED]
            ],
        )
        return ", ".join([first, *others])

    def _step(self, step: DraftStep, used: dict[str, int]) -> dict[str, Any]:
        if step.type in CHOICES and not any(map(visible, step.options)):
            step.type = StepType.TEXT
        label, rest = cut(step.label, MAX_TITLE)
        identifier = "s-" + id_part(label, used, "step")
        self.step_ids[id(step)] = identifier
        hint = " ".join(part for part in (step.hint, rest) if part)[:1_000]
        document: dict[str, Any] = {
            "id": identifier,
            "type": step.type.value,
            "label": label,
            "required": _required(step),
            "geo": step.geo and step.type.rules.takes_answer,
            "config": self._config(step),
        }
        if hint:
            document["hint"] = hint
        if step.photo and step.type.rules.adds_photos:
            fewest = min(max(step.photo[0], 0), MAX_PHOTOS_PER_STEP)
            most = (
                MAX_PHOTOS_PER_STEP
                if step.photo[1] is None
                else min(max(step.photo[1], fewest, 1), MAX_PHOTOS_PER_STEP)
            )
            document["photo"] = {"min": fewest, "max": most}
        if step.condition and (condition := self._condition(step.condition)):
            document["condition"] = condition
        return document

    def _config(self, step: DraftStep) -> dict[str, Any]:
        low, high = step.minimum, step.maximum
        match step.type:
            case StepType.PHOTO:
                low = min(max(int(low or 1), 1), MAX_PHOTOS_PER_STEP)
                high = None if high is None else min(max(int(high), low), MAX_PHOTOS_PER_STEP)
            case StepType.RATING:
                low, high = int(1 if low is None else low), int(5 if high is None else high)
            case _:
                low, high = _bounded(low), _bounded(high)
        bounds = zip(("min", "max"), map(_bounded, step.expected), strict=True)
        config = {
            "expected": {name: bound for name, bound in bounds if bound is not None} or None,
            "unit": step.unit and step.unit[:50],
            "min": low,
            "max": high,
            "decimal": step.decimal,
            "low_label": step.low_label and step.low_label[:200],
            "high_label": step.high_label and step.high_label[:200],
            "multiline": step.multiline,
            "options": self._options(step) if step.type in CHOICES else None,
        }
        known = step.type.rules.config_fields
        return {key: value for key, value in config.items() if key in known and value is not None}

    def _options(self, step: DraftStep) -> list[dict[str, str]]:
        used: dict[str, int] = {}
        known = self.options.setdefault(id(step), {})
        for option in step.options[:MAX_OPTIONS]:
            label = cut(option.strip(), 190)[0]
            if visible(label) and label not in known:
                known[label] = "o-" + id_part(label, used, "option")
        return [{"id": identifier, "label": label} for label, identifier in known.items()]

    def _condition(self, condition: DraftCondition) -> dict[str, Any] | None:
        parts = self.compared.get(id(condition))
        if parts is None:
            comparisons = condition.comparisons[:MAX_COMPARISONS]
            parts = [part for comparison in comparisons if (part := self._comparison(comparison))]
            if len(parts) == len(comparisons):  # else a step it refers to may follow
                self.compared[id(condition)] = parts
        self.comparisons += len(parts)
        if self.comparisons > _MAX_ALL_COMPARISONS:
            return None
        if len(parts) < 2:
            return {"when": parts[0]} if parts else None
        return {"when": {"any" if condition.any_of else "all": parts}}

    def _comparison(self, comparison: DraftComparison) -> dict[str, Any] | None:
        """The comparison; None if its step has no id (yet), or an answer that cannot be compared so."""
        source, op = comparison.step, comparison.op
        identifier = self.step_ids.get(id(source))
        if identifier is None or op not in source.type.rules.operators:
            return None
        value = comparison.value
        if op is Operator.EXISTS:
            return {"step": identifier, "op": op.value, "value": bool(value)}
        values = [self._value(source, op, item) for item in (value if isinstance(value, list) else [value])]
        known = [item for item in values if item is not None]
        if not known:
            return None
        many = op in {Operator.IN, Operator.NOT_IN}
        return {"step": identifier, "op": op.value, "value": known if many else known[0]}

    def _value(self, source: DraftStep, op: Operator, value: object) -> object:
        match source.type:
            case StepType.CHOICE | StepType.MULTI_CHOICE:
                return self.options.get(id(source), {}).get(str(value))
            case StepType.BOOLEAN:
                return value if isinstance(value, bool) else None
            case StepType.NUMBER | StepType.RATING if isinstance(value, int | float) and not isinstance(value, bool):
                return _compared(float(value), op, whole=source.type is StepType.RATING)
            case StepType.TEXT | StepType.SCAN:
                return value if isinstance(value, str) else None
            case _:
                return None


def _compared(value: float, op: Operator, *, whole: bool) -> float | None:
    """The number; for a rating rounded to whole grades, so `above 1.8` becomes `above 1`."""
    if not -_MAX_NUMBER <= value <= _MAX_NUMBER:
        return None
    if value.is_integer():
        return int(value)
    if not whole:
        return value
    if op in {Operator.GT, Operator.LTE}:
        return floor(value)
    return ceil(value) if op in {Operator.LT, Operator.GTE} else None


def _bounded(value: float | None) -> float | None:
    if value is None or not -_MAX_NUMBER <= value <= _MAX_NUMBER:
        return None
    return int(value) if float(value).is_integer() else value


def _required(step: DraftStep) -> bool:
    if not step.type.rules.takes_answer:
        return False
    return True if step.required is None else step.required


def _minutes(step: DraftStep) -> float:
    return {StepType.PHOTO: 1.0, StepType.TEXT: 1.0, StepType.NUMBER: 0.75, StepType.INSTRUCTION: 0.25}.get(
        step.type, 0.5
    )
