"""`/dashboard/api/sign-in...`: the available methods, and sign-in with local accounts.

Responses do not reveal whether an account exists. All requests are rate limited by address and accepted from our own
page only (login CSRF).
"""

import logging
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from aiohttp import web

from checklist_crds.errors import LinkNotValid, NotFound, Problem, SignInFailed, ValidationFailed
from checklist_crds.resources.account import LinkPurpose, SignInMethod
from checklist_crds.secrets.account_links import account_name
from checklist_crds.times import Clock

from ...auth.gate import Gate
from ...http.json_body import json_response, read_json_object, require_members
from ...organizations.directory import OrganizationDirectory
from ..access import DashboardGate, set_session_cookie
from .accounts import LocalAccount
from .flow import Identity, SignIn

logger = logging.getLogger(__name__)


class SignInRoutes:
    def __init__(
        self, sign_in: SignIn, gate: DashboardGate, organizations: OrganizationDirectory, clock: Clock
    ) -> None:
        self._sign_in = sign_in
        self._gate = gate
        self._organizations = organizations
        self._clock = clock

    def add_to(self, router: web.UrlDispatcher, gate: Gate) -> None:
        router.add_get("/dashboard/api/sign-in", gate.public(self.methods))
        router.add_post("/dashboard/api/sign-in/password", gate.public(self.with_password))
        router.add_post("/dashboard/api/sign-in/link", gate.public(self.with_link))

    async def methods(self, _: web.Request) -> web.Response:
        """`{oidc: {name} | null, local}`"""
        settings = self._sign_in.settings
        oidc = {"name": settings.oidc.name} if settings.oidc is not None else None
        return json_response({"oidc": oidc, "local": settings.local_accounts})

    async def with_password(self, request: web.Request) -> web.Response:
        """`{email, password, organization_id?}` -> 200 `{choose_password: false}` and the cookie; 401 `sign_in_failed`.

        200 `{choose_organization: [{id, name}]}` without a cookie if several accounts of the address have this
        password: the page then repeats the request with one of these ids as `organization_id`. The id "" is the
        installation's account, valid in all organizations.
        """
        since = self._clock()
        body = await self._body(request, "email", "password", optional=("organization_id",))
        email = body["email"].strip().lower()
        await self._sign_in.throttle.count_account(request, account_name(email))
        accounts = await self._sign_in.accounts.with_password(email, body["password"])
        choices = {choice["id"]: (choice, account) for account in accounts for choice in await self._choices(account)}
        if (chosen := body.get("organization_id")) is not None:
            choices = {id_: choice for id_, choice in choices.items() if id_ == chosen}
        if not choices:
            logger.info("sign_in.refused", extra={"method": "password", "account": account_name(email)})
            raise SignInFailed()
        if len(choices) > 1:
            offered = sorted(
                (choice for choice, _ in choices.values()), key=lambda choice: (choice["name"], choice["id"])
            )
            return json_response({"choose_organization": offered})
        [(_, account)] = choices.values()
        identity = Identity.of_account(account)
        return await self._begin(request, identity, SignInMethod.PASSWORD, choose_password=False, since=since)

    async def _choices(self, account: LocalAccount) -> list[dict[str, str]]:
        """Return the choices for an account; none if its organization does not exist."""
        if account.organization is None:
            return [{"id": "", "name": "All organizations"}]
        organization = await self._organizations.find(account.organization)
        return [] if organization is None else [{"id": organization.id, "name": organization.display_name}]

    async def with_link(self, request: web.Request) -> web.Response:
        """`{secret}` -> 200 `{choose_password}` and the cookie; 401 `link_not_valid`.

        `choose_password`: the page must ask for a password (an invitation to an account without one).
        """
        since = self._clock()
        body = await self._body(request, "secret")
        redeemed = await self._sign_in.accounts.redeem(body["secret"])
        if redeemed is None:
            logger.info("sign_in.refused", extra={"method": "link"})
            raise LinkNotValid()
        account, purpose = redeemed
        choose = purpose is LinkPurpose.INVITATION and not account.has_password
        identity = Identity.of_account(account)
        return await self._begin(request, identity, SignInMethod.LINK, choose_password=choose, since=since)

    async def _begin(
        self, request: web.Request, identity: Identity, method: SignInMethod, *, choose_password: bool, since: datetime
    ) -> web.Response:
        _, secret = await self._sign_in.begin(request, identity, method, since=since)
        self._sign_in.accounts.note_sign_in(identity.subject)
        response = json_response({"choose_password": choose_password})
        set_session_cookie(response, secret)
        return response

    async def _body(self, request: web.Request, *names: str, optional: Sequence[str] = ()) -> dict[str, Any]:
        """Return the body's members as strings. Raises NotFound if local accounts are disabled."""
        await self._sign_in.throttle.count_address(request)
        self._gate.require_own_page(request)
        if not self._sign_in.settings.local_accounts:
            raise NotFound("Sign-in by password or link is disabled.")
        await self._sign_in.require_sessions()
        return await strings(request, *names, optional=optional)


async def strings(request: web.Request, *names: str, optional: Sequence[str] = ()) -> dict[str, str]:
    """Return the body's members, which must be strings. Raises MissingField, ValidationFailed."""
    body = await read_json_object(request)
    require_members(body, *names)
    names = (*names, *(name for name in optional if name in body))
    wrong = [Problem(name, "invalid_type", "must be a string") for name in names if not isinstance(body[name], str)]
    if wrong:
        raise ValidationFailed(details=wrong)
    return body
