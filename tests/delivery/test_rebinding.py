"""Names that lead elsewhere each time they are asked: a thousand flips, and never a connect to a denied address."""

import asyncio
import random
import ssl
from collections import Counter
from contextlib import suppress

import uvloop
from tests.delivery.authority import Authority
from tests.delivery.name_server import NameServer, Reply
from tests.delivery.sending import asking, deliver, dialled_addresses
from tests.delivery.targets import ADDRESSES, POLICY

from checklist_operator.transport.addresses import AddressPolicy

OPEN = "127.0.0.1"
"""The one address of the test that may be dialled: an explicit exception, so that a real receiver can be there."""

FLIPS = 1000
NAMES = 8
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
            for _ in range(FLIPS // NAMES):
                zone[name], outcome = flip(choice)
                expected[name] += outcome == "success"
                given = await deliver(sender, f"https://{name}:{port}/")
                assert given.outcome_class == outcome, f"{given} after {zone[name]}"

        with dialled_addresses() as dialled:
            await asyncio.gather(*(keep_flipping(number) for number in range(NAMES)))
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
