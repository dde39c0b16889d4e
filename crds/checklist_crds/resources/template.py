"""Template: TDL inline in its spec; public id and version derived from its metadata."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from pydantic import ConfigDict, Field

from ..ids import object_id
from ..times import Timestamp, parse_timestamp, readable_timestamp
from .base import (
    SIZE_ANNOTATION,
    VERSION_OFFSET_ANNOTATION,
    ConditionsField,
    KubeModel,
    OrganizationRef,
    StatusCondition,
    annotated_number,
    made_at,
)
from .template_definition import Definition

ADMITTED: Final = "Admitted"
"""Condition of a template that is or was over a limit. While it is False, the template cannot be dispatched."""


class TemplateSpec(Definition):
    """The TDL fields of a checklist, inline and in the TDL's own spelling, and whose it is."""

    model_config = ConfigDict(validate_by_name=True, validate_by_alias=True)

    organization_ref: OrganizationRef = Field(alias="organizationRef", description="Its organization.")
    revised_at: Timestamp | None = Field(
        default=None, alias="revisedAt", description="Set by every PATCH of the API, so that each creates a version."
    )


class TemplateStatus(KubeModel):
    """State of the template."""

    id: str | None = Field(default=None, max_length=64, description="Public id, t-<uuid>.")
    version: int | None = Field(default=None, ge=1, description="Version that the conditions refer to.")
    step_count: int | None = Field(default=None, ge=0, description="Number of steps.")
    conditions: list[StatusCondition] = ConditionsField()


@dataclass(frozen=True, slots=True)
class TemplateMeta:
    """Public id, version and times of a template, from its metadata alone."""

    name: str
    namespace: str
    organization: str
    id: str
    version: int
    created_at: datetime
    updated_at: datetime

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> "TemplateMeta":
        metadata, spec = body["metadata"], body.get("spec") or {}
        organization = str((spec.get("organizationRef") or {}).get("name", ""))
        created_at = parse_timestamp(made_at(metadata))
        return cls(
            name=metadata["name"],
            namespace=metadata.get("namespace", ""),
            organization=organization,
            id=object_id("t", metadata["name"], organization),
            version=int(metadata["generation"]) + annotated_number(metadata, VERSION_OFFSET_ANNOTATION),
            created_at=created_at,
            updated_at=readable_timestamp(spec.get("revisedAt") or "") or created_at,
        )


def counted_size(metadata: Mapping[str, Any]) -> int:
    """Returns the bytes for which the template counts; 0 if it does not count yet."""
    return annotated_number(metadata, SIZE_ANNOTATION)


def definition_of(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the TDL document of a Template's spec."""
    return {key: value for key, value in spec.items() if key in Definition.model_fields}
