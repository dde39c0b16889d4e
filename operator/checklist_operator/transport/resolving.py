"""Resolves names of receivers.

The system's `getaddrinfo` blocks a thread for as long as a name server likes and cannot be cancelled: a few names whose
servers never answer take all threads, and lookups of healthy receivers time out. Here a waiting lookup costs only a few
kilobytes. (pycares is used without aiodns, because aiohttp would use that for all connections of the process, also
those to the Kubernetes API.)

Addresses are checked when they are dialled (`dialing`), not here.
"""

import asyncio
import socket
from ipaddress import ip_address
from typing import Final

import pycares
from aiohttp.abc import AbstractResolver, ResolveResult

from checklist_operator.transport.dns_question import NoAnswer, Question

LOOKUP_S: Final = 7.0
"""Timeout of a lookup, so that a check of our own name server still fits into the ten seconds."""

PROBE_S: Final = 2.0

MAX_ADDRESSES: Final = 8
"""Number of addresses of a name that are tried."""

MAX_KEPT_S: Final = 30.0
_MAX_KEPT: Final = 4096

_NUMERIC: Final = socket.AI_NUMERICHOST | socket.AI_NUMERICSERV

_DETAILS: Final = {
    pycares.errno.ARES_ENOTFOUND: "the name does not exist",
    pycares.errno.ARES_ENODATA: "the name has no address",
    pycares.errno.ARES_ESERVFAIL: "the name's servers failed",
    pycares.errno.ARES_EREFUSED: "the name's servers refused to answer",
}
_CANNOT_ASK: Final = frozenset({pycares.errno.ARES_ECONNREFUSED, pycares.errno.ARES_ENOMEM})
"""ECONNREFUSED: our name server is down, or no file descriptor was free."""

Addresses = list[tuple[int, str]]


class LookupFailed(OSError):
    """The name has no known address; the text says why, in our own words."""


class ResolverUnavailable(OSError):
    """Our own name server does not answer or cannot be asked: not the receiver's fault."""


def parse_servers(text: str) -> tuple[str, ...]:
    """Parses a comma-separated list of `address[:port]`, IPv6 with a port in brackets. Raises ValueError."""
    return tuple(_parse_server(part.strip()) for part in text.split(",") if part.strip())


def _parse_server(text: str) -> str:
    host, port = text, "53"
    if text.startswith("["):
        host, bracket, rest = text[1:].partition("]")
        if not bracket or (rest and not rest.startswith(":")):
            raise ValueError(f"{text!r} is not an address[:port]")
        port = rest[1:] or "53"
    elif text.count(":") == 1:
        host, _, port = text.partition(":")
    if not (port.isascii() and port.isdigit()) or not 0 < int(port) < 65536:
        raise ValueError(f"{text!r} has no port from 1 to 65535")
    address = ip_address(host)  # a name would have to be resolved first
    return f"[{address}]:{int(port)}" if address.version == 6 else f"{address}:{int(port)}"


class Resolver(AbstractResolver):
    """Looks names up. Use it in one event loop, and `close` it.

    `servers`: result of `parse_servers`; empty for the system's. Names are absolute: otherwise a pod's search list
    would try `hooks.example` as a service of the cluster first. `search` (development) uses that list, which resolves
    names of containers. The hosts file is always used; it belongs to the installation.

    Addresses are cached for their TTL, at most MAX_KEPT_S; failures are not cached.
    """

    def __init__(self, *, servers: tuple[str, ...] = (), search: bool = False) -> None:
        self._servers = servers
        self._search = search
        self._loop = asyncio.get_running_loop()
        self._kept: dict[tuple[str, int], tuple[float, Addresses]] = {}
        self._lookups: set[asyncio.Task[tuple[Addresses, float]]] = set()
        self._probe: asyncio.Task[bool] | None = None
        self._closed = False

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Returns the addresses of `host`, IPv6 first, at most MAX_ADDRESSES.

        Raises LookupFailed, TimeoutError (the name's servers took too long) and ResolverUnavailable.
        """
        until, found = self._kept.get((host, family), (0.0, []))
        if until <= self._loop.time():
            found, seconds = await self._look_up(host, family)
            self._keep((host, family), found, seconds)
        return [
            ResolveResult(hostname=host, host=address, port=port, family=found_family, proto=0, flags=_NUMERIC)
            for found_family, address in found
        ]

    async def close(self) -> None:
        """Cancels all lookups; they fail with ResolverUnavailable."""
        self._closed = True
        tasks = [*self._lookups, *([self._probe] if self._probe else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _keep(self, key: tuple[str, int], found: Addresses, seconds: float) -> None:
        if seconds <= 0:
            self._kept.pop(key, None)
            return
        if len(self._kept) >= _MAX_KEPT:
            del self._kept[next(iter(self._kept))]
        self._kept[key] = (self._loop.time() + min(seconds, MAX_KEPT_S), found)

    async def _look_up(self, host: str, family: socket.AddressFamily) -> tuple[Addresses, float]:
        if self._closed:
            raise ResolverUnavailable("the resolver is closed")
        task = self._loop.create_task(self._ask(host, family))
        self._lookups.add(task)
        task.add_done_callback(self._lookups.discard)
        try:
            return await task
        except NoAnswer as failure:
            if failure.number in _CANNOT_ASK:
                raise ResolverUnavailable("no name server can be asked") from None
            if failure.number == pycares.errno.ARES_ETIMEOUT:
                await self._check_name_server()
            raise LookupFailed(_DETAILS.get(failure.number, "the name could not be resolved")) from None
        except TimeoutError:
            await self._check_name_server()
            raise
        except asyncio.CancelledError:
            if self._closed:
                raise ResolverUnavailable("the resolver was closed") from None
            raise

    async def _ask(self, host: str, family: socket.AddressFamily) -> tuple[Addresses, float]:
        async with asyncio.timeout(LOOKUP_S):
            with Question(servers=self._servers, search=self._search) as question:
                answer = await question.addresses(host, family)
        pairs = dict.fromkeys((int(node.family), node.addr[0].decode("ascii")) for node in answer.nodes)
        if not pairs:
            raise NoAnswer(pycares.errno.ARES_ENODATA)
        by_family = sorted(pairs, key=lambda pair: pair[0] != socket.AF_INET6)
        return by_family[:MAX_ADDRESSES], min(
            [node.ttl for node in answer.nodes] + [name.ttl for name in answer.cnames]
        )

    async def _check_name_server(self) -> None:
        """After a timeout, asks our own name server for the root servers to find out which server was silent.

        Concurrent failed lookups share the query. Raises TimeoutError or ResolverUnavailable.
        """
        if self._probe is None or self._probe.done():
            self._probe = self._loop.create_task(self._server_answers())
        try:
            answers = await asyncio.shield(self._probe)
        except asyncio.CancelledError:
            if self._closed:
                raise ResolverUnavailable("the resolver was closed") from None
            raise
        if answers:
            raise TimeoutError
        raise ResolverUnavailable("no name server answers")

    async def _server_answers(self) -> bool:
        try:
            async with asyncio.timeout(PROBE_S):
                with Question(servers=self._servers) as question:
                    await question.root()
        except NoAnswer as failure:
            return failure.number != pycares.errno.ARES_ETIMEOUT and failure.number not in _CANNOT_ASK
        except TimeoutError:
            return False
        return True
