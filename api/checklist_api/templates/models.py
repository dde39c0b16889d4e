"""The shapes of templates. The TDL itself is `checklist_crds.template_types`."""

from typing import Literal

from pydantic import Field

from checklist_crds.template_types import Definition

from ..http.models import Count, Moment, OrganizationId, Pagination, Shape, TemplateId, Version


class Template(Definition):
    """A stored template: the TDL with what the service adds."""

    id: TemplateId = Field(description="Assigned by the service.")
    v: Version = Field(description="1 on create, one more with every PATCH.")
    org_id: OrganizationId = Field(description="The organization that owns it.")
    created_at: Moment = Field(description="When it was made.")
    updated_at: Moment = Field(description="When it was last changed.")


class TemplateSummary(Shape):
    """A template in a list."""

    id: TemplateId
    v: Version
    name: str
    description: str
    tags: list[str]
    created_at: Moment
    updated_at: Moment


class TemplateList(Shape):
    data: list[TemplateSummary]
    pagination: Pagination


class ChangedBy(Shape):
    """Who made a version."""

    kind: Literal["member", "api_key", "system"]
    id: str | None = Field(description="u-<uuid> of the member, or the name of the key's object.")
    name: str = Field(description="The member's name, or what the key is for, at that time.")


class TemplateVersion(Shape):
    """A version of a template: the current one, or an earlier one that is kept."""

    v: Version
    name: str
    step_count: Count
    created_at: Moment
    current: bool
    changed_by: ChangedBy | None = Field(description="Who made it, where that is known: `kubectl` leaves no name.")


class TemplateVersionList(Shape):
    data: list[TemplateVersion]
    pagination: Pagination
