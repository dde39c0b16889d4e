"""`/dashboard/api/{org_id}/members`: members of the organization. Admins invite, change and remove them.

All members see names and roles. Only editors and admins see e-mail addresses and sign-in details.
"""

import contextlib
import logging
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Final

from aiohttp import web
from attrs import define

from checklist_crds.errors import NotFound, Problem, ValidationFailed
from checklist_crds.kube.errors import KubeError
from checklist_crds.kube.limit_ledger import LimitLedger
from checklist_crds.limits.organization_limits import Counted
from checklist_crds.resources.organization import Role
from checklist_crds.secrets.account_links import address
from checklist_crds.times import format_optional, format_timestamp

from ...audit.trail import AuditTrail
from ...auth.gate import Caller
from ...auth.members import Member, MemberDirectory
from ...http.json_body import (
    json_response,
    missing_fields,
    read_json_object,
    read_optional_json_object,
    require_members,
)
from ...http.pagination import requested_page
from ...http.text_fields import single_line
from ..access import role_of
from ..sign_in.accounts import AccountExists, LocalAccounts
from ..table import Route
from .admin import MemberAdmin, MemberChange, member_target

logger = logging.getLogger(__name__)

_EMAIL: Final = re.compile(r"[^@\s]+@[^@\s]+")
_ROLES: Final = tuple(role.value for role in Role)


@define(kw_only=True, eq=False, repr=False, slots=False)
class MemberRoutes:
    """`local_accounts`: whether local accounts are enabled. `namespace`: where they are stored."""

    _members: MemberDirectory
    _admin: MemberAdmin
    _accounts: LocalAccounts
    _limits: LimitLedger
    _audit: AuditTrail
    _local_accounts: bool
    _base_url: str
    _namespace: str

    def routes(self) -> Sequence[Route]:
        return (
            Route("GET", "/members", Role.VIEWER, self.list),
            Route("POST", "/members", Role.ADMIN, self.invite),
            Route("PATCH", "/members/{member_id}", Role.ADMIN, self.change),
            Route("POST", "/members/{member_id}/invitation", Role.ADMIN, self.invite_again),
            Route("POST", "/members/{member_id}/reset", Role.ADMIN, self.reset),
            Route("DELETE", "/members/{member_id}", Role.ADMIN, self.remove),
        )

    async def list(self, request: web.Request, caller: Caller) -> web.Response:
        page, organization = requested_page(request), caller.organization
        await self._members.informer.wait_for_first_list()
        known = self._members.of_organization(organization.name)
        members = [member for member in known if organization.has(member.namespace)]
        shown = page.cut(members)
        data = [member_view(member, caller) for member in shown]
        return json_response({"data": data, "pagination": page.view(len(members))})

    async def invite(self, request: web.Request, caller: Caller) -> web.Response:
        wanted = _invitation(await read_json_object(request))
        invitation, makes_account = None, self._local_accounts
        room = self._room_for_account(caller, wanted["email"]) if makes_account else contextlib.nullcontext()
        async with room:
            async with self._audit.act(request, caller) as act:
                member = await self._admin.invite(
                    caller.organization, email=wanted["email"], name=wanted["name"], role=Role(wanted["role"]), act=act
                )
            if makes_account:
                try:
                    invitation = await self._new_link(member)
                except AccountExists:
                    pass  # Invited again after a removal: the existing account remains valid.
                except KubeError as error:
                    # The member exists; a link can be requested again.
                    logger.warning("member.no_link", extra={"member": member.id, "reason": error.message})
        return json_response({**member_view(member, caller), "invitation": invitation}, status=201)

    async def invite_again(self, request: web.Request, caller: Caller) -> web.Response:
        """Create a new link for a member without a password; invalidates the previous one."""
        await read_optional_json_object(request)
        if not self._local_accounts:
            raise NotFound()
        member = await self._admin.find(caller.organization, _id_in(request))
        async with self._room_for_account(caller, member.email), self._audit.act(request, caller) as act:
            await act.announce("member.link_made", member_target(member))
            link = await self._new_link(member)
        return json_response(link, status=201)

    async def change(self, request: web.Request, caller: Caller) -> web.Response:
        change = _change(await read_json_object(request))
        async with self._audit.act(request, caller) as act:
            member = await self._admin.change(caller.organization, _id_in(request), change, act)
        return json_response(member_view(member, caller))

    async def reset(self, request: web.Request, caller: Caller) -> web.Response:
        """Remove the binding to a person, and the password, link and sessions of the organization's own account."""
        await read_optional_json_object(request)
        organization = caller.organization
        async with self._audit.act(request, caller) as act:
            member = await self._admin.find(organization, _id_in(request))
            await act.announce("member.reset", member_target(member))
            await self._accounts.reset(email=member.email, organization=organization.name)
            member = await self._admin.reset(organization, member.id, act)
        return json_response(member_view(member, caller))

    async def remove(self, request: web.Request, caller: Caller) -> web.Response:
        async with self._audit.act(request, caller) as act:
            await self._admin.remove(caller.organization, _id_in(request), act)
        return web.Response(status=204)

    @contextlib.asynccontextmanager
    async def _room_for_account(self, caller: Caller, email: str) -> AsyncIterator[None]:
        """Reserve room for a new account; an existing one needs none. Raises LimitReached, KubeError."""
        organization = caller.organization.name
        name = await self._accounts.name_of(email, organization)
        async with self._limits.room(organization, Counted.ACCOUNT, name, self._namespace):
            yield

    async def _new_link(self, member: Member) -> dict[str, str]:
        """Create an invitation link. Raises AccountExists, KubeError."""
        token, expires_at = await self._accounts.invite(
            email=member.email, name=member.display_name, organization=member.organization
        )
        return {"link": address(self._base_url, token), "expires_at": format_timestamp(expires_at)}


