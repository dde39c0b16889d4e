"""Two hundred targets that must never be reached: at the real sender, with names from a real name server."""

from typing import Any

import pytest
from tests.delivery.authority import Authority
from tests.delivery.dialled import Dialled, dialled_addresses
from tests.delivery.name_server import NameServer, Reply
from tests.delivery.name_server import addresses as leads_to
from tests.delivery.targets import ADDRESSES, LITERALS, NAMES, NOTATIONS, POLICY

from checklist_crds import webhook_url
from checklist_operator.delivery import addresses
from checklist_operator.delivery import sender as sender_module
from checklist_operator.delivery.addresses import AddressPolicy
from checklist_operator.delivery.sender import Sender

SECRET = b"sixteen or more characters"
TARGETS = [*LITERALS, *(notation.format(name) for name in NAMES for notation in NOTATIONS)]


def internal(name: str, kind: str) -> Reply:
    """Each name of NAMES leads where it says; every other one, known or not, into somebody's network."""
    by_wire_name = {name.encode("idna").decode(): address for name, address in NAMES.items()}
    return leads_to(by_wire_name.get(name, "10.20.30.40"))


async def outcomes_of(
    targets: list[str], policy: AddressPolicy, name_server: NameServer, authority: Authority
) -> dict[str, tuple[str, str]]:
    async with Sender(policy, name_servers=(name_server.address,), ssl_context=authority.trusting) as sender:
        outcomes = {}
        for url in targets:
            outcome = await sender.send(url, b"{}", SECRET, "r-1")
            outcomes[url] = (outcome.outcome_class.value, outcome.detail)
    return outcomes


def test_the_corpus_is_large_and_says_nothing_twice() -> None:
    assert len(set(TARGETS)) == len(TARGETS) >= 120
    assert not any(POLICY.permits(address) for address in (*ADDRESSES, *NAMES.values()))


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
    at_the_socket = [
        url for url, outcome in outcomes.items() if outcome == ("blocked_address", "the address is not allowed")
    ]
    assert {url: outcome for url, outcome in outcomes.items() if outcome[0] != "blocked_address"} == {}
    assert dialled == []
    assert len(at_the_socket) >= 150


async def test_the_lab_would_see_a_connect(name_server: NameServer, authority: Authority) -> None:
    name_server.answer = lambda name, kind: leads_to("127.0.0.1")
    policy = AddressPolicy.parse(allowed="127.0.0.1")
    with dialled_addresses() as dialled:
        outcomes = await outcomes_of(
            ["https://hooks.example:9/", "https://127.0.0.1:9/"], policy, name_server, authority
        )
    assert dialled == [Dialled("127.0.0.1", 9)]
    assert [outcome for outcome, _ in outcomes.values()] == ["connect", "blocked_address"]


async def test_an_address_of_our_own_machine_is_denied_even_if_it_is_public(
    name_server: NameServer, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(addresses, "DENIED_IPV4", ())  # loopback stands for the public address of a node
    name_server.answer = lambda name, kind: leads_to("127.0.0.1")
    with dialled_addresses() as dialled:
        outcomes = await outcomes_of(["https://hooks.example/"], AddressPolicy(), name_server, authority)
        assert dialled == []
        opened = await outcomes_of(
            ["https://hooks.example:9/"], AddressPolicy.parse(allowed="127.0.0.1"), name_server, authority
        )
    assert [outcome for outcome, _ in outcomes.values()] == ["blocked_address"]
    assert [outcome for outcome, _ in opened.values()] == ["connect"]


async def test_development_reaches_what_production_does_not(name_server: NameServer, authority: Authority) -> None:
    name_server.answer = lambda name, kind: leads_to("127.0.0.1")
    urls = ["http://127.1:9/", "http://localhost:9/", "http://hooks:9/", "https://hooks.example:9/"]
    with dialled_addresses() as dialled:
        strict = await outcomes_of(urls, AddressPolicy(), name_server, authority)
        assert dialled == []
        loose = await outcomes_of(urls, AddressPolicy(allow_insecure=True), name_server, authority)
    assert {outcome for outcome, _ in strict.values()} == {"blocked_address"}
    assert {outcome for outcome, _ in loose.values()} == {"connect"}
    assert {target.address for target in dialled} <= {"127.0.0.1", "::1"}
