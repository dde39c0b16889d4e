"""Receivers whose TLS is wrong, each with the verdict that it must get and a word of its detail."""

import asyncio
import socket
import ssl
import struct
import warnings
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from functools import partial

from tests.delivery.authority import Authority
from tests.delivery.hostile import Behave, Hostile, closes_at_once, read_until_end, reset, says

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
_answers_ok = says(OK)


def _session(
    context: Callable[[Authority], ssl.SSLContext], verdict: str = "tls", detail: str = "", behave: Behave = _answers_ok
) -> Hostile:
    """`behave` is what the receiver does inside the session, if one comes about."""
    return Hostile(behave, verdict, detail=detail, context=context)


def _certificate(detail: str, **options: object) -> Hostile:
    return _session(lambda authority: authority.server_context(**options), "tls", detail)


def _old(version: ssl.TLSVersion, authority: Authority) -> ssl.SSLContext:
    context = authority.server_context()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        context.minimum_version = context.maximum_version = version
    context.set_ciphers("ALL:@SECLEVEL=0")
    return context


def _asks_for_our_certificate(authority: Authority) -> ssl.SSLContext:
    context = authority.server_context()
    context.maximum_version = ssl.TLSVersion.TLSv1_2  # where that is part of the handshake
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(cadata=authority.pem)
    return context


def _knows_no_such_name(authority: Authority) -> ssl.SSLContext:
    context = authority.server_context()
    context.sni_callback = lambda *_: ssl.ALERT_DESCRIPTION_UNRECOGNIZED_NAME
    return context


def _speaks_only_http2(authority: Authority) -> ssl.SSLContext:
    context = authority.server_context()
    context.set_alpn_protocols(["h2"])
    return context


def _has_no_cipher_of_ours(authority: Authority) -> ssl.SSLContext:
    context = authority.server_context()
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers("aNULL:@SECLEVEL=0")
    return context


async def _resets(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(1)
    reset(writer)


async def _breaks_the_session(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Writes bytes that are no TLS beneath the session."""
    await reader.read(1)
    duplicate = writer.get_extra_info("socket").dup()
    with suppress(OSError), duplicate:
        duplicate.send(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    await read_until_end(reader)


async def _ends_without_notice(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A complete answer, and then the end of the connection without the end of the session."""
    await reader.read(1)
    writer.write(b"HTTP/1.1 200 OK\r\n\r\nsome")
    await writer.drain()
    duplicate = writer.get_extra_info("socket").dup()
    with suppress(OSError), duplicate:
        duplicate.shutdown(socket.SHUT_WR)
    await read_until_end(reader)


def _answers(raw: bytes, *, then_reset: bool = False, every_s: float = 0) -> Behave:
    async def behave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        for byte in raw if every_s else b"":
            writer.write(bytes((byte,)))
            await asyncio.sleep(every_s)
        writer.write(raw)
        await writer.drain()
        reset(writer) if then_reset else writer.close()

    return behave


async def _floods(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Records of a handshake that never ends."""
    while not writer.is_closing():
        writer.write((b"\x16\x03\x03" + struct.pack("!H", 16_000) + b"\x02\xff\xff\xff" + bytes(15_996)) * 8)
        await writer.drain()
        await asyncio.sleep(0)


_HANDSHAKES: dict[str, Hostile] = {
    "no TLS at all": Hostile(_answers(b"HTTP/1.1 400 Bad Request\r\n\r\n"), "tls"),
    "an alert": Hostile(_answers(b"\x15\x03\x03\x00\x02\x02\x28"), "tls"),
    "half a record": Hostile(_answers(b"\x16\x03\x03"), "tls"),
    "nothing": Hostile(_answers(b""), "tls"),
    "a reset": Hostile(_answers(b"\x16\x03\x03", then_reset=True), "tls"),
    "silence": Hostile(lambda reader, _: read_until_end(reader), "timeout", 5),
    "a dribble": Hostile(_answers(b"\x16\x03\x03\x40\x00\x02" + bytes(16_000), every_s=1), "timeout", 5),
    "a flood": Hostile(_floods, "tls"),
}

TLS: dict[str, Hostile] = {
    "expired": _certificate("certificate has expired", ends=timedelta(days=-1)),
    "not yet valid": _certificate("certificate is not yet valid", starts=timedelta(days=1)),
    "self-signed": _certificate("self-signed certificate", own=True),
    "for another host": _certificate("Hostname mismatch", host="other.example"),
    "for a host above": _certificate("Hostname mismatch", host="example"),
    "for every host": _certificate("Hostname mismatch", host="*"),
    "for every host of a registry": _certificate("Hostname mismatch", host="*.example"),
    "with a certificate of a megabyte": _certificate("", padding=1_000_000),
    "TLS 1.0": _session(partial(_old, ssl.TLSVersion.TLSv1)),
    "TLS 1.1": _session(partial(_old, ssl.TLSVersion.TLSv1_1)),
    "without a cipher of ours": _session(_has_no_cipher_of_ours),
    "that knows no such name": _session(_knows_no_such_name),
    "that wants our certificate": _session(_asks_for_our_certificate),
    "that would rather speak HTTP/2": _session(_speaks_only_http2, "success"),
    "that closes after the handshake": _session(Authority.server_context, "protocol", "", closes_at_once),
    "that resets after the handshake": _session(Authority.server_context, "protocol", "", _resets),
    "that breaks its session": _session(Authority.server_context, "tls", "the TLS session broke", _breaks_the_session),
    "that ends without notice": _session(Authority.server_context, "success", "", _ends_without_notice),
    # -- by what is said to our first message
    **_HANDSHAKES,
}
