"""A raw request with something done to it: some of it changes nothing by the rules of HTTP, most of it does."""

import random
from collections.abc import Callable

PROTECTED = ("host", "content-type", "content-digest", "signature-input", "signature")
_ODD_BYTES = b" \t,;=\"()\\'0aA\x7f\x80\xff:/%"
Lines = list[bytes]


def mutated(raw: bytes, source: random.Random) -> bytes:
    """With one to three things done to the lines of the head, or to the body."""
    head, _, body = raw.partition(b"\r\n\r\n")
    request_line, *lines = head.split(b"\r\n")
    for _ in range(source.choice([1, 1, 1, 2, 3])):
        if source.random() < 0.1 and body:
            position = source.randrange(len(body))
            body = body[:position] + bytes([source.randrange(256)]) + body[position + 1 :]
        else:
            source.choice(_CHANGES)(lines, source)
    return b"\r\n".join([request_line, *lines]) + b"\r\n\r\n" + body


def _one(lines: Lines, source: random.Random) -> tuple[int, bytes, bytes]:
    """The place of a protected field, its name, and its value."""
    places = [place for place, line in enumerate(lines) if line.partition(b":")[0].decode().lower() in PROTECTED]
    place = source.choice(places)
    name, _, value = lines[place].partition(b":")
    return place, name, value.strip(b" \t")


def _other_case_of_the_name(lines: Lines, source: random.Random) -> None:
    place, name, value = _one(lines, source)
    lines[place] = (
        bytes(source.choice([byte, byte ^ 0x20]) if byte != ord("-") else byte for byte in name) + b": " + value
    )


def _other_order(lines: Lines, source: random.Random) -> None:
    source.shuffle(lines)


def _other_spaces_around(lines: Lines, source: random.Random) -> None:
    place, name, value = _one(lines, source)
    lines[place] = name + b":" + source.choice([b"", b"  ", b"\t "]) + value + source.choice([b"", b" ", b"\t"])


def _one_more_field(lines: Lines, source: random.Random) -> None:
    lines.insert(source.randrange(len(lines) + 1), b"X-Extra: 1")


def _twice(lines: Lines, source: random.Random) -> None:
    place, name, value = _one(lines, source)
    again = source.choice([value, value, b"", b"x", b",", value[:-1]])
    lines.insert(source.choice([place, place + 1, len(lines)]), name + b": " + again)


def _value_twice(lines: Lines, source: random.Random) -> None:
    place, name, value = _one(lines, source)
    lines[place] = name + b": " + value + b", " + value


def _byte_added(lines: Lines, source: random.Random) -> None:
    place, name, value = _one(lines, source)
    position = source.randrange(len(value) + 1)
    lines[place] = name + b": " + value[:position] + bytes([source.choice(_ODD_BYTES)]) + value[position:]


def _byte_lost(lines: Lines, source: random.Random) -> None:
    place, name, value = _one(lines, source)
    position = source.randrange(len(value) or 1)
    lines[place] = name + b": " + value[:position] + value[position + 1 :]


def _byte_changed(lines: Lines, source: random.Random) -> None:
    place, name, value = _one(lines, source)
    position = source.randrange(len(value) or 1)
    lines[place] = name + b": " + value[:position] + bytes([source.randrange(256)]) + value[position + 1 :]


def _upper_case(lines: Lines, source: random.Random) -> None:
    place, name, value = _one(lines, source)
    lines[place] = name + b": " + value.upper()


_CHANGES: list[Callable[[Lines, random.Random], None]] = [
    _other_case_of_the_name,
    _other_order,
    _other_spaces_around,
    _one_more_field,
    _twice,
    _value_twice,
    _byte_added,
    _byte_lost,
    _byte_changed,
    _upper_case,
]
