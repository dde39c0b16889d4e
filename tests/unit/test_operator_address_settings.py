"""Which addresses the operator dials, and whom it asks for them, as its environment says."""

from base64 import b64encode
from typing import Any

import pytest

from checklist_operator.settings import InvalidSetting, Settings, help_text

REQUIRED = {"CHECKLISTS_SEALING_KEYS": f"one:{b64encode(bytes(32)).decode()}"}


def settings(**environment: str) -> Settings:
    return Settings.from_environment({**REQUIRED, **environment})


def test_nothing_private_is_dialled_by_default_and_the_system_resolves_names() -> None:
    plain = settings()
    assert not plain.addresses.allow_insecure
    assert not plain.addresses.permits("10.0.0.1")
    assert plain.name_servers == ()


def test_name_servers_of_our_own_can_be_named() -> None:
    assert settings(CHECKLISTS_DNS_SERVERS="10.96.0.10, [fd00::a]:5353").name_servers == (
        "10.96.0.10:53",
        "[fd00::a]:5353",
    )


@pytest.mark.parametrize(
    ("api", "denied"), [("34.7.8.9", "34.7.8.9"), ("2a0f::1", "2a0f::1"), ("[2a0f::1]", "2a0f::1")]
)
def test_the_kubernetes_api_is_never_dialled_as_a_receiver_even_at_a_public_address(api: str, denied: str) -> None:
    in_a_pod = settings(KUBERNETES_SERVICE_HOST=api, CHECKLISTS_DENIED_ADDRESSES="20.10.0.0/16")
    assert not in_a_pod.addresses.permits(denied)
    assert not in_a_pod.addresses.permits("20.10.1.1")
    assert settings().addresses.permits(denied)


@pytest.mark.parametrize(
    "wrong",
    [
        {"CHECKLISTS_DNS_SERVERS": "dns.example"},
        {"CHECKLISTS_DNS_SERVERS": "10.0.0.1:99999"},
        {"CHECKLISTS_DENIED_ADDRESSES": "10.0.0.0/40"},
        {"CHECKLISTS_ALLOWED_ADDRESSES": "hooks.example"},
    ],
)
def test_a_wrong_address_ends_the_start_with_the_name_of_its_variable(wrong: dict[str, Any]) -> None:
    (name,) = wrong
    with pytest.raises(InvalidSetting, match=name):
        settings(**wrong)
    assert name in help_text()
