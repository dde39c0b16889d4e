"""A template under construction. None means "not specified"; `finishing` sets defaults. There are no ids yet:
conditions refer to step objects.
"""

from dataclasses import dataclass, field
from typing import Final

from checklist_crds.resources.template_definition import Operator, StepType

CHOICES: Final = frozenset({StepType.CHOICE, StepType.MULTI_CHOICE})
"""Types that need options."""


@dataclass(slots=True, eq=False)
class DraftStep:
    """One step, compared by identity."""

    label: str
    type: StepType
    hint: str | None = None
    required: bool | None = None
    unit: str | None = None
    minimum: float | None = None
    """number: smallest value; rating: lowest grade; photo: fewest photos; multi_choice: fewest options."""
    maximum: float | None = None
    expected: tuple[float | None, float | None] = (None, None)
    """number: smallest and largest expected value; others are accepted, and flagged."""
    decimal: int | None = None
    options: list[str] = field(default_factory=list)
    photo: tuple[int, int | None] | None = None
    """Minimum and maximum number of photos attached to a step of another type; a maximum of None is the limit."""
    geo: bool = False
    multiline: bool | None = None
    low_label: str | None = None
    high_label: str | None = None
    condition: "DraftCondition | None" = None
    source: tuple[int, int] | None = None
    """Character offsets of its words in the prompt; None for a step of the library."""
    confidence: float = 1.0
    """Confidence in its type and condition, 0 to 1."""
    subject: str = ""
    """The checked object, as in the prompt: `fridge` in "check that the fridge is below 5 °C"."""


@dataclass(slots=True)
class DraftComparison:
    """`value`: as in the TDL, but options by their labels."""

    step: DraftStep
    op: Operator
    value: object


@dataclass(slots=True)
class DraftCondition:
    """All comparisons must hold, or with `any_of` at least one."""

    comparisons: list[DraftComparison]
    any_of: bool = False


@dataclass(slots=True)
class DraftSection:
    title: str | None
    steps: list[DraftStep] = field(default_factory=list)


@dataclass(slots=True)
class Draft:
    """`locale`: language of the texts (en, de, es, fr)."""

    locale: str
    name: str | None = None
    sections: list[DraftSection] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    allow_skip: bool | None = None
    signature_on_complete: bool | None = None
    est_minutes: float | None = None
    identity_required: bool | None = None
    """Whether the executor must give a name."""

    def steps(self) -> list[DraftStep]:
        return [step for section in self.sections for step in section.steps]
