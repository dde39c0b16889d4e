"""The versions of a template that are kept: the current one in the Template itself, earlier ones as TemplateRevisions.

A revision is written before its version is replaced, by whoever replaces it: the API before a PATCH, the operator when
it sees what kubectl made. The newest are kept, and all that runs were made of.
"""

import contextlib
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from checklist_crds.errors import TemplateVersionNotFound, ValidationFailed
from checklist_crds.kube.client import JsonObject, KubeClient
from checklist_crds.kube.errors import KubeAlreadyExists, KubeInvalid
from checklist_crds.kube.kinds import TEMPLATE_REVISION
from checklist_crds.resource_types import made_at
from checklist_crds.snapshot import revision_of
from checklist_crds.template_change import TemplateChange, change_of
from checklist_crds.template_validation import parse_definition
from checklist_crds.times import format_timestamp, parse_timestamp

from .organizations import Organization
from .template_catalogue import StoredTemplate

logger = logging.getLogger(__name__)

_LONGEST_NUMBER: Final = 9


@dataclass(frozen=True, slots=True)
class TemplateVersion:
    """One version of a template."""

    number: int
    definition: Mapping[str, Any]
    """As it is stored: the complete TDL, unless somebody brought an invalid one into the cluster."""
    made_at: datetime
    change: TemplateChange | None
    """Who made it, where that is known."""
    is_current: bool

    def tdl(self) -> dict[str, Any]:
        try:
            return parse_definition(self.definition).to_tdl()
        except ValidationFailed:
            return dict(self.definition)

    def view(self) -> dict[str, Any]:
        """As the list shows it."""
        sections = self.definition.get("sections") or []
        return {
            "v": self.number,
            "name": self.definition.get("name", ""),
            "step_count": sum(len(section.get("steps") or []) for section in sections),
            "created_at": format_timestamp(self.made_at),
            "current": self.is_current,
            "changed_by": None if self.change is None else self.change.view(),
        }


class TemplateVersions:
    """Reads and keeps versions. All methods raise KubeError."""

    def __init__(self, client: KubeClient) -> None:
        self._client = client

    async def all_of(self, template: StoredTemplate, organization: Organization) -> list[TemplateVersion]:
        """The newest first."""
        current, kept = _current(template), await self._kept(template, organization)
        return [current, *(kept[number] for number in sorted(kept, reverse=True))]

    async def get(self, template: StoredTemplate, organization: Organization, number: str) -> TemplateVersion:
        """Raises TemplateVersionNotFound."""
        if not (number.isascii() and number.isdigit() and len(number) <= _LONGEST_NUMBER):
            raise TemplateVersionNotFound()
        if int(number) == template.meta.version:
            return _current(template)
        kept = await self._kept(template, organization, f",spec.version={int(number)}")
        if int(number) not in kept:
            raise TemplateVersionNotFound()
        return kept[int(number)]

    async def keep(self, template: JsonObject) -> None:
        """Sees to it that the version that a Template object holds outlives its replacement."""
        revision = revision_of(template)
        try:
            with contextlib.suppress(KubeAlreadyExists):
                await self._client.create(TEMPLATE_REVISION, revision, revision["metadata"]["namespace"])
        except KubeInvalid as error:
            # Brought into the cluster before its rules were; it cannot be kept, and must not stand in the way.
            logger.warning(
                "template.version_not_kept", extra={"revision": revision["metadata"]["name"], "reason": error.message}
            )

    async def _kept(
        self, template: StoredTemplate, organization: Organization, also: str = ""
    ) -> dict[int, TemplateVersion]:
        """Earlier ones. Where a template was made anew under its name, the later revision of a number counts."""
        found: dict[int, tuple[datetime, JsonObject]] = {}
        for namespace in organization.namespaces:
            revisions, _ = await self._client.list_all(
                TEMPLATE_REVISION, namespace, field_selector=f"spec.templateId={template.meta.id}{also}"
            )
            for body in revisions:
                spec, made = body["spec"], parse_timestamp(made_at(body["metadata"]))
                if spec["organizationRef"]["name"] != organization.name or spec["version"] >= template.meta.version:
                    continue
                if spec["version"] not in found or found[spec["version"]][0] < made:
                    found[spec["version"]] = (made, body)
        return {number: _earlier(body) for number, (_, body) in found.items()}


def _current(template: StoredTemplate) -> TemplateVersion:
    meta = template.meta
    change = change_of(template.body["metadata"], meta.version)
    return TemplateVersion(meta.version, template.tdl(), meta.updated_at, change, is_current=True)


def _earlier(body: JsonObject) -> TemplateVersion:
    metadata, spec = body["metadata"], body["spec"]
    return TemplateVersion(
        number=spec["version"],
        definition=spec["definition"],
        made_at=parse_timestamp(made_at(metadata)),
        change=change_of(metadata, spec["version"]),
        is_current=False,
    )
