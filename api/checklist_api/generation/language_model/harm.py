"""Possible harms in a model's valid template: the correction requested from the model, and the repair.

A repair never loses an item of the prompt and never requires an answer that a person may be unable to give.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from checklist_composer.language import language_of
from checklist_composer.naming import label_of
from checklist_composer.reading.answers import numbers_of
from checklist_crds.resources.template_definition import MAX_HINT, MAX_STEPS, MAX_TITLE, StepType


@dataclass(frozen=True, slots=True)
class LostItem:
    """An item of the prompt that no step asks for."""

    words: str
    type: StepType
    after: str | None
    """Id of the preceding item's step; None if the item is the first."""

    @property
    def problem(self) -> str:
        return f"The wish asks for {self.words!r}, and no step does: add one that says so."

    def repair(self, document: dict[str, Any]) -> None:
        """Add an optional step with the prompt's words."""
        label = (label_of(self.words) or self.words)[:MAX_TITLE]
        step = {"type": self.type.value, "label": label, "required": False}
        used = {each["id"] for section in document["sections"] for each in section["steps"]}
        step["id"] = next(name for number in range(1, MAX_STEPS + 2) if (name := f"s-added-{number}") not in used)
        for section in document["sections"]:
            for place, other in enumerate(section["steps"]):
                if other["id"] == self.after:
                    section["steps"].insert(place + 1, step)
                    return
        document["sections"][0]["steps"].insert(0, step)


@dataclass(frozen=True, slots=True)
class LimitAsBound:
    """A number step whose bounds reject values that the prompt merely does not expect."""

    step: str
    path: str
    fields: tuple[str, ...]
    limit: str
    """The expected values, in the prompt's words if the languages match."""
    expected: tuple[tuple[str, float], ...]
    """`min`, `max` or both, as in `config.expected`; empty if the words are ambiguous."""
    hint: str
    """The hint for the repair: `Expected: max. 7 °C`."""

    @property
    def problem(self) -> str:
        fields = " and ".join(self.fields)
        return (
            f"{self.path}.config: {self.limit!r} is what the wish expects, and other readings must be possible: leave "
            f"{fields} null, and say it in the hint."
        )

    def repair(self, document: dict[str, Any]) -> None:
        """Make the limit the expected values, and say it in the hint."""
        step = _step(document, self.step)
        for name in self.fields:
            step["config"].pop(name, None)
        if self.expected:
            step["config"]["expected"] = dict(self.expected)
        present = numbers_of(step.get("hint") or "", language_of("en"))
        if not set(numbers_of(self.limit, language_of("en"))) <= set(present):
            _add_hint(step, self.hint)


@dataclass(frozen=True, slots=True)
class GroundlessCondition:
    """A step for an item of the prompt, with a condition that the prompt does not state."""

    step: str
    path: str
    words: str
    """The condition that the prompt states; empty if none."""

    @property
    def problem(self) -> str:
        if self.words:
            return f"{self.path}.condition: the wish says {self.words!r}, and that is not about the step it looks at."
        return f"{self.path}.condition: the wish asks for this in any case: set the condition to null."

    def repair(self, document: dict[str, Any]) -> None:
        """Remove the condition and make the step optional."""
        step = _step(document, self.step)
        step.pop("condition", None)
        step["required"] = False
        if self.words:
            _add_hint(step, label_of(self.words))


Harm = LostItem | LimitAsBound | GroundlessCondition


def _step(document: Mapping[str, Any], name: str) -> dict[str, Any]:
    return next(step for section in document["sections"] for step in section["steps"] if step["id"] == name)


def _add_hint(step: dict[str, Any], text: str) -> None:
    hint = f"{text} · {step['hint']}" if step.get("hint") else text
    step["hint"] = hint[:MAX_HINT]
