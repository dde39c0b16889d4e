"""Where in a raw request the protected parts lie, and the request with one bit of them flipped."""

from dataclasses import dataclass

FIELDS = ("Host", "Content-Type", "Content-Digest", "Signature-Input", "Signature")


@dataclass(frozen=True)
class Part:
    """Bytes `start` to `end` of a raw request."""

    name: str
    start: int
    end: int

    @property
    def bits(self) -> range:
        return range(self.start * 8, self.end * 8)


def parts_of(raw: bytes) -> list[Part]:
    """Method, target, the values of the protected fields, and the body."""
    head_end = raw.index(b"\r\n\r\n")
    method_end = raw.index(b" ")
    parts = [Part("method", 0, method_end), Part("target", method_end + 1, raw.index(b" HTTP/1.1\r\n"))]
    for field in FIELDS:
        start = raw.index(f"\r\n{field}: ".encode()) + len(field) + 4
        parts.append(Part(field, start, raw.index(b"\r\n", start)))
    parts.append(Part("body", head_end + 4, len(raw)))
    return parts


def flipped(raw: bytes, bit: int) -> bytes:
    changed = bytearray(raw)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)
