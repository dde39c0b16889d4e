"""A DNS server of the tests: real packets over UDP and TCP on loopback, with answers that a test changes at will."""

import asyncio
import struct
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final, Self

import dns.exception
import dns.flags
import dns.message
import dns.rcode
import dns.rdatatype
import dns.rrset

from checklist_dev.system.ports import free_ports


@dataclass(frozen=True)
class Reply:
    """What is said about a name: addresses of both families, from which the question takes its own.

    `silent`: nothing is said at all. `alias`: the name is a CNAME of this one, to which the addresses belong.
    `truncated`: over UDP only that the answer is too long. `raw`: these bytes after the two of the id.
    """

    addresses: tuple[str, ...] = ()
    ttl: int = 0
    rcode: str = "NOERROR"
    alias: str | None = None
    silent: bool = False
    truncated: bool = False
    raw: bytes | None = None


_PORTS_TO_TRY: Final = 20

NXDOMAIN = Reply(rcode="NXDOMAIN")
SILENCE = Reply(silent=True)


def addresses(*texts: str) -> Reply:
    return Reply(texts)


@dataclass
class NameServer:
    """`answer(name, type)` is called for every question; `asked` has them all, names without the final dot."""

    answer: Callable[[str, str], Reply] = lambda name, kind: NXDOMAIN
    asked: list[tuple[str, str]] = field(default_factory=list)
    port: int = 0

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    async def __aenter__(self) -> Self:
        if self.port:
            await self._listen(self.port)
            return self
        # A port the system hands out for TCP may be in use for UDP, by any resolver that waits for its answer.
        for port in free_ports(_PORTS_TO_TRY):
            try:
                await self._listen(port)
            except OSError:
                continue
            self.port = port
            return self
        raise OSError(f"none of {_PORTS_TO_TRY} ports is free for both TCP and UDP")

    async def _listen(self, port: int) -> None:
        self._tcp = await asyncio.start_server(self._serve_tcp, "127.0.0.1", port)
        try:
            self._udp, _ = await asyncio.get_running_loop().create_datagram_endpoint(
                lambda: _Datagrams(self), local_addr=("127.0.0.1", port)
            )
        except OSError:
            self._tcp.close()
            raise

    async def __aexit__(self, *_: object) -> None:
        self._udp.close()
        self._tcp.close()

    def reply_to(self, question: bytes, *, over_udp: bool) -> bytes | None:
        try:
            message = dns.message.from_wire(question)
        except dns.exception.DNSException:
            return None
        name = message.question[0].name
        kind = dns.rdatatype.to_text(message.question[0].rdtype)
        text = name.to_text(omit_final_dot=True).lower()
        self.asked.append((text, kind))
        reply = self.answer(text, kind)
        if reply.silent:
            return None
        if reply.raw is not None:
            return question[:2] + reply.raw
        response = dns.message.make_response(message)
        response.flags |= dns.flags.RA
        response.set_rcode(dns.rcode.from_text(reply.rcode))
        if reply.truncated and over_udp:
            response.flags |= dns.flags.TC
            return response.to_wire()
        if reply.alias is not None:
            response.answer.append(dns.rrset.from_text(name, reply.ttl, "IN", "CNAME", f"{reply.alias}."))
            name = response.answer[0][0].target
        of_this_kind = [text for text in reply.addresses if (":" in text) == (kind == "AAAA")]
        if kind in ("A", "AAAA") and of_this_kind:
            response.answer.append(dns.rrset.from_text(name, reply.ttl, "IN", kind, *of_this_kind))
        return response.to_wire(max_size=65_535)

    async def _serve_tcp(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                (length,) = struct.unpack("!H", await reader.readexactly(2))
                if (reply := self.reply_to(await reader.readexactly(length), over_udp=False)) is not None:
                    writer.write(struct.pack("!H", len(reply)) + reply)
        writer.close()


class _Datagrams(asyncio.DatagramProtocol):
    def __init__(self, server: NameServer) -> None:
        self._server = server

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: asyncio.DatagramTransport = transport  # type: ignore[assignment]

    def datagram_received(self, data: bytes, address: tuple[str, int]) -> None:
        if (reply := self._server.reply_to(data, over_udp=True)) is not None:
            self._transport.sendto(reply, address)
