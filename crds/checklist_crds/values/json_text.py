"""JSON to and from the Kubernetes API and REST clients, by the fastest library for it, with Python's own behind it."""

import json
import re
from typing import Any, Final

import orjson

MOST_NESTED: Final = 200
"""Far more than anything of ours has; the parsers here take a thousand levels, and the Kubernetes API ten thousand."""
_NESTING: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}]', re.DOTALL)


def to_json(document: Any) -> bytes:
    """Compact, in UTF-8. Raises ValueError for what is no JSON."""
    try:
        return orjson.dumps(document)
    except TypeError:
        # An integer of more than 64 bits, which JSON knows and orjson does not.
        # Or something nested deeper than orjson goes.
        try:
            return json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
        except RecursionError:
            raise ValueError("it is nested too deep") from None


def from_json(text: bytes | str) -> Any:
    """Raises ValueError for what is no JSON in UTF-8."""
    return orjson.loads(text)


def from_cluster_json(text: bytes) -> Any:
    """The same for what the Kubernetes API says, where a free field may be nested deeper than a parser goes:
    null stands for what is too deep, so that the object is read, and refused by its validation."""
    try:
        return orjson.loads(text)
    except ValueError:
        return orjson.loads(without_the_deepest(text))


def without_the_deepest(text: bytes) -> bytes:
    """JSON with null in place of every list and object that is nested deeper than MOST_NESTED."""
    kept, start, depth = list[bytes](), 0, 0
    for token in _NESTING.finditer(text):
        sign = token[0][:1]
        if sign in (b"[", b"{"):
            depth += 1
            if depth == MOST_NESTED + 1:
                kept += text[start : token.start()], b"null"
        elif sign != b'"':
            depth -= 1
            if depth == MOST_NESTED:
                start = token.end()
    return b"".join((*kept, text[start:]))
