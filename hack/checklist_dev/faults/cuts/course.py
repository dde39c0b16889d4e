"""The steps of one operator, and the point where it is cut.

A point is named by the step next to it and the number of its occurrence, so that it can be found again when the
scenario is repeated.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NoReturn

from checklist_crds.kube.errors import KubeUnavailable

_BEFORE: Final = ": before"
_AFTER: Final = ": after"
API: Final = "api "
"""Prefix of the names of Kubernetes API calls."""


class Fate(StrEnum):
    """What happens to an operator at its point."""

    KILLED = "killed, back under its name"
    SUCCEEDED = "killed, another one takes over"
    SUCCEEDED_AHEAD = "killed, one whose clock is two hours ahead takes over"
    SUCCEEDED_BEHIND = "killed, one whose clock is two hours behind takes over"
    PAUSED = "paused, another one takes over, woken"
    ENDED = "asked to end"
    RELIEVED = "asked to end, another one works before it has ended"
    LOST = "asked to end, killed when another one works already"
    UNANSWERED = "its call is not answered"
    AHEAD = "its clock jumps two hours ahead"
    BACK = "its clock jumps two hours back"

    @property
    def may_repeat(self) -> int:
        """How many times an event may be sent twice: one per crash."""
        return 1 if self.crashes else 0

    @property
    def kills(self) -> bool:
        """Whether the operator is killed at its point."""
        return self in {Fate.KILLED, Fate.SUCCEEDED, Fate.SUCCEEDED_AHEAD, Fate.SUCCEEDED_BEHIND}

    @property
    def crashes(self) -> bool:
        return self.kills or self in {Fate.PAUSED, Fate.LOST}


@dataclass(frozen=True, slots=True)
class Cut:
    """`fate` happens at `point`."""

    point: str
    fate: Fate


class Course:
    """The points that an operator has passed, in order. `reached` is set at the point of its cut."""

    def __init__(self, cut: Cut | None = None) -> None:
        self._cut = cut
        self._times: Counter[str] = Counter()
        self._awake = asyncio.Event()
        self._awake.set()
        self._dead = False
        self._slept = False
        self.points: list[str] = []
        self.reached = asyncio.Event()

    @property
    def frozen(self) -> bool:
        return not self._awake.is_set()

    @property
    def leads(self) -> bool:
        """A paused operator has lost its lease, and notices it by its clocks."""
        return not self._slept

    def kill(self) -> None:
        """Stop all further steps."""
        self._dead = True

    def wake(self) -> None:
        """Resume a paused operator."""
        self._awake.set()

    async def awake(self) -> None:
        """Wait until the operator is not paused."""
        await self._awake.wait()

    @asynccontextmanager
    async def step(self, name: str) -> AsyncIterator[None]:
        """Two points: before and after the block, even if it raises."""
        numbered = self._numbered(name)
        await self._pass(numbered + _BEFORE)
        try:
            yield
        except asyncio.CancelledError:
            raise
        except Exception:
            await self._pass(numbered + _AFTER)
            raise
        await self._pass(numbered + _AFTER)

    async def point(self, name: str) -> None:
        await self._pass(self._numbered(name))

    def arrival(self, name: str) -> None:
        """A point outside the operator: a receiver got something from it."""
        if not self._dead and not self.frozen:
            self._strike(self._numbered(name))

    def _numbered(self, name: str) -> str:
        self._times[name] += 1
        return f"{name} {self._times[name]}"

    async def _pass(self, point: str) -> None:
        if self._dead:
            self._die()
        await self._awake.wait()
        self._strike(point)
        if self._dead:
            await asyncio.Event().wait()
        await self._awake.wait()

    def _strike(self, point: str) -> None:
        self.points.append(point)
        if self._cut is None or self._cut.point != point or self.reached.is_set():
            return
        self.reached.set()
        fate = self._cut.fate
        if fate.kills:
            self.kill()
        elif fate is Fate.PAUSED:
            self._awake.clear()
            self._slept = True
        elif fate is Fate.UNANSWERED:
            raise KubeUnavailable("the answer was lost")

    @staticmethod
    def _die() -> NoReturn:
        """A killed process does nothing more, not even its cancellation handlers."""
        raise asyncio.CancelledError


def fates_at(point: str) -> list[Fate]:
    """All fates that are possible there: only calls of the Kubernetes API can remain unanswered."""
    return [fate for fate in Fate if fate is not Fate.UNANSWERED or point.startswith(API)]
