"""Secrets to look for, in every form in which they could be written."""

import base64
import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import quote


@dataclass(frozen=True)
class Needle:
    """A secret. A part of it of 12 bytes is a find, too: nothing is cut short in a log by luck."""

    name: str
    secret: bytes
    digest_is_public: bool = False
    """Whether its SHA-256 may be seen: of a key with 256 random bits it tells nothing."""

    @classmethod
    def text(cls, name: str, secret: str) -> "Needle":
        return cls(name, secret.encode())

    def forms(self) -> set[bytes]:
        """Plain, in base64 of either alphabet at any offset, hexadecimal, escaped, and as an unsalted digest."""
        forms = set(_pieces(self.secret))
        forms |= {form for piece in _pieces(self.secret) for form in _base64_forms(piece)}
        forms |= {self.secret.hex().encode(), self.secret.hex().upper().encode()}
        forms |= {quote(self.secret, safe="").encode(), repr(self.secret)[2:-1].encode(), self.secret[::-1]}
        for algorithm in () if self.digest_is_public else ("sha256", "sha1", "md5"):
            digest = hashlib.new(algorithm, self.secret).digest()
            forms |= {digest, digest.hex().encode(), base64.b64encode(digest), base64.urlsafe_b64encode(digest)}
        try:
            text = self.secret.decode()
        except UnicodeDecodeError:
            return forms
        return forms | {json.dumps(text)[1:-1].encode(), repr(text)[1:-1].encode(), text.encode("utf-16-le")}

    def found_in(self, haystack: bytes) -> list[bytes]:
        """The forms that are there, with what stands around them."""
        found = []
        for form in self.forms():
            at = haystack.find(form)
            if at >= 0:
                found.append(haystack[max(0, at - 60) : at + len(form) + 20])
        return found


def _pieces(secret: bytes, length: int = 12) -> Iterable[bytes]:
    if len(secret) <= length:
        return [secret]
    middle = (len(secret) - length) // 2
    return [secret[:length], secret[middle : middle + length], secret[-length:]]


def _base64_forms(piece: bytes) -> Iterable[bytes]:
    """What `piece` looks like inside a longer text in base64, whatever stands before and behind it."""
    for offset in range(3):
        encoded = base64.b64encode(bytes(offset) + piece).rstrip(b"=")
        inner = encoded[-(-offset * 8 // 6) : -1]
        yield inner
        yield inner.replace(b"+", b"-").replace(b"/", b"_")
