"""A real HTTP server on loopback that answers as a model's server does, or as a test says: slowly, wrongly, badly."""

import asyncio
import contextlib
import gzip
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any


def _step(identifier: str, kind: str, label: str, **members: Any) -> dict[str, Any]:
    """Every field is there, as structured output has it."""
    none = {"hint": None, "required": True, "geo": False, "photo": None, "condition": None}
    return {"id": identifier, "type": kind, "label": label} | none | members


_OPTIONS = [{"id": "o-1", "label": "Good"}, {"id": "o-2", "label": "Broken"}]
_NUMBER = {"unit": "°C", "min": None, "max": 5, "decimal": 1}
_STEPS = [
    _step("s-1", "number", "Temperature of the cold room", photo={"min": 1, "max": 2}, config=_NUMBER),
    _step("s-2", "choice", "State of the door seal", config={"options": _OPTIONS}),
    _step(
        *("s-3", "text", "Describe the damage"),
        condition={"when": {"step": "s-2", "op": "eq", "value": "o-2"}},
        config={"multiline": True, "placeholder": None},
    ),
]
TEMPLATE: dict[str, Any] = {
    "name": "Cold room check",
    "description": "Before the kitchen opens.",
    "tags": ["kitchen"],
    "settings": {"allow_skip": False, "signature_on_complete": True, "est_minutes": 5},
    "sections": [{"id": "g-1", "title": "Cold room", "steps": _STEPS}],
}


@dataclass(frozen=True)
class Asked:
    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def form(self) -> str | None:
        return (self.body.get("response_format") or {}).get("type")

    @property
    def schema(self) -> Any:
        return (self.body.get("response_format") or {}).get("json_schema", {}).get("schema")

    @property
    def said(self) -> str:
        return "\n".join(message["content"] for message in self.body["messages"])


Writer = asyncio.StreamWriter
Behaviour = Callable[[Asked, Writer], Awaitable[None]]


@dataclass
class ModelServer:
    """`behaviours` by request; the last one stands for all that follow."""

    behaviours: list[Behaviour]
    asked: list[Asked] = field(default_factory=list)
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    async def serve(self, reader: asyncio.StreamReader, writer: Writer) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
            raw = await reader.readexactly(int(headers.get("content-length", 0)))
            asked = Asked(head[0].split()[1], headers, json.loads(raw))
            self.asked.append(asked)
            await self.behaviours[min(len(self.asked), len(self.behaviours)) - 1](asked, writer)
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client has had enough: that is what such tests are about
        finally:
            writer.close()


@contextlib.asynccontextmanager
async def model_server(*behaviours: Behaviour, tls: ssl.SSLContext | None = None) -> AsyncIterator[ModelServer]:
    server = ModelServer(list(behaviours))
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: Writer) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        with contextlib.suppress(asyncio.CancelledError):
            await server.serve(reader, writer)

    listener = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    server.port = listener.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listener.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def response(body: bytes, status: str = "200 OK", **headers: str) -> bytes:
    lines = {"Content-Type": "application/json", "Content-Length": str(len(body)), "Connection": "close"}
    lines |= {name.replace("_", "-"): value for name, value in headers.items()}
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"HTTP/1.1 {status}\r\n{head}\r\n".encode() + body


def raw(data: bytes) -> Behaviour:
    """Exactly these bytes, then the end."""

    async def answer(_: Asked, writer: Writer) -> None:
        writer.write(data)

    return answer


def completion(content: Any, *, finish: str = "stop", usage: Any = (900, 300), **message: Any) -> bytes:
    document: dict[str, Any] = {
        "object": "chat.completion",
        "choices": [
            {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": content} | message}
        ],
    }
    if usage is not None:
        document["usage"] = {"prompt_tokens": usage[0], "completion_tokens": usage[1]}
    return json.dumps(document).encode()


def says(content: Any, **members: Any) -> Behaviour:
    """A completion with this text; what is no text is written as JSON."""
    text = content if isinstance(content, str) or content is None else json.dumps(content)
    return raw(response(completion(text, **members)))


def fails(status: str, body: bytes = b'{"error": {"message": "no"}}', **headers: str) -> Behaviour:
    return raw(response(body, status, **headers))


def refuses(parameter: str) -> Behaviour:
    """A 400 that names a parameter, as servers do it."""
    message = f"Unsupported parameter: '{parameter}' is not supported with this model."
    return fails("400 Bad Request", json.dumps({"error": {"message": message, "param": parameter}}).encode())


def dribbles(data: bytes, pause_s: float) -> Behaviour:
    async def answer(_: Asked, writer: Writer) -> None:
        for byte in data:
            writer.write(bytes([byte]))
            await writer.drain()
            await asyncio.sleep(pause_s)

    return answer


async def stays_silent(_: Asked, writer: Writer) -> None:
    await writer.wait_closed()


async def floods_headers(_: Asked, writer: Writer) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\n")
    for number in range(200_000):
        writer.write(f"X-{number}: {'x' * 100}\r\n".encode())
        await writer.drain()


async def streams_without_end(_: Asked, writer: Writer) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        writer.write(b"10000\r\n" + b" " * 0x10000 + b"\r\n")
        await writer.drain()


def gzip_bomb() -> bytes:
    """64 MiB in about 64 KiB, in spite of what was asked for."""
    return response(gzip.compress(b" " * (64 * 1024 * 1024)), Content_Encoding="gzip")


def redirect(location: str) -> Behaviour:
    return raw(response(b"", "307 Temporary Redirect", Location=location))
