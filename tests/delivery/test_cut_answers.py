"""However the network cuts an answer into pieces, the verdict is the same."""

import asyncio

import pytest
from tests.delivery.hostile import OK, fields, read_request
from tests.delivery.sending import INSECURE, Loopback, deliver
from tests.delivery.test_hostile_receivers import listening

from checklist_operator.delivery.sender import Sender, tls_context

FAILURE = fields("Content-Length: 0", status="500 No")
ANSWERS = {
    "HTTP/1.0": (b"HTTP/1.0 200 OK\r\n\r\nend", "success"),
    "bare line feeds": (b"HTTP/1.1 200 OK\nContent-Length: 0\n\n", "success"),
    "an empty line and an interim answer first": (b"\r\nHTTP/1.1 103 Early\r\nLink: </x>\r\n\r\n" + OK, "success"),
    "success, then failure": (OK + FAILURE, "success"),
    "failure, then success": (FAILURE + OK, "http_5xx"),
    "a 204 with a body": (b"HTTP/1.1 204 No\r\n\r\nsurprise", "success"),
    "broken chunks": (fields("Transfer-Encoding: chunked", body=b"zz\r\n"), "success"),
    "two lengths": (fields("Content-Length: 1", "Content-Length: 2"), "protocol"),
    "a NUL": (fields("X: a\x00b", "Content-Length: 0"), "protocol"),
    "no HTTP": (b"220 mail.example ESMTP\r\n", "protocol"),
}


@pytest.mark.looptime
@pytest.mark.parametrize(("raw", "verdict"), ANSWERS.values(), ids=ANSWERS)
async def test_the_verdict_does_not_depend_on_where_an_answer_is_cut(raw: bytes, verdict: str) -> None:
    cuts = iter(range(len(raw) + 1))

    async def in_two_pieces(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        cut = next(cuts)
        writer.write(raw[:cut])
        await asyncio.sleep(0.01)
        writer.write(raw[cut:])
        await asyncio.sleep(0.01)
        writer.close()

    context = tls_context()  # reading the authorities takes longer than an attempt
    async with listening(in_two_pieces) as receiver:
        for cut in range(len(raw) + 1):
            async with Sender(INSECURE, resolver=Loopback(), ssl_context=context) as sender:
                outcome = await deliver(sender, f"http://hooks.example:{receiver.port}/")
            assert outcome.outcome_class == verdict, f"cut at {cut}: {outcome}"
    assert next(cuts, None) is None
