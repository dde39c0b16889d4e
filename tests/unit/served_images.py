"""What an image that is served may consist of, read from its bytes and not with a library."""

import struct
from pathlib import Path

_JPEG_PARTS = {0xE0, 0xDB, 0xC0, 0xC4, 0xDA}
_PNG_PARTS = {b"IHDR", b"IDAT", b"IEND"}
_WEBP_PARTS = {b"VP8 ", b"VP8L", b"VP8X", b"ALPH"}


def assert_nothing_but_pixels(path: Path, content_type: str) -> None:
    """Only the parts that a decoder needs, and not a byte behind the last of them."""
    whole = path.read_bytes()
    {"image/jpeg": _jpeg, "image/png": _png, "image/webp": _webp}[content_type](whole)


def _jpeg(whole: bytes) -> None:
    at = 2
    assert whole[:2] == b"\xff\xd8"
    while whole[at + 1] != 0xDA:
        assert whole[at] == 0xFF
        assert whole[at + 1] in _JPEG_PARTS, hex(whole[at + 1])
        at += 2 + struct.unpack_from(">H", whole, at + 2)[0]
    # In the data of a scan, 0xFF is followed by 0 or a restart marker; the first other marker is the end.
    end = at + 2
    while whole[end] != 0xFF or whole[end + 1] in {0, *range(0xD0, 0xD8)}:
        end += 1
    assert whole[end + 1] == 0xD9
    assert len(whole) == end + 2


def _png(whole: bytes) -> None:
    at, kind = 8, b""
    while at < len(whole):
        length, kind = struct.unpack_from(">I4s", whole, at)
        assert kind in _PNG_PARTS, kind
        at += 12 + length
    assert kind == b"IEND"
    assert at == len(whole)


def _webp(whole: bytes) -> None:
    assert struct.unpack_from("<I", whole, 4)[0] + 8 == len(whole)
    at = 12
    while at < len(whole):
        kind, length = struct.unpack_from("<4sI", whole, at)
        assert kind in _WEBP_PARTS, kind
        at += 8 + length + length % 2
    assert at == len(whole)
