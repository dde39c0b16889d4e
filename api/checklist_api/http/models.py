"""Shapes that answers of several subjects share: ids, timestamps, pagination, errors, health.

The contract tests hold every real answer against the models of all subjects.
"""

from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from checklist_crds.ids import ID_PATTERNS
from checklist_crds.resources.run import STEP_ID_PATTERN
from checklist_crds.values.json_types import Absentable, optional

Moment = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
"""ISO 8601 in UTC with milliseconds."""
TemplateId = Annotated[str, Field(pattern=ID_PATTERNS["t"])]
RunId = Annotated[str, Field(pattern=ID_PATTERNS["r"])]
UserId = Annotated[str, Field(pattern=ID_PATTERNS["u"])]
OrganizationId = Annotated[str, Field(pattern=ID_PATTERNS["org"])]
StepId = Annotated[str, Field(pattern=STEP_ID_PATTERN)]
Version = Annotated[int, Field(ge=1)]
Count = Annotated[int, Field(ge=0)]


class Shape(BaseModel):
    """Base of answers: every field is in every answer. Clients must tolerate further ones."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=True)

    _defaults: ClassVar[dict[str, Any]] = {}

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        fields = cls.model_fields.items()
        cls._defaults = {name: field.default for name, field in fields if not field.is_required()}

    if not TYPE_CHECKING:

        def __init__(self, /, **values: Any) -> None:
            """Validates nothing: an answer shows what is stored, also by kubectl or an older version."""
            if self._defaults:
                values = {**self._defaults, **values}
            object.__setattr__(self, "__dict__", values)
            object.__setattr__(self, "__pydantic_fields_set__", set(values))
            object.__setattr__(self, "__pydantic_extra__", None)
            object.__setattr__(self, "__pydantic_private__", None)


class Problem(Shape):
    """One thing that is wrong with the request."""

    path: str = Field(description="Where: `sections[0].steps[1].id`, a step id, a header's name.")
    code: str = Field(description="What kind, for programs.")
    message: str = Field(description="What is wrong, for people.")


class QuotaDetails(Shape):
    """The plan's limit and how much of it is used."""

    limit: Count | None = Field(description="Runs per UTC calendar month; null is unlimited.")
    used: Count = Field(description="Runs dispatched this month, whatever became of them.")
    resets_at: Moment = Field(description="The first instant of the next month.")


class LimitDetails(Shape):
    """A cap of the organization, and how much of it is used."""

    limit: Count = Field(description="The cap.")
    used: Count = Field(description="What there is without the refused addition.")
    what: str = Field(
        description="What the cap is on: templates, template_bytes, versions, idempotency_keys or run_bytes."
    )


class SignInDetails(Shape):
    """Who asks the bearer of the link to a run for members to sign in."""

    organization: str = Field(description="The name of the organization whose members may answer.")
    template_name: str
    created_by_name: str = Field(description="Who sends it.")
    sign_in: str = Field(description="Where a browser signs in. It comes back to the run's page, without the token.")


def without_details_default(schema: dict[str, Any]) -> None:
    # null is no value of it: without details, the field is not there.
    schema["properties"]["details"].pop("default", None)


class Error(BaseModel):
    """Every error looks like this."""

    model_config = ConfigDict(json_schema_extra=without_details_default)

    error: str = Field(description="Machine-readable code.")
    message: str = Field(description="Human-readable text.")
    details: Absentable[list[Problem] | QuotaDetails | LimitDetails | SignInDetails] = optional(
        "All problems at once; for quota_exceeded an object with limit, used and resets_at; for "
        "limit_reached one with limit, used and what; for "
        "sign_in_required of a run for members an object that tells who asks, and where to sign in."
    )
    request_id: str = Field(description="The value of X-Request-Id.")


class Pagination(Shape):
    """Which page of how many entries."""

    total: Count = Field(description="Entries on all pages together.")
    page: int = Field(ge=1, description="This page.")
    per_page: int = Field(ge=1, le=100, description="Entries on a page, after the limit of 100.")
    next_page: int | None = Field(description="null when there is no further page.")


class Health(Shape):
    status: str = Field(description="`ok`.")


class ReadinessCheck(Shape):
    name: str = Field(description="What was looked at: a kind of object that is read, or `kubernetes`.")
    ok: bool = Field(description="Whether it is as it must be.")
    reason: str | None = Field(description="Why not; null when it is.")


class Readiness(Shape):
    status: str = Field(description="`ok` or `not ready`.")
    reasons: list[str] = Field(description="What is still missing; empty when it can serve.")
    notes: list[str] = Field(description="What hinders nobody and should be known.")
    checks: list[ReadinessCheck] = Field(description="Everything that was looked at.")
