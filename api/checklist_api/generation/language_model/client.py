"""Client of an OpenAI-compatible `/chat/completions` endpoint, hardened against malicious servers.

No redirects, no compression, bounded response size, and no proxy or CA from the environment. The key is sent in the
Authorization header only.
"""

import asyncio
import contextlib
import json
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, Final

import httpx

from checklist_crds.times import Clock, utc_now

from ...settings.language_model import ModelSettings
from .failures import ModelFailure, Reason

MAX_ANSWER_BYTES: Final = 512 * 1024
"""Limit of the response body; templates have 256 KiB at most."""
_CONNECT_S: Final = 5.0
_MAX_WAIT_S: Final = 10.0
"""Longest Retry-After that is waited for."""
_PAUSE_S: Final = 0.5
_TRIES: Final = 2
_MAX_ERROR_TEXT: Final = 2_000
_REFUSED_REQUEST: Final = frozenset({400, 415, 422, 500, 501})
"""Statuses for unsupported request members; some servers return 500 for a schema that they cannot compile."""
_TRANSIENT: Final = frozenset({429, 502, 503, 504, 529})


class RequestRefused(Exception):
    """The server rejected the request. `complaint`: its error text, to choose another dialect; never logged."""

    def __init__(self, status: int, complaint: str) -> None:
        self.status = status
        self.complaint = complaint
        super().__init__(f"status {status}")


@dataclass(frozen=True, slots=True)
class Completion:
    """Output of the model, with token counts (None if the server sent none)."""

    text: str
    cut_off: bool
    """The token limit was reached."""
    sent: int | None
    written: int | None


class ModelClient:
    """Client of the configured server. Call `close` at the end."""

    def __init__(self, settings: ModelSettings, clock: Clock = utc_now) -> None:
        self._settings = settings
        self._clock = clock
        self._http: httpx.AsyncClient | None = None
        self._trust: ssl.SSLContext | bool | None = None
        self._outdated: list[httpx.AsyncClient] = []
        self.sent_key: str | None = None
        """The key of the last request."""

    async def complete(self, request: dict[str, Any]) -> Completion:
        """Send a request without a deadline. Raises RequestRefused, ModelFailure."""
        body = json.dumps({"model": self._settings.name, "stream": False, **request}, ensure_ascii=False).encode()
        for attempt in range(1, _TRIES + 1):
            try:
                status, raw = await self._exchange(body)
            except _Transient as transient:
                if attempt == _TRIES or transient.wait_s > _MAX_WAIT_S:
                    raise transient.failure from None
                await asyncio.sleep(transient.wait_s)
                continue
            if status in _REFUSED_REQUEST:
                raise RequestRefused(status, raw[:_MAX_ERROR_TEXT].decode("utf-8", "replace"))
            if status != 200:
                raise ModelFailure(_reason_of(status), f"status {status}", free=True)
            return read_completion(raw)
        raise AssertionError("unreachable")

    async def close(self) -> None:
        for client in (*self._outdated, *filter(None, [self._http])):
            await client.aclose()
        self._http, self._outdated = None, []

    async def _exchange(self, body: bytes) -> tuple[int, bytes]:
        """Send one request; returns status and body. Raises _Transient, ModelFailure."""
        headers = {"Content-Type": "application/json", "Accept": "application/json", "Accept-Encoding": "identity"}
        try:
            self.sent_key = self._settings.current_key()
            if self.sent_key is not None:
                headers["Authorization"] = f"Bearer {self.sent_key}"
            request = self._client().build_request(
                "POST", f"{self._settings.url}/chat/completions", content=body, headers=headers
            )
            async with _closed_at_once(await self._client().send(request, stream=True)) as response:
                if response.status_code in _TRANSIENT:
                    reason = _reason_of(response.status_code)
                    failure = ModelFailure(reason, f"status {response.status_code}", free=True)
                    raise _Transient(failure, self._wait_of(response.headers.get("Retry-After", "")))
                return response.status_code, await _bounded_body(response)
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError) as error:
            raise _Transient(ModelFailure(Reason.UNREACHABLE, type(error).__name__, free=True), _PAUSE_S) from None
        except httpx.TimeoutException as error:
            raise ModelFailure(Reason.TIMEOUT, type(error).__name__) from None
        except httpx.NetworkError as error:
            raise ModelFailure(Reason.UNREACHABLE, type(error).__name__) from None
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError) as error:
            # Not the message: it may quote the server.
            raise ModelFailure(Reason.ERROR, type(error).__name__) from None

    def _client(self) -> httpx.AsyncClient:
        trust = True if self._settings.ca is None else self._settings.ca.context()
        if self._http is None or trust is not self._trust:
            if self._http is not None:  # certificates changed; pending requests keep theirs
                self._outdated = [*self._outdated, self._http][-2:]
            self._trust = trust
            self._http = httpx.AsyncClient(
                verify=trust,
                trust_env=False,
                proxy=self._settings.proxy,
                follow_redirects=False,
                timeout=httpx.Timeout(self._settings.timeout_s, connect=_CONNECT_S),
                headers={"User-Agent": "checklist-dispatch"},
                limits=httpx.Limits(max_connections=32, max_keepalive_connections=4),
            )
        return self._http

    def _wait_of(self, retry_after: str) -> float:
        """Parse Retry-After (RFC 9110 section 10.2.3) to seconds; a short default if it is invalid."""
        text = retry_after.strip()
        if text.isascii() and text.isdigit():
            return float(text[:9])
        with contextlib.suppress(ValueError, TypeError):
            return max(0.0, (parsedate_to_datetime(text) - self._clock()).total_seconds())
        return _PAUSE_S


