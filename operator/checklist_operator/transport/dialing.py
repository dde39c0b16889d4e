"""How a delivery gets its connection: addresses are judged as they are dialled, answers are bounded.

The pieces here are put into aiohttp's connector by the sender. What happened on the way is noted in a `Progress`, one
per attempt, because aiohttp's errors alone do not tell a blocked address from a refused one.
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

OWN_ERRNOS: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS})
"""Errors of the operating system that say that we, not the receiver, are out of something."""

MAX_RESPONSE_BYTES: Final = 64 * 1024
"""What a receiver may send in answer to one delivery, heads and body together, before the connection is closed."""

MAX_HEADS: Final = 256
"""How many heads may come before the final one is there: interim answers, and empty lines, which end like heads."""

SocketFactory = Callable[[Any], socket.socket]


@dataclass(slots=True)
class Progress:
    """How far one attempt came. Shared by all tasks that aiohttp starts for it.

    `dialled`: it had an address to connect to; `connected`: it had a connection, perhaps one that was kept.
    """

    blocked: bool = False
    dialled: bool = False
    connected: bool = False
    internal: bool = False
    """The receiver's host is one of those inside the network that the operator's settings name."""
    own_fault: OSError | None = None


progress: contextvars.ContextVar[Progress] = contextvars.ContextVar("delivery_progress")


def guarded_socket_factory(policy: AddressPolicy) -> SocketFactory:
    """A factory that judges the very address that its socket will connect to, and makes no socket for a denied one."""

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
            if error.errno in OWN_ERRNOS:
                attempt.own_fault = error
            raise
        attempt.dialled = True
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return made

    return make_socket


def _is_own_address(family: int, host: str) -> bool:
    """Whether `host` is an address of this machine: then it is also the one that packets to it would come from.

    Public addresses can be our own: of a pod in an IPv6 cluster, of a node with host networking. A datagram socket
    asks the routing table and sends nothing.
    """
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((host, 9))
            return bool(probe.getsockname()[0] == host)
    except OSError:
        return False  # no way leads there, as the connection will find


def _has_something_to_read(transport: asyncio.BaseTransport | None) -> bool:
    connection = transport.get_extra_info("socket") if transport is not None else None
    if connection is None:
        return False
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)  # an end and an error come unasked
    return bool(poll.poll(0))


class ResponseTooLarge(aiohttp.ClientError):
    """The receiver sent more than one exchange may hold, or more than its answer."""


_END_OF_HEAD: Final = re.compile(rb"\n\r?\n")


class BoundedResponseHandler(ResponseHandler):
    """aiohttp's reader of responses, made safe for receivers that mean harm.

    - The bytes of one exchange are limited. aiohttp bounds a line and the number of fields, but not how many interim
      (1xx) answers come before the final one, nor a body that is never read.
    - A complete head counts, whatever comes after it. aiohttp drops a head when bytes that it cannot parse arrive in
      the same read, so the verdict would depend on how the network cut the stream.
    - Bytes after the end of an answer end the connection. aiohttp would take them for the answer to the next request.
    - The connection ends without ceremony: a polite close waits, with our body in memory, for a receiver that never
      reads it.

    - A kept connection on which anything waits to be read, its end above all, is not used again, even when the event
      loop has not come to read it: the request would be lost, and with it an attempt.

    `set_response_params` is what aiohttp calls when a request begins on a connection, `is_connected` what it asks
    before it takes a kept one.
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
        """Gives the parser one head at a time, up to the final one; returns what comes after the last that ended."""
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
    """A connector whose sockets are judged by the policy and whose responses are bounded."""

    def __init__(self, policy: AddressPolicy, *, resolver: AbstractResolver, **options: Any) -> None:
        super().__init__(socket_factory=guarded_socket_factory(policy), resolver=resolver, **options)
        # The one place where a private name of aiohttp is used; tests fail when it stops having an effect.
        handler = functools.partial(BoundedResponseHandler, loop=asyncio.get_running_loop())
        self._factory = cast("functools.partial[ResponseHandler]", handler)
