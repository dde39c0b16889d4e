"""The verdict on every hostile receiver, within the deadline, with nothing left behind."""

import asyncio
import random
import socket
import ssl
import tracemalloc
import zlib
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import aiohttp
import pytest
from tests.delivery.authority import HOST, Authority
from tests.delivery.hostile import OK, PLAIN, Behave, Hostile, fields, read_request, read_until_end, serve
from tests.delivery.hostile_tls import TLS
from tests.delivery.sending import INSECURE, Loopback, deliver

from checklist_operator.transport.outcome import Outcome
from checklist_operator.transport.sender import Sender, tls_context

BODY = b"{" + b" " * 100_000 + b"}"


@dataclass
class Listening:
    port: int
    connections: int = 0


@asynccontextmanager
async def listening(behave: Behave, context: ssl.SSLContext | None = None) -> AsyncIterator[Listening]:
    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        receiver.connections += 1
        await serve(behave, reader, writer)

    receiver = Listening(0)
    async with await asyncio.start_server(accept, "127.0.0.1", 0, ssl=context, limit=2**21) as server:
        receiver.port = server.sockets[0].getsockname()[1]
        yield receiver


async def send(port: int, authority: Authority, *, scheme: str = "https") -> Outcome:
    async with Sender(INSECURE, resolver=Loopback(), ssl_context=authority.trusting) as sender:
        return await deliver(sender, f"{scheme}://{HOST}:{port}/", BODY)


def judge(outcome: Outcome, hostile: Hostile) -> None:
    assert outcome.outcome_class == hostile.verdict, outcome
    assert outcome.duration_ms == pytest.approx(hostile.takes_s * 1000, abs=400), outcome
    assert outcome.duration_ms <= 10_050, outcome
    assert hostile.detail in outcome.detail
    assert "127.0.0.1" not in outcome.detail
    assert outcome.detail.isprintable()


@pytest.mark.looptime
@pytest.mark.parametrize("over", ["tcp", "tls"])
@pytest.mark.parametrize("name", PLAIN)
async def test_every_hostile_receiver_gets_its_verdict_in_time(name: str, over: str, authority: Authority) -> None:
    hostile = PLAIN[name]
    context = authority.server_context() if over == "tls" else None
    async with listening(hostile.behave, context) as receiver:
        outcome = await send(receiver.port, authority, scheme="https" if over == "tls" else "http")
    judge(outcome, hostile)
    assert receiver.connections == 1, "nothing is sent twice, and no redirect is followed"


@pytest.mark.looptime
@pytest.mark.parametrize("name", TLS)
async def test_every_wrong_tls_session_gets_its_verdict(name: str, authority: Authority) -> None:
    hostile = TLS[name]
    async with listening(hostile.behave, hostile.context and hostile.context(authority)) as receiver:
        judge(await send(receiver.port, authority), hostile)


def test_a_session_is_never_negotiated_again() -> None:
    assert tls_context().options & ssl.OP_NO_RENEGOTIATION


@pytest.mark.parametrize("name", ["a gzip bomb in a gzip bomb", "a deflate bomb", "a gzip bomb in one small packet"])
async def test_a_bomb_is_never_inflated(name: str, authority: Authority) -> None:
    inflating: list[str] = []

    def decompressobj(*arguments: Any, **options: Any) -> Any:
        inflating.append(name)
        return zlib.decompressobj(*arguments, **options)

    watched: Any = SimpleNamespace(**{**vars(zlib), "decompressobj": decompressobj})
    aiohttp.set_zlib_backend(watched)
    try:
        async with listening(PLAIN[name].behave) as receiver:
            await send(receiver.port, authority, scheme="http")  # what is made once
            tracemalloc.start()
            await send(receiver.port, authority, scheme="http")
            _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
        aiohttp.set_zlib_backend(zlib)
    assert inflating == []
    assert most < 4 << 20


@pytest.mark.looptime
@pytest.mark.parametrize("name", ["success, then failure", "an answer and noise", "two hundred answers", "a gzip bomb"])
async def test_no_byte_of_one_answer_is_taken_for_the_next(name: str, authority: Authority) -> None:
    context = authority.trusting
    async with (
        listening(PLAIN[name].behave) as receiver,
        Sender(INSECURE, resolver=Loopback(), ssl_context=context) as sender,
    ):
        outcomes = [await deliver(sender, f"http://{HOST}:{receiver.port}/") for _ in range(5)]
    assert [outcome.outcome_class for outcome in outcomes] == ["success"] * 5
    assert receiver.connections == 5


