"""Checks templates against the limits of their organization.

The API reserves room before it writes a template, and records the counted bytes in an annotation, which anyone with
write access to the template can change. So a new template with the annotation is accepted only if its organization is
within its limits, and a template whose annotation is removed or too small is admitted again.
"""

from typing import Final

from checklist_crds.errors import LimitReached
from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.errors import KubeNotFound
from checklist_crds.kube.limit_ledger import LimitLedger
from checklist_crds.limits.organization_limits import Counted
from checklist_crds.resources.base import SIZE_ANNOTATION
from checklist_crds.resources.kinds import TEMPLATE, Key
from checklist_crds.resources.template import ADMITTED, TemplateMeta, counted_size, definition_of
from checklist_crds.templates.validation import canonical_size
from checklist_crds.values.json_text import JsonObject

_VALID: Final = "Valid"


class TemplateAdmission:
    """Admits templates and detects changed annotations."""

    def __init__(self, client: KubeClient, limits: LimitLedger) -> None:
        self._client = client
        self._limits = limits
        self._admitted: dict[Key, int] = {}
        """Bytes for which each template was admitted since the process started."""

    def is_due(self, key: Key, body: JsonObject) -> bool:
        """Whether the counted size was lowered by anyone but the service."""
        return key in self._admitted and counted_size(body["metadata"]) < self._admitted[key]

    def forget(self, key: Key) -> None:
        self._admitted.pop(key, None)

    async def admit(self, key: Key, body: JsonObject) -> JsonObject:
        """Returns the object with its counted size. Raises LimitReached and KubeError."""
        organization = TemplateMeta.of(body).organization
        if not organization:
            return body
        size, counted = canonical_size(definition_of(body["spec"])), counted_size(body["metadata"])
        try:
            if size == counted:
                await self._verify(key, body, organization, size)
            elif size < counted or (not counted and key not in self._admitted and _was_judged_before_caps(body)):
                body = await self._count(key, body, size)
            else:
                async with self._limits.room(organization, Counted.TEMPLATE, key[1], key[0], size=size):
                    body = await self._count(key, body, size)
        except LimitReached:
            self._admitted.pop(key, None)
            if counted:
                await self._count(key, body, None)
            raise
        except KubeNotFound:
            return body  # deleted, or its organization is missing or lives in another namespace
        self._admitted[key] = size
        return body

    async def _verify(self, key: Key, body: JsonObject, organization: str, size: int) -> None:
        """Checks that a template with the annotation has room. Raises LimitReached."""
        known = self._admitted.get(key)
        is_new = known is None and not any(one["type"] == _VALID for one in _conditions(body))
        if is_new or (known is not None and size > known):
            await self._limits.verify(organization, Counted.TEMPLATE)

    async def _count(self, key: Key, body: JsonObject, size: int | None) -> JsonObject:
        """Writes the counted size; None removes it."""
        patch = {"metadata": {"annotations": {SIZE_ANNOTATION: None if size is None else str(size)}}}
        version = body["metadata"]["resourceVersion"]
        return await self._client.patch(TEMPLATE, key[1], patch, key[0], resource_version=version)


def _was_judged_before_caps(body: JsonObject) -> bool:
    """Whether an earlier release validated this generation, and the template was not refused since."""
    generation = body["metadata"]["generation"]
    judged = {one["type"] for one in _conditions(body) if one.get("observedGeneration") == generation}
    return _VALID in judged and ADMITTED not in {one["type"] for one in _conditions(body)}


def _conditions(body: JsonObject) -> list[JsonObject]:
    return (body.get("status") or {}).get("conditions") or []
