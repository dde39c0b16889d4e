"""Shared response models: ids, timestamps, pagination, errors, health.

Contract tests validate every response against its model.
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
    """Base of responses: all fields are always present. Clients must tolerate further ones."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=True)

    _defaults: ClassVar[dict[str, Any]] = {}

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        fields = cls.model_fields.items()
        cls._defaults = {name: field.default for name, field in fields if not field.is_required()}

    if not TYPE_CHECKING:

        def __init__(self, /, **values: Any) -> None:
            """Create without validation: a response shows stored data, also by kubectl or older versions."""
            if self._defaults:
                values = {**self._defaults, **values}
            object.__setattr__(self, "__dict__", values)
            object.__setattr__(self, "__pydantic_fields_set__", set(values))
            object.__setattr__(self, "__pydantic_extra__", None)
            object.__setattr__(self, "__pydantic_private__", None)


class Problem(Shape):
    """One problem of the request."""

    path: str = Field(description="Location: `sections[0].steps[1].id`, a step id, a header's name.")
    code: str = Field(description="Machine-readable code.")
    message: str = Field(description="Human-readable text.")


class QuotaDetails(Shape):
    """The plan's limit and its use."""

    limit: Count | None = Field(description="Runs per UTC calendar month; null is unlimited.")
    used: Count = Field(description="Runs dispatched this month, including cancelled, expired and deleted ones.")
    resets_at: Moment = Field(description="Start of the next month.")


class LimitDetails(Shape):
    """A limit of the organization and its use."""

    limit: Count = Field(description="The limit.")
    used: Count = Field(description="Current use, without the refused addition.")
    what: str = Field(
        description="What is limited: templates, template_bytes, versions, idempotency_keys or run_bytes."
    )


class SignInDetails(Shape):
    """Describes a run for members to a person who is not signed in."""

    organization: str = Field(description="Name of the organization whose members may answer.")
    template_name: str
    created_by_name: str = Field(description="Name of the sender.")
    sign_in: str = Field(description="URL to sign in. It redirects back to the run's page, without the token.")


def without_details_default(schema: dict[str, Any]) -> None:
    # `details` is absent rather than null.
    schema["properties"]["details"].pop("default", None)


class Error(BaseModel):
    """The body of all errors."""

    model_config = ConfigDict(json_schema_extra=without_details_default)

    error: str = Field(description="Machine-readable code.")
    message: str = Field(description="Human-readable text.")
    details: Absentable[list[Problem] | QuotaDetails | LimitDetails | SignInDetails] = optional(
        "All problems at once. For quota_exceeded an object with limit, used and resets_at; for limit_reached with "
        "limit, used and what; for sign_in_required of a run for members an object that describes the run and where to "
        "sign in."
    )
    request_id: str = Field(description="The value of X-Request-Id.")


class Pagination(Shape):
    """A page of a list."""

    total: Count = Field(description="Number of entries on all pages.")
    page: int = Field(ge=1, description="Number of this page.")
    per_page: int = Field(ge=1, le=100, description="Entries per page, at most 100.")
    next_page: int | None = Field(description="null for the last page.")


class Health(Shape):
    status: str = Field(description="`ok`.")


class ReadinessCheck(Shape):
    name: str = Field(description="The kind of object that is watched, or `kubernetes`.")
    ok: bool = Field(description="Whether the check passed.")
    reason: str | None = Field(description="Why it failed, else null.")


class Readiness(Shape):
    status: str = Field(description="`ok` or `not ready`.")
    reasons: list[str] = Field(description="Reasons of failed checks; empty when ready.")
    notes: list[str] = Field(description="Messages for the operator that do not affect readiness.")
    checks: list[ReadinessCheck] = Field(description="All checks.")
