"""Two hundred targets that must never be reached: at the real sender, with names from a real name server."""

from typing import Any

import pytest
from tests.delivery.authority import Authority
from tests.delivery.name_server import NameServer, Reply
from tests.delivery.name_server import addresses as leads_to
from tests.delivery.sending import INSECURE, LOOPBACK, asking, deliver, dialled_addresses
from tests.delivery.targets import LITERALS, NAMES, NOTATIONS, POLICY

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
