"""The template definition language (TDL).

These models are the source of the REST body, the custom resource's schema and the OpenAPI document (specification,
"Template"; contract section 2). They validate single fields; `templates.validation` checks rules across fields
(references, bounds, a step type's config).

Kubernetes' structural schemas have no union types, so there are only two: `photo` (false or an object) and the `value`
of a comparison.
"""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from functools import cached_property
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Discriminator, Field, Strict, Tag
from pydantic_core import PydanticCustomError

from ..ids import AUTHOR_ID_PATTERNS
from ..step_types import StepConfig, StepType
from ..step_types.base import Operator
from ..step_types.choice import MAX_OPTIONS, Option
from ..step_types.expected import OnFlag
from ..step_types.photo_bounds import MAX_PHOTOS_PER_STEP, PhotoBounds
from ..values.json_types import (
    AS_IT_IS,
    AS_NUMBER,
    TIDY,
    Absentable,
    Bool,
    JsonModel,
    Text,
    VisibleText,
    optional,
)
from .step_condition import Clause, Comparison, Condition, StepId, When

__all__ = [
    "MAX_OPTIONS",
    "MAX_PHOTOS_PER_STEP",
    "Clause",
    "Comparison",
    "Condition",
    "Definition",
    "Execution",
    "IdentityMode",
    "IdentityRequired",
    "Layout",
    "Operator",
    "Option",
    "PhotoBounds",
    "Scope",
    "Section",
    "Settings",
    "Step",
    "StepConfig",
    "StepType",
    "When",
]

MAX_SECTIONS: Final = 50
MAX_STEPS: Final = 500
MAX_TAGS: Final = 50
MAX_TITLE: Final = 500
"""Of a step's label and a section's title."""
MAX_HINT: Final = 1_000
MAX_MINUTES: Final = 525_600


class Scope(StrEnum):
    """Who may execute a run of the template."""

    ANY = "any"
    MEMBER = "member"
    EXTERNAL = "external"


class IdentityRequired(StrEnum):
    """What an executor has to tell about themselves; it decides the identity mode of the run."""

    NONE = "none"
    EXTERNAL = "external"
    MEMBER = "member"


class Layout(StrEnum):
    """How the executor app shows a checklist, unless the person chooses otherwise on their device."""

    LIST = "list"
    ONE_AT_A_TIME = "one_at_a_time"


IdentityMode = Literal["anonymous", "external", "member"]
_IDENTITY_MODES: Final[Mapping[IdentityRequired, IdentityMode]] = {
    IdentityRequired.NONE: "anonymous",
    IdentityRequired.EXTERNAL: "external",
    IdentityRequired.MEMBER: "member",
}

SectionId = Annotated[str, Field(pattern=AUTHOR_ID_PATTERNS["g"], max_length=66)]
Title = Annotated[VisibleText, Field(max_length=MAX_TITLE)]
Minutes = Annotated[float, Field(ge=0, le=MAX_MINUTES, allow_inf_nan=False), Strict(), AS_NUMBER, TIDY, AS_IT_IS]


def _only_false(value: Any) -> Any:
    # 0 equals False in Python, but not in JSON.
    if value is not False:
        raise PydanticCustomError("wrong_type", "must be false, or an object with min and max")
    return value


PHOTO_TAGS: Final = ("off", "bounds")
Photo = Annotated[
    Annotated[Literal[False], BeforeValidator(_only_false), Tag(PHOTO_TAGS[0])]
    | Annotated[PhotoBounds, Tag(PHOTO_TAGS[1])],
    Discriminator(lambda value: PHOTO_TAGS[isinstance(value, Mapping | PhotoBounds)]),
]


