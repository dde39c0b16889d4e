"""A request as it came in: what `listen` gets from its socket and `verify` from a file."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class CapturedRequest:
    """Method, target of the request line (`/hook?a=b`), header fields in order of arrival, and the body's bytes.

    `received_at` is when it came, where that is known. `declared_length` and the length of `body` differ in a capture
    that was cut off or edited.
    """

    method: str
    target: str
    fields: tuple[tuple[str, str], ...]
    body: bytes
    received_at: datetime | None = None

    def field(self, name: str) -> str | None:
        """The value of a field, None without it. Lines of the same name are one list (RFC 9110 section 5.3)."""
        values = [value.strip(" \t") for key, value in self.fields if key.lower() == name.lower()]
        return ", ".join(values) if values else None

    @property
    def declared_length(self) -> int | None:
        """What Content-Length says, if it says a number."""
        text = self.field("content-length") or ""
        return int(text) if text.isascii() and text.isdigit() else None
