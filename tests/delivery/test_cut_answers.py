"""However the network cuts an answer into pieces, the verdict is the same."""

import asyncio

import pytest
from tests.delivery.hostile import OK, fields, read_request
from tests.delivery.loopback import Loopback
from tests.delivery.test_hostile_receivers import listening

from checklist_operator.delivery.addresses import AddressPolicy
from checklist_operator.delivery.sender import Sender, tls_context

SECRET = b"sixteen or more characters"
FAILURE = fields("Content-Length: 0", status="500 No")

ANSWERS = {
    "an answer": (OK, "success"),
    "a failure": (FAILURE, "http_5xx"),
    "HTTP/1.0": (b"HTTP/1.0 200 OK\r\n\r\nend", "success"),
    "bare line feeds": (b"HTTP/1.1 200 OK\nContent-Length: 0\n\n", "success"),
    "an empty line first": (b"\r\n" + OK, "success"),
    "an interim answer first": (b"HTTP/1.1 103 Early\r\nLink: </x>\r\n\r\n" + OK, "success"),
    "an interim answer, then a failure": (b"HTTP/1.1 100 C\r\n\r\n" + FAILURE, "http_5xx"),
    "success, then failure": (OK + FAILURE, "success"),
    "failure, then success": (FAILURE + OK, "http_5xx"),
    "a 204 with a body": (b"HTTP/1.1 204 No\r\n\r\nsurprise", "success"),
    "broken chunks": (fields("Transfer-Encoding: chunked", body=b"zz\r\n"), "success"),
    "an answer, then noise": (OK + b"\x00\xff\x16\x03", "success"),
    "two lengths": (fields("Content-Length: 1", "Content-Length: 2"), "protocol"),
    "a NUL": (fields("X: a\x00b", "Content-Length: 0"), "protocol"),
    "no HTTP": (b"220 mail.example ESMTP\r\n", "protocol"),
}


@pytest.mark.looptime
@pytest.mark.parametrize(("raw", "verdict"), ANSWERS.values(), ids=ANSWERS)
async def test_the_verdict_does_not_depend_on_where_an_answer_is_cut(raw: bytes, verdict: str) -> None:
    cuts = iter(range(len(raw) + 1))
    tried: list[int] = []

    async def in_two_pieces(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        cut = next(cuts)
        tried.append(cut)
        writer.write(raw[:cut])
        await asyncio.sleep(0.01)
        writer.write(raw[cut:])
        await asyncio.sleep(0.01)
        writer.close()

    policy = AddressPolicy(allow_insecure=True)
    context = tls_context()  # reading the authorities takes longer than an attempt
    async with listening(in_two_pieces) as receiver:
        for _ in range(len(raw) + 1):
            async with Sender(policy, resolver=Loopback(), ssl_context=context) as sender:
                outcome = await sender.send(f"http://hooks.example:{receiver.port}/", b"{}", SECRET, "r-1")
            assert outcome.outcome_class == verdict, f"cut at {tried[-1]}: {outcome}"
    assert tried == list(range(len(raw) + 1))


@pytest.mark.looptime
@pytest.mark.parametrize(("raw", "verdict"), ANSWERS.values(), ids=ANSWERS)
async def test_nor_does_it_when_every_byte_comes_alone(raw: bytes, verdict: str) -> None:
    async def byte_by_byte(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        for byte in raw:
            writer.write(bytes((byte,)))
            await asyncio.sleep(0.01)
        writer.close()

    async with (
        listening(byte_by_byte) as receiver,
        Sender(AddressPolicy(allow_insecure=True), resolver=Loopback()) as sender,
    ):
        outcome = await sender.send(f"http://hooks.example:{receiver.port}/", b"{}", SECRET, "r-1")
    assert outcome.outcome_class == verdict
