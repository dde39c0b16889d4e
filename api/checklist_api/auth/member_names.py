"""Names of members for "sent by" of a run, cached for a minute: few keys dispatch many runs."""

import time
from collections import OrderedDict
from typing import Final

from pydantic import ValidationError

from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.errors import KubeNotFound
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
        self._names: OrderedDict[tuple[str, str, str], tuple[float, str | None]] = OrderedDict()

    async def sender(self, caller: Caller) -> str:
        """The member who acts or made the key, else the organization's name (contract section 5). Raises KubeError."""
        actor, organization = caller.actor, caller.organization
        if isinstance(actor, Member):
            return actor.display_name
        name = None if actor.created_by is None else await self._name(actor, actor.created_by, organization.name)
        return name or organization.display_name

    async def _name(self, key: ApiKey, member: str, organization: str) -> str | None:
        who = (key.namespace, member, organization)
        at, name = self._names.get(who, (float("-inf"), None))
        if time.monotonic() - at > _REMEMBERED_S:
            name = await self._read(*who)
            self._names[who] = (time.monotonic(), name)
            self._names.move_to_end(who)
            while len(self._names) > _REMEMBERED:
                self._names.popitem(last=False)
        return name

    async def _read(self, namespace: str, member: str, organization: str) -> str | None:
        try:
            body = await self._client.get(MEMBER, member, namespace)
            spec = MemberSpec.model_validate(body.get("spec") or {})
        except (KubeNotFound, ValidationError):
            return None
        return spec.name if spec.organization_ref.name == organization else None
