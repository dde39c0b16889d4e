"""A request as received by `listen` or read from a file by `verify`."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class CapturedRequest:
    """Method, target of the request line (`/hook?a=b`), header fields in order of arrival, and the body's bytes.

    `received_at`: None if unknown. `declared_length` differs from the length of `body` if the capture was truncated or
    edited.
    """

    method: str
    target: str
    fields: tuple[tuple[str, str], ...]
    body: bytes
    received_at: datetime | None = None

    def field(self, name: str) -> str | None:
        """The value of a field, or None. Fields of the same name are joined as a list (RFC 9110 section 5.3)."""
        values = [value.strip(" \t") for key, value in self.fields if key.lower() == name.lower()]
        return ", ".join(values) if values else None

    @property
    def declared_length(self) -> int | None:
        """The value of Content-Length, if it is a number."""
        text = self.field("content-length") or ""
        return int(text) if text.isascii() and text.isdigit() else None
