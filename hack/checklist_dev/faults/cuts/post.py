"""The receivers of the enumeration: one socket, one path per case, one answer per transmission."""

import asyncio
import contextlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field

from checklist_dev.faults.cuts.instruments import RECEIVER_HOST

RESET = 0
"""In place of a status: reset the connection."""


@dataclass(frozen=True, slots=True)
class Transmission:
    """A complete request. `at`: seconds on the loop's clock, `wall`: on the case's clock."""

    event_id: str
    seq: int
    number: int
    status: int
    at: float
    wall: float
    replay: bool
    """It arrived after a replay was requested."""

    @property
    def accepted(self) -> bool:
        return 200 <= self.status < 300


@dataclass
class Mailbox:
    """Requests of one case. `answer(seq, number, nth)`: nth counts the transmissions of that event."""

    answer: Callable[[int, int, int], int]
    wall: Callable[[], float]
    on_arrival: Callable[[int, int], None]
    received: list[Transmission] = field(default_factory=list)
    replay: bool = False
    """A replay was requested; it is accepted."""

    def put(self, body: bytes) -> int:
        envelope = json.loads(body)
        event_id, seq, number = envelope["event_id"], envelope["seq"], envelope["delivery_attempt"]
        nth = sum(one.event_id == event_id for one in self.received) + 1
        status = 200 if self.replay else self.answer(seq, number, nth)
        at = asyncio.get_running_loop().time()
        self.received.append(Transmission(event_id, seq, number, status, at, self.wall(), self.replay))
        self.on_arrival(seq, number)
        return status


class Post:
    """A server on loopback, as a context manager."""

    def __init__(self) -> None:
        self.mailboxes: dict[str, Mailbox] = {}
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()

    async def __aenter__(self) -> "Post":
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.close()
        for writer in self._writers:
            writer.transport.abort()
        while self._writers:  # noqa: ASYNC110 - a matter of one turn of the loop
            await asyncio.sleep(0)

    def url(self, case: str) -> str:
        if self._server is None:
            raise RuntimeError("the server is not running")
        return f"http://{RECEIVER_HOST}:{self._server.sockets[0].getsockname()[1]}/{case}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
                while await self._answer(reader, writer):
                    pass
        finally:
            self._writers.discard(writer)
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; returns whether the connection stays open."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        length = next(int(line[15:]) for line in head if line.lower().startswith("content-length:"))
        body = await reader.readexactly(length)
        mailbox = self.mailboxes.get(head[0].split()[1].strip("/"))
        status = mailbox.put(body) if mailbox is not None else 404
        if status == RESET:
            writer.transport.abort()
            return False
        writer.write(f"HTTP/1.1 {status} -\r\nContent-Length: 0\r\n\r\n".encode())
        return True
