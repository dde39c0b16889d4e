"""The provider's metadata (Discovery 1.0) and keys, cached for an hour.

A token with an unknown key id triggers a refetch of the keys, rate limited to one every few seconds.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from checklist_crds.settings.forms import is_loopback

from ...settings.sign_in import OidcSettings
from .errors import ProviderUnavailable, ProviderUntrusted
from .http import ProviderHttp

logger = logging.getLogger(__name__)

_CACHE_TTL_S: Final = 3600.0
_KEYS_REFETCH_AFTER_S: Final = 5.0
_DOWN_FOR_S: Final = 1.0
_MAX_KEYS: Final = 50


@dataclass(frozen=True, slots=True)
class Metadata:
    """The part of the discovery document that is used."""

    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    userinfo_endpoint: str | None
    end_session_endpoint: str | None
    secret_in_body: bool
    """The client secret is sent in the form, not in the Authorization header."""
    sends_issuer: bool
    """Authorization responses have `iss` (RFC 9207)."""


class Provider:
    """All methods raise ProviderUnavailable, ProviderUntrusted."""

    def __init__(
        self, settings: OidcSettings, http: ProviderHttp, *, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._settings = settings
        self._http = http
        self._monotonic = monotonic
        self._metadata: Metadata | None = None
        self._metadata_at = 0.0
        self._keys: KeySet | None = None
        self._keys_at = 0.0
        self._down_at = float("-inf")
        self._lock = asyncio.Lock()

    async def metadata(self) -> Metadata:
        async with self._lock:
            if self._metadata is None or self._monotonic() - self._metadata_at > _CACHE_TTL_S:
                url = self._settings.issuer.rstrip("/") + "/.well-known/openid-configuration"
                self._metadata = _metadata(await self._fetch(url), self._settings.issuer)
                self._metadata_at = self._monotonic()
            return self._metadata

    async def keys(self) -> KeySet:
        """Return the cached keys, fetched if needed."""
        metadata = await self.metadata()
        async with self._lock:
            if self._keys is None or self._monotonic() - self._keys_at > _CACHE_TTL_S:
                return await self._fetch_keys(metadata)
            return self._keys

    async def newer_keys(self) -> KeySet | None:
        """Refetch the keys; None within the refetch interval."""
        metadata = await self.metadata()
        async with self._lock:
            if self._keys is not None and self._monotonic() - self._keys_at < _KEYS_REFETCH_AFTER_S:
                return None
            logger.info("oidc.keys_fetched_again")
            return await self._fetch_keys(metadata)

    async def _fetch(self, url: str) -> dict[str, Any]:
        """Fetch, but fail fast for a second after a failure: queued callers do not each wait for a timeout."""
        if self._monotonic() - self._down_at < _DOWN_FOR_S:
            raise ProviderUnavailable("unavailable a moment ago")
        try:
            return await self._http.get(url)
        except ProviderUnavailable:
            self._down_at = self._monotonic()
            raise

    async def _fetch_keys(self, metadata: Metadata) -> KeySet:
        document = await self._fetch(metadata.jwks_uri)
        found = document.get("keys")
        if not isinstance(found, list) or len(found) > _MAX_KEYS:
            raise ProviderUntrusted("its key set is not a list, or too long")
        # Skip encryption keys and symmetric keys.
        good = [key for key in found if isinstance(key, dict) and key.get("use") != "enc" and key.get("kty") != "oct"]
        try:
            self._keys = KeySet.import_key_set({"keys": good})
        except (JoseError, ValueError, TypeError, KeyError) as error:
            raise ProviderUntrusted(f"its key set cannot be read: {type(error).__name__}") from None
        self._keys_at = self._monotonic()
        return self._keys


def _metadata(document: dict[str, Any], issuer: str) -> Metadata:
    if document.get("issuer") != issuer:
        raise ProviderUntrusted("its metadata has another issuer than CHECKLISTS_OIDC_ISSUER")

    def address(name: str) -> str | None:
        url = document.get(name)
        if url is None:
            return None
        secure = isinstance(url, str) and url.startswith("https://")
        if not secure and not (
            isinstance(url, str) and url.startswith("http://") and is_loopback(issuer) and is_loopback(url)
        ):
            raise ProviderUntrusted(f"its {name} is not an https URL")
        return str(url)

    def required(name: str) -> str:
        url = address(name)
        if url is None:
            raise ProviderUntrusted(f"its metadata lacks {name}")
        return url

    methods = document.get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
    return Metadata(
        authorization_endpoint=required("authorization_endpoint"),
        token_endpoint=required("token_endpoint"),
        jwks_uri=required("jwks_uri"),
        userinfo_endpoint=address("userinfo_endpoint"),
        end_session_endpoint=address("end_session_endpoint"),
        secret_in_body="client_secret_basic" not in methods and "client_secret_post" in methods,
        sends_issuer=document.get("authorization_response_iss_parameter_supported") is True,
    )
