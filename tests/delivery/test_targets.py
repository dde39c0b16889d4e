"""Targets that are never reached, also by names that lead elsewhere at each lookup."""

import asyncio
import random
import ssl
from collections import Counter
from contextlib import suppress
from typing import Any

import pytest
import uvloop
from tests.delivery.authority import Authority
from tests.delivery.name_server import NameServer, Reply
from tests.delivery.name_server import addresses as leads_to
from tests.delivery.sending import INSECURE, LOOPBACK, asking, deliver, dialled_addresses
from tests.delivery.targets import ADDRESSES, LITERALS, NAMES, NOTATIONS, POLICY

from checklist_crds.resources import webhook_url
from checklist_operator.transport import addresses
from checklist_operator.transport import sender as sender_module
from checklist_operator.transport.addresses import AddressPolicy

TARGETS = [*LITERALS, *(notation.format(name) for name in NAMES for notation in NOTATIONS)]


def internal(name: str, kind: str) -> Reply:
    """Each name of NAMES leads where it says; every other one into a private network."""
    by_wire_name = {name.encode("idna").decode(): address for name, address in NAMES.items()}
    return leads_to(by_wire_name.get(name, "10.20.30.40"))


async def outcomes_of(
    targets: list[str], policy: AddressPolicy, name_server: NameServer, authority: Authority
) -> dict[str, tuple[str, str]]:
    async with asking(name_server, authority, policy) as sender:
        outcomes = {url: await deliver(sender, url) for url in targets}
    return {url: (outcome.outcome_class.value, outcome.detail) for url, outcome in outcomes.items()}


async def test_no_target_of_the_corpus_is_ever_dialled(name_server: NameServer, authority: Authority) -> None:
    name_server.answer = internal
    with dialled_addresses() as dialled:
        outcomes = await outcomes_of(TARGETS, POLICY, name_server, authority)
    assert {url: outcome for url, outcome in outcomes.items() if outcome[0] != "blocked_address"} == {}
    assert dialled == []
    asked = {name for name, _ in name_server.asked}
    assert {name.encode("idna").decode() for name in NAMES} <= asked, "each name was really looked up"


