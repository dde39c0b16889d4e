"""The verdict of one transmission, for receivers that behave and for receivers that do not."""

import asyncio
import errno
import gc
import gzip
import os
import re
import socket
import struct
import threading
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import aiohttp
import pytest
import uvloop
from aiohttp.abc import AbstractResolver, ResolveResult

from checklist_operator.delivery import dialing
from checklist_operator.delivery import sender as sender_module
from checklist_operator.delivery.addresses import AddressPolicy
from checklist_operator.delivery.failure import OwnFault
from checklist_operator.delivery.outcome import Outcome, OutcomeClass
from checklist_operator.delivery.resolving import LookupFailed, ResolverUnavailable
from checklist_operator.delivery.sender import Sender

SECRET = b"sixteen or more characters"
BODY = b'{"event_id":"evt-1","delivery_attempt":1}'
AT = datetime(2026, 11, 21, 13, 50, tzinfo=UTC)
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

Start = Callable[..., Awaitable[Any]]


class Names(AbstractResolver):
    """Resolves names to the given addresses: one list per look-up, and the last one for all further look-ups."""

    def __init__(self, *answers: list[str] | Exception) -> None:
        self._answers = list(answers)
        self.asked: list[str] = []

    async def resolve(self, host: str, port: int = 0, family: int = socket.AF_UNSPEC) -> list[ResolveResult]:
        self.asked.append(host)
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, Exception):
            raise answer
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                proto=0,
                flags=0,
            )
            for address in answer
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


async def outcome_of(answer: Any, start_receiver: Start) -> Outcome:
    receiver = await start_receiver(answer)
    return await outcome_at(receiver.url)


def says(raw: bytes, *, then_close: bool = False, then_reset: bool = False) -> Callable[[Any], Awaitable[None]]:
    async def answer(request: Any) -> None:
        request.writer.write(raw)
        if then_reset:
            await request.writer.drain()
            reset(request.writer)
        elif then_close:
            request.writer.close()

    return answer


def reset(writer: asyncio.StreamWriter) -> None:
    """Ends a connection with RST."""
    connection = writer.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


async def hangs(*_: Any, **__: Any) -> None:
    await asyncio.sleep(1000)


def status(code: int, *lines: str) -> bytes:
    head = "\r\n".join([f"HTTP/1.1 {code} Whatever", *lines])
    return f"{head}\r\nContent-Length: 0\r\n\r\n".encode()


# --- verdicts -------------------------------------------------------------------------------------------------------


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
        outcome = await outcome_of(says(status(code)), start_receiver)
        assert (outcome.outcome_class, outcome.http_status) == (expected, code)
        assert outcome.ok is (expected == "success")
        assert outcome.started_at == AT
        assert 0 <= outcome.duration_ms < 10_000


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
async def test_a_redirect_is_never_followed(code: int, start_receiver: Start) -> None:
    target = await start_receiver()
    receiver = await start_receiver(says(status(code, f"Location: {target.url}")))
    assert (await outcome_at(receiver.url)).outcome_class is OutcomeClass.HTTP_3XX
    assert (len(receiver.requests), len(target.requests)) == (1, 0)


