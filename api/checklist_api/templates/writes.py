"""Creates, patches, restores and deletes templates. Every accepted write creates a version."""

import contextlib
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from attrs import define, field

from checklist_crds.errors import Problem, TemplateManaged, TemplateNotFound, ValidationFailed, VersionConflict
from checklist_crds.ids import new_id
from checklist_crds.kube.client import KubeClient, retry_conflicts
from checklist_crds.kube.errors import KubeAlreadyExists, KubeInvalid, KubeNotFound
from checklist_crds.kube.limit_ledger import LimitLedger
from checklist_crds.limits.organization_limits import Counted
from checklist_crds.platform.weighted_lru import weight_of
from checklist_crds.resources.audit_entry import ActorKind, AuditTarget
from checklist_crds.resources.base import (
    CREATED_AT_ANNOTATION,
    FINGERPRINT_ANNOTATION,
    SIZE_ANNOTATION,
)
from checklist_crds.resources.kinds import TEMPLATE
from checklist_crds.resources.management import manager_of
from checklist_crds.resources.template import TemplateMeta, counted_size, definition_of
from checklist_crds.resources.template_change import CHANGED_BY_ANNOTATION, TemplateChange
from checklist_crds.resources.template_definition import Definition
from checklist_crds.times import Clock, format_timestamp, parse_timestamp
from checklist_crds.values import merge_patch
from checklist_crds.values.json_text import JsonObject

from ..audit.trail import Act
from ..cluster.keyed_locks import KeyedLocks
from ..idempotency import Idempotency, IdempotencyClaim, require_same_payload
from ..organizations.directory import Organization
from .body import parse_with
from .catalogue import StoredTemplate, TemplateCatalogue
from .versions import TemplateVersions

logger = logging.getLogger(__name__)

TARGET: Final = "template"
ASSIGNED_ON_CREATE: Final = ("id", "v", "org_id")
ASSIGNED: Final = (*ASSIGNED_ON_CREATE, "created_at", "updated_at")


@dataclass(frozen=True, slots=True)
class Created:
    """A template as in the first response."""

    template: StoredTemplate
    repeated: bool


