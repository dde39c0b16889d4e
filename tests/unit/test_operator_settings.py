"""What only the operator reads from its environment, above all which addresses it dials."""

from base64 import b64encode

import pytest

from checklist_operator.settings import InvalidSetting, Settings

KEY = b64encode(bytes(32)).decode()
KEYS = f"one:{KEY}"


def settings(**environment: str) -> Settings:
    return Settings.from_environment({"CHECKLISTS_SERVER_KEY": KEY, "CHECKLISTS_SEALING_KEYS": KEYS, **environment})


def test_by_default_nothing_private_is_dialled_and_the_system_resolves_names() -> None:
    plain = settings()
    assert (plain.schedule.gaps, plain.namespace) == ((30, 120, 600, 3600), "checklists")
    assert not plain.allow_insecure_targets
    assert not plain.addresses.allow_insecure
    assert not plain.addresses.permits("10.0.0.1")
    assert plain.name_servers == ()
    named = settings(CHECKLISTS_DNS_SERVERS="10.96.0.10, [fd00::a]:5353")
    assert named.name_servers == ("10.96.0.10:53", "[fd00::a]:5353")


@pytest.mark.parametrize(
    ("api", "denied"), [("34.7.8.9", "34.7.8.9"), ("2a0f::1", "2a0f::1"), ("[2a0f::1]", "2a0f::1")]
)
def test_the_kubernetes_api_is_never_dialled_as_a_receiver_even_at_a_public_address(api: str, denied: str) -> None:
    in_a_pod = settings(KUBERNETES_SERVICE_HOST=api, CHECKLISTS_DENIED_ADDRESSES="20.10.0.0/16")
    assert not in_a_pod.addresses.permits(denied)
    assert not in_a_pod.addresses.permits("20.10.1.1")
    assert settings().addresses.permits(denied)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("RETRY_GAPS", "1,2,3"),
        ("SERVER_KEY", "c2hvcnQ="),
        ("DNS_SERVERS", "dns.example"),
        ("DNS_SERVERS", "10.0.0.1:99999"),
        ("DENIED_ADDRESSES", "10.0.0.0/99"),
        ("ALLOWED_ADDRESSES", "hooks.example"),
    ],
)
def test_a_wrong_setting_is_named(name: str, value: str) -> None:
    with pytest.raises(InvalidSetting, match=f"CHECKLISTS_{name}"):
        settings(**{f"CHECKLISTS_{name}": value})


@pytest.mark.parametrize("keys", ["", "c2VjcmV0LWtleS1vZi0zMi1ieXRlcw==", "k1:c2hvcnQ="])
def test_a_key_is_never_repeated_in_a_complaint(keys: str) -> None:
    with pytest.raises(InvalidSetting, match="CHECKLISTS_SEALING_KEYS") as caught:
        settings(CHECKLISTS_SEALING_KEYS=keys)
    assert "c2" not in str(caught.value)
    assert "AAAA" not in repr(settings())
