"""Room for templates within the caps of their organization: the operator's half of it.

The API reserves room before it writes a template, and says in an annotation for how many bytes it counts. Whoever may
write the template may write that annotation, too. So a template that nobody has judged yet is believed to have room
only while its organization is within its caps with it, and one that ceases to count, or counts for less than it has,
is admitted once more.
"""

from typing import Final

from checklist_crds.errors import LimitReached
from checklist_crds.kube.client import JsonObject, KubeClient
from checklist_crds.kube.errors import KubeNotFound
from checklist_crds.kube.informer import Key
from checklist_crds.kube.limit_ledger import LimitLedger
from checklist_crds.limits.caps import Counted
from checklist_crds.resources.base import SIZE_ANNOTATION
from checklist_crds.resources.kinds import TEMPLATE
from checklist_crds.resources.template import ADMITTED, TemplateMeta, counted_size, definition_of
from checklist_crds.templates.validation import canonical_size

_VALID: Final = "Valid"


class TemplateAdmission:
    """`admit` templates; `is_due` says of one that it has to be admitted again."""

    def __init__(self, client: KubeClient, limits: LimitLedger) -> None:
        self._client = client
        self._limits = limits
        self._admitted: dict[Key, int] = {}
        """The bytes for which each template was admitted since this process began."""

    def is_due(self, key: Key, body: JsonObject) -> bool:
        """Whether somebody else than the service has changed for how much it counts."""
        return key in self._admitted and counted_size(body["metadata"]) < self._admitted[key]

    def forget(self, key: Key) -> None:
        self._admitted.pop(key, None)

    async def admit(self, key: Key, body: JsonObject) -> JsonObject:
        """The object, with the size for which it counts. Raises LimitReached and KubeError."""
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
            return body  # gone, or of an organization that is not there, or whose objects do not live here
        self._admitted[key] = size
        return body

    async def _verify(self, key: Key, body: JsonObject, organization: str, size: int) -> None:
        """That a template that says it counts has room. Raises LimitReached."""
        known = self._admitted.get(key)
        is_new = known is None and not any(one["type"] == _VALID for one in _conditions(body))
        if is_new or (known is not None and size > known):
            await self._limits.verify(organization, Counted.TEMPLATE)

    async def _count(self, key: Key, body: JsonObject, size: int | None) -> JsonObject:
        """None: no longer at all."""
        patch = {"metadata": {"annotations": {SIZE_ANNOTATION: None if size is None else str(size)}}}
        version = body["metadata"]["resourceVersion"]
        return await self._client.patch(TEMPLATE, key[1], patch, key[0], resource_version=version)


def _was_judged_before_caps(body: JsonObject) -> bool:
    """Whether an earlier release has judged the template as it is, and nobody has refused it since."""
    generation = body["metadata"]["generation"]
    judged = {one["type"] for one in _conditions(body) if one.get("observedGeneration") == generation}
    return _VALID in judged and ADMITTED not in {one["type"] for one in _conditions(body)}


def _conditions(body: JsonObject) -> list[JsonObject]:
    return (body.get("status") or {}).get("conditions") or []
