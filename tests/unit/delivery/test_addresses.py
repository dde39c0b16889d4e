import pytest

from checklist_crds.resources.webhook_url import InvalidTarget, canonical_url
from checklist_operator.transport.addresses import AddressPolicy, BlockedAddress

DENIED = """
168.63.129.16 0.0.0.0 0.1.2.3 0.255.255.255 10.0.0.0 10.0.0.1 10.255.255.255 100.64.0.0 100.100.100.200
100.127.255.255 127.0.0.1 127.1.2.3 127.255.255.255 169.254.0.0 169.254.169.254 169.254.170.2 169.254.255.255
172.16.0.0 172.17.0.1 172.31.255.255 192.0.0.0 192.0.0.170 192.0.0.192 192.0.2.1 192.0.2.255 192.88.99.1 192.88.99.255
192.168.0.0 192.168.1.1 192.168.255.255 198.18.0.0 198.19.255.255 198.51.100.7 198.51.100.255 203.0.113.9
203.0.113.255 224.0.0.1 239.255.255.250 240.0.0.1 255.255.255.255 :: ::1 ::2 ::127.0.0.1 ::10.0.0.1 ::ffff:127.0.0.1
::ffff:7f00:1 ::ffff:10.1.2.3 ::ffff:169.254.169.254 ::ffff:0.0.0.0 ::ffff:0:127.0.0.1 64:ff9b::127.0.0.1
64:ff9b::a9fe:a9fe 64:ff9b:1::1 100::1 1::1 1fff:ffff::1 2001::1 2001:0:53aa::1 2001:10::1 2001:20::1 2001:1ff:ffff::1
2001:db8::1 2001:db8:ffff::1 2002:7f00:1:: 2002:a9fe:a9fe:: 2002:c0a8:101::1 3fff::1 3fff:fff:ffff::1 4000::1 5f00::1
8000::1 fc00::1 fd00:ec2::254 fdff::1 fe80::1 fe80::1%eth0 fe80::1%lo febf::1 fec0::1 feff::1 ff00::1 ff02::1
ff02::1%1 ff0e::1 ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff
"""

ALLOWED = """
168.63.129.15 168.63.129.17
1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.1 169.253.255.255 169.255.0.0
172.15.255.255 172.32.0.0 191.255.255.255 192.0.1.0 192.0.3.0 192.88.98.255 192.88.100.0 192.167.255.255 192.169.0.0
198.17.255.255 198.20.0.0 198.51.99.255 198.51.101.0 203.0.112.255 203.0.114.0 223.255.255.255
2000::1 2001:200::1 2001:4860:4860::8888 2001:db7:ffff::1 2001:db9::1 2003::1 2606:4700:4700::1111 2a00::1
3ffe:ffff::1 3fff:1000::1 ::ffff:8.8.8.8
"""


NEVER_A_RECEIVER = """
0.0.0.0 0.255.255.255 127.0.0.0 127.0.0.1 127.255.255.255 169.254.0.0 169.254.169.254 169.254.255.255 100.100.100.200
168.63.129.16 224.0.0.0 239.255.255.250 240.0.0.1 255.255.255.255 :: ::1 fe80::1 fe80::1%eth0 febf::1 fd00:ec2::254
ff00::1 ff02::1 ffff::1 64:ff9b:: 64:ff9b::10.0.0.1 64:ff9b::255.255.255.255 ::ffff:127.0.0.1 ::ffff:169.254.169.254
"""

PERHAPS_A_RECEIVER = """
1.0.0.1 8.8.8.8 10.1.2.3 100.64.3.4 100.100.100.199 100.100.100.201 126.255.255.255 128.0.0.1 168.63.129.15
168.63.129.17 169.253.255.255 169.255.0.0 192.168.1.1 223.255.255.255 ::2 2606:4700::1 fc00::1 fd00:1::9 fd00:ec2::253
fd00:ec2::255 fdff::1 fe7f::1 fec0::1 feff::1 64:ff9b:0:0:0:1:: 64:ff9a:ffff::1 ::ffff:10.1.2.3
"""


def permitted(policy: AddressPolicy, addresses: str) -> list[str]:
    return [address for address in addresses.split() if policy.permits(address)]


