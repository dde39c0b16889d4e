"""Changes as they are sent to viewers: the id of the changed object and, for a run, its list row.

Changes never carry content: pages read it through its own route, which checks access.
"""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

import orjson

KEPT: Final = 1_000


class LiveKind(StrEnum):
    RUN = "run"
    DELIVERY = "delivery"
    REPLAY = "replay"
    TEMPLATE = "template"
    KEY = "key"
    MEMBER = "member"


_FOR_ADMINS: Final = frozenset({LiveKind.KEY, LiveKind.MEMBER})


@dataclass(frozen=True, slots=True)
class LiveChange:
    """A changed or deleted object. `more` is merged into its JSON."""

    kind: LiveKind
    id: str
    namespace: str
    """Not sent: only changes in the organization's own namespaces are visible."""
    gone: bool = False
    more: Mapping[str, Any] | None = None

    def as_json(self) -> bytes:
        fields = {"kind": self.kind.value, "id": self.id, "change": "gone" if self.gone else "changed"}
        return orjson.dumps(fields if self.more is None else {**fields, **self.more})


@dataclass(frozen=True, slots=True)
class Scope:
    """The changes that a viewer may receive."""

    namespaces: tuple[str, ...]
    admin: bool

    def covers(self, change: LiveChange) -> bool:
        return change.namespace in self.namespaces and (self.admin or change.kind not in _FOR_ADMINS)


@dataclass(frozen=True, slots=True)
class _Entry:
    number: int
    change: LiveChange
    json: bytes


class RecentChanges:
    """Numbered, bounded log of changes that keeps the newest change of each object (LRU).

    A viewer's position is the number of the last change sent to it, so a slow viewer uses no memory.
    """

    def __init__(self, kept: int = KEPT) -> None:
        self._kept = kept
        self._entries: OrderedDict[tuple[LiveKind, str, str], _Entry] = OrderedDict()
        self._evicted = 0
        """Number of the newest evicted change."""
        self.last = 0

    def add(self, change: LiveChange) -> None:
        self.last += 1
        key = (change.kind, change.id, change.namespace)
        self._entries[key] = _Entry(self.last, change, change.as_json())
        self._entries.move_to_end(key)
        if len(self._entries) > self._kept:
            self._evicted = self._entries.popitem(last=False)[1].number

    def after(self, number: int, scope: Scope) -> list[bytes] | None:
        """Return the changes after `number` as JSON, in order; None if some of them were evicted."""
        if not self._evicted <= number <= self.last:
            return None
        found: list[bytes] = []
        for entry in reversed(self._entries.values()):
            if entry.number <= number:
                break
            if scope.covers(entry.change):
                found.append(entry.json)
        found.reverse()
        return found
