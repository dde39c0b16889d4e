"""Requests to an OpenID provider: bounded in time and size, never redirected, JSON objects only."""

import asyncio
import base64
import json
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote

import aiohttp

from checklist_crds.settings.renewable import Certificates

from .errors import ProviderUnavailable, ProviderUntrusted

TOTAL_TIMEOUT_S: Final = 10.0
_CONNECT_S: Final = 3.0
_MAX_BYTES: Final = 256 * 1024


class ProviderHttp:
    """Created in the serving event loop. All methods raise ProviderUnavailable, ProviderUntrusted."""

    def __init__(self, trusted: Certificates | None) -> None:
        """`trusted`: CA certificates for the provider; None: the system's."""
        self._trusted = trusted
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=16),
            timeout=aiohttp.ClientTimeout(total=TOTAL_TIMEOUT_S, sock_connect=_CONNECT_S),
            headers={"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "checklist-dispatch"},
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            trust_env=False,
        )

    async def get(self, url: str, *, bearer: str | None = None) -> dict[str, Any]:
        status, body = await self._call("GET", url, headers={"Authorization": f"Bearer {bearer}"} if bearer else {})
        if status != 200:
            raise ProviderUntrusted(f"GET {url} answered {status}")
        return body

    async def post(
        self, url: str, form: Mapping[str, str], *, basic: tuple[str, str] | None
    ) -> tuple[int, dict[str, Any]]:
        """Return status and body, also for OAuth errors. `basic`: client id and secret (RFC 6749 section 2.3.1)."""
        headers = {}
        if basic is not None:
            pair = ":".join(quote(part, safe="") for part in basic)
            headers["Authorization"] = "Basic " + base64.b64encode(pair.encode()).decode()
        return await self._call("POST", url, headers=headers, form=form)

    async def close(self) -> None:
        await self._session.close()

    async def _call(
        self, method: str, url: str, *, headers: Mapping[str, str], form: Mapping[str, str] | None = None
    ) -> tuple[int, dict[str, Any]]:
        try:
            # Set per request, so that kept connections of former certificates are not reused.
            tls = True if self._trusted is None else self._trusted.context()
            async with self._session.request(
                method, url, headers=headers, data=form, allow_redirects=False, ssl=tls
            ) as response:
                if response.status >= 500 or response.status == 429:
                    raise ProviderUnavailable(f"{method} {url} answered {response.status}")
                if 300 <= response.status < 400:
                    raise ProviderUntrusted(f"{method} {url} was redirected")
                return response.status, _parsed(await _read(response), url)
        except (aiohttp.ClientError, TimeoutError, asyncio.IncompleteReadError, OSError) as error:
            raise ProviderUnavailable(f"{method} {url}: {error or type(error).__name__}") from None


async def _read(response: aiohttp.ClientResponse) -> bytes:
    body = bytearray()
    async for chunk in response.content.iter_chunked(16 * 1024):
        body += chunk
        if len(body) > _MAX_BYTES:
            raise ProviderUntrusted(f"{response.url} is larger than {_MAX_BYTES} bytes")
    return bytes(body)


def _parsed(body: bytes, url: str) -> dict[str, Any]:
    try:
        parsed = json.loads(body)
    except (ValueError, RecursionError):
        raise ProviderUntrusted(f"{url} is not JSON") from None
    if not isinstance(parsed, dict):
        raise ProviderUntrusted(f"{url} is not a JSON object")
    return parsed
