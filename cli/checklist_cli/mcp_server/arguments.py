"""The arguments of the tools: each model validates, and documents itself as the tool's input schema."""

from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from checklist_crds.ids import ID_PATTERNS
from checklist_crds.resources.run import MAX_EXECUTOR_REF, MAX_EXPIRY_HOURS

from ..client.runs import new_idempotency_key

DEFAULT_WAIT_S: Final = 30
MAX_WAIT_S: Final = 600
MAX_PER_PAGE: Final = 100
_PROMPT_LENGTHS: Final = (4, 4_000)
"""Characters of a prompt (contract section 2)."""

TemplateId = Annotated[str, Field(pattern=ID_PATTERNS["t"], description="Id of the template, t-<uuid>.")]
RunId = Annotated[str, Field(pattern=ID_PATTERNS["r"], description="Id of the run, r-<uuid>.")]
IdempotencyKey = Annotated[
    str,
    Field(
        pattern=r"^[!-~]{1,255}$",
        default_factory=new_idempotency_key,
        description="For a repeated call: within 24 hours calls with the same key create one object. "
        "Default: a new key.",
    ),
]


class Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid")


class ListTemplates(Arguments):
    page: int = Field(default=1, ge=1, le=1_000_000, description="Page, from 1; the newest templates are first.")
    per_page: int = Field(default=20, ge=1, le=MAX_PER_PAGE, description="Templates on a page.")


class GetTemplate(Arguments):
    template_id: TemplateId


class GenerateTemplate(Arguments):
    prompt: str = Field(
        min_length=_PROMPT_LENGTHS[0],
        max_length=_PROMPT_LENGTHS[1],
        description="What the checklist is for, in plain language: the steps, their types, limits and conditions.",
    )
    locale: str | None = Field(
        default=None, description="Language, as en, de, es or fr, if the prompt does not determine it."
    )


class SaveTemplate(Arguments):
    template: dict[str, JsonValue] = Field(
        description="The template (TDL) as generate_template and get_template return it, changed or not. Required: "
        "name, and sections with id, title and steps; each step has id, type and label."
    )
    idempotency_key: IdempotencyKey


class DispatchRun(Arguments):
    template_id: TemplateId
    executor_ref: str | None = Field(
        default=None, max_length=MAX_EXECUTOR_REF, description="Your own reference, as an order number."
    )
    expires_in_hours: float | None = Field(
        default=None, gt=0, le=MAX_EXPIRY_HOURS, description="Hours until the link expires. Default: never."
    )
    idempotency_key: IdempotencyKey

    def body(self) -> dict[str, Any]:
        """The body of POST /v1/runs."""
        return self.model_dump(exclude={"idempotency_key"}, exclude_none=True)


class WaitForRun(Arguments):
    run_id: RunId
    timeout_seconds: float = Field(
        default=DEFAULT_WAIT_S,
        ge=0,
        le=MAX_WAIT_S,
        description=f"How long to wait, at most {MAX_WAIT_S}; 0 returns the present state. Many clients end a call "
        "after 60 seconds: prefer several short waits.",
    )


class OneRun(Arguments):
    run_id: RunId
