"""Receivers that mean harm, or are broken in ways that look like it, each with the verdict that it must get.

They behave so after a TCP (and, if a test wants that, a TLS) connection was made; those that spoil TLS itself are in
`hostile_tls`. All serve real sockets, with nothing of aiohttp's on their side.
"""

import asyncio
import gzip
import random
import socket
import struct
import zlib
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass

Behave = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
FOREVER_S = 3600.0
MEGABYTE = bytes(1 << 20)


@dataclass(frozen=True)
class Hostile:
    """`verdict`: the class of outcome; `takes_s`: how long the attempt lasts when it is not over at once."""

    behave: Behave
    verdict: str
    takes_s: float = 0.0


# --- building blocks ------------------------------------------------------------------------------------------------


async def read_request(reader: asyncio.StreamReader) -> None:
    head = await reader.readuntil(b"\r\n\r\n")
    length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
    await reader.readexactly(int(length))


async def read_until_end(reader: asyncio.StreamReader) -> None:
    while await reader.read(65_536):
        pass


def reset(writer: asyncio.StreamWriter) -> None:
    """Ends the connection with RST."""
    connection = writer.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


def says(raw: bytes, *, then: str = "waits") -> Behave:
    """Reads the request, writes `raw`, and then `waits` for the next one, `closes`, `resets` or `half-closes`."""

    async def behave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(raw)
        await writer.drain()
        match then:
            case "resets":
                reset(writer)
            case "half-closes":
                writer.write_eof() if writer.can_write_eof() else writer.close()
                await read_until_end(reader)
            case "closes":
                writer.close()

    return behave


def dribbles(first: bytes, rest: bytes, every_s: float) -> Behave:
    """Writes `first` at once and `rest` byte by byte."""

    async def behave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(first)
        for byte in rest:
            await asyncio.sleep(every_s)
            if writer.is_closing():
                return
            writer.write(bytes((byte,)))
            await writer.drain()

    return behave


def floods(first: bytes, again: bytes) -> Behave:
    """Writes `first` and then `again` for ever, as fast as it is taken."""

    async def behave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(first)
        while not (writer.is_closing() or reader.at_eof()):
            writer.write(again)
            await writer.drain()
            await asyncio.sleep(0)  # draining waits for nothing when the connection is lost

    return behave


def late(delay_s: float, raw: bytes) -> Behave:
    async def behave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        await asyncio.sleep(delay_s)
        writer.write(raw)

    return behave


# --- what only some do ----------------------------------------------------------------------------------------------


async def resets_at_once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    reset(writer)


async def closes_at_once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.close()


async def half_closes_at_once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    if writer.can_write_eof():
        writer.write_eof()
    else:
        writer.close()
    await read_until_end(reader)


