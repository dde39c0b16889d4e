"""Receivers that mean harm, or are broken in ways that look like it, each with the verdict that it must get.

They behave so after a TCP (and, if a test wants that, a TLS) connection was made; those that spoil TLS itself are in
`hostile_tls`. All serve real sockets, with nothing of aiohttp's on their side.
"""

import asyncio
import gzip
import random
import ssl
import zlib
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass

from tests.delivery.authority import Authority
from tests.raw_receiver import reset_at_close

Behave = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


@dataclass(frozen=True)
class Hostile:
    """`verdict`: the class of outcome; `takes_s`: how long the attempt lasts when it is not over at once; `detail`: a
    part of what is said about it; `context`: the receiver's side of TLS, when a test does not choose."""

    behave: Behave
    verdict: str
    takes_s: float = 0.0
    detail: str = ""
    context: Callable[[Authority], ssl.SSLContext] | None = None


async def read_request(reader: asyncio.StreamReader) -> None:
    head = await reader.readuntil(b"\r\n\r\n")
    length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
    await reader.readexactly(int(length))


async def read_until_end(reader: asyncio.StreamReader) -> None:
    while await reader.read(65_536):
        pass


def reset(writer: asyncio.StreamWriter) -> None:
    """Ends the connection with RST."""
    reset_at_close(writer.get_extra_info("socket"))
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


async def resets_at_once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    reset(writer)


async def closes_at_once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.close()


