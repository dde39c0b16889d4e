"""Template objects of answers (specification, "Template")."""

from typing import Any

from checklist_crds.times import format_timestamp

from ..organizations.directory import Organization
from .catalogue import StoredTemplate
from .versions import TemplateVersion


def template_view(template: StoredTemplate, organization: Organization) -> dict[str, Any]:
    """The complete TDL object (specification, "Template")."""
    meta = template.meta
    return {
        "id": meta.id,
        "v": meta.version,
        "org_id": organization.id,
        **template.tdl(),
        "created_at": format_timestamp(meta.created_at),
        "updated_at": format_timestamp(meta.updated_at),
    }


def version_view(template: StoredTemplate, version: TemplateVersion, organization: Organization) -> dict[str, Any]:
    """The complete TDL object as it was in one version."""
    return {
        "id": template.meta.id,
        "v": version.number,
        "org_id": organization.id,
        **version.tdl(),
        "created_at": format_timestamp(template.meta.created_at),
        "updated_at": format_timestamp(version.made_at),
    }
