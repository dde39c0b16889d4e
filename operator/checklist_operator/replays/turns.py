"""Whose turn it is in bulk replays, so that a receiver that does not answer, or an organization, holds up no other.

`Places`: which DeliveryReplays are worked off at a time, a few of each organization. `Turns`: the targets of one of
them, host after host. `UnderWay`: what one has asked for and waits for, within bounds of its organization.
"""

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import Coroutine, Iterable
from typing import Final

from checklist_crds.kube.informer import Key
from checklist_crds.resources.delivery import LastReplay
from checklist_crds.runs.replay_rules import ReplayRefusal
from checklist_operator.replays.selection import Target

Owner = tuple[str, bool]
"""An organization, and whether the replay names its events."""

NAMED_AT_ONCE: Final = 8
CHOSEN_AT_ONCE: Final = 4
"""DeliveryReplays of one owner that are worked off at a time; its others wait in line. By a filter they are fewer,
since each of those holds the names of all that it has chosen."""
PER_HOST: Final = 8
"""Requests that are under way to one host: half of the permits that a host has."""
AT_ONCE: Final = 128
"""Requests that are under way for one organization, by all of its DeliveryReplays together; each of them may have one
in any case. Of one DeliveryReplay to one host: `PER_HOST`."""
HELD_UP: Final = 128
"""As many of a DeliveryReplay, held up by a fault of our own, are waited for beside the others, and not instead."""


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


class UnderWay:
    """What one DeliveryReplay has asked for and waits for. `of_organizations` counts that of all of them together."""

    def __init__(self, of_organizations: Counter[str], organization: str) -> None:
        self.tasks: dict[asyncio.Task[LastReplay | ReplayRefusal], Target] = {}
        self._of_organizations = of_organizations
        self._organization = organization
        self._aside: set[Target] = set()
        self._newly_aside: list[Target] = []

    @property
    def has_room(self) -> bool:
        """One that waits for none has room in any case, so that no replay stands still because of another one."""
        return len(self.tasks) == len(self._aside) or self._of_organizations[self._organization] < AT_ONCE

    def start(self, target: Target, work: Coroutine[None, None, LastReplay | ReplayRefusal]) -> None:
        self.tasks[asyncio.create_task(work)] = target
        self._of_organizations[self._organization] += 1

    def held_up(self, target: Target) -> None:
        """The target waits for something that may take long. It is no reason for others to wait, too."""
        if target not in self._aside and len(self._aside) < HELD_UP:
            self._aside.add(target)
            self._newly_aside.append(target)
            self._leave()

    def stepped_aside(self) -> list[Target]:
        """Those that did so since the last call: their turns are free."""
        newly, self._newly_aside = self._newly_aside, []
        return newly

    def end(self, task: asyncio.Task[LastReplay | ReplayRefusal]) -> Target | None:
        """The target of a task that has ended, when its turn is free by that."""
        target = self.tasks.pop(task)
        if target in self._aside:
            self._aside.discard(target)
            return None
        self._leave()
        return target

    async def cancel(self) -> None:
        """Nothing of it is waited for any longer."""
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
