"""The snapshot of a template for a dispatch: an immutable revision, and the facts that readers of the run need.

All runs of a version share the revision. Its name includes a digest of its content, so that a template created again
under the same name never uses a snapshot of its predecessor.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ..errors import Problem, TemplateNotRunnable, ValidationFailed
from ..resources.base import CREATED_AT_ANNOTATION
from ..resources.kinds import TEMPLATE_REVISION
from ..resources.pause import PAUSED_ANNOTATION, is_paused
from ..resources.run import IdentityMode, ObjectNameRef, ResolvedTemplate
from ..resources.template import ADMITTED, TemplateMeta, definition_of
from ..resources.template_change import CHANGED_BY_ANNOTATION, change_of
from ..resources.template_definition import Definition
from ..templates.conditions import applicable_step_ids
from ..templates.validation import parse_definition, runnable_problems
from ..times import format_optional


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A template version, ready for dispatch."""

    revision: dict[str, Any]
    resolved: ResolvedTemplate
    definition: Definition


def snapshot(template: Mapping[str, Any]) -> Snapshot:
    """Returns the snapshot of a Template object. Raises TemplateNotRunnable with all problems."""
    meta = TemplateMeta.of(template)
    if is_paused(template["metadata"]):
        message = f"The template is paused (annotation {PAUSED_ANNOTATION})."
        raise TemplateNotRunnable(details=[Problem("", "template_paused", message)])
    for condition in (template.get("status") or {}).get("conditions") or ():
        if condition["type"] == ADMITTED and condition["status"] == "False":
            raise TemplateNotRunnable(details=[Problem("", "limit_reached", condition["message"])])
    try:
        definition = parse_definition(definition_of(template["spec"]))
    except ValidationFailed as error:
        raise TemplateNotRunnable(details=error.details) from None
    problems = runnable_problems(definition)
    if problems:
        raise TemplateNotRunnable(details=problems)
    revision = revision_of(template)
    steps = [step for _, step in definition.steps()]
    applicable = applicable_step_ids(definition, {}, ())
    resolved = ResolvedTemplate(
        organization=meta.organization,
        template_id=meta.id,
        template_version=meta.version,
        template_name=definition.name,
        revision_ref=ObjectNameRef(name=revision["metadata"]["name"]),
        identity_mode=IdentityMode(definition.identity_mode),
        step_count=len(steps),
        applicable_steps=sum(1 for step in steps if step.id in applicable and step.type.rules.takes_answer),
    )
    return Snapshot(revision, resolved, definition)


def revision_of(template: Mapping[str, Any], *, seen_at: datetime | None = None) -> dict[str, Any]:
    """Returns the TemplateRevision of a Template object, whether it can be dispatched or not.

    `seen_at`: when a version made with kubectl was first seen, which is about when it was made.
    """
    meta = TemplateMeta.of(template)
    written = definition_of(template["spec"])
    try:
        tdl = parse_definition(written).to_tdl()
    except ValidationFailed:
        tdl = written
    change = change_of(template["metadata"], meta.version)
    made_at = meta.updated_at if change is not None or meta.version == 1 else seen_at
    spec = {
        "organizationRef": {"name": meta.organization},
        "templateId": meta.id,
        "version": meta.version,
        "definition": tdl,
    }
    return TEMPLATE_REVISION.manifest(
        revision_name(meta.id, meta.version, tdl),
        meta.namespace,
        spec,
        organization=meta.organization,
        annotations={
            CHANGED_BY_ANNOTATION: None if change is None else change.annotation(),
            CREATED_AT_ANNOTATION: format_optional(made_at),
        },
    )


def revision_name(template_id: str, version: int, tdl: Mapping[str, Any]) -> str:
    """Returns a name such as `t-<uuid>-v3-1f2e3d4c`: deterministic, and different for different content."""
    content = json.dumps(tdl, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"{template_id}-v{version}-{hashlib.sha256(content.encode()).hexdigest()[:8]}"