@pytest.mark.looptime
async def test_connecting_times_out_after_five_seconds(
    authority: Authority,
) -> None:
    """The queue of connections is full, so the kernel answers no further one."""
    with socket.socket() as full, ExitStack() as waiting:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for _ in range(4):
            one = waiting.enter_context(socket.socket())
            one.setblocking(False)
            one.connect_ex(full.getsockname())
        outcome = await send(full.getsockname()[1], authority)
    judge(outcome, Hostile(read_until_end, "timeout", takes_s=5, detail="no connection in time"))


# -- answers with random damage: there is a verdict, in time, and no error goes astray

WHOLE = [
    OK,
    fields("Transfer-Encoding: chunked", "Trailer: X", body=b"5\r\nhello\r\n0\r\nX: y\r\n\r\n"),
    b"HTTP/1.1 103 Early Hints\r\nLink: </x>; rel=preload\r\n\r\n" + fields("Content-Length: 0", status="503 No"),
    fields("Content-Encoding: gzip", "Connection: keep-alive", "Set-Cookie: a=b", "Content-Length: 3", body=b"abc"),
    fields("Location: https://elsewhere.example/", "Content-Length: 0", status="308 Permanent Redirect"),
    b"HTTP/1.0 200 OK\r\n\r\nend",
    b"\r\nHTTP/1.1 200 OK\nContent-Length: 0\n\n",
    fields("Content-Length: 0", status="500 No") + OK,
]
PIECES = b"\r\n|\n|\r|\x00|\xff|:| |HTTP/1.1 |-1|200|\r\n\r\n|;|\t|%0d%0a".split(b"|")


def damaged(choice: random.Random) -> bytes:
    raw = bytearray(choice.choice(WHOLE))
    for _ in range(choice.randint(1, 5)):
        at = choice.randrange(len(raw) + 1)
        match choice.randrange(5):
            case 0:
                raw[at : at + 1] = bytes((choice.randrange(256),))
            case 1:
                del raw[at : at + choice.randint(1, 12)]
            case 2:
                raw[at:at] = choice.choice(PIECES)
            case 3:
                raw[at:at] = raw[: choice.randrange(len(raw) + 1)]
            case _:
                raw[at:at] = choice.choice(PIECES) * choice.randint(2, 3000)
    return bytes(raw)


@pytest.mark.looptime
async def test_whatever_a_receiver_writes_there_is_a_verdict_wherever_it_is_cut() -> None:
    astray: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: astray.append(context))
    choice = random.Random(0)
    pieces: list[bytes] = []
    closes = False

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        for piece in pieces:
            writer.write(piece)
            await asyncio.sleep(0.01)
        if closes:
            writer.close()

    verdicts: Counter[str] = Counter()
    context = tls_context()
    async with listening(answer) as receiver:

        async def outcome_of(*parts: bytes) -> Outcome:
            pieces[:] = parts
            async with Sender(INSECURE, resolver=Loopback(), ssl_context=context) as sender:
                return await deliver(sender, f"http://hooks.example:{receiver.port}/")

        whole = [(raw, cut) for raw in WHOLE for cut in range(len(raw) + 1)]
        broken = [(raw, choice.randrange(len(raw) + 1)) for raw in (damaged(choice) for _ in range(400))]
        for raw, cut in [*whole, *broken]:
            closes = choice.random() < 0.5
            outcome = await outcome_of(raw)
            verdicts[outcome.outcome_class.value] += 1
            assert outcome.duration_ms <= 10_050, raw
            assert outcome.ok == (outcome.http_status is not None and 200 <= outcome.http_status < 300)
            assert (await outcome_of(raw[:cut], raw[cut:])).outcome_class == outcome.outcome_class, (raw, cut)
    assert set(verdicts) <= {"success", "http_3xx", "http_4xx", "http_5xx", "protocol", "timeout"}
    assert verdicts["success"] and verdicts["http_5xx"] and verdicts["protocol"]
    assert astray == []
