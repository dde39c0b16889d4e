"""How a delivery gets its connection: names are resolved, addresses judged, answers bounded.

The three pieces here are put into aiohttp's connector by the sender. What happened on the way is noted in a `Progress`,
one per attempt, because aiohttp's errors alone do not tell a blocked address from a refused one.
"""

import asyncio
import contextvars
import errno
import functools
import re
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final, cast

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.client_proto import ResponseHandler
from aiohttp.http import RawResponseMessage
from aiohttp.streams import StreamReader

from checklist_operator.delivery.addresses import AddressPolicy, BlockedAddress

OWN_ERRNOS: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS})
"""Errors of the operating system that say that we, not the receiver, are out of something."""

OWN_RESOLVER_ERRORS: Final = frozenset({socket.EAI_MEMORY, socket.EAI_SYSTEM})
"""The same for name resolution; EAI_SYSTEM is what a lookup without a free file descriptor gives."""

MAX_RESPONSE_BYTES: Final = 64 * 1024
"""What a receiver may send in answer to one delivery, heads and body together, before the connection is closed."""

_NUMERIC: Final = socket.AI_NUMERICHOST | socket.AI_NUMERICSERV

SocketFactory = Callable[[Any], socket.socket]


@dataclass(slots=True)
class Progress:
    """How far one attempt came. Shared by all tasks that aiohttp starts for it."""

    blocked: bool = False
    dialled: bool = False
    own_fault: OSError | None = None


progress: contextvars.ContextVar[Progress] = contextvars.ContextVar("delivery_progress")


def guarded_socket_factory(policy: AddressPolicy) -> SocketFactory:
    """A factory that judges the very address that its socket will connect to, and makes no socket for a denied one."""

    def make_socket(address_info: Any) -> socket.socket:
        family, kind, protocol, _, socket_address = address_info
        attempt = progress.get()
        if not policy.permits(socket_address[0]):
            attempt.blocked = True
            raise BlockedAddress("the address is not allowed")
        try:
            made = socket.socket(family, kind, protocol)
        except OSError as error:
            if error.errno in OWN_ERRNOS:
                attempt.own_fault = error
            raise
        attempt.dialled = True
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return made

    return make_socket


class AbsoluteNameResolver(AbstractResolver):
    """The system's resolver, for absolute names only, on threads of its own.

    Absolute (with the final dot), because in a pod `hooks.example` would first be tried as a service of the cluster by
    the search list. Own threads, because a lookup cannot be cancelled: names whose servers never answer would
    occupy the loop's default threads and everything else that uses them. `search` (development) keeps the search list
    and the hosts file, where `localhost` and names of containers come from.
    """

    def __init__(self, *, search: bool = False, threads: int = 64) -> None:
        self._search = search
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="delivery-dns")

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        name = host if self._search else host.rstrip(".") + "."
        found = await asyncio.get_running_loop().run_in_executor(self._threads, self._look_up, name, port, family)
        return [
            ResolveResult(hostname=host, host=address, port=port, family=found_family, proto=0, flags=_NUMERIC)
            for found_family, address in found
        ]

    @staticmethod
    def _look_up(name: str, port: int, family: int) -> list[tuple[int, str]]:
        found = socket.getaddrinfo(name, port, family=family, type=socket.SOCK_STREAM)
        # A zone in the answer would name one of our own interfaces; without it such an address leads nowhere.
        pairs = [(info[0], str(info[4][0]).partition("%")[0]) for info in found]
        return list(dict.fromkeys(pairs))

    async def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


class ResponseTooLarge(aiohttp.ClientError):
    """The receiver sent more than one exchange may hold, or more than its answer."""


_END_OF_HEAD: Final = re.compile(rb"\n\r?\n")


class BoundedResponseHandler(ResponseHandler):
    """aiohttp's reader of responses, made safe for receivers that mean harm.

    - The bytes of one exchange are limited. aiohttp bounds a line and the number of fields, but not how many interim
      (1xx) answers come before the final one, nor a body that nobody reads.
    - A complete head counts, whatever comes after it. aiohttp drops a head when bytes that it cannot parse arrive in
      the same read, so the verdict would depend on how the network cut the stream.
    - Bytes after the end of an answer end the connection. aiohttp would take them for the answer to the next request.
    - The connection ends without ceremony: a polite close waits, with our body in memory, for a receiver that never
      reads it.

    `set_response_params` is what aiohttp calls when a request begins on a connection.
    """

    _received = 0
    _has_final_head = False
    _end_of_last = b""

    def set_response_params(self, **options: Any) -> None:
        self._received = 0
        self._has_final_head = False
        self._end_of_last = b""
        super().set_response_params(**options)

    def feed_data(self, data: tuple[RawResponseMessage, StreamReader], size: int = 0) -> None:
        self._has_final_head = self._has_final_head or data[0].code >= 200
        super().feed_data(data, size)

    def data_received(self, data: bytes) -> None:
        self._received += len(data)
        while not self._has_final_head and (end := _END_OF_HEAD.search(self._end_of_last + data)):
            rest = end.end() - len(self._end_of_last)
            head, data, self._end_of_last = data[:rest], data[rest:], b""
            super().data_received(head)
            if self._exception is not None and not self._has_final_head:
                return
        if data:
            if self._has_final_head and (self._payload is None or self._payload.is_eof()):
                self._end(ResponseTooLarge())
                return
            self._end_of_last = (self._end_of_last + data)[-3:]
            super().data_received(data)
        if self._received > MAX_RESPONSE_BYTES:
            self._end(ResponseTooLarge())

    def _end(self, reason: Exception) -> None:
        transport = self.transport
        self.set_exception(reason)
        if transport is not None:
            transport.abort()

    def close(self) -> None:
        self.abort()


class GuardedConnector(aiohttp.TCPConnector):
    """A connector whose sockets are judged by the policy and whose responses are bounded."""

    def __init__(self, policy: AddressPolicy, *, resolver: AbstractResolver, **options: Any) -> None:
        super().__init__(socket_factory=guarded_socket_factory(policy), resolver=resolver, **options)
        # The one place where a private name of aiohttp is used; tests fail when it stops having an effect.
        handler = functools.partial(BoundedResponseHandler, loop=asyncio.get_running_loop())
        self._factory = cast("functools.partial[ResponseHandler]", handler)
