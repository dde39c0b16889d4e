"""Validates ID tokens (OpenID Connect Core 3.1.3.7): joserfc checks the signature, Authlib the claims."""

import hmac
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from .errors import ProviderUntrusted

ALGORITHMS: Final = (
    "RS256",
    "RS384",
    "RS512",
    "PS256",
    "PS384",
    "PS512",
    "ES256",
    "ES384",
    "ES512",
    "EdDSA",
    "Ed25519",
)
"""Asymmetric signatures only: no `none` and no HMAC."""
LEEWAY_S: Final = 60
_OLDEST_S: Final = 600
"""Maximum age of a token."""
_LONGEST_SUBJECT: Final = 255


class InvalidSignature(ProviderUntrusted):
    """Invalid signature, or the provider has rotated its keys."""


def verified_claims(
    id_token: str,
    keys: KeySet,
    *,
    issuer: str,
    client_id: str,
    nonce: str,
    access_token: str | None,
    now: datetime,
) -> Mapping[str, Any]:
    """Return the claims of an ID token of `issuer` for `client_id` and `nonce`. Raises ProviderUntrusted."""
    try:
        token = jwt.decode(id_token, keys, algorithms=list(ALGORITHMS))
    except (JoseError, ValueError, TypeError, KeyError) as error:
        raise InvalidSignature(f"the ID token's signature: {type(error).__name__}") from None
    claims = token.claims
    _require_types(claims)
    at = int(now.timestamp())
    try:
        CodeIDToken(
            claims,
            token.header,
            options={"iss": {"essential": True, "value": issuer}, "aud": {"essential": True, "value": client_id}},
            params={"nonce": nonce, "client_id": client_id, "access_token": access_token},
        ).validate(now=at, leeway=LEEWAY_S)
    except (JoseError, ValueError, TypeError) as error:
        raise ProviderUntrusted(
            f"the ID token's claims: {type(error).__name__} {getattr(error, 'claim', '')}"
        ) from None
    if claims["iss"] != issuer or not hmac.compare_digest(str(claims["nonce"]).encode(), nonce.encode()):
        raise ProviderUntrusted("the ID token has another issuer or nonce")
    audiences = [claims["aud"]] if isinstance(claims["aud"], str) else claims["aud"]
    if client_id not in audiences or (len(audiences) > 1 and claims.get("azp") != client_id):
        raise ProviderUntrusted("the ID token has another audience")
    if claims["exp"] + LEEWAY_S <= at:
        raise ProviderUntrusted("the ID token has expired")
    if not at - _OLDEST_S - LEEWAY_S <= claims["iat"] <= at + LEEWAY_S:
        raise ProviderUntrusted("the ID token is too old")
    return claims


def _require_types(claims: Mapping[str, Any]) -> None:
    subject = claims.get("sub")
    if not isinstance(subject, str) or not 0 < len(subject) <= _LONGEST_SUBJECT:
        raise ProviderUntrusted("the ID token has no valid subject")
    for name in ("exp", "iat", "nbf"):
        value = claims.get(name)
        if (name != "nbf" or value is not None) and (isinstance(value, bool) or not isinstance(value, int | float)):
            raise ProviderUntrusted(f"the ID token's {name} is not a number")
    audience = claims.get("aud")
    listed = audience if isinstance(audience, list) else [audience]
    if not listed or not all(isinstance(one, str) for one in listed):
        raise ProviderUntrusted("the ID token has no valid audience")
    if not isinstance(claims.get("nonce"), str):
        raise ProviderUntrusted("the ID token has no nonce")
