"""What a bulk replay has asked for and waits for, within bounds that all replays of an organization share."""

import asyncio
from collections import Counter
from collections.abc import Coroutine
from typing import Final

from checklist_crds.delivery_types import LastReplay
from checklist_crds.replay_rules import ReplayRefusal
from checklist_operator.replays.selection import Target

AT_ONCE: Final = 128
"""Requests that are under way for one organization, by all of its DeliveryReplays together; each of them may have one
in any case. Of one DeliveryReplay to one host: `replay_turns.PER_HOST`."""
HELD_UP: Final = 128
"""As many of a DeliveryReplay, held up by a fault of our own, are waited for beside the others, and not instead."""


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
