"""`/dashboard/api/{org_id}/keys`: the organization's API keys, for its admins."""

from collections.abc import Sequence
from typing import Any

from aiohttp import web

from checklist_crds.ids import object_id
from checklist_crds.resources.organization import Role
from checklist_crds.times import format_optional, format_timestamp

from ...audit.trail import AuditTrail
from ...auth.gate import Caller
from ...auth.keys import ApiKey, KeyDirectory
from ...auth.members import Member, MemberDirectory
from ...http.json_body import json_response, read_json_object, read_optional_json_object
from ...http.pagination import requested_page
from ..table import Route
from .admin import ApiKeyAdmin, requested_purpose


class KeyRoutes:
    def __init__(self, keys: KeyDirectory, admin: ApiKeyAdmin, members: MemberDirectory, audit: AuditTrail) -> None:
        self._keys = keys
        self._admin = admin
        self._members = members
        self._audit = audit

    def routes(self) -> Sequence[Route]:
        return (
            Route("GET", "/keys", Role.ADMIN, self.list),
            Route("POST", "/keys", Role.ADMIN, self.create),
            Route("POST", "/keys/{key_id}/revoke", Role.ADMIN, self.revoke),
        )

    async def list(self, request: web.Request, caller: Caller) -> web.Response:
        page = requested_page(request)
        keys = await self._keys.of_organization(caller.organization)
        shown = page.cut(keys)
        return json_response({"data": [self._view(key) for key in shown], "pagination": page.view(len(keys))})

    async def create(self, request: web.Request, caller: Caller) -> web.Response:
        """Create a key. The only response with the plaintext."""
        purpose = requested_purpose(await read_json_object(request))
        maker = caller.actor
        if not isinstance(maker, Member):
            raise TypeError("only members make keys")
        async with self._audit.act(request, caller) as act:
            key, plaintext = await self._admin.create(caller.organization, maker, purpose, act)
        return json_response({**self._view(key), "key": plaintext}, status=201)

    async def revoke(self, request: web.Request, caller: Caller) -> web.Response:
        await read_optional_json_object(request)
        async with self._audit.act(request, caller) as act:
            key = await self._admin.revoke(caller.organization, request.match_info["key_id"], act)
        return json_response(self._view(key))

    def _view(self, key: ApiKey) -> dict[str, Any]:
        return {
            "id": key.name,
            "name": key.purpose,
            "prefix": key.prefix,
            "last_four": key.last_four,
            "created_by": self._maker(key),
            "created_at": format_timestamp(key.created_at),
            "last_used_at": format_optional(key.last_used_at),
            "revoked": key.revoked,
        }

    def _maker(self, key: ApiKey) -> dict[str, str | None] | None:
        if key.created_by is None:
            return None
        member = self._members.known(key.namespace, key.created_by)
        name = member.display_name if member is not None and member.organization == key.organization else None
        return {"id": object_id("u", key.created_by, key.organization), "name": name}
