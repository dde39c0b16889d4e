"""Names that lead elsewhere each time they are asked: a thousand flips, and never a connect to a denied address."""

import asyncio
import random
import ssl
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress

import pytest
import uvloop
from tests.delivery.authority import Authority
from tests.delivery.dialled import Dialled, dialled_addresses
from tests.delivery.name_server import NameServer, Reply
from tests.delivery.targets import ADDRESSES, POLICY

from checklist_operator.delivery.addresses import AddressPolicy
from checklist_operator.delivery.sender import Sender

SECRET = b"sixteen or more characters"
OPEN = "127.0.0.1"
"""The one address of the test that may be dialled: an explicit exception, so that a real receiver can be there."""

FLIPS = 1000
NAMES = 8
FLIP_POLICY = AddressPolicy(POLICY.denied, AddressPolicy.parse(allowed=OPEN).allowed)


class Flipping:
    """A zone in which each name answers as `now` says, and changes in the middle of a lookup when that says so."""

    def __init__(self) -> None:
        self.now: dict[str, dict[str, Reply]] = {}

    def answer(self, name: str, kind: str) -> Reply:
        return self.now.get(name, {}).get(kind, Reply())


def flip(choice: random.Random) -> tuple[dict[str, Reply], str]:
    """What a name says to A and AAAA, and the class of the attempt that follows."""
    denied = choice.sample(ADDRESSES, 5)
    sort = choice.choice(["open", "denied", "mixed", "split", "alias", "alias open", "kept", "many"])
    match sort:
        case "open":
            replies, outcome = (Reply((OPEN,)), Reply()), "success"
        case "denied":
            replies, outcome = (Reply(tuple(denied)), Reply(tuple(denied))), "blocked_address"
        case "mixed":
            shuffled = choice.sample([OPEN, *denied], 6)
            replies, outcome = (Reply(tuple(shuffled)), Reply(tuple(denied))), "success"
        case "split":
            replies, outcome = (Reply((OPEN,)), Reply(("::1", "fd00:ec2::254", *denied))), "success"
        case "alias":
            one = Reply(tuple(denied), alias="kubernetes.default.svc.cluster.local")
            replies, outcome = (one, one), "blocked_address"
        case "alias open":
            one = Reply((OPEN, *denied[:2]), alias="internal.hooks.example")
            replies, outcome = (one, one), "success"
        case "kept":  # for longer than the attempt; the next one asks again all the same, or uses what it knows
            replies, outcome = (Reply(("127.0.0.3",)), Reply(("::1",))), "blocked_address"
        case _:
            many = tuple(f"10.{number}.0.1" for number in range(60))
            replies, outcome = (
                (Reply(many), Reply(("::ffff:127.0.0.9",))),
                "blocked_address",
            )
    return {"A": replies[0], "AAAA": replies[1]}, outcome


@asynccontextmanager
async def traps(port: int) -> AsyncIterator[list[str]]:
    """Listeners on denied addresses of this machine, at the receiver's port; what they accept is in the list."""
    fallen: list[str] = []

    async with AsyncExitStack() as stack:
        for address in ("127.0.0.2", "127.0.0.3", "127.0.0.9", "::1"):

            def accept(_: asyncio.StreamReader, writer: asyncio.StreamWriter, address: str = address) -> None:
                fallen.append(address)
                writer.close()

            with suppress(OSError):  # an address that this machine does not have; connects are counted at the socket
                await stack.enter_async_context(await asyncio.start_server(accept, address, port))
        yield fallen


async def flips(context: ssl.SSLContext, trusting: ssl.SSLContext, seed: int, count: int) -> None:
    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError, ssl.SSLError):
            head = await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(2)
            taken[head.lower().partition(b"host: ")[2].partition(b":")[0].decode()] += 1
            writer.write(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")  # so that the next one dials again
            await writer.drain()
        writer.close()

    taken: Counter[str] = Counter()
    expected: Counter[str] = Counter()
    zone = Flipping()
    async with (
        NameServer(zone.answer) as name_server,
        await asyncio.start_server(take, OPEN, 0, ssl=context) as server,
        Sender(FLIP_POLICY, name_servers=(name_server.address,), ssl_context=trusting) as sender,
    ):
        port = server.sockets[0].getsockname()[1]

        async def keep_flipping(number: int) -> None:
            choice = random.Random(seed + number)
            name = f"h{number}.hooks.example"
            for _ in range(count // NAMES):
                zone.now[name], outcome = flip(choice)
                expected[name] += outcome == "success"
                given = await sender.send(f"https://{name}:{port}/", b"{}", SECRET, "r-1")
                assert given.outcome_class == outcome, f"{given} after {zone.now[name]}"

        with dialled_addresses() as dialled:
            async with traps(port) as fallen:
                await asyncio.gather(*(keep_flipping(number) for number in range(NAMES)))
        assert len(name_server.asked) >= 2 * count, "each attempt asks anew for both families"
    assert set(dialled) == {Dialled(OPEN, port)}
    assert fallen == []
    assert taken == +expected
    assert 0 < sum(taken.values()) < count


def test_a_thousand_flips_lead_to_no_connect_that_is_denied(authority: Authority) -> None:
    """On the event loop of production."""
    context = authority.server_context(host="*.hooks.example")
    uvloop.run(flips(context, authority.trusting, seed=5, count=FLIPS))


@pytest.mark.parametrize("seed", [17, 29])
async def test_so_it_is_on_the_loop_of_the_standard_library(seed: int, authority: Authority) -> None:
    await flips(authority.server_context(host="*.hooks.example"), authority.trusting, seed, count=NAMES * 10)


async def test_a_name_that_flips_between_two_connects_of_one_attempt_gets_no_second_one(authority: Authority) -> None:
    """Nobody listens at the first address; the name is not asked again, and if it were, it would lead to ::1."""
    answers = iter([Reply((OPEN,)), Reply()])

    def answer(name: str, kind: str) -> Reply:
        return next(answers, Reply(("::1", "127.0.0.2")))

    async with (
        NameServer(answer) as name_server,
        Sender(FLIP_POLICY, name_servers=(name_server.address,), ssl_context=authority.trusting) as sender,
    ):
        with dialled_addresses() as dialled:
            first = await sender.send("https://h.hooks.example:9/", b"{}", SECRET, "r-1")
            second = await sender.send("https://h.hooks.example:9/", b"{}", SECRET, "r-1")
    assert [first.outcome_class, second.outcome_class] == ["connect", "blocked_address"]
    assert set(dialled) == {Dialled(OPEN, 9)}


async def test_what_the_resolver_keeps_is_judged_all_the_same(authority: Authority) -> None:
    """An answer may be kept as long as it says. A policy that was stricter meanwhile would still hold."""
    denied = Reply(("10.0.0.1",), ttl=3600)
    async with (
        NameServer(lambda name, kind: denied) as name_server,
        Sender(FLIP_POLICY, name_servers=(name_server.address,), ssl_context=authority.trusting) as sender,
    ):
        with dialled_addresses() as dialled:
            outcomes = [await sender.send("https://h.hooks.example/", b"{}", SECRET, "r-1") for _ in range(3)]
        assert len(name_server.asked) == 2
    assert {outcome.outcome_class.value for outcome in outcomes} == {"blocked_address"}
    assert dialled == []
