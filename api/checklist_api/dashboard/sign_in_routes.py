"""`/dashboard/api/sign-in...`: which ways there are to sign in, and those of local accounts.

A refusal never says whether there is such an account. All of it counts for the address that it comes from, and is taken
from our own page only: nobody can sign a browser in as somebody else behind its back.
"""

import logging
from typing import Any

from aiohttp import web

from checklist_crds.account_links import account_name
from checklist_crds.account_types import LinkPurpose, SignInMethod
from checklist_crds.errors import LinkNotValid, NotFound, Problem, SignInFailed, ValidationFailed

from ..request_body import read_json_object, require_members
from ..responses import json_response
from ..services import Services
from .access import set_session_cookie
from .sign_in import Identity, SignIn

logger = logging.getLogger(__name__)


def add_routes(router: web.UrlDispatcher, services: Services) -> None:
    routes = SignInRoutes(services)
    router.add_get("/dashboard/api/sign-in", services.gate.public(routes.ways))
    router.add_post("/dashboard/api/sign-in/password", services.gate.public(routes.with_password))
    router.add_post("/dashboard/api/sign-in/link", services.gate.public(routes.with_link))


class SignInRoutes:
    """One method for each operation."""

    def __init__(self, services: Services) -> None:
        self._sign_in: SignIn = services.sign_in
        self._gate = services.dashboard

    async def ways(self, _: web.Request) -> web.Response:
        """`{oidc: {name} | null, local}`"""
        settings = self._sign_in.settings
        oidc = {"name": settings.oidc.name} if settings.oidc is not None else None
        return json_response({"oidc": oidc, "local": settings.local_accounts})

    async def with_password(self, request: web.Request) -> web.Response:
        """`{email, password}` -> 200 `{choose_password: false}` and the cookie; 401 `sign_in_failed`."""
        body = await self._body(request, "email", "password")
        email = body["email"].strip().lower()
        await self._sign_in.throttle.count_account(request, account_name(email))
        account = await self._sign_in.accounts.with_password(email, body["password"])
        if account is None:
            logger.info("sign_in.refused", extra={"method": "password", "account": account_name(email)})
            raise SignInFailed()
        return await self._begin(request, Identity.of_account(account), SignInMethod.PASSWORD, choose_password=False)

    async def with_link(self, request: web.Request) -> web.Response:
        """`{secret}` -> 200 `{choose_password}` and the cookie; 401 `link_not_valid`.

        `choose_password`: an invitation to an account without a password: the page asks for one.
        """
        body = await self._body(request, "secret")
        redeemed = await self._sign_in.accounts.redeem(body["secret"])
        if redeemed is None:
            logger.info("sign_in.refused", extra={"method": "link"})
            raise LinkNotValid()
        account, purpose = redeemed
        choose = purpose is LinkPurpose.INVITATION and not account.has_password
        return await self._begin(request, Identity.of_account(account), SignInMethod.LINK, choose_password=choose)

    async def _begin(
        self, request: web.Request, identity: Identity, method: SignInMethod, *, choose_password: bool
    ) -> web.Response:
        _, secret = await self._sign_in.begin(request, identity, method)
        self._sign_in.accounts.note_sign_in(identity.subject)
        response = json_response({"choose_password": choose_password})
        set_session_cookie(response, secret)
        return response

    async def _body(self, request: web.Request, *names: str) -> dict[str, Any]:
        """The body's members as strings. Raises NotFound where local accounts are switched off."""
        await self._sign_in.throttle.count_address(request)
        self._gate.require_own_page(request)
        if not self._sign_in.settings.local_accounts:
            raise NotFound("Nobody signs in with a password or a link here.")
        await self._sign_in.require_sessions()
        return await strings(request, *names)


async def strings(request: web.Request, *names: str) -> dict[str, str]:
    """The body's members `names`. Raises MissingField, ValidationFailed and what reading a body raises."""
    body = await read_json_object(request)
    require_members(body, *names)
    wrong = [Problem(name, "invalid_type", "This must be text.") for name in names if not isinstance(body[name], str)]
    if wrong:
        raise ValidationFailed(details=wrong)
    return body
