"""All verifiers agree on what is genuine: a request is accepted by every one of them, or by none."""

import random

from tests.signatures.judges import ALL, Case, judge

from checklist_dev.generate.webhook_vectors.requests import Request
from checklist_dev.programs.verifiers import Programs

NUMBER = 2000
PROTECTED = ("host", "content-type", "content-digest", "signature-input", "signature")
ODD_BYTES = b" \t,;=\"()\\'0aA\x7f\x80\xff:/%"


def mutated(raw: bytes, source: random.Random) -> bytes:
    """With one to three things done to the lines of the head, or to the body. Some of it means nothing in HTTP."""
    head, _, body = raw.partition(b"\r\n\r\n")
    request_line, *lines = head.split(b"\r\n")
    for _ in range(source.choice([1, 1, 1, 2, 3])):
        if source.random() < 0.1 and body:
            position = source.randrange(len(body))
            body = body[:position] + bytes([source.randrange(256)]) + body[position + 1 :]
        else:
            _change_head(lines, source)
    return b"\r\n".join([request_line, *lines]) + b"\r\n\r\n" + body


def _change_head(lines: list[bytes], source: random.Random) -> None:
    protected = [place for place, line in enumerate(lines) if line.partition(b":")[0].decode().lower() in PROTECTED]
    place = source.choice(protected)
    name, _, value = lines[place].partition(b":")
    value = value.strip(b" \t")
    at, blank = source.randrange(len(value) or 1), source.choice([b"", b"  ", b"\t "])
    match source.randrange(10):
        case 0:
            source.shuffle(lines)
        case 1:
            lines.insert(source.randrange(len(lines) + 1), b"X-Extra: 1")
        case 2:  # the field twice
            again = source.choice([value, value, b"", b"x", b",", value[:-1]])
            lines.insert(source.choice([place, place + 1, len(lines)]), name + b": " + again)
        case number:
            odd, any_byte = bytes([source.choice(ODD_BYTES)]), bytes([source.randrange(256)])
            values = (value, blank + value + blank, value + b", " + value, value.upper(), value[:at] + value[at + 1 :])
            values += (value[:at] + odd + value[at:], value[:at] + any_byte + value[at + 1 :])
            lines[place] = (name.swapcase() if number == 3 else name) + b": " + values[number - 3]


def test_what_one_verifier_accepts_all_accept_whatever_was_done_to_the_request(programs: Programs) -> None:
    request, source = Request.signed(), random.Random(20261121)
    raws = [mutated(request.raw(), source) for _ in range(NUMBER)]
    judged = judge(programs, [Case(request.url, request.secret, raw, request.now) for raw in raws])
    accepting = [frozenset(name for name, verdict in verdicts.items() if verdict.accepted) for verdicts in judged]
    torn = [(raw, sorted(some)) for raw, some in zip(raws, accepting, strict=True) if some and some != ALL]
    assert torn == []
    # Both happen often: order, spaces around a value and the case of a name mean nothing, all else does.
    assert all(accepting.count(verdict) > NUMBER // 10 for verdict in (ALL, frozenset()))
