"""Names of members for "sent by" of a run, cached for a minute: few keys dispatch many runs."""

from typing import Final

from pydantic import ValidationError

from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.errors import KubeNotFound
from checklist_crds.platform.ttl_cache import TTLCache
from checklist_crds.resources.kinds import MEMBER
from checklist_crds.resources.organization import MemberSpec

from .gate import Caller
from .keys import ApiKey
from .members import Member

_REMEMBERED_S: Final = 60.0
_REMEMBERED: Final = 1_000


class MemberNames:
    """Who stands behind a caller."""

    def __init__(self, client: KubeClient) -> None:
        self._client = client
        self._names: TTLCache[tuple[str, str, str], str | None] = TTLCache(_REMEMBERED, ttl_s=_REMEMBERED_S)

    async def sender(self, caller: Caller) -> str:
        """The member who acts or made the key, else the organization's name (contract section 5). Raises KubeError."""
        actor, organization = caller.actor, caller.organization
        if isinstance(actor, Member):
            return actor.display_name
        name = None if actor.created_by is None else await self._name(actor, actor.created_by, organization.name)
        return name or organization.display_name

    async def _name(self, key: ApiKey, member: str, organization: str) -> str | None:
        who = (key.namespace, member, organization)
        if who not in self._names:
            self._names.put(who, await self._read(*who))
        return self._names.get(who)

    async def _read(self, namespace: str, member: str, organization: str) -> str | None:
        try:
            body = await self._client.get(MEMBER, member, namespace)
            spec = MemberSpec.model_validate(body.get("spec") or {})
        except (KubeNotFound, ValidationError):
            return None
        return spec.name if spec.organization_ref.name == organization else None