RAW_ANSWERS = {
    "a body that breaks off": (b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nx", "success"),
    "no length": (b"HTTP/1.1 200 OK\r\n\r\nuntil the end", "success"),
    "HTTP/1.0": (b"HTTP/1.0 200 OK\r\n\r\n", "success"),
    "a broken chunked body": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "success"),
    "a 204 with a body": (b"HTTP/1.1 204 No Content\r\n\r\nsurprise", "success"),
    "no reason": (b"HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", "success"),
    "early hints first": (b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + OK, "success"),
    "bare line feeds": (b"HTTP/1.1 200 OK\nContent-Length: 0\n\n", "success"),
    "many continues first": (b"HTTP/1.1 100 Continue\r\n\r\n" * 50 + OK, "success"),
    "continue and then an error": (
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n",
        "http_5xx",
    ),
    "only continue": (b"HTTP/1.1 100 Continue\r\n\r\n", "protocol"),
    "switching protocols": (
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
        "protocol",
    ),
    "nothing": (b"", "protocol"),
    "half a status line": (b"HTTP/1.1 20", "protocol"),
    "half a head": (b"HTTP/1.1 200 OK\r\nContent-Le", "protocol"),
    "no HTTP": (b"220 mail.example ESMTP ready\r\n", "protocol"),
    "TLS": (b"\x15\x03\x01\x00\x02\x02\x28", "protocol"),
    "a status that is no number": (b"HTTP/1.1 abc OK\r\n\r\n", "protocol"),
    "a negative length": (b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "protocol"),
    "two lengths": (b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", "protocol"),
    "a line without end": (b"HTTP/1.1 200 OK\r\nX: " + b"a" * 20_000 + b"\r\n\r\n", "protocol"),
    "fields without end": (b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 5000 + b"\r\n", "protocol"),
    "a NUL in a field": (b"HTTP/1.1 200 OK\r\nX: a\x00b\r\n\r\n", "protocol"),
}


@pytest.mark.parametrize(("raw", "expected"), RAW_ANSWERS.values(), ids=RAW_ANSWERS)
async def test_the_head_alone_is_judged(raw: bytes, expected: str, start_receiver: Start) -> None:
    outcome = await outcome_of(says(raw, then_close=True), start_receiver)
    assert outcome.outcome_class == expected


@pytest.mark.parametrize(
    ("raw", "expected"),
    [(b"", "protocol"), (b"HTTP/1.1 20", "protocol"), (status(500), "http_5xx"), (OK, "success")],
)
async def test_a_reset_counts_only_before_the_head(raw: bytes, expected: str, start_receiver: Start) -> None:
    outcome = await outcome_of(says(raw, then_reset=True), start_receiver)
    # A reset may overtake the bytes before it, which is the network's right and then a failed attempt.
    assert outcome.outcome_class in {expected, "protocol"}
    assert outcome.outcome_class == expected or raw in (OK, status(500))


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


async def test_a_refused_connection_is_a_connect_failure_that_names_no_address() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        outcome = await outcome_at(f"http://a.example:{port}/", resolver=Names(["127.0.0.1"]))
    assert outcome.outcome_class is OutcomeClass.CONNECT
    assert outcome.detail == "no connection: connection refused"


async def test_a_name_that_does_not_resolve_is_a_dns_failure() -> None:
    outcome = await outcome_at("https://gone.example/", resolver=Names(LookupFailed("the name does not exist")))
    assert (outcome.outcome_class, outcome.http_status) == (OutcomeClass.DNS, None)
    assert outcome.detail == "the name does not exist"


# --- time -----------------------------------------------------------------------------------------------------------


@pytest.mark.looptime
@pytest.mark.parametrize(("delay_s", "expected"), [(9.9, "success"), (10.1, "timeout")])
async def test_ten_seconds_are_the_limit(delay_s: float, expected: str, start_receiver: Start) -> None:
    async def late(request: Any) -> None:
        await asyncio.sleep(delay_s)
        request.writer.write(OK)

    outcome = await outcome_of(late, start_receiver)
    assert outcome.outcome_class == expected
    assert outcome.duration_ms == pytest.approx(min(delay_s, 10) * 1000, abs=30)


async def late_notice(loop: asyncio.AbstractEventLoop) -> Outcome:
    """The answer comes in time, but our own event loop is busy until the deadline is over."""
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


@pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_an_answer_that_we_were_too_busy_to_read_in_time_counts(
    new_loop: Callable[[], asyncio.AbstractEventLoop], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sender_module, "DEADLINE_S", 0.5)
    loop = new_loop()
    try:
        assert loop.run_until_complete(late_notice(loop)).outcome_class == "success"
    finally:
        loop.close()


async def dribbles_its_head(request: Any) -> None:
    for byte in b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX-Slow: yes\r\n\r\n":
        request.writer.write(bytes([byte]))
        await asyncio.sleep(1)


async def sends_interim_answers_only(request: Any) -> None:
    while True:
        request.writer.write(b"HTTP/1.1 102 Processing\r\n\r\n")
        await asyncio.sleep(1)


@pytest.mark.looptime
@pytest.mark.parametrize("answer", [dribbles_its_head, sends_interim_answers_only])
async def test_an_answer_that_goes_on_past_the_limit_is_a_timeout(answer: Any, start_receiver: Start) -> None:
    outcome = await outcome_of(answer, start_receiver)
    assert outcome.outcome_class is OutcomeClass.TIMEOUT
    assert outcome.duration_ms == pytest.approx(10_000, abs=30)


@pytest.mark.looptime
async def test_a_body_that_dribbles_is_not_awaited(start_receiver: Start) -> None:
    async def dribble(request: Any) -> None:
        request.writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        while not request.writer.is_closing():
            request.writer.write(b"x")
            await asyncio.sleep(1)

    receiver = await start_receiver(dribble)
    async with open_sender() as sender:
        outcome = await sender.send(receiver.url, BODY, SECRET, "r-1")
        assert outcome.ok
        assert outcome.duration_ms < 500
        await asyncio.sleep(5)
        assert receiver.open_connections == 0


@pytest.mark.looptime
async def test_a_connection_that_is_not_answered_is_given_up_after_five_seconds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(asyncio.get_running_loop(), "sock_connect", hangs)
    outcome = await outcome_at("http://127.0.0.1:9/")
    assert (outcome.outcome_class, outcome.detail) == (OutcomeClass.TIMEOUT, "no connection in time")
    assert outcome.duration_ms == pytest.approx(5000, abs=30)


@pytest.mark.looptime
async def test_silence_on_a_kept_connection_is_not_called_a_silent_name(start_receiver: Start) -> None:
    async def only_once(request: Any) -> None:
        if len(receiver.requests) == 1:
            request.writer.write(OK)

    receiver = await start_receiver(only_once)
    async with open_sender() as sender:
        assert (await sender.send(receiver.url, BODY, SECRET, "r-1")).ok
        outcome = await sender.send(receiver.url, BODY, SECRET, "r-1")
    assert (outcome.outcome_class, outcome.detail) == (OutcomeClass.TIMEOUT, "no answer in time")
    assert receiver.connections == 1


@pytest.mark.looptime
async def test_resolving_is_part_of_the_ten_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Names, "resolve", hangs)
    outcome = await outcome_at("https://slow.example/", resolver=Names())
    assert (outcome.outcome_class, outcome.detail) == (OutcomeClass.TIMEOUT, "the name was not resolved in time")
    assert outcome.duration_ms == pytest.approx(10_000, abs=30)