async def resets_within_the_head(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readexactly(20)
    reset(writer)


async def resets_within_the_body(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    reset(writer)


async def never_reads(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.transport.pause_reading()  # type: ignore[attr-defined]
    await asyncio.sleep(FOREVER_S)


async def reads_and_says_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await read_until_end(reader)


async def answers_before_it_is_asked(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    await read_request(reader)


async def reads_a_byte_a_second(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.transport.pause_reading()  # type: ignore[attr-defined]
    while not writer.is_closing():
        await asyncio.sleep(1)
    reset(writer)


def fields(*lines: str, status: str = "200 OK", body: bytes = b"") -> bytes:
    return "\r\n".join([f"HTTP/1.1 {status}", *lines, "", ""]).encode("latin-1") + body


_random = random.Random(17)
NOISE = bytes(byte for byte in _random.randbytes(70_000) if byte not in b"\r\n")
BOMB = gzip.compress(bytes(50_000_000))
GZIP_LINES = ("Content-Encoding: gzip", f"Content-Length: {len(BOMB)}")
SMALL_BOMB = gzip.compress(bytes(4_000_000))
NESTED_BOMB = gzip.compress(BOMB)

PLAIN: dict[str, Hostile] = {
    # -- the connection
    "resets at once": Hostile(resets_at_once, "protocol"),
    "closes at once": Hostile(closes_at_once, "protocol"),
    "half-closes at once": Hostile(half_closes_at_once, "protocol"),
    "resets within our head": Hostile(resets_within_the_head, "protocol"),
    "resets within our body": Hostile(resets_within_the_body, "protocol"),
    "resets before its answer": Hostile(says(b"", then="resets"), "protocol"),
    "resets within its status line": Hostile(says(b"HTTP/1.1 20", then="resets"), "protocol"),
    "resets within its head": Hostile(says(b"HTTP/1.1 200 OK\r\nX: y\r\n", then="resets"), "protocol"),
    "resets after its head": Hostile(says(fields(), then="resets"), "success"),
    "resets within its body": Hostile(says(fields("Content-Length: 9", body=b"x"), then="resets"), "success"),
    "resets after a failure": Hostile(says(fields("Content-Length: 0", status="500 No"), then="resets"), "http_5xx"),
    "closes before its answer": Hostile(says(b"", then="closes"), "protocol"),
    "closes within its status line": Hostile(says(b"HTTP/1.1 200 O", then="closes"), "protocol"),
    "closes within its head": Hostile(says(b"HTTP/1.1 200 OK\r\nX: y\r\n", then="closes"), "protocol"),
    "closes within its body": Hostile(says(fields("Content-Length: 9", body=b"x"), then="closes"), "success"),
    "half-closes before its answer": Hostile(says(b"", then="half-closes"), "protocol"),
    "half-closes within its head": Hostile(says(b"HTTP/1.1 200 OK\r\n", then="half-closes"), "protocol"),
    "half-closes after its head": Hostile(says(fields(), then="half-closes"), "success"),
    "half-closes after a failure": Hostile(says(fields(status="500 No"), then="half-closes"), "http_5xx"),
    # -- slowness
    "never reads": Hostile(never_reads, "timeout", 10),
    "reads and says nothing": Hostile(reads_and_says_nothing, "timeout", 10),
    "reads a byte a second": Hostile(reads_a_byte_a_second, "timeout", 10),
    "dribbles its head": Hostile(dribbles(b"", OK, 1), "timeout", 10),
    "dribbles the last field": Hostile(dribbles(b"HTTP/1.1 200 OK\r\n", b"X" * 1000, 0.5), "timeout", 10),
    "dribbles its head, but in time": Hostile(dribbles(b"", OK[:-2], 0.1), "success", 3.8),
    "dribbles its body": Hostile(dribbles(fields("Content-Length: 100"), b"x" * 100, 1), "success"),
    "dribbles chunks": Hostile(dribbles(fields("Transfer-Encoding: chunked"), b"1\r\nx\r\n" * 50, 1), "success"),
    "dribbles interim answers": Hostile(dribbles(b"", b"HTTP/1.1 102 Processing\r\n\r\n" * 30, 0.1), "timeout", 10),
    "answers after 9.9 s": Hostile(late(9.9, OK), "success", 9.9),
    "answers after 10.1 s": Hostile(late(10.1, OK), "timeout", 10),
    "fails after 9.9 s": Hostile(late(9.9, fields("Content-Length: 0", status="500 No")), "http_5xx", 9.9),
    # -- too much
    "a line without end": Hostile(floods(b"HTTP/1.1 200 OK\r\nX: ", b"y" * 16_384), "protocol"),
    "a status line without end": Hostile(floods(b"HTTP/1.1 200 ", b"y" * 16_384), "protocol"),
    "fields without end": Hostile(floods(b"HTTP/1.1 200 OK\r\n", b"X-Y: z\r\n" * 1024), "protocol"),
    "cookies without end": Hostile(floods(b"HTTP/1.1 200 OK\r\n", b"Set-Cookie: a=b; Path=/\r\n" * 512), "protocol"),
    "a folded line without end": Hostile(floods(b"HTTP/1.1 200 OK\r\nX: y\r\n", b" z\r\n" * 2048), "protocol"),
    "interim answers without end": Hostile(floods(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 512), "protocol"),
    "early hints without end": Hostile(
        floods(b"", b"HTTP/1.1 103 Early Hints\r\nLink: </x>; rel=preload\r\n\r\n" * 256), "protocol"
    ),
    "few early hints of many bytes": Hostile(
        floods(b"", b"HTTP/1.1 103 Early Hints\r\nLink: <" + b"x" * 8000 + b">\r\n\r\n"), "protocol"
    ),
    "empty lines without end": Hostile(floods(b"", b"\r\n" * 8192), "protocol"),
    "zeros without end": Hostile(floods(b"", bytes(16_384)), "protocol"),
    "noise without end": Hostile(floods(b"", NOISE), "protocol"),
    "a body without end": Hostile(floods(fields(), MEGABYTE), "success"),
    "chunks without end": Hostile(floods(fields("Transfer-Encoding: chunked"), b"1\r\nx\r\n" * 4096), "success"),
    "a chunk extension without end": Hostile(
        floods(fields("Transfer-Encoding: chunked", body=b"1;x="), b"y" * 16_384), "success"
    ),
    "trailers without end": Hostile(
        floods(fields("Transfer-Encoding: chunked", body=b"0\r\n"), b"X: y\r\n" * 2048), "success"
    ),
    "a failure with a body without end": Hostile(floods(fields(status="503 No"), MEGABYTE), "http_5xx"),
    # -- compression
    "a gzip bomb": Hostile(says(fields(*GZIP_LINES, body=BOMB)), "success"),
    "a gzip bomb in a gzip bomb": Hostile(says(fields("Content-Encoding: gzip, gzip", body=NESTED_BOMB)), "success"),
    "a deflate bomb": Hostile(
        says(fields("Content-Encoding: deflate", body=zlib.compress(bytes(10_000_000)))), "success"
    ),
    "a chunked gzip bomb": Hostile(
        says(fields("Content-Encoding: gzip", "Transfer-Encoding: chunked", body=b"BE00\r\n" + BOMB)), "success"
    ),
    "a gzip bomb in one small packet": Hostile(
        says(fields("Content-Encoding: gzip", f"Content-Length: {len(SMALL_BOMB)}", body=SMALL_BOMB)), "success"
    ),
    "gzip that is none": Hostile(says(fields("Content-Encoding: gzip", "Content-Length: 4", body=b"nope")), "success"),
    "a transfer coding nobody knows": Hostile(says(fields("Transfer-Encoding: gzip"), then="closes"), "success"),
    # -- redirects
    "a redirect to itself": Hostile(says(fields("Location: /", "Content-Length: 0", status="302 F")), "http_3xx"),
    "a redirect into the cluster": Hostile(
        says(fields("Location: http://169.254.169.254/latest/", "Content-Length: 0", status="307 T")), "http_3xx"
    ),
    "a redirect to nothing": Hostile(says(fields("Content-Length: 0", status="301 M")), "http_3xx"),
    "a redirect to nonsense": Hostile(
        says(fields("Location: http://[::1", "Content-Length: 0", status="308 P")), "http_3xx"
    ),
    "a choice": Hostile(says(fields("Content-Length: 0", status="300 C")), "http_3xx"),
    "not modified, with a body": Hostile(says(fields("Content-Length: 3", status="304 N", body=b"abc")), "http_3xx"),
    # -- HTTP that is odd and still HTTP
    "204 with a body": Hostile(says(fields("Content-Length: 8", status="204 No", body=b"surprise")), "success"),
    "205 with a body": Hostile(says(fields("Content-Length: 8", status="205 No", body=b"surprise")), "success"),
    "HTTP/1.0": Hostile(says(b"HTTP/1.0 200 OK\r\n\r\nuntil the end", then="closes"), "success"),
    "HTTP/1.0 kept alive": Hostile(
        says(b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n"), "success"
    ),
    "no reason": Hostile(says(b"HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n"), "success"),
    "bare line feeds": Hostile(says(b"HTTP/1.1 200 OK\nContent-Length: 0\n\n"), "success"),
    "an empty line first": Hostile(says(b"\r\n" + OK), "success"),
    "fields that are not ASCII": Hostile(says(fields("X: \xff\xfe", "Content-Length: 0")), "success"),
    "early hints, then an answer": Hostile(says(b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + OK), "success"),
    "a hundred continues, then an answer": Hostile(says(b"HTTP/1.1 100 Continue\r\n\r\n" * 100 + OK), "success"),
    "a thousand continues, then an answer": Hostile(says(b"HTTP/1.1 100 Continue\r\n\r\n" * 1000 + OK), "protocol"),
    "a thousand empty lines, then an answer": Hostile(says(b"\r\n" * 1000 + OK), "protocol"),
    "continue, then a failure": Hostile(
        says(b"HTTP/1.1 100 Continue\r\n\r\n" + fields("Content-Length: 0", status="500 No")), "http_5xx"
    ),
    "continue, then nothing": Hostile(says(b"HTTP/1.1 100 Continue\r\n\r\n"), "timeout", 10),
    "continue, then the end": Hostile(says(b"HTTP/1.1 100 Continue\r\n\r\n", then="closes"), "protocol"),
    # -- more than one answer
    "answers before it is asked": Hostile(answers_before_it_is_asked, "success"),
    "success, then failure": Hostile(says(OK + fields("Content-Length: 0", status="500 No")), "success"),
    "failure, then success": Hostile(says(fields("Content-Length: 0", status="500 No") + OK), "http_5xx"),
    "an answer and noise": Hostile(says(OK + NOISE), "success"),
    "two hundred answers": Hostile(says(OK * 200), "success"),
    # -- statuses that are none
    "switching protocols": Hostile(
        says(fields("Upgrade: x", "Connection: upgrade", status="101 S"), then="closes"), "protocol"
    ),
    "status 600": Hostile(says(fields("Content-Length: 0", status="600 No")), "protocol"),
    "status 999": Hostile(says(fields("Content-Length: 0", status="999 No")), "protocol"),
    "status 099": Hostile(says(fields("Content-Length: 0", status="099 No")), "protocol"),
    "status 000": Hostile(says(fields("Content-Length: 0", status="000 No")), "protocol"),
    "status 20": Hostile(says(fields("Content-Length: 0", status="20 No")), "protocol"),
    "status 2000": Hostile(says(fields("Content-Length: 0", status="2000 No")), "protocol"),
    "status +200": Hostile(says(fields("Content-Length: 0", status="+200 No")), "protocol"),
    "status 2OO": Hostile(says(fields("Content-Length: 0", status="2OO No")), "protocol"),
    # -- not HTTP
    "HTTP/0.9": Hostile(says(b"<html>hello</html>", then="closes"), "protocol"),
    "HTTP/2": Hostile(says(b"\x00\x00\x12\x04\x00\x00\x00\x00\x00" + bytes(18)), "protocol"),
    "ICY": Hostile(says(b"ICY 200 OK\r\n\r\n"), "protocol"),
    "SMTP": Hostile(says(b"220 mail.example ESMTP ready\r\n"), "protocol"),
    "SSH": Hostile(says(b"SSH-2.0-OpenSSH_9.9\r\n"), "protocol"),
    "a TLS alert": Hostile(says(b"\x15\x03\x01\x00\x02\x02\x28", then="closes"), "protocol"),
    "our own request": Hostile(says(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"), "protocol"),
    "a negative length": Hostile(says(fields("Content-Length: -1")), "protocol"),
    "a length that is no number": Hostile(says(fields("Content-Length: 1e3")), "protocol"),
    "a length beyond all": Hostile(says(fields(f"Content-Length: {'9' * 40}")), "protocol"),
    "a length of exabytes": Hostile(says(fields(f"Content-Length: {2**62}")), "success"),
    "two lengths": Hostile(says(fields("Content-Length: 1", "Content-Length: 2")), "protocol"),
    "a length and chunks": Hostile(
        says(fields("Content-Length: 1", "Transfer-Encoding: chunked", body=b"0\r\n\r\n")), "protocol"
    ),
    "a NUL in a field": Hostile(says(fields("X: a\x00b")), "protocol"),
    "a carriage return in a field": Hostile(says(fields("X: a\rb")), "protocol"),
    "a field without colon": Hostile(says(fields("nonsense")), "protocol"),
    "a space before the colon": Hostile(says(fields("X : y")), "protocol"),
    "a field name with a space": Hostile(says(fields("X Y: z")), "protocol"),
}
"""By name: what they do after the connection was made."""


async def serve(behave: Behave, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """One connection, request by request, to its end."""
    try:
        with suppress(asyncio.IncompleteReadError, OSError):
            while not (writer.is_closing() or reader.at_eof()):
                await behave(reader, writer)
    finally:
        with suppress(OSError):
            writer.close()