def test_exactly_the_addresses_inside_of_a_network_and_texts_that_are_no_address_are_denied() -> None:
    assert permitted(AddressPolicy(), DENIED + ALLOWED) == ALLOWED.split()
    for text in ("", "example.com", "1.2.3", "0x7f.1", "1.2.3.4.5", "127.0.0.1 ", "[::1]", "١.1.1.1"):
        assert not AddressPolicy().permits(text), text
    with pytest.raises(BlockedAddress) as blocked:
        AddressPolicy().check("10.9.8.7")
    assert "10.9" not in str(blocked.value)


NOTATIONS_OF_LOOPBACK = """
127.0.0.1 127.1 127.0.1 0177.0.0.1 0x7f.0.0.1 0x7f000001 0X7F.1 2130706433 017700000001 127.0.0.1. 127.000.000.001
１２７.0.0.1 127。0。0。1 127.0.0.%31 ①②⑦.0.0.1 [::1] [0:0:0:0:0:0:0:1] [::ffff:127.0.0.1] [::FFFF:7F00:1]
[0000:0000:0000:0000:0000:ffff:7f00:0001]
"""


def test_every_notation_of_loopback_is_refused_in_a_url_and_denied_when_dialled() -> None:
    for host in NOTATIONS_OF_LOOPBACK.split():
        with pytest.raises(InvalidTarget) as refused:
            canonical_url(f"https://{host}/")
        assert refused.value.code == "denied_address", host
        dialled = canonical_url(f"https://{host}/", allow_insecure=True).split("/")[2].strip("[]")
        assert not AddressPolicy().permits(dialled), host


def test_the_operators_own_ranges_are_denied_but_for_an_explicit_exception() -> None:
    policy = AddressPolicy.parse(denied="8.8.8.0/24, 2a00:1450::/32,::ffff:9.9.9.0/120")
    assert permitted(AddressPolicy.parse(denied="::ffff:0:0/96"), "8.8.8.8 2a00::1") == ["2a00::1"]
    assert permitted(policy, "8.8.8.8 ::ffff:8.8.8.8 2a00:1450::5 9.9.9.9 8.8.4.4") == ["8.8.4.4"]
    policy = AddressPolicy.parse(denied="8.8.8.0/24", allowed="10.1.2.3,fd00:1::/32,8.8.8.8")
    opened = "10.1.2.3 ::ffff:10.1.2.3 fd00:1::9 8.8.8.8"
    assert permitted(policy, f"{opened} 10.1.2.4 fd00:2::9 8.8.8.9") == opened.split()


def test_an_exception_for_nat64_opens_the_way_and_not_what_lies_behind() -> None:
    policy = AddressPolicy.parse(allowed="64:ff9b::/96,64:ff9b:0:0:0:1::/96", denied="20.1.0.0/16")
    behind = "64:ff9b::10.0.0.1 64:ff9b::127.0.0.1 64:ff9b::169.254.169.254 64:ff9b::20.1.2.3 64:ff9b::168.63.129.16"
    opened = "64:ff9b::8.8.8.8 64:ff9b::168.63.129.17 64:ff9b:0:0:0:1:10.0.0.1"
    assert permitted(policy, f"{opened} {behind} 64:ff9b:1::8.8.8.8") == opened.split(), "another prefix is only that"


def test_the_development_setting_opens_private_addresses_but_not_the_operators_own_list() -> None:
    policy = AddressPolicy.parse(denied="10.96.0.0/12", allow_insecure=True)
    assert permitted(policy, "127.0.0.1 ::1 10.96.0.1") == ["127.0.0.1", "::1"]


def test_receivers_inside_the_network_may_be_anywhere_but_here_at_the_api_server_and_at_metadata() -> None:
    own = AddressPolicy.parse(denied="10.0.0.0/8").denied
    policy = AddressPolicy(denied=own, never=AddressPolicy.parse(denied="10.96.0.1").denied)
    every = f"{NEVER_A_RECEIVER} 10.96.0.1 {PERHAPS_A_RECEIVER}".split()
    assert [text for text in every if policy.permits(text, internal=True)] == PERHAPS_A_RECEIVER.split()
    assert permitted(policy, "10.1.2.3 192.168.1.1 100.64.3.4 fd00:1::9 8.8.8.8") == ["8.8.8.8"]


def test_a_range_that_is_none_is_refused_at_start() -> None:
    for text in ("10.0.0.0/33", "nonsense", "10.0.0.1/8"):
        with pytest.raises(ValueError, match=r"network|host bits"):
            AddressPolicy.parse(denied=text)
