"""The history of requests: replica, time and response of each. Input of the checks."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Op:
    """One request. Times are seconds on one clock."""

    kind: str
    """`answer`, `repeat` (an answer again), `read`, `end`, `dispatch`, `list`, `increment`, `rename`, `template`,
    `key`, `use`, `revoke`, `usage`."""
    subject: str
    """A run, a template, an Idempotency-Key, a key's name."""
    replica: int
    began: float
    ended: float
    status: int
    """HTTP status; 0: no answer."""
    wrote: Any = None
    """The value to write; for answers `(step, value)`."""
    read: Any = None
    """The value in the response; None if refused."""

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300

    @property
    def uncertain(self) -> bool:
        """Whether it may have been done or not."""
        return self.status == 0 or self.status >= 500


@dataclass
class History:
    """Requests in the order in which they ended."""

    ops: list[Op] = field(default_factory=list)

    def of(self, *kinds: str) -> Iterator[Op]:
        return (op for op in self.ops if op.kind in kinds)

    def by_subject(self, *kinds: str) -> dict[str, list[Op]]:
        grouped: defaultdict[str, list[Op]] = defaultdict(list)
        for op in self.of(*kinds):
            grouped[op.subject].append(op)
        return grouped


@dataclass(frozen=True)
class FinalState:
    """The state at the end, in the cluster and as seen by every replica."""

    runs: frozenset[str]
    used: int
    limit: int
    listed: tuple[frozenset[str], ...]
    """The runs that each replica lists."""
    key_statuses: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """The status of each replica's response to each revoked key."""