class _Transient(Exception):
    """A failure that is worth a retry."""

    def __init__(self, failure: ModelFailure, wait_s: float) -> None:
        self.failure = failure
        self.wait_s = wait_s
        super().__init__(str(failure))


def read_completion(raw: bytes) -> Completion:
    """Parse the first choice of a chat completion. Raises ModelFailure (error, refused)."""
    try:
        document = json.loads(raw)
        message = document["choices"][0]["message"]
        ended = document["choices"][0].get("finish_reason")
        text = message.get("content")
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
        raise ModelFailure(Reason.ERROR, "no chat completion") from None
    if isinstance(text, list):  # some servers send content in parts
        text = "".join(part["text"] for part in text if isinstance(part, dict) and isinstance(part.get("text"), str))
    if message.get("refusal") or ended == "content_filter":
        raise ModelFailure(Reason.REFUSED, "refusal" if message.get("refusal") else "content_filter")
    usage = document.get("usage")
    sent, written = (_count(usage, name) for name in ("prompt_tokens", "completion_tokens"))
    # Empty content (e.g. tool calls) is reported to the model as unusable.
    return Completion(text if isinstance(text, str) else "", ended == "length", sent, written)


def _count(usage: object, name: str) -> int | None:
    value = usage.get(name) if isinstance(usage, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 10**8 else None


def _reason_of(status: int) -> Reason:
    if status in (401, 403):
        return Reason.UNAUTHORIZED
    return Reason.RATE_LIMITED if status in (402, 429) else Reason.ERROR


async def _bounded_body(response: httpx.Response) -> bytes:
    """Read the body. Raises ModelFailure (too_large, error), also for an unexpected Content-Encoding."""
    if response.headers.get("Content-Encoding", "identity").strip().lower() not in ("", "identity"):
        raise ModelFailure(Reason.ERROR, "compressed")
    length = response.headers.get("Content-Length", "")
    if length.isascii() and length.isdigit() and int(length[:12]) > MAX_ANSWER_BYTES:
        raise ModelFailure(Reason.TOO_LARGE, "by its length")
    body = bytearray()
    async for chunk in response.aiter_raw():
        body += chunk
        if len(body) > MAX_ANSWER_BYTES:
            raise ModelFailure(Reason.TOO_LARGE, "while reading")
    return bytes(body)


@contextlib.asynccontextmanager
async def _closed_at_once(response: httpx.Response) -> AsyncIterator[httpx.Response]:
    """Close the connection with the response, even if the body was not read."""
    try:
        yield response
    finally:
        await response.aclose()
