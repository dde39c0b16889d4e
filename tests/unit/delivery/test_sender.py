"""One transmission: its outcome, its bytes and its connection. tests/delivery has the hostile receivers."""

import asyncio
import errno
import os
import re
import runpy
import socket
import ssl
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import aiohttp
import pytest
import uvloop
from aiohttp.abc import AbstractResolver, ResolveResult
from tests.delivery.authority import HOST, Authority
from tests.delivery.sending import Loopback
from tests.raw_receiver import RawReceiver, raw_receiver
from tests.waiting import eventually

from checklist_crds.resources.internal_hosts import InternalHosts
from checklist_crds.settings.renewable import Certificates
from checklist_dev.repository import ROOT
from checklist_operator.faults import LocalFault
from checklist_operator.transport import addresses, dialing
from checklist_operator.transport import sender as sender_module
from checklist_operator.transport.addresses import AddressPolicy
from checklist_operator.transport.outcome import Outcome, OutcomeClass
from checklist_operator.transport.resolving import LookupFailed, ResolverUnavailable
from checklist_operator.transport.sender import Sender
from checklist_operator.transport.signing import sign

SECRET = b"sixteen or more characters"
BODY = b'{"event_id":"evt-1","delivery_attempt":1}'
AT = datetime(2026, 11, 21, 13, 50, tzinfo=UTC)
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

Start = Callable[..., Awaitable[RawReceiver]]


@pytest.fixture
async def start_receiver() -> AsyncIterator[Start]:
    """Starts receivers that end with the test: `await start_receiver(answer, ssl_context=...)`."""
    async with AsyncExitStack() as stack:
        yield lambda *given, **named: stack.enter_async_context(raw_receiver(*given, **named))


class Names(AbstractResolver):
    """Resolves every name to these addresses, or fails."""

    def __init__(self, answer: list[str] | Exception) -> None:
        self._answer = answer
        self.asked: list[str] = []

    async def resolve(self, host: str, port: int = 0, family: int = socket.AF_UNSPEC) -> list[ResolveResult]:
        self.asked.append(host)
        if isinstance(self._answer, Exception):
            raise self._answer
        return [
            ResolveResult(hostname=host, host=address, port=port, family=socket.AF_INET, proto=0, flags=0)
            for address in self._answer
        ]

    async def close(self) -> None:
        pass


CONTEXT = sender_module.tls_context()  # reading the authorities takes longer than a test


def open_sender(policy: AddressPolicy | None = None, **options: Any) -> Sender:
    return Sender(policy or AddressPolicy(allow_insecure=True), clock=lambda: AT, ssl_context=CONTEXT, **options)


async def outcome_at(url: str, policy: AddressPolicy | None = None, **options: Any) -> Outcome:
    """The outcome of one transmission by a sender of its own."""
    async with open_sender(policy, **options) as sender:
        return await sender.send(url, BODY, SECRET, "r-1")


async def send(sender: Sender, receiver: Any) -> Outcome:
    return await sender.send(receiver.url, BODY, SECRET, "r-1")


def says(raw: bytes) -> Callable[[Any], Awaitable[None]]:
    async def answer(request: Any) -> None:
        request.writer.write(raw)

    return answer


async def hangs(*_: Any, **__: Any) -> None:
    await asyncio.sleep(1000)


def status(code: int, *lines: str) -> bytes:
    head = "\r\n".join([f"HTTP/1.1 {code} Whatever", *lines])
    return f"{head}\r\nContent-Length: 0\r\n\r\n".encode()


@pytest.mark.parametrize(
    ("expected", "codes"),
    {
        "success": (200, 201, 202, 204, 299),
        "http_3xx": (300, 301, 304, 307),
        "http_4xx": (400, 401, 410, 429),
        "http_5xx": (500, 503, 599),
        "protocol": (600, 999),
    }.items(),
)
async def test_the_final_status_decides(expected: str, codes: tuple[int, ...], start_receiver: Start) -> None:
    for code in codes:
        receiver = await start_receiver(says(status(code, f"Location: http://127.0.0.1:9/{code}")))
        outcome = await outcome_at(receiver.url)
        assert (outcome.outcome_class, outcome.http_status, len(receiver.requests)) == (expected, code, 1)
        assert outcome.ok is (expected == "success")
        assert outcome.started_at == AT
        assert 0 <= outcome.duration_ms < 10_000


