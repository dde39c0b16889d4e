"""Changes as viewers receive them: which object of their organization changed, and the list row of a run.

Never what is in it: a page that wants to know reads it, through the route that knows who may.
"""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

import orjson

KEPT: Final = 1_000


class LiveKind(StrEnum):
    """What can change."""

    RUN = "run"
    DELIVERY = "delivery"
    REPLAY = "replay"
    TEMPLATE = "template"
    KEY = "key"
    MEMBER = "member"


_FOR_ADMINS: Final = frozenset({LiveKind.KEY, LiveKind.MEMBER})


@dataclass(frozen=True, slots=True)
class LiveChange:
    """One object, changed or gone. `more` is told with it."""

    kind: LiveKind
    id: str
    namespace: str
    """Not told: an object counts only in a namespace that its organization has."""
    gone: bool = False
    more: Mapping[str, Any] | None = None

    def as_json(self) -> bytes:
        told = {"kind": self.kind.value, "id": self.id, "change": "gone" if self.gone else "changed"}
        return orjson.dumps(told if self.more is None else {**told, **self.more})


@dataclass(frozen=True, slots=True)
class Sight:
    """What a viewer may hear of."""

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
    """The newest change of each of the objects that changed last, numbered. Bounded: what changed longest ago goes.

    A viewer is a number here, the last one that it was told, so that a slow one costs nothing and gets the newest.
    """

    def __init__(self, kept: int = KEPT) -> None:
        self._kept = kept
        self._entries: OrderedDict[tuple[LiveKind, str, str], _Entry] = OrderedDict()
        self._let_go = 0
        """The highest number that is not here although nothing newer of its object is."""
        self.last = 0

    def add(self, change: LiveChange) -> None:
        self.last += 1
        key = (change.kind, change.id, change.namespace)
        self._entries[key] = _Entry(self.last, change, change.as_json())
        self._entries.move_to_end(key)
        if len(self._entries) > self._kept:
            self._let_go = self._entries.popitem(last=False)[1].number

    def after(self, number: int, sight: Sight) -> list[bytes] | None:
        """As JSON, in order; None when some that came after `number` are not here any more."""
        if not self._let_go <= number <= self.last:
            return None
        found: list[bytes] = []
        for entry in reversed(self._entries.values()):
            if entry.number <= number:
                break
            if sight.covers(entry.change):
                found.append(entry.json)
        found.reverse()
        return found
