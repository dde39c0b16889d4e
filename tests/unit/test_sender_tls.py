"""TLS: the receiver is who it says, or nothing is sent."""

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from aiohttp.abc import AbstractResolver, ResolveResult
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from checklist_operator.delivery.addresses import AddressPolicy
from checklist_operator.delivery.outcome import Outcome
from checklist_operator.delivery.sender import Sender, tls_context

HOST = "hooks.example"
Start = Callable[..., Awaitable[Any]]


class Loopback(AbstractResolver):
    async def resolve(self, host: str, port: int = 0, family: int = 0) -> list[ResolveResult]:
        return [ResolveResult(hostname=host, host="127.0.0.1", port=port, family=socket.AF_INET, proto=0, flags=0)]

    async def close(self) -> None:
        pass


@dataclass
class Authority:
    """A certificate authority of the test, and the context of a sender that trusts it."""

    folder: Path
    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

    @property
    def trusting(self) -> ssl.SSLContext:
        context = tls_context()
        context.load_verify_locations(cadata=self.certificate.public_bytes(serialization.Encoding.PEM).decode())
        return context

    def server_context(
        self, *, host: str = HOST, ends: timedelta = timedelta(days=1), own: bool = False
    ) -> ssl.SSLContext:
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, host)])
        now = datetime.now(UTC)
        certificate = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(name if own else self.certificate.subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=2))
            .not_valid_after(now + ends)
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
            .sign(key if own else self.key, hashes.SHA256())
        )
        file = self.folder / f"{host}.pem"
        file.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
            + certificate.public_bytes(serialization.Encoding.PEM)
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        return context


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "authority of the test")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=2))
        .not_valid_after(now + timedelta(days=2))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    return Authority(tmp_path, key, certificate)


async def send_to(port: int, authority: Authority, *, path: str = "/") -> Outcome:
    policy = AddressPolicy.parse(allowed="127.0.0.1")
    async with Sender(policy, resolver=Loopback(), ssl_context=authority.trusting) as sender:
        return await sender.send(f"https://{HOST}:{port}{path}", b"{}", b"sixteen or more characters", "r-1")


async def test_a_verified_receiver_gets_its_delivery_over_tls(
    authority: Authority, start_receiver: Start, verify: Callable[..., None]
) -> None:
    receiver = await start_receiver(ssl_context=authority.server_context())
    outcome = await send_to(receiver.port, authority, path="/hook?a=1")
    assert outcome.ok
    (request,) = receiver.requests
    headers = dict(request.header_lines)
    assert headers["Host"] == f"{HOST}:{receiver.port}"
    url = f"https://{HOST}:{receiver.port}/hook?a=1"
    now = datetime.now(UTC).timestamp()
    verify("POST", url, headers, request.body, "sixteen or more characters", now=now)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"host": "other.example"}, "Hostname mismatch"),
        ({"ends": timedelta(days=-1)}, "certificate has expired"),
        ({"own": True}, "self-signed certificate"),
    ],
)
async def test_a_certificate_that_does_not_hold_gets_nothing(
    options: dict[str, Any], reason: str, authority: Authority, start_receiver: Start
) -> None:
    receiver = await start_receiver(ssl_context=authority.server_context(**options))
    outcome = await send_to(receiver.port, authority)
    assert outcome.outcome_class == "tls"
    assert reason in outcome.detail
    assert receiver.requests == []


async def test_an_authority_nobody_knows_gets_nothing(authority: Authority, start_receiver: Start) -> None:
    receiver = await start_receiver(ssl_context=authority.server_context())
    policy = AddressPolicy.parse(allowed="127.0.0.1")
    async with Sender(policy, resolver=Loopback()) as sender:
        outcome = await sender.send(f"https://{HOST}:{receiver.port}/", b"{}", b"sixteen or more", "r-1")
    assert outcome.outcome_class == "tls"
    assert receiver.requests == []


async def test_the_development_setting_does_not_loosen_tls(authority: Authority, start_receiver: Start) -> None:
    receiver = await start_receiver(ssl_context=authority.server_context(own=True))
    async with Sender(AddressPolicy(allow_insecure=True), resolver=Loopback()) as sender:
        outcome = await sender.send(f"https://{HOST}:{receiver.port}/", b"{}", b"sixteen or more", "r-1")
    assert outcome.outcome_class == "tls"


def test_nothing_below_tls_1_2_is_spoken() -> None:
    context = tls_context()
    assert context.minimum_version == ssl.TLSVersion.TLSv1_2
    assert context.verify_mode == ssl.CERT_REQUIRED
    assert context.check_hostname


async def test_a_receiver_that_only_speaks_tls_1_1_gets_nothing(authority: Authority, start_receiver: Start) -> None:
    context = authority.server_context()
    with pytest.warns(DeprecationWarning):
        context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
    context.set_ciphers("ALL:@SECLEVEL=0")
    receiver = await start_receiver(ssl_context=context)
    outcome = await send_to(receiver.port, authority)
    assert outcome.outcome_class == "tls"
    assert receiver.requests == []


async def test_a_receiver_that_speaks_no_tls_gets_nothing(authority: Authority, start_receiver: Start) -> None:
    receiver = await start_receiver()
    outcome = await asyncio.wait_for(answer_handshake_with(b"HTTP/1.1 400 Bad Request\r\n\r\n", authority), 2)
    assert outcome.outcome_class == "tls"
    assert receiver.requests == []


@pytest.mark.parametrize("raw", [b"", b"\x15\x03\x03\x00\x02\x02\x28", b"\x16\x03\x03", b"SSH-2.0-x\r\n"])
async def test_a_handshake_that_ends_early_is_a_tls_failure(raw: bytes, authority: Authority) -> None:
    outcome = await asyncio.wait_for(answer_handshake_with(raw, authority), 2)
    assert outcome.outcome_class == "tls"


@pytest.mark.looptime
async def test_a_handshake_that_hangs_is_a_timeout_after_five_seconds(authority: Authority) -> None:
    outcome = await answer_handshake_with(None, authority)
    assert outcome.outcome_class == "timeout"
    assert outcome.duration_ms == pytest.approx(5000, abs=50)


async def answer_handshake_with(raw: bytes | None, authority: Authority) -> Outcome:
    """Sends to a socket that answers the first bytes of a handshake with `raw` and closes; None is silence."""

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        if raw is None:
            await asyncio.sleep(1000)
        writer.write(raw or b"")
        writer.close()

    async with await asyncio.start_server(accept, "127.0.0.1", 0) as server:
        return await send_to(server.sockets[0].getsockname()[1], authority)
