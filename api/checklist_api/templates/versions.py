"""Versions of a template: the current one in the Template, earlier ones as TemplateRevisions.

A revision is written before its version is replaced: by the API before a PATCH, by the operator after a kubectl change.
The newest ones are kept, and all that runs use.
"""

import contextlib
import logging
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from checklist_crds.errors import TemplateVersionNotFound, ValidationFailed
from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.errors import KubeAlreadyExists, KubeInvalid
from checklist_crds.limits.organization_limits import LimitName, Limits, limit_reached
from checklist_crds.resources.base import made_at
from checklist_crds.resources.kinds import TEMPLATE_REVISION
from checklist_crds.resources.template import TemplateMeta, definition_of
from checklist_crds.resources.template_change import TemplateChange, change_of
from checklist_crds.runs.snapshot import revision_of
from checklist_crds.templates.validation import parse_definition
from checklist_crds.times import parse_timestamp
from checklist_crds.values.json_text import JsonObject

from ..organizations.directory import Organization
from .catalogue import StoredTemplate

logger = logging.getLogger(__name__)

_LONGEST_NUMBER: Final = 9


@dataclass(frozen=True, slots=True)
class ListedVersion:
    """A version in lists."""

    number: int
    name: str
    step_count: int
    made_at: datetime
    change: TemplateChange | None
    """Author, if known."""
    is_current: bool


@dataclass(frozen=True, slots=True)
class TemplateVersion:
    """A version with its content."""

    number: int
    made_at: datetime
    definition: Mapping[str, Any]
    """As stored: the complete TDL, unless it is invalid (made with kubectl)."""

    def tdl(self) -> dict[str, Any]:
        try:
            return parse_definition(self.definition).to_tdl()
        except ValidationFailed:
            return dict(self.definition)


class TemplateVersions:
    """Reads and writes versions. All methods raise KubeError."""

    def __init__(self, client: KubeClient, limits: Limits) -> None:
        self._client = client
        self._limits = limits

    async def all_of(self, template: StoredTemplate, organization: Organization) -> list[ListedVersion]:
        """Return all versions, newest first."""
        found: dict[int, ListedVersion] = {}
        async for body in self._earlier(template, organization):
            metadata, spec = body["metadata"], body["spec"]
            change = change_of(metadata, spec["version"])
            listed = _listed(spec["version"], spec["definition"], _made_at(body), change, is_current=False)
            if listed.number not in found or found[listed.number].made_at < listed.made_at:
                found[listed.number] = listed
        meta, definition = template.meta, definition_of(template.body["spec"])
        change = change_of(template.body["metadata"], meta.version)
        current = _listed(meta.version, definition, meta.updated_at, change, is_current=True)
        return [current, *(found[number] for number in sorted(found, reverse=True))]

    async def get(self, template: StoredTemplate, organization: Organization, number: str) -> TemplateVersion:
        """Return a version. Raises TemplateVersionNotFound."""
        if not (number.isascii() and number.isdigit() and len(number) <= _LONGEST_NUMBER):
            raise TemplateVersionNotFound()
        meta = template.meta
        if int(number) == meta.version:
            return TemplateVersion(meta.version, meta.updated_at, template.tdl())
        found: TemplateVersion | None = None
        async for body in self._earlier(template, organization, f",spec.version={int(number)}"):
            made = _made_at(body)
            if found is None or found.made_at < made:
                found = TemplateVersion(body["spec"]["version"], made, body["spec"]["definition"])
        if found is None:
            raise TemplateVersionNotFound()
        return found

    async def require_room(self, template: JsonObject, organization: Organization) -> None:
        """Check the limit of kept versions before a replacement. Raises LimitReached.

        It is exact without a reservation: the revision's name is derived from version and content, and the replacement
        is a compare-and-swap. Of concurrent replacements one succeeds, and all write the same revision.
        """
        meta, own = TemplateMeta.of(template), revision_of(template)["metadata"]["name"]
        selector, kept = f"spec.templateId={meta.id}", set[str]()
        pages = self._client.pages(TEMPLATE_REVISION, meta.namespace, field_selector=selector, metadata_only=True)
        async for page, _ in pages:
            kept |= {str(body["metadata"]["name"]) for body in page}
        limit = self._limits.of(organization.limits).versions
        if own not in kept and len(kept) >= limit:
            raise limit_reached(LimitName.VERSIONS, limit=limit, used=len(kept))

    async def keep(self, template: JsonObject) -> None:
        """Write the revision of the current version, before it is replaced."""
        revision = revision_of(template)
        try:
            with contextlib.suppress(KubeAlreadyExists):
                await self._client.create(TEMPLATE_REVISION, revision, revision["metadata"]["namespace"])
        except KubeInvalid as error:
            # Applied before the current validation rules; it cannot be kept but may be replaced.
            logger.warning(
                "template.version_not_kept", extra={"revision": revision["metadata"]["name"], "reason": error.message}
            )

    async def _earlier(
        self, template: StoredTemplate, organization: Organization, also: str = ""
    ) -> AsyncIterator[JsonObject]:
        """Yield revisions of earlier versions, page by page since they may be large. A recreated template may have two
        of a number; the later one counts."""
        selector = f"spec.templateId={template.meta.id}{also}"
        for namespace in organization.namespaces:
            async for page, _ in self._client.pages(TEMPLATE_REVISION, namespace, field_selector=selector):
                for body in page:
                    spec = body["spec"]
                    if spec["organizationRef"]["name"] == organization.name and spec["version"] < template.meta.version:
                        yield body


def _listed(
    number: int, definition: Mapping[str, Any], made_at: datetime, change: TemplateChange | None, *, is_current: bool
) -> ListedVersion:
    sections = definition.get("sections") or []
    step_count = sum(len(section.get("steps") or []) for section in sections)
    return ListedVersion(number, str(definition.get("name", "")), step_count, made_at, change, is_current)


def _made_at(revision: JsonObject) -> datetime:
    return parse_timestamp(made_at(revision["metadata"]))
