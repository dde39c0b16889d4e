"""The shapes of making a template from a prompt."""

from pydantic import BaseModel, Field, RootModel

from checklist_composer.explanation import UNSURE_BELOW
from checklist_crds.template_types import Definition

from ..http.models import Count, Shape, StepId


class GenerateRequest(BaseModel):
    prompt: str = Field(min_length=4, max_length=4000, description="What the checklist is for, in plain language.")


class PromptPart(Shape):
    """A part of the prompt as it was sent."""

    start: Count = Field(description="Its first character, counted in Unicode code points from 0.")
    end: Count = Field(description="The character behind its last.")
    text: str = Field(description="Its words.")


class StepOrigin(Shape):
    """Where a step came from."""

    step_id: StepId = Field(description="The step in `template`.")
    source: PromptPart | None = Field(
        description="The words that it was made of; null for a step of the library, and when a model made the template."
    )
    confidence: float | None = Field(
        ge=0, le=1, description="How sure the composer is of the step's type and condition; null when a model made it."
    )
    unsure: bool = Field(description=f"Whether the confidence is below {UNSURE_BELOW}: look at such a step first.")


class ExplainedTemplate(Shape):
    """A template and what it was made of."""

    template: Definition = Field(description="What POST /v1/templates takes unchanged.")
    steps: list[StepOrigin] = Field(description="One for each step of the template, in its order.")
    unused: list[PromptPart] = Field(description="What of the prompt became nothing; empty when a model made it.")


class GeneratedTemplate(RootModel[Definition | ExplainedTemplate]):
    """A template, or with `explain=true` one and what it was made of."""
