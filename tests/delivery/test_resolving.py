"""Names, asked of a real name server: what comes of every answer, and of none."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import uvloop
from tests.delivery.authority import Authority
from tests.delivery.name_server import NXDOMAIN, SILENCE, NameServer, Reply, addresses

from checklist_operator.delivery import resolving
from checklist_operator.delivery.addresses import AddressPolicy
from checklist_operator.delivery.failure import OwnFault
from checklist_operator.delivery.resolving import LookupFailed, Resolver, ResolverUnavailable, parse_servers
from checklist_operator.delivery.sender import Sender

SECRET = b"sixteen or more characters"
LOOPBACK = AddressPolicy.parse(allowed="127.0.0.1")


@asynccontextmanager
async def resolver(server: NameServer, **options: Any) -> AsyncIterator[Resolver]:
    made = Resolver(servers=(server.address,), **options)
    try:
        yield made
    finally:
        await made.close()


async def found(server: NameServer, name: str = "hooks.example", **options: Any) -> list[str]:
    async with resolver(server, **options) as asked:
        return [result["host"] for result in await asked.resolve(name, 443)]


# --- answers --------------------------------------------------------------------------------------------------------


async def test_addresses_of_both_families_are_found_those_of_ipv6_first(name_server: NameServer) -> None:
    name_server.answer = lambda name, kind: addresses("192.0.2.7", "2001:db8::7")
    async with resolver(name_server) as asked:
        results = await asked.resolve("hooks.example", 8443)
    assert [(one["hostname"], one["host"], one["port"], one["family"]) for one in results] == [
        ("hooks.example", "2001:db8::7", 8443, socket.AF_INET6),
        ("hooks.example", "192.0.2.7", 8443, socket.AF_INET),
    ]
    assert sorted(name_server.asked) == [("hooks.example", "A"), ("hooks.example", "AAAA")]


async def test_a_name_of_one_family_needs_no_other(name_server: NameServer) -> None:
    name_server.answer = lambda name, kind: addresses("2001:db8::7")
    assert await found(name_server) == ["2001:db8::7"]
    name_server.answer = lambda name, kind: addresses("192.0.2.7")
    assert await found(name_server) == ["192.0.2.7"]


async def test_one_family_is_enough_when_the_other_is_never_answered(name_server: NameServer) -> None:
    name_server.answer = lambda name, kind: addresses("192.0.2.7") if kind == "A" else SILENCE
    assert await found(name_server) == ["192.0.2.7"]


@pytest.mark.parametrize(
    ("reply", "detail"),
    [
        (NXDOMAIN, "the name does not exist"),
        (Reply(), "the name has no address"),
        (Reply(rcode="SERVFAIL"), "the name's servers failed"),
        (Reply(rcode="REFUSED"), "the name's servers refused to answer"),
        (Reply(rcode="NOTIMP"), "the name could not be resolved"),
        (Reply(alias="hooks.example"), "the name has no address"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_a_name_that_leads_nowhere_is_a_dns_failure_that_says_why(
    reply: Reply, detail: str, name_server: NameServer, authority: Authority
) -> None:
    name_server.answer = lambda name, kind: reply
    async with Sender(LOOPBACK, name_servers=(name_server.address,), ssl_context=authority.trusting) as sender:
        outcome = await sender.send("https://hooks.example/", b"{}", SECRET, "r-1")
    assert (outcome.outcome_class, outcome.http_status, outcome.detail) == ("dns", None, detail)


async def test_an_answer_too_long_for_a_datagram_is_asked_for_again_over_tcp(name_server: NameServer) -> None:
    name_server.answer = lambda name, kind: Reply(("192.0.2.7",), truncated=True)
    assert await found(name_server) == ["192.0.2.7"]


async def test_of_a_name_with_hundreds_of_addresses_only_a_few_are_tried(name_server: NameServer) -> None:
    name_server.answer = lambda name, kind: Reply(tuple(f"192.0.2.{n}" for n in range(1, 255)), truncated=True)
    assert len(set(await found(name_server))) == resolving.MAX_ADDRESSES


async def test_a_name_that_got_an_address_at_last_is_reached_at_the_next_attempt(name_server: NameServer) -> None:
    """No failure is kept: with a channel that c-ares shares, this one would be, for an hour."""
    async with resolver(name_server) as asked:
        for failure in (Reply(), NXDOMAIN, Reply(rcode="SERVFAIL")):
            name_server.answer = lambda name, kind, failure=failure: failure
            with pytest.raises(LookupFailed):
                await asked.resolve("hooks.example")
            name_server.answer = lambda name, kind: addresses("192.0.2.7")
            assert len(await asked.resolve("hooks.example")) == 1


@pytest.mark.parametrize(("ttl", "questions"), [(0, 6), (20, 2), (86_400, 2)])
async def test_addresses_are_kept_as_long_as_their_name_says(ttl: int, questions: int, name_server: NameServer) -> None:
    name_server.answer = lambda name, kind: Reply(("192.0.2.7",), ttl=ttl)
    async with resolver(name_server) as asked:
        for _ in range(3):
            await asked.resolve("hooks.example")
    assert len(name_server.asked) == questions


async def test_an_alias_that_is_not_to_be_kept_keeps_nothing(name_server: NameServer) -> None:
    name_server.answer = lambda name, kind: Reply(("192.0.2.7",), ttl=0, alias="elsewhere.example")
    async with resolver(name_server) as asked:
        for _ in range(2):
            await asked.resolve("hooks.example")
    assert len(name_server.asked) == 4


async def test_nothing_is_kept_for_longer_than_the_limit(
    name_server: NameServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resolving, "MAX_KEPT_S", 0.05)
    name_server.answer = lambda name, kind: Reply(("192.0.2.7",), ttl=86_400)
    async with resolver(name_server) as asked:
        await asked.resolve("hooks.example")
        await asyncio.sleep(0.1)
        await asked.resolve("hooks.example")
    assert len(name_server.asked) == 4


# --- which name is asked for ----------------------------------------------------------------------------------------


async def test_names_are_absolute_so_that_the_clusters_search_list_adds_nothing(
    name_server: NameServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCALDOMAIN", "default.svc.cluster.local svc.cluster.local")
    monkeypatch.setenv("RES_OPTIONS", "ndots:5")
    with pytest.raises(LookupFailed):
        await found(name_server)
    assert {name for name, _ in name_server.asked} == {"hooks.example"}


async def test_development_keeps_the_search_list_and_localhost(
    name_server: NameServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCALDOMAIN", "containers.test")
    name_server.answer = lambda name, kind: addresses("192.0.2.7") if name == "web.containers.test" else NXDOMAIN
    assert await found(name_server, "web", search=True) == ["192.0.2.7"]
    assert set(await found(name_server, "localhost", search=True)) <= {"127.0.0.1", "::1"}


# --- silence --------------------------------------------------------------------------------------------------------


async def healthy_beside_dead(authority: Authority, dead: int) -> None:
    """Sends to one healthy receiver while `dead` lookups wait for servers that never answer."""

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")

    def answer(name: str, kind: str) -> Reply:
        return SILENCE if name.endswith(".dead.example") else addresses("127.0.0.1")

    async with (
        NameServer(answer) as name_server,
        await asyncio.start_server(take, "127.0.0.1", 0, ssl=authority.server_context()) as server,
        Sender(LOOPBACK, name_servers=(name_server.address,), ssl_context=authority.trusting) as sender,
    ):
        port = server.sockets[0].getsockname()[1]
        waiting = [
            asyncio.create_task(sender.send(f"https://h{n}.dead.example/", b"{}", SECRET, "r-1")) for n in range(dead)
        ]
        while len({name for name, _ in name_server.asked}) < dead:
            await asyncio.sleep(0.01)
        outcome = await sender.send(f"https://hooks.example:{port}/", b"{}", SECRET, "r-1")
        assert outcome.ok, outcome
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


async def test_names_whose_servers_never_answer_take_nothing_from_a_healthy_receiver(authority: Authority) -> None:
    await healthy_beside_dead(authority, 300)


def test_nor_do_they_on_the_event_loop_of_production(authority: Authority) -> None:
    uvloop.run(healthy_beside_dead(authority, 300))


async def test_the_silence_of_a_names_servers_is_a_timeout(
    name_server: NameServer, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resolving, "LOOKUP_S", 0.2)
    monkeypatch.setattr(resolving, "PROBE_S", 9.0)
    name_server.answer = lambda name, kind: NXDOMAIN if kind == "NS" else SILENCE
    async with Sender(LOOPBACK, name_servers=(name_server.address,), ssl_context=authority.trusting) as sender:
        outcome = await sender.send("https://hooks.example/", b"{}", SECRET, "r-1")
    assert (outcome.outcome_class, outcome.detail) == ("timeout", "the name was not resolved in time")
    assert (".", "NS") in name_server.asked


@pytest.mark.parametrize("reply", [Reply(rcode="SERVFAIL"), Reply(rcode="REFUSED"), Reply()], ids=lambda one: one.rcode)
async def test_whatever_our_name_server_says_of_the_root_it_is_alive(
    reply: Reply, name_server: NameServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resolving, "LOOKUP_S", 0.2)
    monkeypatch.setattr(resolving, "PROBE_S", 60.0)
    name_server.answer = lambda name, kind: reply if kind == "NS" else SILENCE
    with pytest.raises(TimeoutError):
        await found(name_server)


async def test_a_name_server_of_ours_that_says_nothing_at_all_uses_up_no_attempt(
    name_server: NameServer, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resolving, "LOOKUP_S", 0.2)
    monkeypatch.setattr(resolving, "PROBE_S", 0.2)
    name_server.answer = lambda name, kind: SILENCE
    async with Sender(LOOPBACK, name_servers=(name_server.address,), ssl_context=authority.trusting) as sender:
        sends = [sender.send(f"https://h{n}.example/", b"{}", SECRET, "r-1") for n in range(20)]
        results = await asyncio.gather(*sends, return_exceptions=True)
    assert [str(result) for result in results if isinstance(result, OwnFault)] == ["no name server answers"] * 20
    assert sum(kind == "NS" for _, kind in name_server.asked) < 10, "lookups that fail together ask together"


async def test_a_name_server_of_ours_that_is_gone_uses_up_no_attempt(authority: Authority) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    async with Sender(LOOPBACK, name_servers=(f"127.0.0.1:{port}",), ssl_context=authority.trusting) as sender:
        with pytest.raises(OwnFault, match="no name server can be asked"):
            await sender.send("https://hooks.example/", b"{}", SECRET, "r-1")


async def test_a_second_name_server_answers_when_the_first_is_gone(name_server: NameServer) -> None:
    name_server.answer = lambda name, kind: addresses("192.0.2.7")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    asked = Resolver(servers=(f"127.0.0.1:{port}", name_server.address))
    assert [result["host"] for result in await asked.resolve("hooks.example")] == ["192.0.2.7"]
    await asked.close()


@pytest.mark.parametrize("raw", [b"", b"\x81\x80", b"\xff" * 40, b"\x81\x80" + bytes(8), b"no DNS at all"])
async def test_nonsense_of_a_name_server_is_no_address(
    raw: bytes, name_server: NameServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resolving, "LOOKUP_S", 0.3)
    name_server.answer = lambda name, kind: NXDOMAIN if kind == "NS" else Reply(raw=raw)
    with pytest.raises((LookupFailed, TimeoutError)):
        await found(name_server)


# --- the end --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("until", ["asked", "probing"])
async def test_closing_ends_every_lookup_as_our_own_fault(
    until: str, name_server: NameServer, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    name_server.answer = lambda name, kind: SILENCE
    if until == "probing":
        monkeypatch.setattr(resolving, "LOOKUP_S", 0.05)
    sender = Sender(LOOPBACK, name_servers=(name_server.address,), ssl_context=authority.trusting)
    tasks = [asyncio.create_task(sender.send(f"https://h{n}.example/", b"{}", SECRET, "r-1")) for n in range(10)]
    seen: Callable[[], bool] = (
        (lambda: any(kind == "NS" for _, kind in name_server.asked))
        if until == "probing"
        else lambda: bool(name_server.asked)
    )
    while not seen():
        await asyncio.sleep(0.01)
    await sender.close()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(result) for result in results] == [OwnFault] * 10


async def test_a_closed_resolver_asks_nobody(name_server: NameServer) -> None:
    asked = Resolver(servers=(name_server.address,))
    await asked.close()
    with pytest.raises(ResolverUnavailable):
        await asked.resolve("hooks.example")
    assert name_server.asked == []


async def test_a_cancelled_lookup_leaves_no_socket_behind(name_server: NameServer) -> None:
    name_server.answer = lambda name, kind: SILENCE
    loop: Any = asyncio.get_running_loop()
    before = len(loop._selector.get_map())
    async with resolver(name_server) as asked:
        tasks = [asyncio.create_task(asked.resolve(f"h{n}.example")) for n in range(20)]
        while len({name for name, _ in name_server.asked}) < 20:
            await asyncio.sleep(0.01)
        assert len(loop._selector.get_map()) >= before + 20
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert len(loop._selector.get_map()) == before


# --- the setting ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "servers"),
    [
        ("", ()),
        ("10.96.0.10", ("10.96.0.10:53",)),
        (" 10.96.0.10:5353 , 8.8.8.8,", ("10.96.0.10:5353", "8.8.8.8:53")),
        ("fd00::a", ("[fd00::a]:53",)),
        ("[fd00::a]:5353,[FD00::B]", ("[fd00::a]:5353", "[fd00::b]:53")),
    ],
)
def test_name_servers_are_given_as_addresses_with_or_without_port(text: str, servers: tuple[str, ...]) -> None:
    assert parse_servers(text) == servers


@pytest.mark.parametrize(
    "text",
    ["dns.example", "10.0.0.1:", "10.0.0.1:0", "10.0.0.1:65536", "10.0.0.1:x", "[fd00::a", "[fd00::a]x", "1.2.3"],
)
def test_what_is_no_name_server_is_refused_at_start(text: str) -> None:
    with pytest.raises(ValueError, match=r"address|port"):
        parse_servers(text)
