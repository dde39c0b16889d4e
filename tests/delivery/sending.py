"""The real sender, as the tests of deliveries use it."""

import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from aiohttp.abc import AbstractResolver, ResolveResult

from checklist_operator.transport.addresses import AddressPolicy
from checklist_operator.transport.outcome import Outcome
from checklist_operator.transport.sender import Sender

from .authority import Authority
from .name_server import NameServer

SECRET = b"sixteen or more characters"
INSECURE = AddressPolicy(allow_insecure=True)
LOOPBACK = AddressPolicy.parse(allowed="127.0.0.1")


class Loopback(AbstractResolver):
    """Every name is this machine."""

    async def resolve(self, host: str, port: int = 0, family: int = 0) -> list[ResolveResult]:
        return [ResolveResult(hostname=host, host="127.0.0.1", port=port, family=socket.AF_INET, proto=0, flags=0)]

    async def close(self) -> None:
        pass


def asking(name_server: NameServer, authority: Authority, policy: AddressPolicy = LOOPBACK) -> Sender:
    """A sender that asks this name server and trusts this authority."""
    return Sender(policy, name_servers=(name_server.address,), ssl_context=authority.trusting)


async def deliver(sender: Sender, url: str, body: bytes = b"{}") -> Outcome:
    return await sender.send(url, body, SECRET, "r-1")


# -- every connect of this process, counted at the socket: Python's audit event is raised before the system call

Dialled = tuple[str, int]
"""Address and port."""

_listening: list[list[Dialled]] = []


def _hook(event: str, arguments: tuple[object, ...]) -> None:
    if event != "socket.connect" or not _listening:
        return
    made, target = arguments
    if isinstance(made, socket.socket) and made.type == socket.SOCK_STREAM and isinstance(target, tuple):
        for heard in _listening:
            heard.append((target[0], target[1]))


sys.addaudithook(_hook)


@contextmanager
def dialled_addresses() -> Iterator[list[Dialled]]:
    """The TCP connects that this process tries meanwhile."""
    heard: list[Dialled] = []
    _listening.append(heard)
    try:
        yield heard
    finally:
        _listening.remove(heard)
