"""What a socket received is verified by implementations that are not ours, and nothing else is.

Four of other people (three of npm, one of Go) and the three examples of the receiver guide judge the raw bytes.
"""

import asyncio
import json
import random
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.signatures.flips import FIELDS, flipped, parts_of
from tests.signatures.judges import ALL, EXAMPLES, OTHERS, Case, Verdicts, judge
from tests.signatures.recording import deliver
from tests.unit.test_webhook_url import odd_urls

from checklist_crds.webhook_url import canonical_url
from checklist_dev.verifiers import Programs
from checklist_dev.webhook_vectors.requests import Request
from checklist_dev.webhook_vectors.urls import CANONICAL
from checklist_operator.delivery.outcome import OutcomeClass

SECRET = "a secret of sixteen"
BODY = json.dumps({"event_id": "evt-1", "delivery_attempt": 1, "data": {"note": '☃ "quoted"'}}).encode()
WITH_A_CLOCK = OTHERS - {"@misskey-dev/node-http-message-signatures"}
ADDRESS = "//127.0.0.1"
NO_DIGEST = {"http-message-signatures", "http-message-sig"}
"""They know Content-Digest as a field that is signed, and leave the body to their user."""


def refused_by_none(verdicts: Verdicts) -> bool:
    return set(verdicts) == ALL and all(verdict.accepted for verdict in verdicts.values())


async def recorded(urls: list[str], folder: Path, *, secret: str = SECRET, body: bytes = BODY) -> list[Case]:
    """Real deliveries, as the receiver of each URL got them."""
    delivered = await deliver(urls, body, secret, folder)
    assert [one.outcome.outcome_class for one in delivered] == [OutcomeClass.SUCCESS] * len(urls)
    cases = []
    for url, one in zip(urls, delivered, strict=True):
        host = next(line[6:].decode() for line in one.raw.split(b"\r\n") if line.lower().startswith(b"host: "))
        # An address is dialled at the port that listens, and that is what was configured then.
        configured = url if ADDRESS not in url else url.replace(url.split("/")[2], host)
        cases.append(Case(configured, secret, one.raw))
    return cases


async def test_every_verifier_accepts_what_a_socket_received_for_more_than_sixty_urls(
    programs: Programs, tmp_path: Path
) -> None:
    cases = await recorded(CANONICAL, tmp_path)
    assert len({case.url for case in cases}) >= 60
    refused = {
        case.url: verdicts
        for case, verdicts in zip(cases, judge(programs, cases), strict=True)
        if not refused_by_none(verdicts)
    }
    assert refused == {}


@dataclass(frozen=True)
class Flip:
    """One bit of `part` flipped, `from_end` bytes before its end, and what became of it."""

    part: str
    from_end: int
    verdicts: Verdicts


@pytest.fixture(scope="module")
def every_flip(programs: Programs, tmp_path_factory: pytest.TempPathFactory) -> list[Flip]:
    """Each bit of all that is protected in one real delivery, flipped on its own."""
    url = "https://hooks.example.com/a%2Fb/it%27s?q=1&r"
    (genuine,) = asyncio.run(recorded([url], tmp_path_factory.mktemp("flips"), body=b'{"event_id":"evt-1"}'))
    flips = [(part, bit) for part in parts_of(genuine.raw) for bit in part.bits]
    cases = [Case(genuine.url, genuine.secret, flipped(genuine.raw, bit)) for _, bit in flips]
    untouched, *judged = judge(programs, [genuine, *cases])
    assert refused_by_none(untouched)
    return [Flip(part.name, part.end - bit // 8, verdicts) for (part, bit), verdicts in zip(flips, judged, strict=True)]


def test_every_single_flipped_bit_of_what_is_protected_is_refused_by_every_verifier(every_flip: list[Flip]) -> None:
    assert {flip.part for flip in every_flip} == {"method", "target", *FIELDS, "body"}
    assert len(every_flip) > 3000
    accepted = [
        (flip.part, flip.from_end, name)
        for flip in every_flip
        for name, verdict in flip.verdicts.items()
        if verdict.accepted
    ]
    assert accepted == []


@pytest.mark.parametrize("library", sorted(OTHERS))
def test_of_all_flips_a_library_alone_misses_only_the_body_and_a_second_spelling_of_the_same_signature(
    every_flip: list[Flip], library: str
) -> None:
    """What the guide says that a receiver has to check itself; all else is refused without any rule of ours."""
    missed = [flip for flip in every_flip if flip.verdicts[library].library is None]
    for flip in missed:
        # The 43rd character of base64 carries two bits that belong to no byte; the 44th carries none at all.
        is_spelling = flip.part == "Signature" and flip.from_end in {2, 3}
        assert is_spelling or (flip.part == "body" and library in NO_DIGEST), flip
    if library in NO_DIGEST:
        assert {flip.part for flip in missed} >= {"body"}


@pytest.mark.parametrize("example", sorted(EXAMPLES))
def test_the_examples_need_no_rule_around_them(every_flip: list[Flip], example: str) -> None:
    assert [flip for flip in every_flip if flip.verdicts[example].library is None] == []


async def test_a_flipped_bit_in_each_part_of_each_url_is_refused_by_every_verifier(
    programs: Programs, tmp_path: Path
) -> None:
    genuine = await recorded(CANONICAL, tmp_path)
    source = random.Random(9421)
    flips = [(case, part, source.choice(part.bits)) for case in genuine for part in parts_of(case.raw)]
    cases = [Case(case.url, case.secret, flipped(case.raw, bit), case.now) for case, _, bit in flips]
    accepted = [
        (case.url, part.name, bit % 8, name)
        for (case, part, bit), verdicts in zip(flips, judge(programs, cases), strict=True)
        for name, verdict in verdicts.items()
        if verdict.accepted
    ]
    assert accepted == []


def test_every_verifier_accepts_three_hundred_urls_thrown_together_from_odd_pieces(programs: Programs) -> None:
    urls = sorted({canonical_url(url, allow_insecure=True) for url in odd_urls(600)})
    requests = [Request.signed(url) for url in urls]
    cases = [Case(request.url, request.secret, request.raw(), request.now) for request in requests]
    refused = [
        case.url for case, verdicts in zip(cases, judge(programs, cases), strict=True) if not refused_by_none(verdicts)
    ]
    assert refused == []
    assert len(urls) >= 300


@pytest.mark.parametrize(
    ("ago_s", "expires_s"),
    [(400, 300), (400, 0), (-400, 300), (100, 60)],
    ids=["old", "old for ever", "new", "expired"],
)
def test_libraries_with_a_clock_refuse_by_it_what_is_not_of_now(programs: Programs, ago_s: int, expires_s: int) -> None:
    def signed(ago_s: int, expires_s: int) -> Case:
        request = Request.signed(created=int(time.time()) - ago_s, expires_s=expires_s)
        return Case(request.url, request.secret, request.raw())

    now, then = judge(programs, [signed(0, 300), signed(ago_s, expires_s)])
    assert refused_by_none(now)
    assert not any(verdict.accepted for verdict in then.values())
    assert [name for name in WITH_A_CLOCK if then[name].library is None] == []