async def resets_within_the_body(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    reset(writer)


async def never_reads(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.transport.pause_reading()  # type: ignore[attr-defined]
    while not writer.is_closing():
        await asyncio.sleep(1)
    reset(writer)


async def reads_and_says_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await read_until_end(reader)


async def answers_before_it_is_asked(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    await read_request(reader)


def fields(*lines: str, status: str = "200 OK", body: bytes = b"") -> bytes:
    return "\r\n".join([f"HTTP/1.1 {status}", *lines, "", ""]).encode("latin-1") + body


def empty(status: str, *lines: str) -> bytes:
    return fields(*lines, "Content-Length: 0", status=status)


def _of(verdict: str, receivers: dict[str, Behave]) -> dict[str, Hostile]:
    return {name: Hostile(behave, verdict) for name, behave in receivers.items()}


NOISE = bytes(byte for byte in random.Random(17).randbytes(70_000) if byte not in b"\r\n")
BOMB = gzip.compress(bytes(50_000_000))
SMALL_BOMB = gzip.compress(bytes(4_000_000))
GZIP, CHUNKED = "Content-Encoding: gzip", "Transfer-Encoding: chunked"
START = b"HTTP/1.1 200 OK\r\n"
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
HINTS = b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"

_SLOW = {
    "never reads": Hostile(never_reads, "timeout", 10),
    "reads and says nothing": Hostile(reads_and_says_nothing, "timeout", 10),
    "dribbles its head": Hostile(dribbles(b"", OK, 1), "timeout", 10),
    "dribbles the last field": Hostile(dribbles(START, b"X" * 1000, 0.5), "timeout", 10),
    "dribbles its head, but in time": Hostile(dribbles(b"", OK[:-2], 0.1), "success", 3.8),
    "dribbles interim answers": Hostile(dribbles(b"", b"HTTP/1.1 102 Processing\r\n\r\n" * 30, 0.1), "timeout", 10),
    "answers after 9.9 s": Hostile(late(9.9, OK), "success", 9.9),
    "answers after 10.1 s": Hostile(late(10.1, OK), "timeout", 10),
    "fails after 9.9 s": Hostile(late(9.9, empty("500 No")), "http_5xx", 9.9),
    "continue, then nothing": Hostile(says(CONTINUE), "timeout", 10),
}
_NO_ANSWER: dict[str, Behave] = {
    "resets at once": resets_at_once,
    "closes at once": closes_at_once,
    "half-closes before its answer": says(b"", then="half-closes"),
    "resets within our body": resets_within_the_body,
    "resets before its answer": says(b"", then="resets"),
    "resets within its status line": says(b"HTTP/1.1 20", then="resets"),
    "resets within its head": says(b"HTTP/1.1 200 OK\r\nX: y\r\n", then="resets"),
    "closes before its answer": says(b"", then="closes"),
    "closes within its head": says(b"HTTP/1.1 200 OK\r\nX: y\r\n", then="closes"),
    "continue, then the end": says(CONTINUE, then="closes"),
    # -- too much
    "a line without end": floods(b"HTTP/1.1 200 OK\r\nX: ", b"y" * 16_384),
    "fields without end": floods(START, b"X-Y: z\r\n" * 1024),
    "a folded line without end": floods(b"HTTP/1.1 200 OK\r\nX: y\r\n", b" z\r\n" * 2048),
    "interim answers without end": floods(b"", CONTINUE * 512),
    "few early hints of many bytes": floods(b"", HINTS.replace(b"x", b"x" * 8000)),
    "a thousand continues, then an answer": says(CONTINUE * 1000 + OK),
    "empty lines without end": floods(b"", b"\r\n" * 8192),
    "zeros without end": floods(b"", bytes(16_384)),
    # -- statuses that are none
    "switching protocols": says(fields("Upgrade: x", "Connection: upgrade", status="101 S"), then="closes"),
    **{f"status {status}": says(empty(f"{status} No")) for status in ("600", "099", "20", "2000", "+200", "2OO")},
    # -- not HTTP
    "HTTP/0.9": says(b"<html>hello</html>", then="closes"),
    "HTTP/2": says(b"\x00\x00\x12\x04\x00\x00\x00\x00\x00" + bytes(18)),
    "SMTP": says(b"220 mail.example ESMTP ready\r\n"),
    "a TLS alert": says(b"\x15\x03\x01\x00\x02\x02\x28", then="closes"),
    "our own request": says(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"),
    "a negative length": says(fields("Content-Length: -1")),
    "a length beyond all": says(fields(f"Content-Length: {'9' * 40}")),
    "two lengths": says(fields("Content-Length: 1", "Content-Length: 2")),
    "a length and chunks": says(fields("Content-Length: 1", CHUNKED, body=b"0\r\n\r\n")),
    "a NUL in a field": says(fields("X: a\x00b")),
    "a carriage return in a field": says(fields("X: a\rb")),
    "a space before the colon": says(fields("X : y")),
}
_SUCCESS: dict[str, Behave] = {
    "resets after its head": says(fields(), then="resets"),
    "closes within its body": says(fields("Content-Length: 9", body=b"x"), then="closes"),
    "dribbles its body": dribbles(fields("Content-Length: 100"), b"x" * 100, 1),
    "a body without end": floods(fields(), bytes(1 << 20)),
    "a chunk extension without end": floods(fields(CHUNKED, body=b"1;x="), b"y" * 16_384),
    "trailers without end": floods(fields(CHUNKED, body=b"0\r\n"), b"X: y\r\n" * 2048),
    "a length of exabytes": says(fields(f"Content-Length: {2**62}")),
    # -- compression
    "a gzip bomb": says(fields(GZIP, f"Content-Length: {len(BOMB)}", body=BOMB)),
    "a gzip bomb in a gzip bomb": says(fields("Content-Encoding: gzip, gzip", body=gzip.compress(BOMB))),
    "a deflate bomb": says(fields("Content-Encoding: deflate", body=zlib.compress(bytes(10_000_000)))),
    "a gzip bomb in one small packet": says(fields(GZIP, f"Content-Length: {len(SMALL_BOMB)}", body=SMALL_BOMB)),
    "gzip that is none": says(fields(GZIP, "Content-Length: 4", body=b"nope")),
    "broken chunks": says(fields(CHUNKED, body=b"zz\r\n")),
    "an unknown transfer coding": says(fields("Transfer-Encoding: gzip"), then="closes"),
    # -- HTTP that is odd and still HTTP
    "204 with a body": says(fields("Content-Length: 8", status="204 No", body=b"surprise")),
    "HTTP/1.0": says(b"HTTP/1.0 200 OK\r\n\r\nuntil the end", then="closes"),
    "no reason": says(b"HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n"),
    "bare line feeds": says(b"HTTP/1.1 200 OK\nContent-Length: 0\n\n"),
    "an empty line first": says(b"\r\n" + OK),
    "fields that are not ASCII": says(fields("X: \xff\xfe", "Content-Length: 0")),
    "early hints, then an answer": says(HINTS + OK),
    "a hundred continues, then an answer": says(CONTINUE * 100 + OK),
    # -- more than one answer
    "answers before it is asked": answers_before_it_is_asked,
    "success, then failure": says(OK + empty("500 No")),
    "an answer and noise": says(OK + NOISE),
    "two hundred answers": says(OK * 200),
}
_REDIRECTS: dict[str, Behave] = {
    "a redirect to itself": says(empty("302 F", "Location: /")),
    "a redirect into the cluster": says(empty("307 T", "Location: http://169.254.169.254/latest/")),
    "a redirect to nonsense": says(empty("308 P", "Location: http://[::1")),
}
_FAILURES: dict[str, Behave] = {
    "resets after a failure": says(empty("500 No"), then="resets"),
    "a failure with a body without end": floods(fields(status="503 No"), bytes(1 << 20)),
    "continue, then a failure": says(CONTINUE + empty("500 No")),
    "failure, then success": says(empty("500 No") + OK),
}
PLAIN: dict[str, Hostile] = {
    **_SLOW,
    **_of("protocol", _NO_ANSWER),
    **_of("success", _SUCCESS),
    **_of("http_3xx", _REDIRECTS),
    **_of("http_5xx", _FAILURES),
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
