"""Writing templates: create, patch (every accepted one is a version), delete."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from checklist_crds import merge_patch
from checklist_crds.errors import Problem, TemplateNotFound, ValidationFailed, VersionConflict
from checklist_crds.ids import new_id
from checklist_crds.kube.client import JsonObject, KubeClient, retry_conflicts
from checklist_crds.kube.errors import KubeAlreadyExists, KubeInvalid, KubeNotFound
from checklist_crds.kube.kinds import TEMPLATE
from checklist_crds.resource_types import (
    API_VERSION,
    CREATED_AT_ANNOTATION,
    FINGERPRINT_ANNOTATION,
    ORGANIZATION_LABEL,
)
from checklist_crds.template_resource import TemplateMeta, definition_of
from checklist_crds.template_types import Definition
from checklist_crds.template_validation import parse_definition
from checklist_crds.times import Clock, format_timestamp, parse_timestamp

from .idempotency import Claim, Idempotency, require_same_payload
from .organizations import Organization
from .template_catalogue import StoredTemplate, TemplateCatalogue

logger = logging.getLogger(__name__)

ASSIGNED_ON_CREATE: Final = ("id", "v", "org_id")
ASSIGNED: Final = (*ASSIGNED_ON_CREATE, "created_at", "updated_at")


@dataclass(frozen=True, slots=True)
class Created:
    """A template as its first answer shows it."""

    template: StoredTemplate
    replayed: bool


class TemplateWriter:
    """All methods raise KubeError beside what they say."""

    def __init__(
        self, client: KubeClient, catalogue: TemplateCatalogue, idempotency: Idempotency, clock: Clock
    ) -> None:
        self._client = client
        self._catalogue = catalogue
        self._idempotency = idempotency
        self._clock = clock

    async def create(self, organization: Organization, definition: Definition, claim: Claim | None) -> Created:
        """Raises ValidationFailed, IdempotencyKeyReused."""
        if claim is not None:
            first = await self._idempotency.first(TEMPLATE, claim, organization.namespaces)
            if first is not None:
                return Created(_first_answer(first, definition), replayed=True)
        annotations = {CREATED_AT_ANNOTATION: format_timestamp(self._clock())}
        if claim is not None:
            annotations[FINGERPRINT_ANNOTATION] = claim.fingerprint
        name = claim.name if claim is not None else new_id("t")
        body = {
            "apiVersion": API_VERSION,
            "kind": TEMPLATE.kind,
            "metadata": {
                "name": name,
                "namespace": organization.home,
                "labels": {ORGANIZATION_LABEL: organization.name},
                "annotations": annotations,
            },
            "spec": {**definition.to_tdl(), "organizationRef": {"name": organization.name}},
        }
        try:
            stored = await self._client.create(TEMPLATE, body, organization.home)
        except KubeInvalid as error:
            raise _refused(error) from None
        except KubeAlreadyExists:
            if claim is None:
                raise
            first = await self._client.get(TEMPLATE, name, organization.home)
            require_same_payload(first, claim)
            return Created(_first_answer(first, definition), replayed=True)
        self._catalogue.observe(stored)
        logger.info("template.created", extra={"template_id": name, "organization": organization.name})
        return Created(StoredTemplate(stored), replayed=False)

    async def patch(
        self,
        organization: Organization,
        template_id: str,
        patch: Mapping[str, Any],
        *,
        versions: frozenset[int] | None,
        strict: bool,
    ) -> StoredTemplate:
        """RFC 7396 on the newest version. Raises TemplateNotFound, VersionConflict, ValidationFailed.

        `versions`: the only ones that may be changed (If-Match); None is any.
        """
        target = (await self._catalogue.get(organization, template_id)).meta

        async def attempt() -> JsonObject:
            try:
                current = await self._client.get(TEMPLATE, target.name, target.namespace)
            except KubeNotFound:
                raise TemplateNotFound() from None
            meta = TemplateMeta.of(current)
            if meta.organization != organization.name:
                raise TemplateNotFound()
            if versions is not None and meta.version not in versions:
                raise VersionConflict(f"The template has version {meta.version}, which If-Match does not name.")
            return await self._client.replace(TEMPLATE, self._revised(current, patch, strict=strict))

        try:
            stored = await retry_conflicts(attempt)
        except KubeInvalid as error:
            raise _refused(error) from None
        except KubeNotFound:
            raise TemplateNotFound() from None
        self._catalogue.observe(stored)
        template = StoredTemplate(stored)
        logger.info(
            "template.patched",
            extra={"template_id": template_id, "v": template.meta.version, "organization": organization.name},
        )
        return template

    async def delete(self, organization: Organization, template_id: str) -> None:
        """Raises TemplateNotFound."""
        template = await self._catalogue.get(organization, template_id)
        try:
            await self._client.delete(TEMPLATE, template.meta.name, template.meta.namespace)
        except KubeNotFound:
            raise TemplateNotFound() from None
        finally:
            self._catalogue.forget(template)
        logger.info("template.deleted", extra={"template_id": template_id, "organization": organization.name})

    def _revised(self, current: JsonObject, patch: Mapping[str, Any], *, strict: bool) -> JsonObject:
        spec = current["spec"]
        problems = [
            Problem(name, "read_only", "The service assigns this field; it cannot be changed.")
            for name in ASSIGNED
            if name in patch
        ]
        merged = merge_patch.apply(definition_of(spec), {k: v for k, v in patch.items() if k not in ASSIGNED})
        definition = parse_with(merged, problems, strict=strict)
        # Kubernetes counts a generation only where the spec changes, so this changes whatever else does.
        now, before = self._clock(), spec.get("revisedAt")
        if before is not None:
            now = max(now, parse_timestamp(before) + timedelta(milliseconds=1))
        revised = {
            **definition.to_tdl(),
            "organizationRef": spec["organizationRef"],
            "revisedAt": format_timestamp(now),
        }
        return {**current, "spec": revised}


def parse_with(document: Mapping[str, Any], problems: list[Problem], *, strict: bool) -> Definition:
    """The definition; its own problems and those that were found before are raised together."""
    try:
        definition = parse_definition(document, strict=strict)
    except ValidationFailed as error:
        found = error.details if isinstance(error.details, list) else []
        raise ValidationFailed("The template is not valid.", details=[*problems, *found]) from None
    if problems:
        raise ValidationFailed("The template is not valid.", details=problems)
    return definition


def _first_answer(body: JsonObject, definition: Definition) -> StoredTemplate:
    """The template as it was when it was made, whatever was done to it since: the payload is the same one."""
    metadata = {**body["metadata"], "generation": 1}
    spec = {**definition.to_tdl(), "organizationRef": body["spec"]["organizationRef"]}
    return StoredTemplate({**body, "metadata": metadata, "spec": spec})


def _refused(error: KubeInvalid) -> ValidationFailed:
    return ValidationFailed("The template is not valid.", details=[Problem("", "refused", error.message)])
