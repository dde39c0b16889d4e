"""Calls an OpenAI-compatible `/chat/completions` once, with limits on everything a server could do wrong.

Nothing is followed (redirects), nothing is unpacked (we ask for no compression and take none), nothing is read beyond a
bound, and no proxy or certificate comes from the environment. The key is in the request's header and nowhere else.
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
"""Of a response's body: a template that create would take has 256 KiB at most."""
_CONNECT_S: Final = 5.0
_MAX_WAIT_S: Final = 10.0
"""Longest Retry-After that is waited for; longer ones are for somebody who has more time."""
_PAUSE_S: Final = 0.5
_TRIES: Final = 2
_MAX_COMPLAINT: Final = 2_000
_REFUSED_REQUEST: Final = frozenset({400, 415, 422, 500, 501})
"""What servers answer to a member of the request that they do not know, or do not like; 500 is that of some whose
grammar cannot be made of a schema."""
_PASSING: Final = frozenset({429, 502, 503, 504, 529})


class RequestRefused(Exception):
    """The server takes no such request. `complaint` is its text, for choosing another dialect, never for a log."""

    def __init__(self, status: int, complaint: str) -> None:
        self.status = status
        self.complaint = complaint
        super().__init__(f"status {status}")


@dataclass(frozen=True, slots=True)
class Completion:
    """What the model said, and what the server counted (None where it did not)."""

    text: str
    cut_off: bool
    """The bound of tokens was reached before the end."""
    sent: int | None
    written: int | None


class ModelClient:
    """Speaks with the one server of the settings. `close` it."""

    def __init__(self, settings: ModelSettings, clock: Clock = utc_now) -> None:
        self._settings = settings
        self._clock = clock
        self._http: httpx.AsyncClient | None = None
        self._trust: ssl.SSLContext | bool | None = None
        self._outdated: list[httpx.AsyncClient] = []
        self.sent_key: str | None = None
        """The key that the last request bore."""

    async def complete(self, request: dict[str, Any]) -> Completion:
        """Raises RequestRefused, ModelFailure. Takes as long as it takes: the caller has the deadline."""
        body = json.dumps({"model": self._settings.name, "stream": False, **request}, ensure_ascii=False).encode()
        for attempt in range(1, _TRIES + 1):
            try:
                status, raw = await self._exchange(body)
            except _Passing as passing:
                if attempt == _TRIES or passing.wait_s > _MAX_WAIT_S:
                    raise passing.failure from None
                await asyncio.sleep(passing.wait_s)
                continue
            if status in _REFUSED_REQUEST:
                raise RequestRefused(status, raw[:_MAX_COMPLAINT].decode("utf-8", "replace"))
            if status != 200:
                raise ModelFailure(_reason_of(status), f"status {status}", free=True)
            return read_completion(raw)
        raise AssertionError("unreachable")

    async def close(self) -> None:
        for client in (*self._outdated, *filter(None, [self._http])):
            await client.aclose()
        self._http, self._outdated = None, []

    async def _exchange(self, body: bytes) -> tuple[int, bytes]:
        """Status and body of one request. Raises _Passing, ModelFailure."""
        headers = {"Content-Type": "application/json", "Accept": "application/json", "Accept-Encoding": "identity"}
        try:
            self.sent_key = self._settings.current_key()
            if self.sent_key is not None:
                headers["Authorization"] = f"Bearer {self.sent_key}"
            request = self._client().build_request(
                "POST", f"{self._settings.url}/chat/completions", content=body, headers=headers
            )
            async with _closed_at_once(await self._client().send(request, stream=True)) as response:
                if response.status_code in _PASSING:
                    reason = _reason_of(response.status_code)
                    failure = ModelFailure(reason, f"status {response.status_code}", free=True)
                    raise _Passing(failure, self._wait_of(response.headers.get("Retry-After", "")))
                return response.status_code, await _bounded_body(response)
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError) as error:
            raise _Passing(ModelFailure(Reason.UNREACHABLE, type(error).__name__, free=True), _PAUSE_S) from None
        except httpx.TimeoutException as error:
            raise ModelFailure(Reason.TIMEOUT, type(error).__name__) from None
        except httpx.NetworkError as error:
            raise ModelFailure(Reason.UNREACHABLE, type(error).__name__) from None
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError) as error:
            # Never the text of these: it may quote what the server sent.
            raise ModelFailure(Reason.ERROR, type(error).__name__) from None

    def _client(self) -> httpx.AsyncClient:
        trust = True if self._settings.ca is None else self._settings.ca.context()
        if self._http is None or trust is not self._trust:
            if self._http is not None:  # others are to be trusted now; what is under way ends as it began
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
        """Seconds of a Retry-After (RFC 9110, section 10.2.3), or a short pause when it says nothing usable."""
        text = retry_after.strip()
        if text.isascii() and text.isdigit():
            return float(text[:9])
        with contextlib.suppress(ValueError, TypeError):
            return max(0.0, (parsedate_to_datetime(text) - self._clock()).total_seconds())
        return _PAUSE_S


class _Passing(Exception):
    """A failure that may be over at the next try."""

    def __init__(self, failure: ModelFailure, wait_s: float) -> None:
        self.failure = failure
        self.wait_s = wait_s
        super().__init__(str(failure))


def read_completion(raw: bytes) -> Completion:
    """The first choice of a chat completion. Raises ModelFailure (error, refused)."""
    try:
        document = json.loads(raw)
        message = document["choices"][0]["message"]
        ended = document["choices"][0].get("finish_reason")
        text = message.get("content")
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
        raise ModelFailure(Reason.ERROR, "no chat completion") from None
    if isinstance(text, list):  # content in parts, as some servers have it
        text = "".join(part["text"] for part in text if isinstance(part, dict) and isinstance(part.get("text"), str))
    if message.get("refusal") or ended == "content_filter":
        raise ModelFailure(Reason.REFUSED, "refusal" if message.get("refusal") else "content_filter")
    usage = document.get("usage")
    sent, written = (_count(usage, name) for name in ("prompt_tokens", "completion_tokens"))
    # Without content (tool calls, which nobody offered) there is nothing to read; the model is told so.
    return Completion(text if isinstance(text, str) else "", ended == "length", sent, written)


def _count(usage: object, name: str) -> int | None:
    value = usage.get(name) if isinstance(usage, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 10**8 else None


def _reason_of(status: int) -> Reason:
    if status in (401, 403):
        return Reason.UNAUTHORIZED
    return Reason.RATE_LIMITED if status in (402, 429) else Reason.ERROR


async def _bounded_body(response: httpx.Response) -> bytes:
    """Raises ModelFailure (too_large, error). Bytes as they came: an encoding that we did not ask for is refused."""
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
    """The connection goes with the response when that was not read to its end."""
    try:
        yield response
    finally:
        await response.aclose()