async def test_an_answer_may_use_its_64_kib_for_its_head_in_any_form(start_receiver: Start) -> None:
    """One long reason, one long field, thousands of short ones."""
    start, end = b"HTTP/1.1 200 OK", b"\r\nContent-Length: 0\r\n\r\n"
    for size, expected in [
        (65_536, ("success", "HTTP 200")),
        (65_537, ("protocol", "too much was sent before an answer")),
    ]:
        left = size - len(start) - len(end)
        count, rest = divmod(left - 100, 6)
        short = b"\r\nX: y" * count + b"\r\nX: " + b"." * (rest + 95)
        for filling in (b"." * left, b"\r\nX: " + b"." * (left - 5), short):
            receiver = await start_receiver(says(start + filling + end))
            outcome = await outcome_at(receiver.url)
            assert (outcome.outcome_class, outcome.detail) == expected


async def test_an_answer_before_the_body_was_read_is_an_answer() -> None:
    async def answer_at_once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(status(413))
        await writer.drain()
        await asyncio.sleep(0.05)
        writer.close()

    server = await asyncio.start_server(answer_at_once, "127.0.0.1", 0)
    async with server, open_sender() as sender:
        port = server.sockets[0].getsockname()[1]
        outcome = await sender.send(f"http://127.0.0.1:{port}/", b"x" * 1_000_000, SECRET, "r-1")
    assert outcome.outcome_class is OutcomeClass.HTTP_4XX


async def test_a_failure_before_the_connection_says_why_and_names_no_address() -> None:
    outcome = await outcome_at("https://gone.example/", resolver=Names(LookupFailed("the name does not exist")))
    assert (outcome.outcome_class, outcome.http_status) == (OutcomeClass.DNS, None)
    assert outcome.detail == "the name does not exist"
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        refused = await outcome_at(f"http://a.example:{port}/", resolver=Names(["127.0.0.1"]))
        allowed = AddressPolicy.parse(allowed="127.0.0.1")
        mixed = [
            await outcome_at(f"https://mixed.example:{port}/", allowed, resolver=Names(addresses))
            for addresses in (["10.0.0.1", "127.0.0.1"], ["127.0.0.1", "10.0.0.1"])
        ]
    assert (refused.outcome_class, refused.detail) == (OutcomeClass.CONNECT, "no connection: connection refused")
    # An allowed address that refuses is not reported as blocked for the sake of a denied one.
    assert [outcome.outcome_class for outcome in mixed] == [OutcomeClass.CONNECT] * 2
    reasons = {"no connection: connection refused", "no connection: none of the addresses answered"}
    assert {outcome.detail for outcome in mixed} <= reasons


async def late_notice() -> Outcome:
    """The answer comes in time, but our own event loop is busy until the deadline is over."""
    loop = asyncio.get_running_loop()
    busy, answered = threading.Event(), threading.Event()

    def be_busy() -> None:
        busy.set()
        answered.wait(30)
        time.sleep(sender_module.DEADLINE_S * 1.5)

    def receive(listening: socket.socket) -> None:
        connection, _ = listening.accept()
        connection.recv(65_536)
        loop.call_soon_threadsafe(be_busy)
        busy.wait(30)
        connection.sendall(OK)
        answered.set()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        receiver = asyncio.create_task(asyncio.to_thread(receive, listening))
        outcome = await outcome_at(f"http://127.0.0.1:{listening.getsockname()[1]}/")
        await receiver
    return outcome


def test_an_answer_that_we_were_too_busy_to_read_in_time_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sender_module, "DEADLINE_S", 0.5)
    assert uvloop.run(late_notice()).outcome_class == "success"