def member_view(member: Member, caller: Caller) -> dict[str, Any]:
    """Render a member for `caller`; fields that they may not see are null."""
    view: dict[str, Any] = {
        "id": member.id,
        "name": member.display_name,
        "role": member.role.value,
        "you": isinstance(caller.actor, Member) and caller.actor.key == member.key,
        "created_at": format_timestamp(member.created_at),
        "email": None,
        "signed_in": None,
        "signed_in_at": None,
        "issuer": None,
        "managed_by": None if member.manager is None else member.manager.view(),
    }
    if role_of(caller) is not Role.VIEWER:
        view |= {
            "email": member.email,
            "signed_in": member.person is not None,
            "signed_in_at": format_optional(member.bound_at),
            "issuer": None if member.person is None else member.person[0],
        }
    return view


def _id_in(request: web.Request) -> str:
    return request.match_info["member_id"]


def _invitation(body: Mapping[str, Any]) -> dict[str, str]:
    """Validate the body of `invite`. Raises MissingField, ValidationFailed."""
    require_members(dict(body), "email", "name", "role")
    problems: list[Problem] = []
    email = single_line(body["email"], "email", 254, problems).lower()
    if email and (len(email) < 3 or not _EMAIL.fullmatch(email)):
        problems.append(Problem("email", "invalid_email", "must be an e-mail address"))
    name = single_line(body["name"], "name", 200, problems)
    role = _role(body["role"], problems)
    if problems:
        raise ValidationFailed("The invitation is not valid.", details=problems)
    return {"email": email, "name": name, "role": role}


def _change(body: Mapping[str, Any]) -> MemberChange:
    """Validate the body of `change`. Raises MissingField, ValidationFailed."""
    if not body.keys() & {"name", "role"}:
        raise missing_fields(["name", "role"])
    problems: list[Problem] = []
    name = single_line(body["name"], "name", 200, problems) if "name" in body else None
    role = _role(body["role"], problems) if "role" in body else None
    if "email" in body:
        problems.append(Problem("email", "read_only", "An address cannot be changed: invite the new one."))
    if problems:
        raise ValidationFailed("The change is not valid.", details=problems)
    return MemberChange(name=name, role=None if role is None else Role(role))


def _role(value: object, problems: list[Problem]) -> str:
    if isinstance(value, str) and value in _ROLES:
        return value
    problems.append(Problem("role", "invalid_option", f"must be one of {', '.join(_ROLES)}"))
    return ""
