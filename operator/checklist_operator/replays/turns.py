"""Whose turn it is in a bulk replay: hosts one after another, so that one that does not answer holds up no other."""

from collections import OrderedDict, deque
from collections.abc import Iterable
from typing import Final

from checklist_operator.replays.selection import Target

PER_HOST: Final = 8
"""Requests that are under way to one host: half of the permits that a host has."""


class Turns:
    """Targets in turns, each host with a few of them under way."""

    def __init__(self, targets: Iterable[Target]) -> None:
        self._lines: OrderedDict[str, deque[Target]] = OrderedDict()
        self._under_way: dict[str, int] = {}
        for target in targets:
            self._lines.setdefault(target.host, deque()).append(target)

    @property
    def left(self) -> bool:
        return bool(self._lines)

    def take(self) -> Target | None:
        """The next target of the next host that has room; None when none has."""
        for host, line in self._lines.items():
            if self._under_way.get(host, 0) < PER_HOST:
                self._under_way[host] = self._under_way.get(host, 0) + 1
                target = line.popleft()
                if line:
                    self._lines.move_to_end(host)
                else:
                    del self._lines[host]
                return target
        return None

    def give_back(self, target: Target) -> None:
        """The target was dealt with."""
        self._under_way[target.host] -= 1
        if not self._under_way[target.host]:
            del self._under_way[target.host]
