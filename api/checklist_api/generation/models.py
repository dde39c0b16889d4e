"""Requests and responses of template generation."""

from typing import Annotated, ClassVar, Final

from pydantic import BeforeValidator, Field, RootModel

from checklist_composer.explanation import UNSURE_BELOW
from checklist_crds.resources.template_definition import Definition

from ..http.models import Count, Shape, StepId
from ..http.request_model import RequestModel, wrong

PROMPT_LENGTHS: Final = (4, 4_000)
_SHORTEST, _LONGEST = PROMPT_LENGTHS
NO_PROMPT: Final = f"The prompt must be text of {_SHORTEST} to {_LONGEST} characters."


def _prompt(prompt: object) -> object:
    """Validate the prompt; surrounding white space counts for the maximum length only."""
    if not (isinstance(prompt, str) and len(prompt) <= _LONGEST and len(prompt.strip()) >= _SHORTEST):
        raise wrong("invalid_text", NO_PROMPT)
    return prompt


class GenerateRequest(RequestModel):
    refused: ClassVar = NO_PROMPT

    prompt: Annotated[str, Field(min_length=_SHORTEST, max_length=_LONGEST), BeforeValidator(_prompt)] = Field(
        description="What the checklist is for, in plain language."
    )

    @property
    def text(self) -> str:
        """The prompt without surrounding white space."""
        return self.prompt.strip()

    @property
    def before(self) -> int:
        """Number of leading white space characters."""
        return self.prompt.find(self.text)


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
