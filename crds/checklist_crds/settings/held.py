"""Values that may change while a program runs, because they come from files: whoever uses one asks for it each time.

Key rings and server keys (`checklist_crds.secrets.sealing`) are of the same kind: all of them have `renew`, which
takes the new content of the file or raises ValueError and stays as it was.
"""

import re
import ssl
from collections.abc import Callable
from typing import Final, Protocol

_ASCII: Final = re.compile(r"[!-~]{1,4096}")
_LONGEST: Final = 4096


class Renewable(Protocol):
    """Something that a file holds."""

    def renew(self, text: str) -> None:
        """Raises ValueError, which repeats nothing of the text; then nothing has changed."""
        ...


def any_secret(text: str) -> str:
    """One line of any text. Raises ValueError."""
    text = text.strip()
    if not text or len(text) > _LONGEST or any(character < " " for character in text):
        raise ValueError("must be one line of text")
    return text


def ascii_secret(text: str) -> str:
    """What can be in an HTTP header. Raises ValueError."""
    text = text.strip()
    if _ASCII.fullmatch(text) is None:
        raise ValueError("must hold one line of ASCII without spaces")
    return text


class SecretText:
    """A password or a key that others gave us. Its text is in `current`, and in no repr."""

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
    """Authorities in PEM that somebody else's certificate is checked against."""

    __slots__ = ("_context", "_pem")

    def __init__(self, pem: str) -> None:
        """Raises ValueError."""
        self._pem = _checked(pem)
        self._context: ssl.SSLContext | None = None

    @property
    def pem(self) -> str:
        return self._pem

    def context(self, make: Callable[[str], ssl.SSLContext] | None = None) -> ssl.SSLContext:
        """A context that trusts them; the same one until they change. `make`: from PEM, by default with nobody else.

        Connections that are kept open stay under the context that they were made with, so give it to each request.
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
    # Bundles have names of authorities between their certificates, in whatever characters these need.
    pem = pem.encode("ascii", "replace").decode()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        context.load_verify_locations(cadata=pem)
    except (ssl.SSLError, ValueError):
        raise ValueError("must hold certificates in PEM") from None
    if not context.cert_store_stats()["x509"]:
        raise ValueError("must hold certificates in PEM")
    return pem
