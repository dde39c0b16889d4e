"""JSON to and from the Kubernetes API and REST clients, by the fastest library for it, with Python's own behind it."""

import json
from typing import Any

import orjson


def to_json(document: Any) -> bytes:
    """Compact, in UTF-8. Raises ValueError for what is no JSON."""
    try:
        return orjson.dumps(document)
    except TypeError:
        # An integer of more than 64 bits, which JSON knows and orjson does not.
        return json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def from_json(text: bytes | str) -> Any:
    """Raises ValueError for what is no JSON in UTF-8."""
    return orjson.loads(text)
