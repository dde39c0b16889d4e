"""The real sender, as the tests of deliveries use it."""

import socket

from aiohttp.abc import AbstractResolver, ResolveResult

from checklist_operator.delivery.addresses import AddressPolicy
from checklist_operator.delivery.outcome import Outcome
from checklist_operator.delivery.sender import Sender

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
