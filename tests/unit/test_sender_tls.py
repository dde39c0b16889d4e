"""TLS: the receiver is who it says, or nothing is sent."""

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from aiohttp.abc import AbstractResolver, ResolveResult
from tests.delivery.authority import HOST, Authority

from checklist_crds.settings.held import Certificates
from checklist_operator.delivery.addresses import AddressPolicy
from checklist_operator.delivery.outcome import Outcome
from checklist_operator.delivery.sender import Sender, tls_context

Start = Callable[..., Awaitable[Any]]


class Loopback(AbstractResolver):
    async def resolve(self, host: str, port: int = 0, family: int = 0) -> list[ResolveResult]:
        return [ResolveResult(hostname=host, host="127.0.0.1", port=port, family=socket.AF_INET, proto=0, flags=0)]

    async def close(self) -> None:
        pass


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority.make(tmp_path)


async def send_to(port: int, authority: Authority | None, *, path: str = "/", insecure: bool = False) -> Outcome:
    """The outcome of one delivery; without an authority, those of the system are trusted."""
    policy = AddressPolicy(allow_insecure=True) if insecure else AddressPolicy.parse(allowed="127.0.0.1")
    context = authority.trusting if authority else None
    async with Sender(policy, resolver=Loopback(), ssl_context=context) as sender:
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


@pytest.mark.parametrize(("own", "insecure"), [(False, False), (True, True)])
async def test_an_unknown_authority_gets_nothing_even_under_the_development_setting(
    own: bool, insecure: bool, authority: Authority, start_receiver: Start
) -> None:
    receiver = await start_receiver(ssl_context=authority.server_context(own=own))
    outcome = await send_to(receiver.port, None, insecure=insecure)
    assert outcome.outcome_class == "tls"
    assert receiver.requests == []


async def test_authorities_of_a_file_are_trusted_as_it_is_now(
    authority: Authority, start_receiver: Start, tmp_path: Path
) -> None:
    """Even where a connection is still open that was made while the file held the other one."""
    (folder := tmp_path / "other").mkdir()
    other = Authority.make(folder)
    receiver = await start_receiver(ssl_context=authority.server_context())
    policy, trusted = AddressPolicy.parse(allowed="127.0.0.1"), Certificates(authority.pem)
    async with Sender(policy, resolver=Loopback(), trusted=trusted) as sender:

        async def send() -> str:
            outcome = await sender.send(f"https://{HOST}:{receiver.port}/", b"{}", b"sixteen or more", "r-1")
            return str(outcome.outcome_class)

        assert await send() == "success"
        trusted.renew(other.pem)
        assert await send() == "tls"
        trusted.renew(authority.pem)
        assert await send() == "success"
    assert len(receiver.requests) == 2
    context = trusted.context(tls_context)
    assert len(context.get_ca_certs()) == len(tls_context().get_ca_certs()) + 1  # beside the well-known ones
    assert context.minimum_version == ssl.TLSVersion.TLSv1_2


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
