"""Lines of Kopf's watches that Kopf can read.

Kopf parses each line with Python's own parser, which raises RecursionError for about a thousand levels of nesting. That
ends Kopf with all of its watches, and again at each new start, while the Kubernetes API takes ten thousand levels in a
field of any shape. So what is nested too deep is taken out of a line before Kopf has it.
"""

import json
from collections.abc import AsyncIterator
from typing import Any, Final

import aiohttp

from checklist_crds.values.json_text import without_the_deepest

_PARSED_BY_ANYTHING: Final = 500
"""Brackets. A line with fewer is not nested too deep for Python, wherever it is parsed."""


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
        """Whole lines, but for a last one without an end."""
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
        json.loads(line)  # deeper in the stack than Kopf, which therefore can what this can
    except RecursionError:
        return without_the_deepest(line)
    except ValueError:
        pass  # half a line: Kopf says so
    return line
