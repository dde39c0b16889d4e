"""Transmits one event: signs and sends the bytes, returns the outcome (specification, "Delivery rules").

The outcome is final with the status line and header fields; the body is not awaited. The ten seconds count from the
call of `send`, so take the permit first (`fairness`). Redirects, compression and cookies are ignored. aiohttp does not
retry POST requests, which tests verify.
"""

import asyncio
import secrets
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib.metadata import version as installed_version
from types import TracebackType
from typing import Final, Self

import aiohttp
from aiohttp.abc import AbstractResolver
from yarl import URL

from checklist_crds.resources.webhook_url import InvalidTarget, canonical_url
from checklist_crds.settings.renewable import Certificates
from checklist_crds.times import Clock, utc_now
from checklist_operator.faults import TRANSPORT_UNAVAILABLE, LocalFault
from checklist_operator.transport import dialing, signing
from checklist_operator.transport.addresses import AddressPolicy
from checklist_operator.transport.failure import classify
from checklist_operator.transport.outcome import Outcome, OutcomeClass, class_of_status
from checklist_operator.transport.resolving import Resolver

DEADLINE_S: Final = 10.0
CONNECT_S: Final = 5.0
# Shorter than servers' keep-alive timeouts (Node and Apache 5 s): a connection that the server closes while we write
# costs an attempt, because an attempt must not be sent twice.
KEEP_ALIVE_S: Final = 3.0
# The connection is kept only if at most this much of the body is left.
_DRAIN_BYTES: Final = 4096
# Thousands of fields take megabytes once parsed: such a response is not kept while it drains.
_DRAIN_FIELDS: Final = 128
_DRAIN_S: Final = 0.25
_MAX_DRAINING: Final = 256
# If a deadline fires this late, the process was busy: what has arrived meanwhile is read before it counts as a timeout.
_STALL_S: Final = 0.1
_GRACE_S: Final = 0.05


def new_nonce() -> str:
    """16 random bytes, base64url without padding."""
    return secrets.token_urlsafe(16)


def tls_context(also_trusted: str | None = None) -> ssl.SSLContext:
    """Returns a context for TLS 1.2 or later, HTTP/1.1 only, without renegotiation, that trusts the system's
    authorities and `also_trusted` (PEM)."""
    context = ssl.create_default_context()
    if also_trusted is not None:
        context.load_verify_locations(cadata=also_trusted)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_RENEGOTIATION
    context.set_alpn_protocols(["http/1.1"])
    return context


