"""A receiver on real sockets, with and without TLS, that keeps the bytes it was sent; and a sender led to it.

Names resolve to the port that listens, whatever port the URL has: so default ports are tried too. Addresses are dialled
as they stand, which is why the sockets of the sender are led there as well.
"""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from ipaddress import ip_address
from pathlib import Path

from aiohttp.abc import AbstractResolver, ResolveResult
from tests.delivery.authority import Authority
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
    async with listening(None) as plain, listening(server_context) as secure:
        for url in urls:
            port, received = secure if url.startswith("https:") else plain
            async with Sender(policy, resolver=_LedTo(port), ssl_context=trusting) as sender:
                outcome = await sender.send(_dialled(url, port), body, secret.encode(), key_id)
            assert outcome.ok, (url, outcome)
            raws.append(received.pop())
    return raws


def _dialled(url: str, port: int) -> str:
    """A URL of an address is given the port that listens: nothing is resolved, so nothing can lead it there."""
    parsed = URL(url, encoded=True)
    try:
        ip_address(str(parsed.raw_host))
    except ValueError:
        return url
    return f"{parsed.scheme}://{parsed.raw_host}:{port}{parsed.raw_path_qs}"


@asynccontextmanager
async def listening(context: ssl.SSLContext | None) -> AsyncIterator[tuple[int, list[bytes]]]:
    """The port, and the list in which each request ends."""
    received: list[bytes] = []

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        received.append(head + await reader.readexactly(length))
        writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(accept, "127.0.0.1", 0, ssl=context) as server:
        yield server.sockets[0].getsockname()[1], received


class _LedTo(AbstractResolver):
    def __init__(self, port: int) -> None:
        self._port = port

    async def resolve(self, host: str, port: int = 0, family: int = 0) -> list[ResolveResult]:
        here = {"host": "127.0.0.1", "port": self._port, "family": socket.AF_INET}
        return [ResolveResult(hostname=host, proto=0, flags=0, **here)]

    async def close(self) -> None:
        pass
