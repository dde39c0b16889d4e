"""`/dashboard/api/sign-in/oidc` and its callback. Browsers navigate here, so errors are HTML pages, not JSON."""

import asyncio
import hmac
import logging
from collections.abc import Awaitable, Callable
from html import escape
from typing import TYPE_CHECKING, Final

from aiohttp import web

from checklist_crds.errors import NotFound, ServiceError, ServiceUnavailable
from checklist_crds.kube.errors import KubeUnavailable
from checklist_crds.resources.account import SignInMethod
from checklist_crds.secrets.sealing import KeyRing, SealBroken
from checklist_crds.times import Clock

from ...auth.gate import Gate, Handler
from ...http.middleware import REQUEST_ID
from ...pages.markup import inline, page, page_response
from ..access import set_session_cookie
from ..sessions.store import Session
from ..sign_in.flow import SignIn
from .errors import OidcFailed, ProviderUnavailable, SignInNotPending
from .pending import Pending, forget_pending, safe_return

if TYPE_CHECKING:
    from .flow import Oidc

logger = logging.getLogger(__name__)

_SIGN_OUT_TIMEOUT_S: Final = 3.0


class OidcRoutes:
    def __init__(self, oidc: "Oidc", sign_in: SignIn, sealing: KeyRing, clock: Clock, *, path_prefix: str) -> None:
        self._oidc = oidc
        self._sign_in = sign_in
        self._sealing = sealing
        self._clock = clock
        self._path_prefix = path_prefix

    def add_to(self, router: web.UrlDispatcher, gate: Gate) -> None:
        # No HEAD, so that link checkers do not use up a response.
        for path, handler, root in (("", self.begin, "../../../"), ("/callback", self.finish, "../../../../")):
            address = f"/dashboard/api/sign-in/oidc{path}"
            router.add_get(address, _as_page(gate.public(handler), root=root), allow_head=False)

    async def begin(self, request: web.Request) -> web.StreamResponse:
        """Redirect (303) to the provider and set the cookie. `?return_to=`: a path of this service."""
        await self._sign_in.throttle.count_address(request)
        await self._sign_in.require_sessions()
        return_to = safe_return(request.query.get("return_to"), self._path_prefix)
        pending = Pending.begin(return_to, self._clock())
        response = _redirect(await self._oidc.begin(pending))
        pending.put(response, self._sealing)
        return response

    async def finish(self, request: web.Request) -> web.StreamResponse:
        """Start a session and redirect (303) to `return_to`."""
        await self._sign_in.throttle.count_address(request)
        pending = Pending.of(request, self._sealing, self._clock())
        answer = {name: request.query[name] for name in request.query if len(request.query.getall(name)) == 1}
        if pending is None:
            raise SignInNotPending("no pending sign-in in the browser")
        if not hmac.compare_digest(answer.get("state", "").encode(), pending.state.encode()):
            raise SignInNotPending("the state does not match")
        await self._sign_in.require_sessions()
        if not await self._sign_in.throttle.is_first(pending.state):
            raise SignInNotPending("the answer was used already")
        identity, id_token = await self._oidc.finish(pending, answer)
        _, secret = await self._sign_in.begin(request, identity, SignInMethod.OIDC, id_token=id_token)
        response = _redirect(pending.return_to)
        set_session_cookie(response, secret)
        forget_pending(response)
        return response


async def sign_out_address(oidc: "Oidc | None", sign_in: SignIn, session: Session) -> str | None:
    """Return the provider's logout URL for the browser; None if there is none or the provider is unavailable."""
    if oidc is None or session.method is not SignInMethod.OIDC:
        return None
    try:
        id_token = sign_in.id_token_of(session)
    except SealBroken:
        id_token = None
    try:
        async with asyncio.timeout(_SIGN_OUT_TIMEOUT_S):
            return await oidc.sign_out_address(id_token)
    except (OidcFailed, TimeoutError) as error:
        logger.warning("oidc.sign_out_failed", extra={"reason": str(error) or "no answer in time"})
        return None


def _redirect(to: str) -> web.Response:
    headers = {"Location": to, "Cache-Control": "no-store", "Referrer-Policy": "no-referrer"}
    return web.Response(status=303, headers=headers)


def _as_page(handler: Handler, *, root: str) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    """Render errors as HTML pages. `root`: relative path to the service's root."""

    async def guarded(request: web.Request) -> web.StreamResponse:
        try:
            return await handler(request)
        except OidcFailed as error:
            level = logging.WARNING if error.status >= 500 else logging.INFO
            extra = {"method": "oidc", "reason": str(error), "request_id": request[REQUEST_ID]}
            logger.log(level, "sign_in.refused", extra=extra)
            headers = {"Retry-After": "10"} if isinstance(error, ProviderUnavailable) else {}
            return _page(request, error.user_message, status=error.status, headers=headers, root=root)
        except KubeUnavailable:
            error_503 = ServiceUnavailable()
            return _page(request, error_503.message, status=503, headers=error_503.headers, root=root)
        except NotFound:
            raise
        except ServiceError as error:
            return _page(request, error.message, status=error.status, headers=error.headers, root=root)

    return guarded


def _page(request: web.Request, message: str, *, status: int, headers: dict[str, str], root: str) -> web.Response:
    body = f"""<main class="card">
<p class="brand">Checklist Dispatch</p>
<h1>You are not signed in</h1>
<p>{inline(message)}</p>
<p><a href="{root}dashboard/sign-in">Back to sign-in</a></p>
<p class="hint">If this keeps happening, send this request id to the operator of this service:
<code>{escape(request[REQUEST_ID])}</code></p>
</main>"""
    response = page_response(page("Not signed in", body, root=root, kind="run"), status=status)
    response.headers.update(headers)
    return response
