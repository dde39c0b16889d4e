"""A receiver on real sockets, with and without TLS, that keeps the bytes it was sent; and a sender led to it.

Names resolve to the port that listens, whatever port the URL has: so default ports are tried too. Addresses are dialled
as they stand, which is why the sockets of the sender are led there as well.
"""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from aiohttp.abc import AbstractResolver, ResolveResult
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from yarl import URL

from checklist_operator.delivery.addresses import AddressPolicy
from checklist_operator.delivery.outcome import Outcome
from checklist_operator.delivery.sender import Sender, tls_context

_ANSWER = b"HTTP/1.1 204 No Content\r\n\r\n"


@dataclass(frozen=True)
class Delivered:
    """One request as it came over the socket, and what the sender made of the answer."""

    raw: bytes
    outcome: Outcome


async def deliver(urls: list[str], body: bytes, secret: str, folder: Path, *, key_id: str = "r-1") -> list[Delivered]:
    """Send the body to each of the canonical URLs, one after the other, with the real sender and its real clock."""
    certificate = _certificate_for(sorted({str(URL(url, encoded=True).raw_host) for url in urls}), folder)
    server_context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_context.load_cert_chain(certificate)
    client_context = tls_context()
    client_context.load_verify_locations(certificate)
    delivered = []
    async with _listening(None) as plain, _listening(server_context) as secure:
        for url in urls:
            port, received = secure if url.startswith("https:") else plain
            async with Sender(
                AddressPolicy(allow_insecure=True), resolver=_LedTo(port), ssl_context=client_context
            ) as sender:
                outcome = await sender.send(_dialled(url, port), body, secret.encode(), key_id)
            delivered.append(Delivered(received.pop(), outcome))
    return delivered


def _dialled(url: str, port: int) -> str:
    """A URL of an address is given the port that listens: nothing is resolved, so nothing can lead it there."""
    parsed = URL(url, encoded=True)
    try:
        ip_address(str(parsed.raw_host))
    except ValueError:
        return url
    return f"{parsed.scheme}://{parsed.raw_host}:{port}{parsed.raw_path_qs}"


@asynccontextmanager
async def _listening(context: ssl.SSLContext | None) -> AsyncIterator[tuple[int, list[bytes]]]:
    """The port, and the list in which each request ends."""
    received: list[bytes] = []

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(
            int(line.partition(b":")[2]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")
        )
        received.append(head + await reader.readexactly(length))
        writer.write(_ANSWER)
        writer.close()

    server = await asyncio.start_server(accept, "127.0.0.1", 0, ssl=context)
    async with server:
        yield server.sockets[0].getsockname()[1], received


class _LedTo(AbstractResolver):
    def __init__(self, port: int) -> None:
        self._port = port

    async def resolve(self, host: str, port: int = 0, family: int = socket.AF_UNSPEC) -> list[ResolveResult]:
        return [
            ResolveResult(hostname=host, host="127.0.0.1", port=self._port, family=socket.AF_INET, proto=0, flags=0)
        ]

    async def close(self) -> None:
        pass


def _certificate_for(hosts: list[str], folder: Path) -> Path:
    """Key and self-signed certificate for all hosts, in one file."""
    names: list[x509.GeneralName] = []
    for host in hosts:
        try:
            names.append(x509.IPAddress(ip_address(host)))
        except ValueError:
            names.append(x509.DNSName(host))
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "receiver of the test")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    path = folder / "receiver.pem"
    path.write_bytes(private + certificate.public_bytes(pem))
    return path