class Step(JsonModel):
    """One thing to do, see or answer."""

    id: StepId = Field(
        description="Its id: `s-` and 1 to 64 of A-Z a-z 0-9 _ -, unique in the template. Key of the answer in a run."
    )
    type: StepType = Field(description="What kind of answer the step takes.")
    label: Title = Field(description="Prompt shown to the executor.")
    hint: Annotated[Text, Field(max_length=MAX_HINT)] | None = Field(
        default=None, description="Further explanation shown with the prompt."
    )
    required: Bool = Field(
        default=False, description="Whether the step must be answered. Of no effect on an instruction."
    )
    photo: Photo = Field(
        default=False,
        description="Either false, or the minimum and maximum number of photos attached to the step "
        f"(0 <= min <= max <= {MAX_PHOTOS_PER_STEP}). A photo step takes its bounds from config.",
    )
    geo: Bool = Field(default=False, description="Whether a location is captured with the answer.")
    geo_required: Bool = Field(
        default=False,
        description="Whether the answer is refused without a location, instead of being taken with none. Needs geo.",
    )
    condition: Absentable[Condition] = optional("When the step applies; always, if left out.")
    config: StepConfig = Field(default=StepConfig(), description="Settings that depend on the step's type.")

    @property
    def photo_bounds(self) -> PhotoBounds | None:
        """Returns how many photos the step takes, or None for none; a flagged answer may need and take more."""
        return self.type.rules.photo_bounds(self)

    @property
    def expects(self) -> bool:
        """Whether an answer can be flagged."""
        return self.config.expected is not None and "expected" in self.type.rules.config_fields

    @property
    def on_flag(self) -> OnFlag | None:
        """Returns what a flagged answer must have."""
        return self.config.on_flag if self.expects else None

    @property
    def most_photos(self) -> int:
        """Returns how many photos the step takes, with those that a flagged answer is asked for.

        Flagged or not, so that no photo is refused because the answer was changed on another device.
        """
        bounds, asked = self.photo_bounds, self.on_flag
        return max(0 if bounds is None else bounds.max, 0 if asked is None else asked.most_photos)


class Section(JsonModel):
    """A titled group of steps."""

    id: SectionId = Field(description="Its id: `g-` and 1 to 64 of A-Z a-z 0-9 _ -, unique in the template.")
    title: Title = Field(description="Heading shown to the executor.")
    steps: list[Step] = Field(max_length=MAX_STEPS, description="Steps, in order.")


class Settings(JsonModel):
    """How the checklist is run."""

    allow_skip: Bool = Field(default=False, description="Whether steps that are not required may be skipped.")
    signature_on_complete: Bool = Field(default=False, description="Whether a signature is required on completion.")
    est_minutes: Minutes | None = Field(default=None, description="Estimated duration in minutes.")
    layout: Absentable[Layout] = optional(
        "How the executor app shows the steps: all in one list, as if left out, or one at a time on a full screen. "
        "The person can change it on their device."
    )


class Execution(JsonModel):
    """Who executes the checklist."""

    scope: Scope = Field(default=Scope.ANY, description="Who may execute a run.")
    identity_required: IdentityRequired = Field(
        default=IdentityRequired.NONE,
        description="What the executor has to tell about themselves. A scope of member needs member.",
    )


class Definition(JsonModel):
    """A checklist, as its author writes it."""

    name: Annotated[VisibleText, Field(max_length=200)] = Field(description="Name of the checklist, as people see it.")
    description: Annotated[Text, Field(max_length=4_000)] = Field(
        default="", description="What the checklist is for, in free text."
    )
    tags: list[Annotated[VisibleText, Field(max_length=64)]] = Field(
        default=[], max_length=MAX_TAGS, description="Labels to find the template by."
    )
    settings: Settings = Field(default=Settings(), description="How the checklist is run.")
    sections: list[Section] = Field(
        max_length=MAX_SECTIONS, description="Sections, in order; at most 500 steps in all of them together."
    )
    execution: Execution = Field(default=Execution(), description="Who executes the checklist.")

    @cached_property
    def all_steps(self) -> tuple[Step, ...]:
        """All steps, in the order of execution."""
        return tuple(step for _, step in self.steps())

    def steps(self) -> Iterator[tuple[Section, Step]]:
        """Yields all steps with their sections, in the order of execution."""
        for section in self.sections:
            for step in section.steps:
                yield section, step

    @property
    def identity_mode(self) -> IdentityMode:
        """The identity mode of the template's runs (specification, "Executor identity")."""
        return _IDENTITY_MODES[self.execution.identity_required]

    def to_tdl(self) -> dict[str, Any]:
        """Returns the complete JSON document, with defaults, `hint` null and `photo` false, and without `condition` if
        there is none. Parsing it gives an equal definition."""
        return self.model_dump(mode="json")
