"""Values that may change at runtime because they come from files: ask for them at each use.

Key rings and server keys (`checklist_crds.secrets.sealing`) also have `renew`, which takes the new content of the file,
or raises ValueError and changes nothing.
"""

import re
import ssl
from collections.abc import Callable
from typing import Final, Protocol

_ASCII: Final = re.compile(r"[!-~]{1,4096}")
_LONGEST: Final = 4096


class Renewable(Protocol):
    """A value read from a file."""

    def renew(self, text: str) -> None:
        """Raises ValueError, which repeats nothing of the text, and then changes nothing."""
        ...


def any_secret(text: str) -> str:
    """Returns one line of any text. Raises ValueError."""
    text = text.strip()
    if not text or len(text) > _LONGEST or any(character < " " for character in text):
        raise ValueError("must be one line of text")
    return text


def ascii_secret(text: str) -> str:
    """Returns text that is valid in an HTTP header. Raises ValueError."""
    text = text.strip()
    if _ASCII.fullmatch(text) is None:
        raise ValueError("must hold one line of ASCII without spaces")
    return text


class SecretText:
    """A password or key for another service. Its text is in `current`, but not in the repr."""

    __slots__ = ("_check", "_text")

    def __init__(self, text: str, check: Callable[[str], str] = any_secret) -> None:
        """Raises ValueError, which repeats nothing of the text."""
        self._check = check
        self._text = check(text)

    @classmethod
    def ascii(cls, text: str) -> "SecretText":
        return cls(text, ascii_secret)

    @property
    def current(self) -> str:
        return self._text

    def renew(self, text: str) -> None:
        self._text = self._check(text)

    def __repr__(self) -> str:
        return "SecretText(...)"


class Certificates:
    """Certificate authorities (PEM) to verify other servers."""

    __slots__ = ("_context", "_pem")

    def __init__(self, pem: str) -> None:
        """Raises ValueError."""
        self._pem = _checked(pem)
        self._context: ssl.SSLContext | None = None

    @property
    def pem(self) -> str:
        return self._pem

    def context(self, make: Callable[[str], ssl.SSLContext] | None = None) -> ssl.SSLContext:
        """Returns a context that trusts them; cached until they change. `make`: creates it from PEM, by default
        trusting no others.

        Open connections keep their context, so pass it with each request.
        """
        if self._context is None:
            self._context = make(self._pem) if make is not None else ssl.create_default_context(cadata=self._pem)
        return self._context

    def renew(self, text: str) -> None:
        self._pem = _checked(text)
        self._context = None

    def __repr__(self) -> str:
        return "Certificates(...)"


def _checked(pem: str) -> str:
    # Bundles contain names of authorities between certificates, in any encoding.
    pem = pem.encode("ascii", "replace").decode()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        context.load_verify_locations(cadata=pem)
    except (ssl.SSLError, ValueError):
        raise ValueError("must hold certificates in PEM") from None
    if not context.cert_store_stats()["x509"]:
        raise ValueError("must hold certificates in PEM")
    return pem
