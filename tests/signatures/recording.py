"""Real deliveries, with and without TLS, and the bytes that a receiver got of them.

Names resolve to the port that listens, whatever port the URL has: so default ports are tried too. Addresses are dialled
as they stand, which is why the sockets of the sender are led there as well.
"""

import socket
from ipaddress import ip_address
from pathlib import Path

from aiohttp.abc import AbstractResolver, ResolveResult
from tests.delivery.authority import Authority
from tests.raw_receiver import ReceivedRequest, raw_receiver
from yarl import URL

from checklist_operator.transport.addresses import AddressPolicy
from checklist_operator.transport.sender import Sender


async def deliver(urls: list[str], body: bytes, secret: str, folder: Path, *, key_id: str) -> list[bytes]:
    """Send the body to each of the canonical URLs with the real sender and its real clock: the requests."""
    authority = Authority.make(folder)
    hosts = sorted({str(URL(url, encoded=True).raw_host) for url in urls})
    server_context = authority.server_context(host=hosts[0], also=hosts[1:])
    policy, trusting = AddressPolicy(allow_insecure=True), authority.trusting
    raws = []
    async with raw_receiver(no_content) as plain, raw_receiver(no_content, ssl_context=server_context) as secure:
        for url in urls:
            receiver = secure if url.startswith("https:") else plain
            async with Sender(policy, resolver=_LedTo(receiver.port), ssl_context=trusting) as sender:
                outcome = await sender.send(_dialled(url, receiver.port), body, secret.encode(), key_id)
            assert outcome.ok, (url, outcome)
            raws.append(receiver.requests.pop().raw)
    return raws


def _dialled(url: str, port: int) -> str:
    """A URL of an address is given the port that listens: nothing is resolved, so nothing can lead it there."""
    parsed = URL(url, encoded=True)
    try:
        ip_address(str(parsed.raw_host))
    except ValueError:
        return url
    return f"{parsed.scheme}://{parsed.raw_host}:{port}{parsed.raw_path_qs}"


async def no_content(request: ReceivedRequest) -> None:
    request.writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
    request.writer.close()


class _LedTo(AbstractResolver):
    def __init__(self, port: int) -> None:
        self._port = port

    async def resolve(self, host: str, port: int = 0, family: int = 0) -> list[ResolveResult]:
        here = {"host": "127.0.0.1", "port": self._port, "family": socket.AF_INET}
        return [ResolveResult(hostname=host, proto=0, flags=0, **here)]

    async def close(self) -> None:
        pass