@define(kw_only=True, eq=False, repr=False, slots=False)
class TemplateWriter:
    """All methods also raise KubeError."""

    _client: KubeClient
    _catalogue: TemplateCatalogue
    _versions: TemplateVersions
    _limits: LimitLedger
    _idempotency: Idempotency
    _clock: Clock
    _locks: KeyedLocks = field(factory=KeyedLocks, init=False)

    async def create(
        self, organization: Organization, definition: Definition, claim: IdempotencyClaim | None, act: Act
    ) -> Created:
        """Create a template. Raises ValidationFailed, IdempotencyKeyReused, LimitReached, ResourceDeleted."""
        if claim is not None:
            first = await self._idempotency.first(TEMPLATE, claim, organization)
            if first is not None:
                return self._replayed(first, definition)
        now = self._clock()
        name = claim.name if claim is not None else new_id("t")
        written = definition.to_tdl()
        size = weight_of(written)
        body = TEMPLATE.manifest(
            name,
            organization.namespace,
            {**written, "organizationRef": {"name": organization.name}},
            organization=organization.name,
            annotations={
                CREATED_AT_ANNOTATION: format_timestamp(now),
                CHANGED_BY_ANNOTATION: TemplateChange.by(act.actor, 1).annotation(),
                FINGERPRINT_ANNOTATION: None if claim is None else claim.fingerprint,
                SIZE_ANNOTATION: str(size),
            },
        )
        try:
            async with self._limits.room(organization.name, Counted.TEMPLATE, name, organization.namespace, size=size):
                await self._idempotency.require_room(claim, organization)
                await act.announce("template.created", AuditTarget(kind=TARGET, id=name, name=definition.name))
                stored = await self._client.create(TEMPLATE, body, organization.namespace)
        except KubeInvalid as error:
            raise _refused(error) from None
        except KubeAlreadyExists:
            if claim is None:
                raise
            await act.failed("created_before")
            first = await self._idempotency.get_existing(TEMPLATE, (name, organization.namespace))
            require_same_payload(first, claim)
            return self._replayed(first, definition)
        self._catalogue.observe(stored)
        await self._idempotency.remember((name, organization.namespace), now, claim, organization)
        logger.info("template.created", extra={"template_id": name, "organization": organization.name})
        return Created(StoredTemplate(stored), repeated=False)

    def _replayed(self, first: JsonObject, definition: Definition) -> Created:
        """Add the template to lists of this replica, since another one may have created it."""
        self._catalogue.observe(first)
        return Created(_first_answer(first, definition), repeated=True)

    async def patch(
        self,
        organization: Organization,
        template_id: str,
        patch: Mapping[str, Any],
        *,
        versions: frozenset[int] | None,
        strict: bool,
        act: Act,
    ) -> StoredTemplate:
        """Apply a merge patch (RFC 7396). Raises TemplateNotFound, VersionConflict, ValidationFailed, TemplateManaged.

        `versions`: the expected versions (If-Match); None accepts any.
        """
        wanted = {name: value for name, value in patch.items() if name not in ASSIGNED}
        problems = [
            Problem(name, "read_only", "The service assigns this field; it cannot be changed.")
            for name in ASSIGNED
            if name in patch
        ]

        def merged(current: Mapping[str, Any]) -> Definition:
            return parse_with(merge_patch.apply(current, wanted), problems, strict=strict)

        # Only known field names are recorded in the audit trail.
        fields = ", ".join(sorted(wanted.keys() & Definition.model_fields.keys()))
        return await self._replace(
            organization, template_id, merged, "template.updated", {"fields": fields}, versions=versions, act=act
        )

    async def restore(
        self,
        organization: Organization,
        template_id: str,
        number: str,
        *,
        versions: frozenset[int] | None,
        act: Act,
    ) -> StoredTemplate:
        """Create a version with the content of version `number`.

        Raises TemplateNotFound, TemplateVersionNotFound, VersionConflict, ValidationFailed, TemplateManaged.
        """
        template = await self._catalogue.get(organization, template_id)
        old = await self._versions.get(template, organization, number)
        definition = parse_with(old.tdl(), [], strict=False)
        details = {"restored_version": str(old.number)}
        return await self._replace(
            organization,
            template_id,
            lambda _: definition,
            "template.restored",
            details,
            versions=versions,
            act=act,
        )

    async def delete(self, organization: Organization, template_id: str, act: Act) -> None:
        """Delete a template. Raises TemplateNotFound, TemplateManaged."""
        template = await self._catalogue.get(organization, template_id)
        meta = template.meta
        _require_unmanaged(await self._read(organization, template), act)
        target = AuditTarget(kind=TARGET, id=meta.id, name=template.listed.display_name)
        await act.announce("template.deleted", target, version=str(meta.version))
        try:
            await self._client.delete(TEMPLATE, meta.name, meta.namespace)
        except KubeNotFound:
            raise TemplateNotFound() from None
        self._catalogue.forget(template)
        logger.info("template.deleted", extra={"template_id": template_id, "organization": organization.name})

    async def _replace(
        self,
        organization: Organization,
        template_id: str,
        change: Callable[[Mapping[str, Any]], Definition],
        action: str,
        details: dict[str, str],
        *,
        versions: frozenset[int] | None,
        act: Act,
    ) -> StoredTemplate:
        """Keep the current version, then replace it by `change` of its definition."""
        known = await self._catalogue.get(organization, template_id)

        async def attempt() -> JsonObject:
            current = await self._read(organization, known)
            meta = TemplateMeta.of(current)
            if versions is not None and meta.version not in versions:
                # Lists then show the current version.
                self._catalogue.observe(current)
                raise VersionConflict(f"If-Match does not match the current version {meta.version}.")
            _require_unmanaged(current, act)
            definition = change(definition_of(current["spec"]))
            revised = self._revised(current, definition, TemplateChange.by(act.actor, meta.version + 1))
            await self._versions.require_room(current, organization)
            async with self._room_to_replace(current, revised, organization):
                await self._versions.keep(current)
                target = AuditTarget(kind=TARGET, id=meta.id, name=definition.name)
                await act.announce(action, target, **details, version=str(meta.version + 1))
                return await self._client.replace(TEMPLATE, revised)

        try:
            async with self._locks.of(template_id):
                stored = await retry_conflicts(attempt)
        except KubeInvalid as error:
            raise _refused(error) from None
        except KubeNotFound:
            raise TemplateNotFound() from None
        self._catalogue.observe(stored)
        template = StoredTemplate(stored)
        logger.info(action, extra={"template_id": template_id, "v": template.meta.version})
        return template

    def _room_to_replace(
        self, current: JsonObject, revised: JsonObject, organization: Organization
    ) -> contextlib.AbstractAsyncContextManager[None]:
        """Reserve room if the template grows; otherwise none is needed, because the write is conditional."""
        meta, size = TemplateMeta.of(current), counted_size(revised["metadata"])
        if size <= counted_size(current["metadata"]):
            return contextlib.nullcontext()
        return self._limits.room(organization.name, Counted.TEMPLATE, meta.name, meta.namespace, size=size)

    async def _read(self, organization: Organization, template: StoredTemplate) -> JsonObject:
        """Read the template from the cluster. Raises TemplateNotFound."""
        try:
            current = await self._client.get(TEMPLATE, template.meta.name, template.meta.namespace)
        except KubeNotFound:
            self._catalogue.forget(template)
            raise TemplateNotFound() from None
        if TemplateMeta.of(current).organization != organization.name:
            raise TemplateNotFound()
        return current

    def _revised(self, current: JsonObject, definition: Definition, change: TemplateChange) -> JsonObject:
        spec, metadata = current["spec"], current["metadata"]
        # The generation must increase, but Kubernetes increments it for changes of the spec only.
        now, before = self._clock(), spec.get("revisedAt")
        if before is not None:
            now = max(now, parse_timestamp(before) + timedelta(milliseconds=1))
        written = definition.to_tdl()
        revised = {
            **written,
            "organizationRef": spec["organizationRef"],
            "revisedAt": format_timestamp(now),
        }
        annotations = {
            **(metadata.get("annotations") or {}),
            CHANGED_BY_ANNOTATION: change.annotation(),
            SIZE_ANNOTATION: str(weight_of(written)),
        }
        return {**current, "metadata": {**metadata, "annotations": annotations}, "spec": revised}


def _first_answer(body: JsonObject, definition: Definition) -> StoredTemplate:
    """Reconstruct the template as of its creation, from the same payload."""
    metadata = {**body["metadata"], "generation": 1}
    spec = {**definition.to_tdl(), "organizationRef": body["spec"]["organizationRef"]}
    return StoredTemplate({**body, "metadata": metadata, "spec": spec})


def _refused(error: KubeInvalid) -> ValidationFailed:
    return ValidationFailed("The template is not valid.", details=[Problem("", "refused", error.message)])


def _require_unmanaged(template: JsonObject, act: Act) -> None:
    """Refuse changes by members to a template managed by GitOps; an API key may be used by GitOps itself."""
    if act.actor.kind is not ActorKind.MEMBER:
        return
    manager = manager_of(template["metadata"])
    if manager is not None:
        raise TemplateManaged(f"{manager.reason} Change the template there.", details={"managed_by": manager.view()})
