"""Fair order of bulk replays, so that an unresponsive receiver, or one organization, delays no other.

`Places`: which DeliveryReplays are processed at a time, a few per organization. `Turns`: the targets of one of them,
host after host. `UnderWay`: its requests in progress, within the limits of its organization.
"""

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import Coroutine, Iterable
from typing import Final

from checklist_crds.resources.delivery import LastReplay
from checklist_crds.resources.kinds import Key
from checklist_crds.runs.replay_rules import ReplayRefusal
from checklist_operator.replays.selection import Target

Owner = tuple[str, bool]
"""An organization, and whether the replay lists its events."""

NAMED_AT_ONCE: Final = 8
CHOSEN_AT_ONCE: Final = 4
"""DeliveryReplays of one owner processed at a time; the others queue. Those with a filter are fewer, since each holds
the names of all its targets."""
PER_HOST: Final = 8
"""Requests in progress to one host: half of the host's permits."""
AT_ONCE: Final = 128
"""Requests in progress for one organization, by all of its DeliveryReplays; each may always have one."""
MAX_ASIDE: Final = 128
"""Requests of a DeliveryReplay that wait for a local fault to end, and do not count against its limits."""


class Places:
    """Slots for DeliveryReplays by key, and the queue for them."""

    def __init__(self, *, named: int = NAMED_AT_ONCE, chosen: int = CHOSEN_AT_ONCE) -> None:
        self._most = {True: named, False: chosen}
        self._owners: dict[Key, Owner] = {}
        self._taken: dict[Owner, int] = {}
        self._lines: dict[Owner, deque[Key]] = {}

    def take(self, owner: Owner, key: Key) -> bool:
        """Returns whether the replay has a slot, now or already; else it is queued."""
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

    def release(self, key: Key) -> Key | None:
        """Releases the replay's slot, if it has one; returns the replay that gets it. That one may be deleted by then,
        so it must give the slot back too."""
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


class Turns:
    """Targets in turns, with a limit of requests per host."""

    def __init__(self, targets: Iterable[Target]) -> None:
        self._lines: OrderedDict[str, deque[Target]] = OrderedDict()
        self._under_way: dict[str, int] = {}
        for target in targets:
            self._lines.setdefault(target.host, deque()).append(target)

    @property
    def left(self) -> bool:
        return bool(self._lines)

    def take(self) -> Target | None:
        """Returns the next target of the next host with room; None without one."""
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

    def release(self, target: Target) -> None:
        """Marks the target as processed."""
        self._under_way[target.host] -= 1
        if not self._under_way[target.host]:
            del self._under_way[target.host]


class UnderWay:
    """Requests in progress of one DeliveryReplay. `of_organizations` counts those of all together."""

    def __init__(self, of_organizations: Counter[str], organization: str) -> None:
        self.tasks: dict[asyncio.Task[LastReplay | ReplayRefusal], Target] = {}
        self._of_organizations = of_organizations
        self._organization = organization
        self._aside: set[Target] = set()
        self._newly_aside: list[Target] = []

    @property
    def has_room(self) -> bool:
        """A replay without requests always has room, so that no replay starves."""
        return len(self.tasks) == len(self._aside) or self._of_organizations[self._organization] < AT_ONCE

    def start(self, target: Target, work: Coroutine[None, None, LastReplay | ReplayRefusal]) -> None:
        self.tasks[asyncio.create_task(work)] = target
        self._of_organizations[self._organization] += 1

    def set_aside(self, target: Target) -> None:
        """Excludes a target that may wait for long from the limits."""
        if target not in self._aside and len(self._aside) < MAX_ASIDE:
            self._aside.add(target)
            self._newly_aside.append(target)
            self._leave()

    def take_set_aside(self) -> list[Target]:
        """Returns the targets excluded since the last call: their turns are free."""
        newly, self._newly_aside = self._newly_aside, []
        return newly

    def end(self, task: asyncio.Task[LastReplay | ReplayRefusal]) -> Target | None:
        """Returns the target of an ended task, if that frees its turn."""
        target = self.tasks.pop(task)
        if target in self._aside:
            self._aside.discard(target)
            return None
        self._leave()
        return target

    async def cancel(self) -> None:
        tasks = list(self.tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for task in tasks:
            self.end(task)

    def _leave(self) -> None:
        self._of_organizations[self._organization] -= 1
        if not self._of_organizations[self._organization]:
            del self._of_organizations[self._organization]
