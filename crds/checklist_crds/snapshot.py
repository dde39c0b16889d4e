"""What a dispatch takes from a template: an immutable revision, and the few facts that every later reader needs.

The revision is shared by all runs of that version. Its name holds a digest of its content, so that a template which is
deleted and made anew under the same name never meets a snapshot of its predecessor.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .conditions import applicable_step_ids
from .errors import TemplateNotRunnable, ValidationFailed
from .resource_types import API_VERSION, ORGANIZATION_LABEL
from .run_types import IdentityMode, ObjectNameRef, ResolvedTemplate
from .template_resource import TemplateMeta, definition_of
from .template_types import Definition, StepType
from .template_validation import parse_definition, runnable_problems


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A version of a template, ready to be dispatched."""

    revision: dict[str, Any]
    resolved: ResolvedTemplate
    definition: Definition


def snapshot(template: Mapping[str, Any]) -> Snapshot:
    """The snapshot of a Template object as the cluster gives it. Raises TemplateNotRunnable with all problems."""
    meta = TemplateMeta.of(template)
    try:
        definition = parse_definition(definition_of(template["spec"]))
    except ValidationFailed as error:
        raise TemplateNotRunnable(details=error.details) from None
    problems = runnable_problems(definition)
    if problems:
        raise TemplateNotRunnable(details=problems)
    tdl = definition.to_tdl()
    name = revision_name(meta.id, meta.version, tdl)
    steps = [step for _, step in definition.steps()]
    applicable = applicable_step_ids(definition, {}, ())
    resolved = ResolvedTemplate(
        organization=meta.organization,
        template_id=meta.id,
        template_version=meta.version,
        template_name=definition.name,
        revision_ref=ObjectNameRef(name=name),
        identity_mode=IdentityMode(definition.identity_mode),
        step_count=len(steps),
        applicable_steps=sum(1 for step in steps if step.id in applicable and step.type is not StepType.INSTRUCTION),
    )
    revision = {
        "apiVersion": API_VERSION,
        "kind": "TemplateRevision",
        "metadata": {
            "name": name,
            "namespace": meta.namespace,
            "labels": {ORGANIZATION_LABEL: meta.organization},
        },
        "spec": {
            "organizationRef": {"name": meta.organization},
            "templateId": meta.id,
            "version": meta.version,
            "definition": tdl,
        },
    }
    return Snapshot(revision, resolved, definition)


def revision_name(template_id: str, version: int, tdl: Mapping[str, Any]) -> str:
    """`t-<uuid>-v3-1f2e3d4c`: deterministic, and different for different content."""
    content = json.dumps(tdl, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"{template_id}-v{version}-{hashlib.sha256(content.encode()).hexdigest()[:8]}"
