"""What was asked of which replica, when, and what it answered: the input of the checks."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Op:
    """One request. Times are seconds on the one clock of the process that made all of them."""

    kind: str
    """`answer`, `repeat` (an answer again), `read`, `end`, `dispatch`, `list`, `increment`, `rename`, `template`,
    `key`, `use`, `revoke`, `usage`."""
    subject: str
    """A run, a template, an Idempotency-Key, a key's name."""
    replica: int
    began: float
    ended: float
    status: int
    """As HTTP has it; 0: no answer."""
    wrote: Any = None
    """What was to be written; for answers `(step, value)`."""
    read: Any = None
    """What the answer says; None when it was a refusal."""

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300

    @property
    def uncertain(self) -> bool:
        """It may have been done or not."""
        return self.status == 0 or self.status >= 500


@dataclass
class History:
    """In the order in which the requests ended."""

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
    """As the cluster has it when all is at rest, and as every replica tells it."""

    runs: frozenset[str]
    used: int
    limit: int
    told: tuple[frozenset[str], ...]
    """The runs that each replica lists."""
    key_statuses: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """What each replica answers to each revoked key."""