class Sender:
    """Sends deliveries over kept-alive connections. Use it as an async context manager, or call `close`.

    `name_servers` replace the system's (`resolving.parse_servers`); `trusted` are additional authorities, which may
    change at runtime. `resolver`, `ssl_context`, `clock` and `nonce_source` are for tests.
    """

    def __init__(
        self,
        policy: AddressPolicy,
        *,
        expires_s: int = signing.DEFAULT_EXPIRES_S,
        name_servers: tuple[str, ...] = (),
        trusted: Certificates | None = None,
        clock: Clock = utc_now,
        nonce_source: Callable[[], str] = new_nonce,
        ssl_context: ssl.SSLContext | None = None,
        resolver: AbstractResolver | None = None,
        version: str | None = None,
    ) -> None:
        self._policy = policy
        self._expires_s = expires_s
        self._name_servers = name_servers
        self._clock = clock
        self._nonce_source = nonce_source
        self._trusted = trusted
        self._ssl_context = ssl_context
        self._resolver = resolver
        self._user_agent = f"checklist-dispatch/{version or installed_version('checklist-dispatch')}"
        self._session: aiohttp.ClientSession | None = None
        self._closed = False
        self._draining: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes all connections. A running transmission ends with LocalFault or its outcome."""
        self._closed = True
        for task in self._draining:
            task.cancel()
        await asyncio.gather(*self._draining, return_exceptions=True)
        if self._session is not None:
            await self._session.close()
        if self._resolver is not None:  # aiohttp closes only its own resolver
            await self._resolver.close()

    async def send(self, url: str, body: bytes, secret: bytes, key_id: str) -> Outcome:
        """Transmits `body` to `url` once, signed with the run's `secret` (UTF-8) under the run id `key_id`.

        Raises CancelledError (the result is unknown), LocalFault (the attempt must not count), and ValueError for an
        empty secret.
        """
        started_at, started = self._clock(), asyncio.get_running_loop().time()
        try:
            target = canonical_url(url, allow_insecure=self._policy.insecure_targets)
        except InvalidTarget as refusal:
            return Outcome(OutcomeClass.BLOCKED_ADDRESS, None, started_at, 0, refusal.message)
        headers = signing.sign(
            target,
            body,
            secret=secret,
            key_id=key_id,
            created=started_at,
            nonce=self._nonce_source(),
            expires_s=self._expires_s,
        )
        verdict, status, detail = await self._transmit(target, body, headers)
        duration_ms = round((asyncio.get_running_loop().time() - started) * 1000)
        return Outcome(verdict, status, started_at, duration_ms, detail)

    async def _transmit(self, url: str, body: bytes, headers: dict[str, str]) -> tuple[OutcomeClass, int | None, str]:
        if self._closed:
            raise LocalFault(TRANSPORT_UNAVAILABLE, "the sender is closed")
        attempt = dialing.Progress(internal=(URL(url, encoded=True).raw_host or "") in self._policy.internal)
        token = dialing.progress.set(attempt)
        try:
            async with _deadline():
                session = self._open_session()
                # Per request: a connection from before a change of authorities is not reused.
                tls = True if self._trusted is None else self._trusted.context(tls_context)
                response = await session.post(
                    URL(url, encoded=True), data=body, headers=headers, allow_redirects=False, ssl=tls
                )
        except Exception as error:
            if self._closed:
                raise LocalFault(TRANSPORT_UNAVAILABLE, "the sender was closed") from error
            verdict, detail = classify(error, attempt, is_tls=url.startswith("https:"))
            return verdict, None, detail
        finally:
            dialing.progress.reset(token)
        self._release(response)
        return class_of_status(response.status), response.status, f"HTTP {response.status}"

    def _open_session(self) -> aiohttp.ClientSession:
        if self._session is None:
            if self._resolver is None:
                self._resolver = Resolver(servers=self._name_servers, search=self._policy.allow_insecure)
            connector = dialing.GuardedConnector(
                self._policy,
                resolver=self._resolver,
                ssl=self._ssl_context or tls_context(),
                limit=0,  # permits are the limit; a second queue here would use up the ten seconds
                keepalive_timeout=KEEP_ALIVE_S,
                use_dns_cache=False,  # the resolver caches by TTL
            )
            self._session = aiohttp.ClientSession(
                connector=connector,
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_S),
                cookie_jar=aiohttp.DummyCookieJar(),
                trust_env=False,
                auto_decompress=False,
                raise_for_status=False,
                read_bufsize=16 * 1024,
                # The connection counts all bytes; a lower limit here would make a long answer invalid HTTP.
                max_line_size=dialing.MAX_RESPONSE_BYTES,
                max_field_size=dialing.MAX_RESPONSE_BYTES,
                max_headers=dialing.MAX_RESPONSE_BYTES,
                headers={"User-Agent": self._user_agent, "Accept-Encoding": "identity"},
            )
        return self._session

    def _release(self, response: aiohttp.ClientResponse) -> None:
        """Keeps the connection if the rest of the body is short and arrives at once; else closes it."""
        if response.closed:  # the body arrived with the head, and aiohttp has taken the connection back
            return
        is_large = (response.content_length or 0) > _DRAIN_BYTES or len(response.raw_headers) > _DRAIN_FIELDS
        if is_large or len(self._draining) >= _MAX_DRAINING:
            response.close()
            return

        def drained(task: asyncio.Task[None]) -> None:
            self._draining.discard(task)
            response.close()  # no effect after the end of the body

        task = asyncio.create_task(_drain(response))
        self._draining.add(task)
        task.add_done_callback(drained)  # a callback, since a task that is cancelled before it starts runs no code


@asynccontextmanager
async def _deadline() -> AsyncIterator[None]:
    """Raises TimeoutError after DEADLINE_S.

    If a busy event loop noticed the deadline late, answers may be unread in the sockets; a moment more lets them be
    read, so that our own overload does not fail an attempt.
    """
    loop = asyncio.get_running_loop()
    end = loop.time() + DEADLINE_S

    def on_time() -> None:
        now = loop.time()
        limit.reschedule(now + _GRACE_S if now - end > _STALL_S else now)

    async with asyncio.timeout(None) as limit:
        timer = loop.call_at(end, on_time)
        try:
            yield
        finally:
            timer.cancel()


async def _drain(response: aiohttp.ClientResponse) -> None:
    left = _DRAIN_BYTES
    try:
        async with asyncio.timeout(_DRAIN_S):
            while left > 0 and not response.content.at_eof():
                left -= len(await response.content.read(left))
    except (aiohttp.ClientError, OSError, RuntimeError):
        # The outcome is final. OSError includes TimeoutError. aiohttp raises RuntimeError when the connection has ended
        # and the body has no error of its own (a broken chunk that arrived with the head).
        pass
