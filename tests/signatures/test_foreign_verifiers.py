"""What a socket received is verified by implementations that are not ours, and nothing else is.

Four of other people (three of npm, one of Go), the three examples of the receiver guide and the command line judge the
raw bytes: a request is accepted by every one of them, or by none. Receivers remember a nonce for as long as `verify`
accepts its signature.
"""

import contextlib
import json
import random
import runpy
import subprocess
from pathlib import Path
from typing import Any

from tests.signatures.judges import ALL, EXAMPLES, Case, Verdicts, judge
from tests.signatures.published import BY_NAME, DOCUMENT, parameters_of, raw_request
from tests.signatures.recording import deliver

from checklist_dev.programs.verifiers import Programs
from checklist_dev.repository import ROOT

SECRET = "a secret of sixteen"
FIRST = BY_NAME["attempt 1"]
RUN = parameters_of(FIRST)["keyid"]
CANONICAL = [pair["canonical"] for pair in DOCUMENT["urls"]]
FIELDS = ("Host", "Content-Type", "Content-Digest", "Signature-Input", "Signature")


def refused_by_none(verdicts: Verdicts) -> bool:
    return set(verdicts) == ALL and all(verdict.accepted for verdict in verdicts.values())


async def recorded(urls: list[str], folder: Path, body: str) -> list[Case]:
    """Real deliveries, as the receiver of each URL got them."""
    cases = []
    for url, raw in zip(urls, await deliver(urls, body.encode(), SECRET, folder, key_id=RUN), strict=True):
        host = next(line[6:].decode() for line in raw.split(b"\r\n") if line.lower().startswith(b"host: "))
        # An address is dialled at the port that listens, and that is what was configured then.
        configured = url.replace(url.split("/")[2], host) if "//127.0.0.1" in url else url
        cases.append(Case(configured, SECRET, raw))
    return cases


async def test_every_verifier_accepts_received_requests(programs: Programs, tmp_path: Path) -> None:
    cases = await recorded(CANONICAL, tmp_path, FIRST["body"])
    assert len({case.url for case in cases}) >= 60
    judged = zip(cases, judge(programs, cases), strict=True)
    assert {case.url: verdicts for case, verdicts in judged if not refused_by_none(verdicts)} == {}


def parts_of(raw: bytes) -> dict[str, range]:
    """The bytes of method, target, the values of the protected fields, and the body."""
    method_end = raw.index(b" ")
    parts = {"method": range(method_end), "target": range(method_end + 1, raw.index(b" HTTP/1.1\r\n"))}
    for field in FIELDS:
        start = raw.index(f"\r\n{field}: ".encode()) + len(field) + 4
        parts[field] = range(start, raw.index(b"\r\n", start))
    return parts | {"body": range(raw.index(b"\r\n\r\n") + 4, len(raw))}


async def test_every_single_flipped_bit_of_what_is_protected_is_refused_by_every_verifier(
    programs: Programs, tmp_path: Path
) -> None:
    body = f'{{"event_id":"evt-1","delivery_attempt":1,"event":"run.completed","run_id":"{RUN}"}}'
    [genuine] = await recorded(["https://hooks.example.com/a%2Fb/it%27s?q=1&r"], tmp_path, body)
    flips = [(part, at, bit) for part, where in parts_of(genuine.raw).items() for at in where for bit in range(8)]
    raws = [genuine.raw[:at] + bytes([genuine.raw[at] ^ 1 << bit]) + genuine.raw[at + 1 :] for _, at, bit in flips]
    untouched, *judged = judge(programs, [genuine, *(Case(genuine.url, SECRET, raw) for raw in raws)])
    assert refused_by_none(untouched)
    assert len(flips) > 3000
    accepted = [
        (flip, name)
        for flip, verdicts in zip(flips, judged, strict=True)
        for name, verdict in verdicts.items()
        # The examples and the command line need no rule around them.
        if verdict.accepted or (name in EXAMPLES and verdict.library is None)
    ]
    assert accepted == []


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
    request, source = raw_request(FIRST), random.Random(20261121)
    raws = [mutated(request, source) for _ in range(NUMBER)]
    judged = judge(programs, [Case(FIRST["url"], FIRST["secret"], raw, FIRST["now"]) for raw in raws])
    accepting = [frozenset(name for name, verdict in verdicts.items() if verdict.accepted) for verdicts in judged]
    torn = [(raw, sorted(some)) for raw, some in zip(raws, accepting, strict=True) if some and some != ALL]
    assert torn == []
    # Both happen often: order, spaces around a value and the case of a name mean nothing, all else does.
    assert all(accepting.count(verdict) > NUMBER // 10 for verdict in (ALL, frozenset()))


EXAMPLE_FILES = ROOT / "examples" / "receivers"
NODE_NONCES = """
    import { readFileSync } from 'node:fs'
    const { Nonces } = await import(process.argv[1])
    const nonces = new Nonces()
    console.log(JSON.stringify(JSON.parse(readFileSync(0)).map(([nonce, now]) => nonces.isNew(nonce, now))))
"""


def test_a_nonce_is_known_for_310_seconds_and_then_forgotten(programs: Programs) -> None:
    sequence = [("a", 0), ("b", 100), ("a", 310), ("a", 311), ("b", 410), ("b", 411), ("c", 411), ("c", 411)]
    is_new = [True, True, False, True, False, True, True, False]
    nonces: Any = runpy.run_path(str(EXAMPLE_FILES / "inbox.py"))["Nonces"]()
    assert [nonces.is_new(nonce, now) for nonce, now in sequence] == is_new
    command = [
        programs.node_receiver[0],
        "--input-type=module",
        "-e",
        NODE_NONCES,
        str(EXAMPLE_FILES / "node/inbox.mjs"),
    ]
    done = subprocess.run(command, input=json.dumps(sequence), capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == is_new


def test_no_signature_is_taken_for_longer_than_its_nonce_is_known() -> None:
    """Taken at the first moment possible, a transmission is refused for its age before its nonce is forgotten."""
    verify: Any = runpy.run_path(str(EXAMPLE_FILES / "verify.py"))["verify"]
    request = BY_NAME["time: without expiry"]
    created, headers = int(parameters_of(request)["created"]), dict(request["headers"])
    taken, body = [], request["body"].encode()
    for after_s in range(-10, 400):
        with contextlib.suppress(ValueError):
            verify("POST", request["url"], headers, body, request["secret"], now=created + after_s)
            taken.append(after_s)
    assert (taken[0], taken[-1], len(taken)) == (-5, 305, 311)