@pytest.mark.looptime
async def test_a_receiver_that_never_reads_holds_neither_the_sender_nor_its_memory(start_receiver: Start) -> None:
    async def never_read(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        await asyncio.sleep(1000)

    server = await asyncio.start_server(never_read, "127.0.0.1", 0, limit=1)
    async with open_sender() as sender:
        port = server.sockets[0].getsockname()[1]
        outcome = await sender.send(f"http://127.0.0.1:{port}/", b"x" * 16_000_000, SECRET, "r-1")
        await asyncio.sleep(0.1)
        assert outcome.outcome_class is OutcomeClass.TIMEOUT
        ours = [
            item
            for item in gc.get_objects()
            if isinstance(item, asyncio.Transport) and (item.get_extra_info("peername") or (0, 0))[1] == port
        ]
        assert all(transport.get_write_buffer_size() == 0 for transport in ours)
    server.close()


# --- what is sent ---------------------------------------------------------------------------------------------------


async def test_a_request_has_exactly_the_fields_of_the_profile(
    start_receiver: Start, verify: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    receiver = await start_receiver(says(status(200, "Set-Cookie: a=b; Path=/", "Content-Encoding: gzip")))
    async with open_sender(version="1.2.3", nonce_source=lambda: "bm9uY2Vub25jZW5vbmNlMQ") as sender:
        await sender.send(receiver.url, BODY, SECRET, "r-1")
        await sender.send(receiver.url, BODY, SECRET, "r-1")
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
    verify("POST", receiver.url, dict(first.header_lines), first.body, SECRET.decode(), now=AT.timestamp())


async def test_every_transmission_has_a_nonce_of_its_own(start_receiver: Start) -> None:
    receiver = await start_receiver()
    async with open_sender() as sender:
        for _ in range(20):
            await sender.send(receiver.url, BODY, SECRET, "r-1")
    nonces = {re.findall(r'nonce="([A-Za-z0-9_-]{22})"', r.headers["signature-input"])[0] for r in receiver.requests}
    assert len(nonces) == 20


async def test_a_body_that_is_not_ascii_arrives_byte_for_byte(start_receiver: Start) -> None:
    receiver = await start_receiver()
    body = "☃".encode() * 100_000
    async with open_sender() as sender:
        assert (await sender.send(receiver.url, body, SECRET, "r-1")).ok
    assert receiver.requests[0].body == body


async def test_an_empty_secret_sends_nothing(start_receiver: Start) -> None:
    receiver = await start_receiver()
    async with open_sender() as sender:
        with pytest.raises(ValueError, match="empty secret"):
            await sender.send(receiver.url, BODY, b"", "r-1")
    assert receiver.connections == 0


# --- connections ----------------------------------------------------------------------------------------------------

SHORT_ANSWERS = {
    "with its body": [OK],
    "without a body": [b"HTTP/1.1 204 No Content\r\n\r\n"],
    "body right after the head": [b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n", b"ok"],
    "chunked": [b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"2\r\nok\r\n", b"0\r\n\r\n"],
    "said to be compressed": [b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n", b"ok"],
    "a failure": [b"HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\n", b"busy"],
}


@pytest.mark.parametrize("parts", SHORT_ANSWERS.values(), ids=SHORT_ANSWERS)
async def test_a_connection_is_kept_after_a_short_answer(
    parts: list[bytes], start_receiver: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sender_module, "_DRAIN_S", 30)
    monkeypatch.setattr(sender_module, "KEEP_ALIVE_S", 30)

    async def answer(request: Any) -> None:
        for part in parts:
            request.writer.write(part)
            await asyncio.sleep(0.01)

    receiver = await start_receiver(answer)
    async with open_sender() as sender:
        for _ in range(3):
            await sender.send(receiver.url, BODY, SECRET, "r-1")
            while sender._draining:
                await asyncio.sleep(0.01)
    assert (len(receiver.requests), receiver.connections) == (3, 1)


LONG_ANSWERS = {
    "announced": b"HTTP/1.1 200 OK\r\nContent-Length: 10000000\r\n\r\n" + b"x" * 1_000_000,
    "chunked": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"100000\r\n" + b"x" * 1_000_000,
    "a gzip bomb": b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nConnection: keep-alive\r\n\r\n"
    + gzip.compress(bytes(50_000_000)),
}


@pytest.mark.parametrize("raw", LONG_ANSWERS.values(), ids=LONG_ANSWERS)
async def test_a_long_answer_is_cut_off_and_its_connection_closed(raw: bytes, start_receiver: Start) -> None:
    receiver = await start_receiver(says(raw))
    async with open_sender() as sender:
        outcomes = [await sender.send(receiver.url, BODY, SECRET, "r-1") for _ in range(3)]
        while receiver.open_connections:
            await asyncio.sleep(0.01)
    assert [outcome.outcome_class for outcome in outcomes] == ["success"] * 3
    assert receiver.connections == 3


async def test_a_flood_of_interim_answers_is_cut_off_by_its_size(start_receiver: Start) -> None:
    written = 0

    async def flood(request: Any) -> None:
        nonlocal written
        interim = b"HTTP/1.1 100 Continue\r\n\r\n" * 1000
        while not request.writer.is_closing():
            request.writer.write(interim)
            await request.writer.drain()
            written += len(interim)

    outcome = await outcome_of(flood, start_receiver)
    assert (outcome.outcome_class, outcome.detail) == ("protocol", "too much was sent before an answer")
    assert written < 16 * 1024 * 1024  # what the sockets' own buffers may hold, and the limit


@pytest.mark.parametrize("extra", [status(500), b"garbage", b"HTTP/1.1 200"])
async def test_what_comes_after_an_answer_is_not_taken_for_the_next_one(extra: bytes, start_receiver: Start) -> None:
    receiver = await start_receiver(says(OK + extra))
    async with open_sender() as sender:
        for _ in range(3):
            outcome = await sender.send(receiver.url, BODY, SECRET, "r-1")
            assert outcome.ok
            await asyncio.sleep(0.01)
    assert len(receiver.requests) == 3


async def test_garbage_that_comes_later_does_not_become_the_next_answer(start_receiver: Start) -> None:
    async def answer(request: Any) -> None:
        request.writer.write(OK)
        await asyncio.sleep(0.02)
        request.writer.write(status(500))

    receiver = await start_receiver(answer)
    async with open_sender() as sender:
        assert (await sender.send(receiver.url, BODY, SECRET, "r-1")).ok
        while receiver.open_connections:
            await asyncio.sleep(0.01)
        assert (await sender.send(receiver.url, BODY, SECRET, "r-1")).ok
    assert receiver.connections == 2


async def test_nothing_is_sent_twice_when_a_kept_connection_breaks(start_receiver: Start) -> None:
    async def second_time_close(request: Any) -> None:
        if len(receiver.requests) == 1:
            request.writer.write(OK)
        else:
            request.writer.close()

    receiver = await start_receiver(second_time_close)
    async with open_sender() as sender:
        assert (await sender.send(receiver.url, BODY, SECRET, "r-1")).ok
        outcome = await sender.send(receiver.url, BODY, SECRET, "r-1")
        await asyncio.sleep(0.05)
    assert outcome.outcome_class is OutcomeClass.PROTOCOL
    assert (len(receiver.requests), receiver.connections) == (2, 1)


@pytest.mark.looptime
async def test_an_idle_connection_is_closed_before_servers_do_it(
    start_receiver: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(aiohttp.connector, "monotonic", asyncio.get_running_loop().time)
    receiver = await start_receiver()
    async with open_sender() as sender:
        await sender.send(receiver.url, BODY, SECRET, "r-1")
        await asyncio.sleep(4.9)  # servers keep a connection for five seconds
        await sender.send(receiver.url, BODY, SECRET, "r-1")
    assert receiver.connections == 2


# --- addresses ------------------------------------------------------------------------------------------------------


@pytest.fixture
def dialled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The addresses that sockets were told to connect to."""
    loop_class = asyncio.SelectorEventLoop
    addresses: list[str] = []
    real = loop_class.sock_connect

    async def note(self: Any, sock: socket.socket, address: Any) -> None:
        addresses.append(address[0])
        if address[0].startswith("127."):
            return await real(self, sock, address)
        raise ConnectionRefusedError(errno.ECONNREFUSED, "not in tests")

    monkeypatch.setattr(loop_class, "sock_connect", note)
    return addresses


@pytest.mark.parametrize(
    ("url", "addresses"),
    [
        ("https://10.0.0.1/", []),
        ("https://[fd00::1]/", []),
        ("https://[64:ff9b::7f00:1]/", []),
        ("https://[2002:7f00:1::]/", []),
        ("https://[::ffff:10.0.0.1]/", []),
        ("https://100.100.100.200/", []),
        ("https://rebind.example/", ["127.0.0.1"]),
        ("https://rebind.example/", ["::1"]),
        ("https://rebind.example/", ["10.0.0.1", "::ffff:127.0.0.1", "169.254.169.254"]),
    ],
)
async def test_a_denied_address_is_never_dialled(url: str, addresses: list[str], dialled: list[str]) -> None:
    resolver = Names(addresses) if addresses else None
    outcome = await outcome_at(url, AddressPolicy(), resolver=resolver)
    assert outcome.outcome_class is OutcomeClass.BLOCKED_ADDRESS
    assert outcome.detail == "the address is not allowed"
    assert dialled == []


async def test_a_name_that_flips_is_judged_at_every_attempt(dialled: list[str]) -> None:
    names = Names(*[["8.8.8.8"], ["127.0.0.1"]] * 10)
    for expected in ["connect", "blocked_address"] * 10:
        outcome = await outcome_at("https://rebind.example/", AddressPolicy(), resolver=names)
        assert outcome.outcome_class == expected
    assert set(dialled) == {"8.8.8.8"}


async def test_of_several_addresses_only_the_allowed_ones_are_dialled(
    dialled: list[str], start_receiver: Start
) -> None:
    receiver = await start_receiver()
    policy = AddressPolicy.parse(denied="10.0.0.0/8,127.0.0.2", allow_insecure=True)
    names = Names(["10.0.0.1", "127.0.0.2", "127.0.0.1"])
    assert (await outcome_at(f"http://mixed.example:{receiver.port}/", policy, resolver=names)).ok
    assert dialled == ["127.0.0.1"]


@pytest.mark.parametrize("addresses", [["10.0.0.1", "127.0.0.1"], ["127.0.0.1", "10.0.0.1"]])
async def test_an_allowed_address_that_refuses_is_not_called_blocked_for_a_denied_one(addresses: list[str]) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"https://mixed.example:{unused.getsockname()[1]}/"
        outcome = await outcome_at(url, AddressPolicy.parse(allowed="127.0.0.1"), resolver=Names(addresses))
    assert outcome.outcome_class == "connect"
    assert outcome.detail in ("no connection: connection refused", "no connection: none of the addresses answered")


@pytest.mark.parametrize("url", ["http://hooks.example/", "https://localhost/", "https://127.0.0.1/", "nonsense"])
async def test_a_stored_url_that_breaks_the_rules_is_blocked_before_anything_happens(
    url: str, dialled: list[str]
) -> None:
    names = Names(["8.8.8.8"])
    outcome = await outcome_at(url, AddressPolicy(), resolver=names)
    assert outcome.outcome_class is OutcomeClass.BLOCKED_ADDRESS
    assert (names.asked, dialled) == ([], [])


# --- our own faults -------------------------------------------------------------------------------------------------


async def test_running_out_of_file_descriptors_is_our_own_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_more(*_: Any) -> socket.socket:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(dialing.socket, "socket", no_more)
    with pytest.raises(OwnFault):
        await outcome_at("http://127.0.0.1:9/")


@pytest.mark.parametrize(
    "error",
    [ResolverUnavailable("no name server answers"), OSError(errno.EMFILE, "Too many open files"), MemoryError()],
    ids=["no name server", "no file descriptors", "no memory"],
)
async def test_a_lookup_that_we_could_not_make_is_our_own_fault(error: Exception) -> None:
    with pytest.raises(OwnFault):
        await outcome_at("https://hooks.example/", resolver=Names(error))


async def test_cancelling_is_no_outcome_and_ends_the_connection(start_receiver: Start) -> None:
    receiver = await start_receiver(hangs)
    async with open_sender() as sender:
        task = asyncio.create_task(sender.send(receiver.url, BODY, SECRET, "r-1"))
        while not receiver.requests:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        receiver.answer = says(OK)
        assert (await sender.send(receiver.url, BODY, SECRET, "r-1")).ok
    assert receiver.connections == 2


async def test_closing_the_sender_ends_what_is_under_way_without_using_up_an_attempt(start_receiver: Start) -> None:
    receiver = await start_receiver(hangs)
    sender = open_sender()
    task = asyncio.create_task(sender.send(receiver.url, BODY, SECRET, "r-1"))
    while not receiver.requests:
        await asyncio.sleep(0.01)
    await sender.close()
    with pytest.raises(OwnFault):
        await asyncio.wait_for(task, 1)
    with pytest.raises(OwnFault):
        await sender.send(receiver.url, BODY, SECRET, "r-1")
