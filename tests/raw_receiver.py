"""A receiver on a real socket that keeps the raw bytes that it was sent and answers as a test says."""

import asyncio
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field


@dataclass
class ReceivedRequest:
    """What came in, byte for byte, and the connection on which it may be answered."""

    connection: int
    head: bytes
    body: bytes
    writer: asyncio.StreamWriter

    @property
    def raw(self) -> bytes:
        return self.head + self.body

    @property
    def request_line(self) -> str:
        return self.head.split(b"\r\n")[0].decode("ascii")

    @property
    def header_lines(self) -> list[tuple[str, str]]:
        lines = self.head.decode("latin-1").split("\r\n")[1:]
        return [(name, value.strip()) for name, _, value in (line.partition(":") for line in lines if line)]

    @property
    def headers(self) -> dict[str, str]:
        return {name.lower(): value for name, value in self.header_lines}


def reset_at_close(connection: socket.socket) -> None:
    """Lets the connection end with RST."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


Answer = Callable[[ReceivedRequest], Awaitable[None]]


async def ok(request: ReceivedRequest) -> None:
    request.writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")


@dataclass
class RawReceiver:
    """Listens on 127.0.0.1. `answer` may be replaced at any time; `requests` are in order of arrival."""

    answer: Answer = ok
    requests: list[ReceivedRequest] = field(default_factory=list)
    connections: int = 0
    open_connections: int = 0
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.open_connections += 1
        number = self.connections
        try:
            with suppress(asyncio.IncompleteReadError, ConnectionError):
                while not writer.is_closing():
                    head = await reader.readuntil(b"\r\n\r\n")
                    request = ReceivedRequest(number, head, b"", writer)
                    request.body = await reader.readexactly(int(request.headers.get("content-length", "0")))
                    self.requests.append(request)
                    await self.answer(request)
        finally:
            self.open_connections -= 1
            writer.close()


@asynccontextmanager
async def raw_receiver(answer: Answer = ok, *, ssl_context: ssl.SSLContext | None = None) -> AsyncIterator[RawReceiver]:
    receiver = RawReceiver(answer)
    server = await asyncio.start_server(receiver.accept, "127.0.0.1", 0, ssl=ssl_context, limit=2**21)
    try:
        receiver.port = server.sockets[0].getsockname()[1]
        yield receiver
    finally:
        server.close()
