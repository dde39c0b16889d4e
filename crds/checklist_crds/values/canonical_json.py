"""Canonical JSON (RFC 8785), so that others can compute the same digest of a document."""

import json
from decimal import Decimal
from typing import Any


def canonical_json(document: Any) -> bytes:
    """Encodes with sorted names, no spaces, ECMAScript numbers, UTF-8. Raises ValueError for NaN and infinities."""
    return _write(document).encode()


def _write(value: Any) -> str:
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: name.encode("utf-16-be"))
        return "{" + ",".join(f"{_text(name)}:{_write(value[name])}" for name in names) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(_write, value)) + "]"
    if isinstance(value, float):
        return _number(value)
    return _text(value)


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _number(number: float) -> str:
    """Formats like ECMAScript's Number::toString, with the same shortest digits as Python's repr."""
    shortest = json.dumps(number, allow_nan=False)
    if number == 0:
        return "0"
    sign, digits, exponent = Decimal(shortest).normalize().as_tuple()
    assert isinstance(exponent, int)  # noqa: S101 - for the type checker: the number is finite
    text = "".join(map(str, digits))
    point = len(text) + exponent
    if exponent >= 0 and point <= 21:
        written = text + "0" * exponent
    elif 0 < point <= 21:
        written = f"{text[:point]}.{text[point:]}"
    elif -6 < point <= 0:
        written = f"0.{'0' * -point}{text}"
    else:
        fraction = f".{text[1:]}" if len(text) > 1 else ""
        written = f"{text[0]}{fraction}e{'+' if point > 0 else '-'}{abs(point - 1)}"
    return f"-{written}" if sign else written
