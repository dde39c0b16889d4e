"""Which addresses a delivery may connect to (delivery profile, "Addresses").

Protects against server-side request forgery: the address is checked when its socket is created, after name resolution
and at every new connection, so neither DNS rebinding nor an unusual notation evades it. The table is our own:
`ipaddress.is_global` accepts NAT64, IPv4-compatible loopback and multicast, and changes with Python.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final, Self

from checklist_crds.resources.internal_hosts import InternalHosts
from checklist_crds.resources.webhook_url import InsecureTargets

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

DENIED_IPV4: Final = tuple(
    IPv4Network(text)
    for text in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # carrier-grade NAT, and the pods of some clouds
        "127.0.0.0/8",  # loopback
        "168.63.129.16/32",  # the host's own service in Azure, although a public address
        "169.254.0.0/16",  # link-local, the metadata services of clouds
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # IETF protocol assignments
        "192.0.2.0/24",  # documentation
        "192.88.99.0/24",  # 6to4 relay
        "192.168.0.0/16",  # private
        "198.18.0.0/15",  # benchmarking
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, broadcast
    )
)
# Global unicast is the only public part of IPv6, so the rest (loopback, NAT64, ULA, link-local) needs no list.
ALLOWED_IPV6: Final = IPv6Network("2000::/3")
DENIED_IPV6: Final = tuple(
    IPv6Network(text)
    for text in (
        "2001::/23",  # IETF protocol assignments, Teredo, ORCHID
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4: any IPv4 address inside
        "3fff::/20",  # documentation
    )
)


NAT64: Final = IPv6Network("64:ff9b::/96")
"""The well-known prefix of RFC 6052: the last 32 bits are the IPv4 destination."""

NEVER_INTERNAL: Final = tuple(
    ip_network(text)
    for text in (
        *("0.0.0.0/8", "127.0.0.0/8", "::/127"),  # this machine
        *("169.254.0.0/16", "fe80::/10"),  # link-local, the metadata services of clouds
        *("100.100.100.200/32", "168.63.129.16/32", "fd00:ec2::254/128"),  # more metadata services
        *("224.0.0.0/3", "ff00::/8"),  # multicast, reserved
        "64:ff9b::/96",  # anything behind NAT64
    )
)
"""Not even for receivers inside a network."""
_NONE: Final = InternalHosts()


class BlockedAddress(OSError):
    """The address must not be used. An OSError, so that a connector tries the next address of a name."""


@dataclass(frozen=True, slots=True)
class AddressPolicy:
    """The built-in table and the ranges of the installation.

    `denied` adds to the table (pod, service and node ranges, the API server); `allowed` are exceptions from the table
    and from `denied`; `allow_insecure` (development) allows everything but `denied`. An exception for NAT64 allows the
    translator only: the embedded IPv4 address is checked like any other.

    Receivers at `internal` hosts may have any address, also in `denied`, except those in `never` (the API server) and
    in NEVER_INTERNAL.
    """

    denied: tuple[Network, ...] = ()
    allowed: tuple[Network, ...] = ()
    allow_insecure: bool = False
    internal: InternalHosts = _NONE
    never: tuple[Network, ...] = ()

    @property
    def insecure_targets(self) -> InsecureTargets:
        return self.allow_insecure or self.internal

    @classmethod
    def parse(cls, *, denied: str = "", allowed: str = "", allow_insecure: bool = False) -> Self:
        """Parses comma-separated addresses and ranges, for example `"10.0.0.0/8, fd00::/8"`. Raises ValueError."""
        return cls(_networks(denied), _networks(allowed), allow_insecure)

    def permits(self, address: str | Address, *, internal: bool = False) -> bool:
        """Whether this numeric address may be used. Ignores a zone (`%eth0`); denies an invalid address.

        `internal`: for a receiver at one of the `internal` hosts.
        """
        numeric = _numeric(address)
        if numeric is None:
            return False
        if _in_any(numeric, self.allowed):
            return numeric not in NAT64 or self.permits(IPv4Address(int(numeric) & 0xFFFFFFFF))
        if internal:
            return not _in_any(numeric, (*self.never, *NEVER_INTERNAL))
        if _in_any(numeric, self.denied):
            return False
        return self.allow_insecure or _is_public(numeric)

    def guards_own_machine(self, address: str | Address) -> bool:
        """Whether `address` is also denied if it belongs to this machine or pod."""
        numeric = _numeric(address)
        return not self.allow_insecure and (numeric is None or not _in_any(numeric, self.allowed))

    def check(self, address: str | Address) -> None:
        """Raises BlockedAddress, whose text omits the address, if it is denied."""
        if not self.permits(address):
            raise BlockedAddress("the address is not allowed")


def _numeric(address: str | Address) -> Address | None:
    """Removes a zone and unwraps an IPv4-mapped address; None for an invalid one."""
    try:
        numeric = ip_address(address.partition("%")[0]) if isinstance(address, str) else address
    except ValueError:
        return None
    mapped = numeric.ipv4_mapped if isinstance(numeric, IPv6Address) else None
    return numeric if mapped is None else mapped


def _is_public(address: Address) -> bool:
    if isinstance(address, IPv4Address):
        return not _in_any(address, DENIED_IPV4)
    return address in ALLOWED_IPV6 and not _in_any(address, DENIED_IPV6)


def _in_any(address: Address, networks: Iterable[Network]) -> bool:
    return any(address in network for network in networks)


def _networks(text: str) -> tuple[Network, ...]:
    """Parses ranges; IPv4-mapped ones are unwrapped like addresses."""
    networks: list[Network] = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        network = ip_network(part)
        mapped = network.network_address.ipv4_mapped if isinstance(network, IPv6Network) else None
        if mapped is not None and network.prefixlen >= 96:
            network = IPv4Network((mapped, network.prefixlen - 96))
        networks.append(network)
    return tuple(networks)
