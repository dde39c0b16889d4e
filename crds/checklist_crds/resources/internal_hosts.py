"""Hosts of receivers inside a private network or cluster, which the rules for public receivers refuse."""

import re
from dataclasses import dataclass
from typing import Final, Self

_NAME: Final = re.compile(r"(?:\*\.)?[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?")
_ALL_BELOW: Final = "*."


@dataclass(frozen=True, slots=True)
class InternalHosts:
    """`host in hosts` tests the host of a canonical URL: a lower-case name, or an IPv4 address.

    `*.team-a.svc.cluster.local` matches all names below that one.
    """

    names: frozenset[str] = frozenset()

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parses a comma-separated list. Raises ValueError."""
        names = frozenset(part.strip().lower() for part in text.split(",") if part.strip())
        for name in sorted(names):
            if _NAME.fullmatch(name) is None:
                raise ValueError(
                    f"{name!r} is not a host, such as erp.team-a.svc.cluster.local or *.team-a.svc.cluster.local"
                )
        return cls(names)

    def __bool__(self) -> bool:
        return bool(self.names)

    def __contains__(self, host: str) -> bool:
        parts = host.split(".")
        return host in self.names or any(
            _ALL_BELOW + ".".join(parts[first:]) in self.names for first in range(1, len(parts))
        )