@pytest.mark.looptime
async def test_resolving_is_part_of_the_ten_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Names, "resolve", hangs)
    outcome = await outcome_at("https://slow.example/", resolver=Names([]))
    assert (outcome.outcome_class, outcome.detail) == (OutcomeClass.TIMEOUT, "the name was not resolved in time")
    assert outcome.duration_ms == pytest.approx(10_000, abs=30)


async def test_requests_have_the_profile_s_fields(start_receiver: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    receiver = await start_receiver(says(status(200, "Set-Cookie: a=b; Path=/", "Content-Encoding: gzip")))
    async with open_sender(version="1.2.3", nonce_source=lambda: "bm9uY2Vub25jZW5vbmNlMQ") as sender:
        await send(sender, receiver)
        await send(sender, receiver)
        with pytest.raises(ValueError, match="empty secret"):
            await sender.send(receiver.url, BODY, b"", "r-1")
    first, second = receiver.requests
    assert first.head == second.head, "nothing is remembered from an answer"
    assert first.request_line == "POST /hook HTTP/1.1"
    assert first.body == BODY
    signature_fields = ("Content-Digest", "Signature-Input", "Signature")
    assert {name: value for name, value in first.header_lines if name not in signature_fields} == {
        "Host": f"127.0.0.1:{receiver.port}",
        "User-Agent": "checklist-dispatch/1.2.3",
        "Accept": "*/*",
        "Accept-Encoding": "identity",
        "Content-Type": "application/json",
        "Content-Length": str(len(BODY)),
    }
    verify = runpy.run_path(str(ROOT / "examples/receivers/verify.py"))["verify"]
    verify("POST", receiver.url, dict(first.header_lines), first.body, SECRET.decode(), now=AT.timestamp())


def test_the_signature_is_the_profile_byte_for_byte() -> None:
    nonce, created = "bm9uY2Vub25jZW5vbmNlMQ", AT.replace(microsecond=987_000)
    body = b'{"event_id": "evt-1", "delivery_attempt": 1}'
    fields = {"secret": b"a secret of sixteen", "key_id": "r-1", "created": created, "nonce": nonce}
    assert sign("https://hooks.example.com/in?run=1", body, **fields) == {
        "Content-Type": "application/json",
        "Content-Digest": "sha-256=:IBnDpQVvy34U+SwBFS2Dc4oFWVZOnDz0n/WCn8J80IM=:",
        "Signature-Input": (
            'sig1=("@method" "@target-uri" "@authority" "content-type" "content-digest");created=1795269000;'
            'expires=1795269300;nonce="bm9uY2Vub25jZW5vbmNlMQ";alg="hmac-sha256";keyid="r-1";tag="checklist-dispatch/v1"'
        ),
        "Signature": "sig1=:q3Tvk5nNtjLe569AsFQPDhEd87Xr9weC9KjAZz52OFw=:",
    }
    given = sign("https://hooks.example.com/", body, **fields | {"key_id": 'a;expires=1;"b', "expires_s": 0})
    assert given["Signature-Input"].endswith(
        ';created=1795269000;nonce="bm9uY2Vub25jZW5vbmNlMQ";alg="hmac-sha256";keyid="a;expires=1;\\"b";'
        'tag="checklist-dispatch/v1"'
    )
    for bad in ("r-1\n", "r-☃"):  # what no header can carry
        with pytest.raises(Exception, match=r".+"):
            sign("https://hooks.example.com/", body, **fields | {"key_id": bad})


SHORT_ANSWERS = [
    [OK],
    [b"HTTP/1.1 204 No Content\r\n\r\n"],
    [OK[:-2], b"ok"],
    [b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"2\r\nok\r\n", b"0\r\n\r\n"],
    [b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n", b"ok"],
    [b"HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\n", b"busy"],
]


async def test_connections_are_kept_and_nonces_new(start_receiver: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sender_module, "_DRAIN_S", 30)
    monkeypatch.setattr(sender_module, "KEEP_ALIVE_S", 30)

    async def answer(request: Any) -> None:
        for part in SHORT_ANSWERS[len(receiver.requests) - 1]:
            request.writer.write(part)
            await asyncio.sleep(0.01)

    receiver = await start_receiver(answer)
    async with open_sender() as sender:
        for parts in SHORT_ANSWERS:
            assert (await send(sender, receiver)).http_status == int(parts[0][9:12])
            await eventually(lambda: not sender._draining)
    assert (len(receiver.requests), receiver.connections) == (len(SHORT_ANSWERS), 1)
    inputs = [request.headers["signature-input"] for request in receiver.requests]
    nonces = {re.findall(r'nonce="([A-Za-z0-9_-]{22})"', text)[0] for text in inputs}
    assert len(nonces) == len(SHORT_ANSWERS)


async def dribble(request: Any) -> None:
    request.writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
    while not request.writer.is_closing():
        request.writer.write(b"x")
        await asyncio.sleep(0.05)


LONG_ANSWERS = {
    "announced": b"HTTP/1.1 200 OK\r\nContent-Length: 10000000\r\n\r\n" + b"x" * 1_000_000,
    "chunked": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n100000\r\n" + b"x" * 1_000_000,
    "many fields": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n" + b"X: y\r\n" * 9000 + b"\r\n2\r\nok",
}


async def test_long_and_slow_answers_are_cut(start_receiver: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    for answer, drain_s in ((dribble, sender_module._DRAIN_S), *((says(raw), 30) for raw in LONG_ANSWERS.values())):
        monkeypatch.setattr(sender_module, "_DRAIN_S", drain_s)
        receiver = await start_receiver(answer)
        async with open_sender() as sender:
            outcomes = [await send(sender, receiver) for _ in range(2)]
            await eventually(lambda: not receiver.open_connections)  # noqa: B023
        assert [outcome.outcome_class for outcome in outcomes] == ["success"] * 2
        assert receiver.connections == 2


async def test_nothing_is_sent_twice_when_a_kept_connection_breaks(start_receiver: Start) -> None:
    async def second_time_close(request: Any) -> None:
        if len(receiver.requests) == 1:
            request.writer.write(OK)
        else:
            request.writer.close()

    receiver = await start_receiver(second_time_close)
    async with open_sender() as sender:
        assert (await send(sender, receiver)).ok
        outcome = await send(sender, receiver)
        await asyncio.sleep(0.05)
    assert outcome.outcome_class is OutcomeClass.PROTOCOL
    assert (len(receiver.requests), receiver.connections) == (2, 1)


@pytest.mark.looptime
async def test_idle_connections_are_closed(start_receiver: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aiohttp.connector, "monotonic", asyncio.get_running_loop().time)
    receiver = await start_receiver()
    async with open_sender() as sender:
        await send(sender, receiver)
        await asyncio.sleep(4.9)  # servers keep a connection for five seconds
        await send(sender, receiver)
    assert receiver.connections == 2


async def test_a_stored_url_that_breaks_the_rules_is_blocked_before_a_lookup() -> None:
    names = Names(["8.8.8.8"])
    for url in ("http://hooks.example/", "https://localhost/", "https://127.0.0.1/", "nonsense"):
        outcome = await outcome_at(url, AddressPolicy(), resolver=names)
        assert outcome.outcome_class is OutcomeClass.BLOCKED_ADDRESS
    assert names.asked == []


async def test_internal_hosts_need_a_setting(monkeypatch: pytest.MonkeyPatch, start_receiver: Start) -> None:
    """(The receiver is on this machine, which no receiver inside a network is.)"""
    monkeypatch.setattr(addresses, "NEVER_INTERNAL", ())
    monkeypatch.setattr(dialing, "_is_own_address", lambda *_: False)
    policy = AddressPolicy(internal=InternalHosts.parse("erp.team-a.svc.cluster.local"))
    receiver = await start_receiver()
    async with open_sender(policy, resolver=Loopback()) as sender:
        for url, expected in (
            (f"http://erp.team-a.svc.cluster.local:{receiver.port}/hook", "success"),
            (f"https://hooks.example:{receiver.port}/", "blocked_address"),
            (f"http://hooks.example:{receiver.port}/", "blocked_address"),
        ):
            assert (await sender.send(url, BODY, SECRET, "r-1")).outcome_class == expected
    assert len(receiver.requests) == 1


ALLOWED = AddressPolicy.parse(allowed="127.0.0.1")


async def test_unknown_authorities_get_nothing(tmp_path: Path, start_receiver: Start) -> None:
    authority = Authority.make(tmp_path)
    for own, policy in product((False, True), (ALLOWED, AddressPolicy(allow_insecure=True))):
        receiver = await start_receiver(ssl_context=authority.server_context(own=own))
        outcome = await outcome_at(f"https://{HOST}:{receiver.port}/", policy, resolver=Loopback())
        assert (outcome.outcome_class, receiver.requests) == ("tls", [])


async def test_authorities_of_a_file_are_trusted_as_it_is_now(start_receiver: Start, tmp_path: Path) -> None:
    """Even where a connection is still open that was made while the file held the other one."""
    (folder := tmp_path / "other").mkdir()
    authority, other = Authority.make(tmp_path), Authority.make(folder)
    receiver = await start_receiver(ssl_context=authority.server_context())
    trusted = Certificates(authority.pem)
    async with Sender(ALLOWED, resolver=Loopback(), trusted=trusted) as sender:
        for pem, expected in ((authority.pem, "success"), (other.pem, "tls"), (authority.pem, "success")):
            trusted.renew(pem)
            outcome = await sender.send(f"https://{HOST}:{receiver.port}/", BODY, SECRET, "r-1")
            assert outcome.outcome_class == expected
    assert len(receiver.requests) == 2
    context = trusted.context(sender_module.tls_context)
    assert len(context.get_ca_certs()) == len(CONTEXT.get_ca_certs()) + 1  # in addition to the well-known ones
    for each in (context, CONTEXT):
        assert (each.minimum_version, each.verify_mode) == (ssl.TLSVersion.TLSv1_2, ssl.CERT_REQUIRED)
        assert each.check_hostname


async def test_a_lack_of_resources_of_ours_is_no_outcome(monkeypatch: pytest.MonkeyPatch) -> None:
    no_more = OSError(errno.EMFILE, os.strerror(errno.EMFILE))
    for error in (ResolverUnavailable("no name server answers"), no_more, MemoryError()):
        with pytest.raises(LocalFault):
            await outcome_at("https://hooks.example/", resolver=Names(error))
    monkeypatch.setattr(dialing.socket, "socket", Mock(side_effect=no_more))
    with pytest.raises(LocalFault):
        await outcome_at("http://127.0.0.1:9/")


async def test_a_socket_that_the_event_loop_refuses_is_no_outcome(monkeypatch: pytest.MonkeyPatch) -> None:
    """As uvloop refuses one whose file descriptor it still holds for another connection."""

    async def refused(*_: Any, **__: Any) -> None:
        raise RuntimeError("File descriptor 22 is used by transport <TCPTransport>")

    monkeypatch.setattr("aiohttp.connector.aiohappyeyeballs.start_connection", refused)
    with pytest.raises(LocalFault, match="could not open a connection"):
        await outcome_at("http://127.0.0.1:9/")


async def test_cancelling_and_closing_are_no_outcome_and_end_the_connection(start_receiver: Start) -> None:
    receiver = await start_receiver(hangs)
    sender = open_sender()
    task = asyncio.create_task(send(sender, receiver))
    await eventually(lambda: len(receiver.requests) == 1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    receiver.answer = says(OK)
    assert (await send(sender, receiver)).ok
    assert receiver.connections == 2
    receiver.answer = hangs
    task = asyncio.create_task(send(sender, receiver))
    await eventually(lambda: len(receiver.requests) == 3)
    await sender.close()
    with pytest.raises(LocalFault):
        await asyncio.wait_for(task, 5)
    with pytest.raises(LocalFault):
        await send(sender, receiver)
