"""OpenID Connect sign-in: the authorization code flow with PKCE, state and nonce.

Authlib and joserfc implement protocol and tokens. Requests use aiohttp, because Authlib's httpx client requires another
HTTP library. This module adds limits of time and size, no redirects, single use of each response, and accepts an e-mail
address only if the provider has verified it.
"""

import hmac
import logging
import re
from collections.abc import Mapping
from typing import Any, Final

from authlib.oauth2.rfc6749.parameters import prepare_grant_uri
from authlib.oauth2.rfc7636 import create_s256_code_challenge

from checklist_crds.times import Clock

from ...settings.sign_in import OidcSettings
from ..sign_in.flow import Identity
from .errors import EmailMissing, ProviderUnavailable, ProviderUntrusted, SignInDenied, SignInNotPending
from .http import ProviderHttp
from .pending import Pending
from .provider import Metadata, Provider
from .tokens import InvalidSignature, verified_claims

logger = logging.getLogger(__name__)

CALLBACK: Final = "/dashboard/api/sign-in/oidc/callback"
AFTER_SIGN_OUT: Final = "/dashboard/sign-in"
_EMAIL: Final = re.compile(r"[^@\s]+@[^@\s]+")
_CODE: Final = re.compile(r"[a-z_]{1,40}")
_BUSY: Final = ("temporarily_unavailable", "server_error")


class Oidc:
    """One provider. All methods raise OidcFailed."""

    def __init__(self, settings: OidcSettings, base_url: str, clock: Clock) -> None:
        self._settings = settings
        self._redirect_uri = base_url + CALLBACK
        self._after_sign_out = base_url + AFTER_SIGN_OUT
        self._clock = clock
        self._http = ProviderHttp(settings.ca)
        self._provider = Provider(settings, self._http)

    async def begin(self, pending: Pending) -> str:
        """Return the authorization URL."""
        metadata = await self._provider.metadata()
        return str(
            prepare_grant_uri(
                metadata.authorization_endpoint,
                self._settings.client_id,
                "code",
                redirect_uri=self._redirect_uri,
                scope=self._settings.scopes,
                state=pending.state,
                nonce=pending.nonce,
                code_challenge=create_s256_code_challenge(pending.verifier),
                code_challenge_method="S256",
            )
        )

    async def finish(self, pending: Pending, answer: Mapping[str, str]) -> tuple[Identity, str]:
        """Return the identity and the ID token. `answer`: the callback's query, with a `state` already checked."""
        metadata = await self._provider.metadata()
        self._require_issuer(answer, metadata)
        if "error" in answer:
            raise _refusal(answer["error"])
        if not answer.get("code"):
            raise ProviderUntrusted("the response has no code")
        tokens = await self._exchange(answer["code"], pending, metadata)
        id_token, access_token = tokens.get("id_token"), tokens.get("access_token")
        if not isinstance(id_token, str):
            raise ProviderUntrusted("the response has no ID token")
        access_token = access_token if isinstance(access_token, str) else None
        claims = await self._verified(id_token, access_token, pending)
        return await self._identity(claims, access_token, metadata), id_token

    async def sign_out_address(self, id_token: str | None) -> str | None:
        """Return the provider's logout URL (RP-Initiated Logout 1.0), or None if it has none."""
        metadata = await self._provider.metadata()
        if metadata.end_session_endpoint is None:
            return None
        hint = {"id_token_hint": id_token} if id_token is not None else {}
        given = {"client_id": self._settings.client_id, "post_logout_redirect_uri": self._after_sign_out, **hint}
        from authlib.common.urls import add_params_to_uri

        return str(add_params_to_uri(metadata.end_session_endpoint, list(given.items())))

    async def close(self) -> None:
        await self._http.close()

    def _require_issuer(self, answer: Mapping[str, str], metadata: Metadata) -> None:
        """Check `iss` (RFC 9207, mix-up attacks)."""
        named = answer.get("iss")
        if named is None and not metadata.sends_issuer:
            return
        if named is None or not hmac.compare_digest(named.encode(), self._settings.issuer.encode()):
            raise ProviderUntrusted("the response has another issuer")

    async def _exchange(self, code: str, pending: Pending, metadata: Metadata) -> dict[str, Any]:
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self._redirect_uri,
            "code_verifier": pending.verifier,
        }
        client_id, held = self._settings.client_id, self._settings.client_secret
        secret = None if held is None else held.current
        basic = None
        if secret is not None and not metadata.secret_in_body:
            basic = (client_id, secret)
        else:
            form |= {"client_id": client_id} | ({"client_secret": secret} if secret is not None else {})
        status, tokens = await self._http.post(metadata.token_endpoint, form, basic=basic)
        if status != 200:
            error = str(tokens.get("error"))
            if error == "invalid_grant":
                raise SignInNotPending("the code is used, expired or invalid")
            raise ProviderUntrusted(f"the token endpoint answered {status} {error if _CODE.fullmatch(error) else ''}")
        return tokens

    async def _verified(self, id_token: str, access_token: str | None, pending: Pending) -> Mapping[str, Any]:
        keys = await self._provider.keys()
        while True:
            try:
                return verified_claims(
                    id_token,
                    keys,
                    issuer=self._settings.issuer,
                    client_id=self._settings.client_id,
                    nonce=pending.nonce,
                    access_token=access_token,
                    now=self._clock(),
                )
            except InvalidSignature:
                newer = await self._provider.newer_keys()
                if newer is None:
                    raise
                keys = newer

    async def _identity(self, claims: Mapping[str, Any], access_token: str | None, metadata: Metadata) -> Identity:
        if "email" not in claims and access_token is not None and metadata.userinfo_endpoint is not None:
            more = await self._http.get(metadata.userinfo_endpoint, bearer=access_token)
            if more.get("sub") != claims["sub"]:
                raise ProviderUntrusted("its userinfo has another subject")
            claims = {**more, **claims}
        email = claims.get("email")
        if not isinstance(email, str) or len(email) > 254 or _EMAIL.fullmatch(email) is None:
            raise EmailMissing("no e-mail address")
        verified = claims.get("email_verified")
        given = (claims.get("name"), claims.get("preferred_username"))
        name = next((one.strip() for one in given if isinstance(one, str) and one.strip()), email)
        return Identity(
            issuer=self._settings.issuer,
            subject=claims["sub"],
            email=email.lower(),
            # Some providers send a string. `trust_email` never overrides an explicit false.
            email_verified=verified in (True, "true") or (verified is None and self._settings.trust_email),
            name=name[:200],
        )


def _refusal(error: str) -> ProviderUnavailable | SignInDenied:
    code = error if _CODE.fullmatch(error) else "an error"
    if code in _BUSY:
        return ProviderUnavailable(f"the provider responded with {code}")
    return SignInDenied(f"the provider responded with {code}")
