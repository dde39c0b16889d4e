"""Names of members for the "sent by" of a run, cached for a minute."""

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

_TTL_S: Final = 60.0
_SIZE: Final = 1_000


class MemberNames:
    """Resolves the name of a caller."""

    def __init__(self, client: KubeClient) -> None:
        self._client = client
        self._names: TTLCache[tuple[str, str, str], str | None] = TTLCache(_SIZE, ttl_s=_TTL_S)

    async def sender(self, caller: Caller) -> str:
        """Return the name of the member or of the key's creator, else the organization's (contract section 5). Raises
        KubeError."""
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
