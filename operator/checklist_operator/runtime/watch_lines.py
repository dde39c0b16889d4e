"""Removes too deeply nested values from lines of Kopf's watches.

Kopf parses each line with Python's own parser, which raises RecursionError at about a thousand levels of nesting and
ends Kopf with all its watches, again after each restart. The Kubernetes API accepts ten thousand levels in a free-form
field.
"""

import json
from collections.abc import AsyncIterator
from typing import Any, Final

import aiohttp

from checklist_crds.values.json_text import without_deep_values

_PARSED_BY_ANYTHING: Final = 500
"""Number of brackets below which Python parses a line at any stack depth."""


class WatchResponse(aiohttp.ClientResponse):
    """For `aiohttp.ClientSession(response_class=...)`."""

    async def start(self, connection: Any) -> "WatchResponse":
        await super().start(connection)
        self.content: Any = _Lines(self.content)
        return self


class _Lines:
    """The part of aiohttp.StreamReader that Kopf and aiohttp use."""

    def __init__(self, reader: aiohttp.StreamReader) -> None:
        self._reader = reader

    def __getattr__(self, name: str) -> Any:
        return getattr(self._reader, name)

    async def iter_chunked(self, size: int) -> AsyncIterator[bytes]:
        """Yields whole lines; the last one may be incomplete."""
        rest = b""
        async for chunk in self._reader.iter_chunked(size):
            *lines, rest = (rest + chunk).split(b"\n")
            if lines:
                yield b"".join(_readable(line) + b"\n" for line in lines)
        if rest:
            yield _readable(rest)


def _readable(line: bytes) -> bytes:
    if line.count(b"[") + line.count(b"{") < _PARSED_BY_ANYTHING:
        return line
    try:
        json.loads(line)  # deeper in the stack than Kopf, which therefore parses what this parses
    except RecursionError:
        return without_deep_values(line)
    except ValueError:
        pass  # an incomplete line, which Kopf reports
    return line
