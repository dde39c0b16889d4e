"""Answers with random damage: whatever a receiver writes, there is a verdict, in time, and no error goes astray."""

import asyncio
import random
from collections import Counter
from typing import Any

import pytest
from tests.delivery.hostile import OK, fields, read_request
from tests.delivery.sending import INSECURE, Loopback, deliver
from tests.delivery.test_hostile_receivers import listening

from checklist_operator.delivery.outcome import Outcome
from checklist_operator.delivery.sender import Sender, tls_context

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
