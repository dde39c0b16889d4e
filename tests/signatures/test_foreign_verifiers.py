"""What a socket received is verified by implementations that are not ours, and nothing else is.

Four of other people (three of npm, one of Go), the three examples of the receiver guide and the command line judge the
raw bytes.
"""

from pathlib import Path

from tests.signatures.judges import ALL, EXAMPLES, Case, Verdicts, judge
from tests.signatures.recording import deliver

from checklist_dev.generate.webhook_vectors.requests import RUN, envelope
from checklist_dev.generate.webhook_vectors.urls import CANONICAL
from checklist_dev.programs.verifiers import Programs

SECRET = "a secret of sixteen"
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


async def test_every_verifier_accepts_what_a_socket_received_for_more_than_sixty_urls(
    programs: Programs, tmp_path: Path
) -> None:
    cases = await recorded(CANONICAL, tmp_path, envelope())
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
