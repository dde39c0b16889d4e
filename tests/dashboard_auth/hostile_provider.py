"""A provider that can do wrong everything that a good one never does: for what the real one cannot be made to do."""

import asyncio
import base64
import hashlib
import hmac
import json
import ssl
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx
from aiohttp import web
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.hashes import SHA256
from joserfc import jwt
from joserfc.jwk import RSAKey

from .person import PersonAt
from .real_provider import begin

CLIENT_ID = "checklists"
Change = Callable[[dict[str, Any]], None]


def new_key(kid: str) -> RSAKey:
    return RSAKey.generate_key(2048, {"kid": kid, "use": "sig"})


@dataclass
class HostileProvider:
    """Good until a test changes something. `make_token` gets the claims of a good ID token."""

    port: int = 0
    scheme: str = "http"
    key: RSAKey = field(default_factory=lambda: new_key("one"))
    published: list[dict[str, Any]] = field(default_factory=list)
    nonce: str = ""
    change_claims: Change | None = None
    make_token: Callable[[dict[str, Any]], str] | None = None
    change_metadata: Change | None = None
    answers: dict[str, Callable[[web.Request], Any]] = field(default_factory=dict)
    """By path: instead of the good answer."""
    asked: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.published = [self.key.as_dict(private=False)]

    @property
    def issuer(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}"

    @property
    def settings(self) -> dict[str, str]:
        return {"CHECKLISTS_OIDC_ISSUER": self.issuer, "CHECKLISTS_OIDC_CLIENT_ID": CLIENT_ID}

    def claims(self) -> dict[str, Any]:
        now = int(time.time())
        claims: dict[str, Any] = {
            "iss": self.issuer,
            "sub": "subject-1",
            "aud": CLIENT_ID,
            "exp": now + 300,
            "iat": now,
            "nonce": self.nonce,
            "email": "grace@example.com",
            "email_verified": True,
            "name": "Grace",
        }
        if self.change_claims is not None:
            self.change_claims(claims)
        return claims

    def signed(self, claims: dict[str, Any], *, key: RSAKey | None = None, **header: Any) -> str:
        key = key or self.key
        return jwt.encode({"alg": "RS256", "kid": key.kid, **header}, claims, key)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.asked[request.path] = self.asked.get(request.path, 0) + 1
        if (answer := self.answers.get(request.path)) is not None:
            given = answer(request)
            return await given if asyncio.iscoroutine(given) else given
        match request.path:
            case "/.well-known/openid-configuration":
                document = {
                    "issuer": self.issuer,
                    "authorization_endpoint": f"{self.issuer}/auth",
                    "token_endpoint": f"{self.issuer}/token",
                    "jwks_uri": f"{self.issuer}/jwks",
                    "userinfo_endpoint": f"{self.issuer}/me",
                }
                if self.change_metadata is not None:
                    self.change_metadata(document)
                return web.json_response(document)
            case "/jwks":
                return web.json_response({"keys": self.published})
            case "/token":
                made = (self.make_token or self.signed)(self.claims())
                return web.json_response({"access_token": "at", "token_type": "Bearer", "id_token": made})
            case "/me":
                return web.json_response({"sub": "subject-1", "email": "grace@example.com", "email_verified": True})
        return web.Response(status=404)

    async def sign_in(self, person: PersonAt, **answer: str) -> httpx.Response:
        """The browser comes back with a code and the right state, and what a test adds."""
        query = parse_qs(urlsplit(await begin(person)).query)
        self.nonce = query["nonce"][0]
        given = urlencode({"code": "c", "state": query["state"][0], **answer})
        return await person.get(f"sign-in/oidc/callback?{given}", headers={"Sec-Fetch-Site": "cross-site"})


@asynccontextmanager
async def hostile_provider(tls: ssl.SSLContext | None = None) -> AsyncIterator[HostileProvider]:
    provider = HostileProvider(scheme="https" if tls else "http")
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", provider.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls).start()
    provider.port = runner.addresses[0][1]
    try:
        yield provider
    finally:
        await runner.cleanup()


def by_hand(claims: dict[str, Any], key: RSAKey | bytes = b"", **header: Any) -> str:
    """With a header that no library writes. `key`: bytes are a secret, as if it were shared; none are no signature."""
    signed = ".".join([_part(json.dumps(part).encode()) for part in ({"typ": "JWT", **header}, claims)])
    if isinstance(key, bytes):
        return f"{signed}.{_part(hmac.digest(key, signed.encode(), hashlib.sha256)) if key else ''}"
    return f"{signed}.{_part(key.get_op_key('sign').sign(signed.encode(), PKCS1v15(), SHA256()))}"  # type: ignore[union-attr]


def _part(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).decode().rstrip("=")
