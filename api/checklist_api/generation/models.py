"""Making a template from a prompt, for the OpenAPI document."""

from typing import Any, Final

from pydantic import Field, RootModel

from checklist_composer.explanation import UNSURE_BELOW
from checklist_composer.locales import LOCALES
from checklist_crds.errors import GenerationFailed, InvalidParameter, MissingField, ModelFailed, ValidationFailed
from checklist_crds.template_types import Definition

from . import examples
from . import models as shapes
from .operations import Access, Body, Operation, Reply, problem, query


class PromptPart(shapes.Shape):
    """A part of the prompt as it was sent."""

    start: shapes.Count = Field(description="Its first character, counted in Unicode code points from 0.")
    end: shapes.Count = Field(description="The character behind its last.")
    text: str = Field(description="Its words.")


class StepOrigin(shapes.Shape):
    """Where a step came from."""

    step_id: shapes.StepId = Field(description="The step in `template`.")
    source: PromptPart | None = Field(
        description="The words that it was made of; null for a step of the library, and when a model made the template."
    )
    confidence: float | None = Field(
        ge=0, le=1, description="How sure the composer is of the step's type and condition; null when a model made it."
    )
    unsure: bool = Field(description=f"Whether the confidence is below {UNSURE_BELOW}: look at such a step first.")


class ExplainedTemplate(shapes.Shape):
    """A template and what it was made of."""

    template: Definition = Field(description="What POST /v1/templates takes unchanged.")
    steps: list[StepOrigin] = Field(description="One for each step of the template, in its order.")
    unused: list[PromptPart] = Field(description="What of the prompt became nothing; empty when a model made it.")


class GeneratedTemplate(RootModel[Definition | ExplainedTemplate]):
    """A template, or with `explain=true` one and what it was made of."""


_DOOR: Final = {"id": "s-door-tight", "type": "boolean", "label": "Door tight", "required": True}
_EXPLAINED: Final[dict[str, Any]] = {
    "template": Definition.model_validate(
        {"name": "Cold store", "sections": [{"id": "g-cold-store", "title": "Cold store", "steps": [_DOOR]}]}
    ).to_tdl(),
    "steps": [
        {
            "step_id": "s-door-tight",
            "source": {"start": 19, "end": 29, "text": "door tight"},
            "confidence": 0.98,
            "unsure": False,
        }
    ],
    "unused": [{"start": 0, "end": 5, "text": "Hello"}],
}
_LOCALE: Final = query(
    "locale",
    {"type": "string", "enum": list(LOCALES)},
    "Language of the template where the prompt does not tell it better. The writer's own words are never translated.",
    "en",
)
_EXPLAIN: Final = query(
    "explain",
    {"type": "boolean", "default": False},
    "true answers with the template and, for each step, the part of the prompt that it came from.",
)
_BAD_LOCALE: Final = InvalidParameter(
    f"locale must be one of {', '.join(LOCALES)}.",
    details=[problem("locale", "invalid_parameter", f"locale must be one of {', '.join(LOCALES)}.")],
)

GENERATE_TEMPLATE: Final = Operation(
    "post",
    "/v1/templates/generate",
    "generateTemplate",
    "Templates",
    "Generate a template from a prompt",
    Access.KEY,
    (
        Reply(
            200,
            "A TDL object that POST /v1/templates takes unchanged. It is not stored. With `explain=true` it is in "
            "`template`, beside what it was made of.",
            GeneratedTemplate,
            {"kitchen": examples.TDL, "explained": _EXPLAINED},
            {"X-Generated-By": "composer"},
        ),
    ),
    "The built-in composer makes it, without any account elsewhere: the same prompt, the same template. Where the "
    "service is set up with a language model, that makes it, and the composer when the model does not. Nothing is "
    "stored or logged of the prompt and of the template.",
    parameters=(_LOCALE, _EXPLAIN),
    body=Body(shapes.GenerateRequest, examples.PROMPTS),
    errors=(
        MissingField("Missing: prompt.", details=[problem("prompt", "missing", "This field is required.")]),
        ValidationFailed(
            "The prompt must be text of 4 to 4000 characters.",
            details=[problem("prompt", "invalid_text", "The prompt must be text of 4 to 4000 characters.")],
        ),
        _BAD_LOCALE,
        GenerationFailed(
            "The text asks for no checklist. Say what the checklist is for, or list what is to be checked."
        ),
        GenerationFailed(
            "The library has no checklist for this job. List what is to be checked, or name another job.",
            details=[problem("prompt", "closest_job", "Forklift pre-use check")],
        ),
        ModelFailed(details=[problem("", "model_timeout", "It was not done in time.")]),
    ),
)
