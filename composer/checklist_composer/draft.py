"""A template in the making: what has been said about it so far, and what has not.

None always means "nobody said so"; what is then done is for `finishing` to decide. Ids do not exist yet: a condition
refers to the step itself.
"""

from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import Final

from checklist_crds.resources.template_definition import Operator, StepType

CHOICES: Final = frozenset({StepType.CHOICE, StepType.MULTI_CHOICE})
"""The types that need options."""


@dataclass(slots=True, eq=False)
class DraftStep:
    """One step. Two of them are never equal, only the same."""

    label: str
    type: StepType
    hint: str | None = None
    required: bool | None = None
    unit: str | None = None
    minimum: float | None = None
    """number: smallest value; rating: lowest grade; photo: fewest photos; multi_choice: fewest options."""
    maximum: float | None = None
    decimal: int | None = None
    options: list[str] = field(default_factory=list)
    photo: tuple[int, int | None] | None = None
    """Fewest and most photos that are attached to a step that is no photo step; most None: as many as are allowed."""
    geo: bool = False
    multiline: bool | None = None
    placeholder: str | None = None
    low_label: str | None = None
    high_label: str | None = None
    true_label: str | None = None
    false_label: str | None = None
    condition: "DraftCondition | None" = None
    minutes: float | None = None
    """How long it takes, when somebody knows."""
    source: tuple[int, int] | None = None
    """Offsets in the prompt of the words that it came from; None for a step of the library."""
    confidence: float = 1.0
    """0 to 1: how sure the reader is of its type and condition."""
    subject: str = ""
    """The thing that is looked at, in the writer's words: `fridge`, for "check that the fridge is below 5 °C"."""

    def copy(self) -> "DraftStep":
        """Another step that asks for the same."""
        other = DraftStep(*_ALL_FIELDS(self))
        other.options = [*self.options]
        return other


_ALL_FIELDS: Final = attrgetter(*(each.name for each in fields(DraftStep)))


@dataclass(slots=True)
class DraftComparison:
    """`value`: as in the TDL, but an option is named by its label."""

    step: DraftStep
    op: Operator
    value: object


@dataclass(slots=True)
class DraftCondition:
    """All of the comparisons must hold, or with `any_of` one of them."""

    comparisons: list[DraftComparison]
    any_of: bool = False


@dataclass(slots=True)
class DraftSection:
    title: str | None
    """None: nobody named it."""
    steps: list[DraftStep] = field(default_factory=list)


@dataclass(slots=True)
class Draft:
    """`locale` is the language that it is written in: en, de, es, fr."""

    locale: str
    name: str | None = None
    description: str | None = None
    sections: list[DraftSection] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    allow_skip: bool | None = None
    signature_on_complete: bool | None = None
    est_minutes: float | None = None
    identity_required: bool | None = None
    """Whether the executor has to give a name."""

    def steps(self) -> list[DraftStep]:
        """All of them, in order."""
        return [step for section in self.sections for step in section.steps]
