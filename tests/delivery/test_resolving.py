"""Names, asked of a real name server: what comes of every answer, and of none."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import uvloop
from tests.delivery.authority import Authority
from tests.delivery.name_server import NXDOMAIN, SILENCE, NameServer, Reply, addresses
from tests.delivery.sending import asking, deliver
from tests.waiting import eventually

from checklist_operator.faults import LocalFault
from checklist_operator.transport import resolving
from checklist_operator.transport.resolving import LookupFailed, Resolver, ResolverUnavailable, parse_servers

URL = "https://hooks.example/"


@asynccontextmanager
async def resolver(*servers: str, **options: Any) -> AsyncIterator[Resolver]:
    made = Resolver(servers=servers, **options)
    try:
        yield made
    finally:
        await made.close()


async def found(server: NameServer, name: str = "hooks.example", **options: Any) -> list[str]:
    async with resolver(server.address, **options) as asked:
        return [result["host"] for result in await asked.resolve(name, 443)]


# --- answers --------------------------------------------------------------------------------------------------------


async def test_addresses_of_both_families_are_found_those_of_ipv6_first(name_server: NameServer) -> None:
    name_server.answer = lambda name, kind: addresses("192.0.2.7", "2001:db8::7")
    async with resolver(name_server.address) as asked:
        results = await asked.resolve("hooks.example", 8443)
    assert [(one["hostname"], one["host"], one["port"], one["family"]) for one in results] == [
        ("hooks.example", "2001:db8::7", 8443, socket.AF_INET6),
        ("hooks.example", "192.0.2.7", 8443, socket.AF_INET),
    ]
    assert sorted(name_server.asked) == [("hooks.example", "A"), ("hooks.example", "AAAA")]


async def test_one_family_is_enough(name_server: NameServer) -> None:
    for a, aaaa, expected in (
        (Reply(), addresses("2001:db8::7"), "2001:db8::7"),
        (addresses("192.0.2.7"), Reply(), "192.0.2.7"),
        (addresses("192.0.2.7"), SILENCE, "192.0.2.7"),
        (Reply(("192.0.2.7",), truncated=True), Reply(), "192.0.2.7"),  # asked for again over TCP
    ):
        replies = {"A": a, "AAAA": aaaa}
        name_server.answer = lambda name, kind, replies=replies: replies[kind]
        assert await found(name_server) == [expected], replies


async def test_dns_failures_state_the_reason(name_server: NameServer, authority: Authority) -> None:
    async with asking(name_server, authority) as sender:
        for reply, detail in (
            (NXDOMAIN, "the name does not exist"),
            (Reply(), "the name has no address"),
            (Reply(rcode="SERVFAIL"), "the name's servers failed"),
            (Reply(rcode="REFUSED"), "the name's servers refused to answer"),
            (Reply(rcode="NOTIMP"), "the name could not be resolved"),
            (Reply(alias="hooks.example"), "the name has no address"),
        ):
            name_server.answer = lambda name, kind, reply=reply: reply
            outcome = await deliver(sender, URL)
            assert (outcome.outcome_class, outcome.http_status, outcome.detail) == ("dns", None, detail)


async def test_of_a_name_with_hundreds_of_addresses_only_a_few_are_tried(name_server: NameServer) -> None:
    name_server.answer = lambda name, kind: Reply(tuple(f"192.0.2.{n}" for n in range(1, 255)), truncated=True)
    assert len(set(await found(name_server))) == resolving.MAX_ADDRESSES


async def test_no_failure_is_kept(name_server: NameServer) -> None:
    async with resolver(name_server.address) as asked:
        for failure in (Reply(), NXDOMAIN, Reply(rcode="SERVFAIL")):
            name_server.answer = lambda name, kind, failure=failure: failure
            with pytest.raises(LookupFailed):
                await asked.resolve("hooks.example")
            name_server.answer = lambda name, kind: addresses("192.0.2.7")
            assert len(await asked.resolve("hooks.example")) == 1


async def test_addresses_are_cached_by_ttl(name_server: NameServer, monkeypatch: pytest.MonkeyPatch) -> None:
    for reply, limit_s, questions in (
        (Reply(("192.0.2.7",), ttl=0), 30.0, 6),
        (Reply(("192.0.2.7",), ttl=20), 30.0, 2),
        (Reply(("192.0.2.7",), ttl=0, alias="elsewhere.example"), 30.0, 6),
        (Reply(("192.0.2.7",), ttl=86_400), 0.0, 6),
    ):
        monkeypatch.setattr(resolving, "MAX_KEPT_S", limit_s)
        name_server.asked.clear()
        name_server.answer = lambda name, kind, reply=reply: reply
        async with resolver(name_server.address) as asked:
            for _ in range(3):
                await asked.resolve("hooks.example")
        assert len(name_server.asked) == questions, (reply, limit_s)


async def test_names_are_absolute(name_server: NameServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCALDOMAIN", "default.svc.cluster.local svc.cluster.local")
    monkeypatch.setenv("RES_OPTIONS", "ndots:5")
    with pytest.raises(LookupFailed):
        await found(name_server)
    assert {name for name, _ in name_server.asked} == {"hooks.example"}
    monkeypatch.delenv("RES_OPTIONS")
    monkeypatch.setenv("LOCALDOMAIN", "containers.test")
    name_server.answer = lambda name, kind: addresses("192.0.2.7") if name == "web.containers.test" else NXDOMAIN
    assert await found(name_server, "web", search=True) == ["192.0.2.7"]
    assert set(await found(name_server, "localhost", search=True)) <= {"127.0.0.1", "::1"}


# --- silence --------------------------------------------------------------------------------------------------------


def test_silent_names_take_nothing_from_a_healthy_receiver(authority: Authority) -> None:
    """On the event loop of production."""
    uvloop.run(_healthy_among_silent(authority, silent=300))


async def _healthy_among_silent(authority: Authority, silent: int) -> None:
    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")

    def answer(name: str, kind: str) -> Reply:
        return SILENCE if name.endswith(".dead.example") else addresses("127.0.0.1")

    async with (
        NameServer(answer) as name_server,
        await asyncio.start_server(take, "127.0.0.1", 0, ssl=authority.server_context()) as server,
        asking(name_server, authority) as sender,
    ):
        waiting = [asyncio.create_task(deliver(sender, f"https://h{n}.dead.example/")) for n in range(silent)]
        await eventually(lambda: len({name for name, _ in name_server.asked}) == silent)
        outcome = await deliver(sender, f"https://hooks.example:{server.sockets[0].getsockname()[1]}/")
        assert outcome.ok, outcome
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


async def test_the_silence_of_a_names_servers_is_a_timeout_when_our_name_server_is_alive(
    name_server: NameServer, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resolving, "LOOKUP_S", 0.2)
    monkeypatch.setattr(resolving, "PROBE_S", 9.0)
    for of_the_root in (NXDOMAIN, Reply(rcode="SERVFAIL"), Reply(rcode="REFUSED"), Reply()):
        name_server.asked.clear()
        name_server.answer = lambda name, kind, reply=of_the_root: reply if kind == "NS" else SILENCE
        async with asking(name_server, authority) as sender:
            outcome = await deliver(sender, URL)
        assert (outcome.outcome_class, outcome.detail) == ("timeout", "the name was not resolved in time"), of_the_root
        assert (".", "NS") in name_server.asked


async def test_a_silent_name_server_of_ours_uses_up_no_attempt(
    name_server: NameServer, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resolving, "LOOKUP_S", 0.2)
    monkeypatch.setattr(resolving, "PROBE_S", 0.2)
    name_server.answer = lambda name, kind: SILENCE
    async with asking(name_server, authority) as sender:
        sends = [deliver(sender, f"https://h{n}.example/") for n in range(20)]
        results = await asyncio.gather(*sends, return_exceptions=True)
    assert [str(result) for result in results if isinstance(result, LocalFault)] == ["no name server answers"] * 20
    assert sum(kind == "NS" for _, kind in name_server.asked) < 10, "lookups that fail together ask together"


async def test_an_absent_name_server_is_a_local_fault(name_server: NameServer, authority: Authority) -> None:
    async with NameServer() as gone:
        pass
    name_server.answer = lambda name, kind: addresses("192.0.2.7")
    async with resolver(gone.address, name_server.address) as asked:
        assert [result["host"] for result in await asked.resolve("hooks.example")] == ["192.0.2.7"]
    async with asking(gone, authority) as sender:
        with pytest.raises(LocalFault, match="no name server can be asked"):
            await deliver(sender, URL)


@pytest.mark.parametrize("raw", [b"", b"\x81\x80", b"\xff" * 40, b"\x81\x80" + bytes(8), b"no DNS at all"])
async def test_invalid_answers(raw: bytes, name_server: NameServer, monkeypatch: pytest.MonkeyPatch) -> None:
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
    sender = asking(name_server, authority)
    tasks = [asyncio.create_task(deliver(sender, f"https://h{n}.example/")) for n in range(10)]
    await eventually(lambda: any(until == "asked" or kind == "NS" for _, kind in name_server.asked))
    await sender.close()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(result) for result in results] == [LocalFault] * 10
    asked = len(name_server.asked)
    async with resolver(name_server.address) as closed:
        await closed.close()
        with pytest.raises(ResolverUnavailable):
            await closed.resolve("hooks.example")
    assert len(name_server.asked) == asked


async def test_a_cancelled_lookup_leaves_no_socket_behind(name_server: NameServer) -> None:
    name_server.answer = lambda name, kind: SILENCE
    loop: Any = asyncio.get_running_loop()
    before = len(loop._selector.get_map())
    async with resolver(name_server.address) as asked:
        tasks = [asyncio.create_task(asked.resolve(f"h{n}.example")) for n in range(20)]
        await eventually(lambda: len({name for name, _ in name_server.asked}) == 20)
        assert len(loop._selector.get_map()) >= before + 20
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert len(loop._selector.get_map()) == before


# --- the setting ----------------------------------------------------------------------------------------------------


def test_name_servers_are_given_as_addresses_with_or_without_port_and_nothing_else_is_taken() -> None:
    assert parse_servers("") == ()
    assert parse_servers(" 10.96.0.10:5353 , 8.8.8.8,") == ("10.96.0.10:5353", "8.8.8.8:53")
    assert parse_servers("fd00::a,[fd00::a]:5353,[FD00::B]") == ("[fd00::a]:53", "[fd00::a]:5353", "[fd00::b]:53")
    for wrong in (
        "dns.example",
        *(f"10.0.0.1:{port}" for port in ("", 0, 65536, "x")),
        "[fd00::a",
        "[fd00::a]x",
        "1.2.3",
    ):
        with pytest.raises(ValueError, match=r"address|port"):
            parse_servers(wrong)