async def test_the_addresses_protect_even_where_no_url_is_refused(
    name_server: NameServer, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rules for URLs are a courtesy. Without them, only what is no URL at all is still refused."""

    def lenient(url: str, **_: Any) -> str:
        return webhook_url.canonical_url(url, allow_insecure=True)

    monkeypatch.setattr(sender_module, "canonical_url", lenient)
    name_server.answer = internal
    with dialled_addresses() as dialled:
        outcomes = await outcomes_of(TARGETS, POLICY, name_server, authority)
    assert {url: outcome for url, outcome in outcomes.items() if outcome[0] != "blocked_address"} == {}
    assert dialled == []
    assert list(outcomes.values()).count(("blocked_address", "the address is not allowed")) >= 150


async def test_an_address_of_our_own_machine_is_denied_even_if_it_is_public(
    name_server: NameServer, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(addresses, "DENIED_IPV4", ())  # loopback stands for the public address of a node
    name_server.answer = lambda name, kind: leads_to("127.0.0.1")
    urls = ["https://hooks.example:9/", "https://127.0.0.1:9/"]
    with dialled_addresses() as dialled:
        denied = await outcomes_of(urls, AddressPolicy(), name_server, authority)
        assert dialled == []
        opened = await outcomes_of(urls, LOOPBACK, name_server, authority)
    assert [outcome for outcome, _ in denied.values()] == ["blocked_address"] * 2
    assert [outcome for outcome, _ in opened.values()] == ["connect", "blocked_address"]
    assert dialled == [("127.0.0.1", 9)]


async def test_development_reaches_what_production_does_not(name_server: NameServer, authority: Authority) -> None:
    name_server.answer = lambda name, kind: leads_to("127.0.0.1")
    urls = ["http://127.1:9/", "http://localhost:9/", "http://hooks:9/", "https://hooks.example:9/"]
    with dialled_addresses() as dialled:
        strict = await outcomes_of(urls, AddressPolicy(), name_server, authority)
        assert dialled == []
        loose = await outcomes_of(urls, INSECURE, name_server, authority)
    assert {outcome for outcome, _ in strict.values()} == {"blocked_address"}
    assert {outcome for outcome, _ in loose.values()} == {"connect"}
    assert {address for address, _ in dialled} <= {"127.0.0.1", "::1"}


OPEN = "127.0.0.1"
"""The one address of the test that may be dialled: an explicit exception, so that a real receiver can be there."""

FLIPS = 1000
FLIPPING_NAMES = 8
FLIP_POLICY = AddressPolicy(POLICY.denied, AddressPolicy.parse(allowed=OPEN).allowed)


def flip(choice: random.Random) -> tuple[dict[str, Reply], str]:
    """What a name says to A and AAAA, and the class of the attempt that follows."""
    denied = tuple(choice.sample(ADDRESSES, 5))
    some, none = Reply(denied), Reply()
    many = Reply(tuple(f"10.{number}.0.1" for number in range(60)))
    cluster = Reply(denied, alias="kubernetes.default.svc.cluster.local")
    alias = Reply((OPEN, *denied[:2]), alias="internal.hooks.example")
    a, aaaa, outcome = choice.choice(
        [
            (Reply((OPEN,)), none, "success"),
            (some, some, "blocked_address"),
            (Reply(tuple(choice.sample([OPEN, *denied], 6))), some, "success"),
            (Reply((OPEN,)), Reply(("::1", "fd00:ec2::254", *denied)), "success"),
            (cluster, cluster, "blocked_address"),
            (alias, alias, "success"),
            (Reply(("127.0.0.3",)), Reply(("::1",)), "blocked_address"),
            (many, Reply(("::ffff:127.0.0.9",)), "blocked_address"),
        ]
    )
    return {"A": a, "AAAA": aaaa}, outcome


def test_a_thousand_flips_lead_to_no_connect_that_is_denied(authority: Authority) -> None:
    """On the event loop of production."""
    uvloop.run(_flips(authority))


async def _flips(authority: Authority) -> None:
    taken: Counter[str] = Counter()
    expected: Counter[str] = Counter()
    zone: dict[str, dict[str, Reply]] = {}

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError, ssl.SSLError):
            head = await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(2)
            taken[head.lower().partition(b"host: ")[2].partition(b":")[0].decode()] += 1
            writer.write(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")  # so that the next one dials again
            await writer.drain()
        writer.close()

    async with (
        NameServer(lambda name, kind: zone.get(name, {}).get(kind, Reply())) as name_server,
        await asyncio.start_server(take, OPEN, 0, ssl=authority.server_context(host="*.hooks.example")) as server,
        asking(name_server, authority, FLIP_POLICY) as sender,
    ):
        port = server.sockets[0].getsockname()[1]

        async def keep_flipping(number: int) -> None:
            choice = random.Random(5 + number)
            name = f"h{number}.hooks.example"
            for _ in range(FLIPS // FLIPPING_NAMES):
                zone[name], outcome = flip(choice)
                expected[name] += outcome == "success"
                given = await deliver(sender, f"https://{name}:{port}/")
                assert given.outcome_class == outcome, f"{given} after {zone[name]}"

        with dialled_addresses() as dialled:
            await asyncio.gather(*(keep_flipping(number) for number in range(FLIPPING_NAMES)))
        assert len(name_server.asked) >= 2 * FLIPS, "each attempt asks for both families"
    assert set(dialled) == {(OPEN, port)}
    assert taken == +expected
    assert 0 < sum(taken.values()) < FLIPS


async def test_a_name_that_flips_between_two_connects_of_one_attempt_gets_no_second_one(authority: Authority) -> None:
    """Nothing listens at the first address; the name is not asked again, and if it were, it would lead to ::1."""
    answers = iter([Reply((OPEN,)), Reply()])
    async with (
        NameServer(lambda name, kind: next(answers, Reply(("::1", "127.0.0.2")))) as name_server,
        asking(name_server, authority, FLIP_POLICY) as sender,
    ):
        with dialled_addresses() as dialled:
            outcomes = [await deliver(sender, "https://h.hooks.example:9/") for _ in range(2)]
    assert [outcome.outcome_class for outcome in outcomes] == ["connect", "blocked_address"]
    assert set(dialled) == {(OPEN, 9)}


async def test_a_kept_answer_of_the_resolver_is_judged_all_the_same(authority: Authority) -> None:
    async with (
        NameServer(lambda name, kind: Reply(("10.0.0.1",), ttl=3600)) as name_server,
        asking(name_server, authority, FLIP_POLICY) as sender,
    ):
        with dialled_addresses() as dialled:
            outcomes = {(await deliver(sender, "https://h.hooks.example/")).outcome_class for _ in range(3)}
        assert len(name_server.asked) == 2
    assert outcomes == {"blocked_address"}
    assert dialled == []
