"""A webhook receiver that records the first byte of every transmission, and misbehaves by the first part of the URL.

A separate process, so that a busy load generator does not make the service look slow::

    python -m checklist_dev.perf.load.receiver --port 18080 --log received.jsonl --host 127.0.0.1

It writes a JSON line per complete request: see `received.Transmission`. Its behaviour is drawn from `--seed`.
"""

import argparse
import asyncio
import contextlib
import json
import random
import signal
import socket
import struct
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TextIO, cast

FLUSH_EVERY_S: Final = 0.1
KEPT_HEADERS: Final = ("content-type", "content-digest", "signature-input", "signature")
_TEXTS: Final = {
    200: "OK",
    204: "No Content",
    302: "Found",
    404: "Not Found",
    410: "Gone",
    500: "Internal Server Error",
}
_RST: Final = struct.pack("ii", 1, 0)


@dataclass(frozen=True, slots=True)
class Action:
    """The reaction to one request: after `delay_s`, answer `status`, or do what `did` names instead."""

    did: str
    status: int = 0
    delay_s: float = 0.0


OK: Final = Action("204", 204)
HANG: Final = Action("hang")


class Behaviours:
    """`behaviour` is the first part of the request's path."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)
        self._seen: Counter[str] = Counter()

    def choose(self, behaviour: str, body: bytes) -> Action:
        match behaviour:
            case "flaky":
                return self._rng.choices(
                    (OK, Action("500", 500), Action("302", 302), Action("404", 404), Action("reset"), Action("cut")),
                    weights=(40, 22, 8, 8, 14, 8),
                )[0]
            case "late":
                return Action("204", 204, delay_s=self._rng.uniform(0.1, 2.5))
            case "slow":  # more than the specification's limit of ten seconds
                return Action("204", 204, delay_s=10.7) if self._is_first(body) else OK
            case "hang":
                return HANG if self._is_first(body) else OK
            case "twice":
                return Action("500", 500) if self._times(body) <= 2 else OK
            case "dribble":
                return Action("dribble", 200)
            case "dead":
                return Action("500", 500)
            case _:
                return OK

    def _is_first(self, body: bytes) -> bool:
        return self._times(body) == 1

    def _times(self, body: bytes) -> int:
        try:
            event_id = str(json.loads(body)["event_id"])
        except (ValueError, KeyError, TypeError):
            return 0
        self._seen[event_id] += 1
        return self._seen[event_id]


class Connection(asyncio.Protocol):
    """The subset of HTTP/1.1 that deliveries use: sequential requests with Content-Length."""

    def __init__(self, behaviours: Behaviours, log: TextIO) -> None:
        self._behaviours = behaviours
        self._log = log
        self._buffer = bytearray()
        self._first_byte = 0.0
        self._transport: asyncio.Transport | None = None
        self._current: dict[str, Any] | None = None
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        if not self._buffer:
            self._first_byte = time.time()
        self._buffer += data
        self._advance()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._timer:
            self._timer.cancel()
        self._finish("client closed")

    def _advance(self) -> None:
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0 or self._current is not None:
            return
        request_line, *lines = bytes(self._buffer[:end]).decode("latin-1").split("\r\n")
        headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        length = int(headers.get("content-length", "0"))
        start = end + 4
        if len(self._buffer) < start + length:
            return
        body = bytes(self._buffer[start : start + length])
        del self._buffer[: start + length]
        path = request_line.split(" ")[1]
        self._current = {
            "at": self._first_byte,
            "path": path,
            "host": headers.get("host", ""),
            "headers": {name: headers[name] for name in KEPT_HEADERS if name in headers},
            "body": body.decode(errors="replace"),
        }
        action = self._behaviours.choose(path.split("/")[1], body)
        if action.delay_s:
            self._timer = asyncio.get_running_loop().call_later(action.delay_s, self._act, action)
        else:
            self._act(action)

    def _act(self, action: Action) -> None:
        transport = self._transport
        if transport is None or action.did == "hang":
            return
        match action.did:
            case "reset":
                # SO_LINGER of zero seconds: the peer gets a reset instead of a regular close.
                peer = cast(socket.socket, transport.get_extra_info("socket"))
                peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RST)
                transport.abort()
            case "cut":
                transport.write(b"HTTP/1.1 2")
                transport.close()
            case "dribble":
                transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nnever ")
            case _:
                transport.write(_answer(action.status))
        self._finish(action.did)
        if self._buffer:
            self._advance()

    def _finish(self, did: str) -> None:
        if self._current is not None:
            record = {**self._current, "end": time.time(), "did": did}
            self._log.write(json.dumps(record, separators=(",", ":")) + "\n")
            self._current = None


def _answer(status: int) -> bytes:
    fields = ["Location: http://127.0.0.1:9/elsewhere"] if status == 302 else []
    fields += [] if status == 204 else ["Content-Length: 0"]
    return "\r\n".join([f"HTTP/1.1 {status} {_TEXTS[status]}", *fields, "", ""]).encode()


async def serve(hosts: list[str], port: int, log: Path, seed: int) -> None:
    """Serve until SIGTERM."""
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ended.set)
    behaviours = Behaviours(seed)
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("a") as file:
        server = await loop.create_server(
            lambda: Connection(behaviours, file), hosts, port, backlog=1024, reuse_address=True
        )
        while not ended.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(ended.wait(), FLUSH_EVERY_S)
            file.flush()
        server.close()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m checklist_dev.perf.load.receiver", description=__doc__)
    parser.add_argument("--host", action="append", help="address to listen at; can be repeated")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--log", type=Path, required=True, help="output file with a JSON line per request")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    asyncio.run(serve(arguments.host or ["127.0.0.1"], arguments.port, arguments.log, arguments.seed))


if __name__ == "__main__":
    main()
