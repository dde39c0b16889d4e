"""Connections of deliveries: checks each address as it is dialled, and limits responses.

The sender installs these parts in aiohttp's connector. Each attempt has a `Progress`, because aiohttp's errors do not
distinguish a blocked address from a refused one.
"""

import asyncio
import contextvars
import errno
import functools
import re
import select
import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, cast

import aiohttp
from aiohttp.abc import AbstractResolver
from aiohttp.client_proto import ResponseHandler
from aiohttp.http import RawResponseMessage
from aiohttp.streams import StreamReader

from checklist_operator.transport.addresses import AddressPolicy, BlockedAddress

LOCAL_ERRNOS: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS})
"""Errors of the operating system that mean that this process has run out of a resource."""

MAX_RESPONSE_BYTES: Final = 64 * 1024
"""Limit of one response, all heads and the body, before the connection is closed."""

MAX_HEADS: Final = 256
"""Limit of heads up to the final one: interim responses, and empty lines, which end like heads."""

SocketFactory = Callable[[Any], socket.socket]


@dataclass(slots=True)
class Progress:
    """Progress of one attempt, shared by all tasks that aiohttp starts for it.

    `dialled`: it had an address to connect to; `connected`: it had a new or kept connection.
    """

    blocked: bool = False
    dialled: bool = False
    connected: bool = False
    internal: bool = False
    """The receiver's host is one of the internal hosts of the settings."""
    own_fault: OSError | None = None


progress: contextvars.ContextVar[Progress] = contextvars.ContextVar("delivery_progress")


def guarded_socket_factory(policy: AddressPolicy) -> SocketFactory:
    """Returns a factory that checks the address of each socket and creates none for a denied one."""

    def make_socket(address_info: Any) -> socket.socket:
        family, kind, protocol, _, socket_address = address_info
        attempt = progress.get()
        host = socket_address[0]
        may_be = policy.permits(host, internal=attempt.internal)
        if not may_be or (policy.guards_own_machine(host) and _is_own_address(family, host)):
            attempt.blocked = True
            raise BlockedAddress("the address is not allowed")
        try:
            made = socket.socket(family, kind, protocol)
        except OSError as error:
            if error.errno in LOCAL_ERRNOS:
                attempt.own_fault = error
            raise
        attempt.dialled = True
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return made

    return make_socket


def _is_own_address(family: int, host: str) -> bool:
    """Whether `host` is an address of this machine: then it is also the source address of packets to it.

    A public address can be our own: of a pod in an IPv6 cluster, of a node with host networking. A datagram socket
    asks the routing table without sending.
    """
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((host, 9))
            return bool(probe.getsockname()[0] == host)
    except OSError:
        return False  # no route: connecting fails too


def _has_something_to_read(transport: asyncio.BaseTransport | None) -> bool:
    connection = transport.get_extra_info("socket") if transport is not None else None
    if connection is None:
        return False
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)  # hang-up and error are always reported
    return bool(poll.poll(0))


class ResponseTooLarge(aiohttp.ClientError):
    """The receiver exceeded the limit of a response, or sent data after its end."""


_END_OF_HEAD: Final = re.compile(rb"\n\r?\n")


class BoundedResponseHandler(ResponseHandler):
    """aiohttp's response handler, hardened against hostile receivers.

    - The bytes of a response are limited. aiohttp limits a line and the number of fields, but neither the number of
      interim (1xx) responses nor a body that is never read.
    - A complete head counts. aiohttp drops a head if unparsable bytes arrive in the same read, so the outcome would
      depend on how the network splits the stream.
    - Bytes after the end of a response close the connection. aiohttp would take them for the next response.
    - Connections are aborted: a graceful close waits, with our body in memory, for a receiver that never reads it.
    - A kept connection with unread data or an unread end is not reused, even if the event loop has not read it yet:
      the request, and so an attempt, would be lost.

    aiohttp calls `set_response_params` when a request begins, and `is_connected` before it reuses a connection.
    """

    _received = 0
    _heads = 0
    _has_final_head = False
    _end_of_last = b""

    def is_connected(self) -> bool:
        return super().is_connected() and not _has_something_to_read(self.transport)

    def set_response_params(self, **options: Any) -> None:
        self._received = 0
        self._heads = 0
        self._has_final_head = False
        self._end_of_last = b""
        if (attempt := progress.get(None)) is not None:
            attempt.connected = True
        super().set_response_params(**options)

    def feed_data(self, data: tuple[RawResponseMessage, StreamReader], size: int = 0) -> None:
        self._has_final_head = self._has_final_head or data[0].code >= 200
        super().feed_data(data, size)

    def data_received(self, data: bytes) -> None:
        room = max(0, MAX_RESPONSE_BYTES - self._received)
        self._received += len(data)
        rest = data[:room] if self._has_final_head else self._feed_heads(data[:room])
        if rest:
            if self._has_final_head and (self._payload is None or self._payload.is_eof()):
                self._end(ResponseTooLarge())
                return
            self._end_of_last = (self._end_of_last + rest)[-3:]
            super().data_received(rest)
        if self._received > MAX_RESPONSE_BYTES:
            self._end(ResponseTooLarge())

    def _feed_heads(self, data: bytes) -> bytes:
        """Passes heads to the parser one by one, up to the final one; returns the bytes after the last complete one."""
        before = len(self._end_of_last)
        start = 0
        for match in _END_OF_HEAD.finditer(self._end_of_last + data):
            end = match.end() - before
            self._heads += 1
            super().data_received(data[start:end])
            start, self._end_of_last = end, b""
            if self._has_final_head:
                break
            if self._exception is not None:
                return b""
            if self._heads >= MAX_HEADS:
                self._end(ResponseTooLarge())
                return b""
        return data[start:]

    def _end(self, reason: Exception) -> None:
        transport = self.transport
        self.set_exception(reason)
        if transport is not None:
            transport.abort()

    def close(self) -> None:
        self.abort()


class GuardedConnector(aiohttp.TCPConnector):
    """A connector whose sockets are checked by the policy and whose responses are limited."""

    def __init__(self, policy: AddressPolicy, *, resolver: AbstractResolver, **options: Any) -> None:
        super().__init__(socket_factory=guarded_socket_factory(policy), resolver=resolver, **options)
        # The only use of a private name of aiohttp; tests fail if it loses its effect.
        handler = functools.partial(BoundedResponseHandler, loop=asyncio.get_running_loop())
        self._factory = cast("functools.partial[ResponseHandler]", handler)
