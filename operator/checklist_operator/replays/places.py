"""Which bulk replays are worked off now: a few of each organization, so that those of one never hold up another's.

Those that name their events have places of their own: they are short, and somebody mostly waits for them.
"""

from collections import deque
from typing import Final

from checklist_crds.kube.informer import Key

Owner = tuple[str, bool]
"""An organization, and whether the replay names its events."""

NAMED_AT_ONCE: Final = 8
CHOSEN_AT_ONCE: Final = 4
"""DeliveryReplays of one owner that are worked off at a time; its others wait in line. By a filter they are fewer,
since each of those holds the names of all that it has chosen."""


class Places:
    """Places for DeliveryReplays by their key, and the line before them."""

    def __init__(self, *, named: int = NAMED_AT_ONCE, chosen: int = CHOSEN_AT_ONCE) -> None:
        self._most = {True: named, False: chosen}
        self._owners: dict[Key, Owner] = {}
        self._taken: dict[Owner, int] = {}
        self._lines: dict[Owner, deque[Key]] = {}

    def take(self, owner: Owner, key: Key) -> bool:
        """Whether the replay has a place, now or already; if not it stands in line."""
        if key in self._owners:
            return True
        _, names_its_events = owner
        if self._taken.get(owner, 0) < self._most[names_its_events]:
            self._owners[key] = owner
            self._taken[owner] = self._taken.get(owner, 0) + 1
            return True
        line = self._lines.setdefault(owner, deque())
        if key not in line:
            line.append(key)
        return False

    def give_back(self, key: Key) -> Key | None:
        """The replay needs its place no longer, if it has one; whose it is now. That one may be gone meanwhile, so it
        has to give it back, too."""
        owner = self._owners.pop(key, None)
        if owner is None:
            return None
        line = self._lines.get(owner)
        if line:
            successor = line.popleft()
            if not line:
                del self._lines[owner]
            self._owners[successor] = owner
            return successor
        self._taken[owner] -= 1
        if not self._taken[owner]:
            del self._taken[owner]
        return None
