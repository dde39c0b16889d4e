"""Encodes and decodes JSON with orjson, and with Python's library for what it does not support."""

import json
import re
from typing import Any, Final

import orjson

JsonObject = dict[str, Any]

MOST_NESTED: Final = 200
"""Far more than our own objects need; parsers accept about a thousand levels, the Kubernetes API ten thousand."""
_NESTING: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}]', re.DOTALL)


def to_json(document: Any) -> bytes:
    """Encodes compactly in UTF-8. Raises ValueError for what is not JSON."""
    try:
        return orjson.dumps(document)
    except TypeError:
        # An integer of more than 64 bits, which orjson does not support, or deeper nesting than it allows.
        try:
            return json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
        except RecursionError:
            raise ValueError("it is nested too deep") from None


def stored_size(document: Any) -> int:
    """Returns the number of bytes of the document in etcd: the Kubernetes API encodes it with Go's encoder, which
    writes each of `<`, `>`, `&` and the two line separators of Unicode as six characters."""
    text = to_json(document)
    marks = sum(map(text.count, (b"<", b">", b"&")))
    separators = sum(map(text.count, ("\u2028".encode(), "\u2029".encode())))
    return len(text) + 5 * marks + 3 * separators


def from_json(text: bytes | str) -> Any:
    """Raises ValueError for what is not JSON in UTF-8."""
    return orjson.loads(text)


def from_cluster_json(text: bytes) -> Any:
    """Decodes JSON from the Kubernetes API, where a free-form field may be nested deeper than a parser allows. Too deep
    values become null, so that the object can be read, and its validation refuses it."""
    try:
        return orjson.loads(text)
    except ValueError:
        return orjson.loads(without_deep_values(text))


def without_deep_values(text: bytes) -> bytes:
    """Replaces every list and object nested deeper than MOST_NESTED by null."""
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
