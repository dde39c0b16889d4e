"""Responses of templates. The TDL is `checklist_crds.resources.template_definition`."""

from typing import Literal, Self

from pydantic import Field

from checklist_crds.resources.template_definition import Definition
from checklist_crds.times import format_timestamp

from ..http.models import Count, Moment, OrganizationId, Pagination, Shape, TemplateId, Version
from .catalogue import ListedTemplate
from .versions import ListedVersion


class Template(Definition):
    """A stored template: the TDL with the fields of the service."""

    id: TemplateId = Field(description="Assigned by the service.")
    v: Version = Field(description="1 on create, incremented by every PATCH.")
    org_id: OrganizationId = Field(description="The owning organization.")
    created_at: Moment = Field(description="Time of creation.")
    updated_at: Moment = Field(description="Time of the last change.")


class TemplateSummary(Shape):
    """A template in a list."""

    id: TemplateId
    v: Version
    name: str
    description: str
    tags: list[str]
    created_at: Moment
    updated_at: Moment

    @classmethod
    def of(cls, template: ListedTemplate) -> Self:
        meta = template.meta
        return cls(
            id=meta.id,
            v=meta.version,
            name=template.display_name,
            description=template.description,
            tags=list(template.tags),
            created_at=format_timestamp(meta.created_at),
            updated_at=format_timestamp(meta.updated_at),
        )


class TemplateList(Shape):
    data: list[TemplateSummary]
    pagination: Pagination


class ChangedBy(Shape):
    """The author of a version."""

    kind: Literal["member", "api_key", "system"]
    id: str | None = Field(description="Id of the member (u-<uuid>), or name of the key's object.")
    name: str = Field(description="Name of the member or key at that time.")


class TemplateVersion(Shape):
    """A version of a template."""

    v: Version
    name: str
    step_count: Count
    created_at: Moment
    current: bool
    changed_by: ChangedBy | None = Field(description="Author of the version; null if unknown (kubectl).")

    @classmethod
    def of(cls, version: ListedVersion) -> Self:
        return cls(
            v=version.number,
            name=version.name,
            step_count=version.step_count,
            created_at=format_timestamp(version.made_at),
            current=version.is_current,
            changed_by=None if version.change is None else ChangedBy.model_validate(version.change.view()),
        )


class TemplateVersionList(Shape):
    data: list[TemplateVersion]
    pagination: Pagination
