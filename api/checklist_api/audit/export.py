"""Streams all audit entries of an organization, oldest first, from the cluster, page by page.

The next page is read when the one before was taken, so a slow reader slows the reading. A list that Kubernetes cannot
go on with (its state of some minutes ago is gone) is begun again behind the last entry that was given: names sort by
time, and entries never change.
"""

from collections.abc import AsyncIterator
from typing import Any, Final

from pydantic import ValidationError

from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.errors import KubeGone
from checklist_crds.resources.audit_entry import AuditEntrySpec
from checklist_crds.resources.base import ORGANIZATION_LABEL
from checklist_crds.resources.kinds import AUDIT_ENTRY

from ..organizations.directory import Organization
from .index import AuditFilter, audit_view

PAGE: Final = 500
_ATTEMPTS: Final = 50


async def exported(
    client: KubeClient, organization: Organization, wanted: AuditFilter, *, page: int = PAGE
) -> AsyncIterator[list[dict[str, Any]]]:
    """Pages of entries as the list shows them, one namespace after the other. Raises KubeError."""
    for namespace in organization.namespaces:
        last, attempts = "", 0
        while True:
            attempts += 1
            selector = f"{ORGANIZATION_LABEL}={organization.name}"
            try:
                async for bodies, _ in client.pages(AUDIT_ENTRY, namespace, label_selector=selector, page=page):
                    fresh = [body for body in bodies if body["metadata"]["name"] > last]
                    if fresh:
                        last, attempts = fresh[-1]["metadata"]["name"], 0
                    entries = [entry for body in fresh if (entry := _view(body, organization)) is not None]
                    yield [entry for entry in entries if wanted.takes(entry)]
                break
            except KubeGone:
                if attempts >= _ATTEMPTS:
                    raise


def _view(body: dict[str, Any], organization: Organization) -> dict[str, Any] | None:
    try:
        spec = AuditEntrySpec.model_validate(body.get("spec") or {})
    except ValidationError:
        return None
    return audit_view(body["metadata"]["name"], spec) if spec.organization_ref.name == organization.name else None
