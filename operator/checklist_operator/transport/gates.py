"""Gates, slots and lines of waiters: the parts of `fairness`."""

import asyncio
from collections import deque
from dataclasses import dataclass, field


@dataclass(slots=True, eq=False)
class Grant:
    """The gates at which a permit has a slot. `overdue` fires when it is held for long."""

    gates: list["Gate"]
    overdue: asyncio.TimerHandle | None = None


@dataclass(slots=True, eq=False)
class Line:
    """Equal waiters in order of arrival, each with its ticket."""

    host: str
    organization: str
    first: bool
    waiters: deque[tuple[int, asyncio.Future[Grant]]] = field(default_factory=deque)
    parked_at: "Gate | None" = None

    def drop_finished(self) -> None:
        while self.waiters and self.waiters[0][1].done():
            self.waiters.popleft()

    @property
    def ticket(self) -> int:
        return self.waiters[0][0] if self.waiters else 0


@dataclass(slots=True, eq=False)
class Gate:
    """Slots, and the parked lines of first attempts and of retries."""

    places: int
    kept_for_first: int
    used: int = 0
    used_by_retries: int = 0
    parked_first: deque[Line] = field(default_factory=deque)
    parked_retries: deque[Line] = field(default_factory=deque)

    def has_room(self, *, first: bool) -> bool:
        if self.used >= self.places:
            return False
        return first or self.used_by_retries < self.places - self.kept_for_first

    def enter(self, *, first: bool) -> None:
        self.used += 1
        self.used_by_retries += not first

    def leave(self, *, first: bool) -> None:
        self.used -= 1
        self.used_by_retries -= not first

    def parked(self, *, first: bool) -> deque[Line]:
        return self.parked_first if first else self.parked_retries

    def next_line(self) -> Line | None:
        """Removes and returns the longest-waiting line that has room."""
        usable = [self.parked(first=first) for first in (True, False) if self.has_room(first=first)]
        lines = [queue for queue in usable if queue]
        if not lines:
            return None
        line = min(lines, key=lambda queue: queue[0].ticket).popleft()
        line.parked_at = None
        return line

    @property
    def idle(self) -> bool:
        return not (self.used or self.parked_first or self.parked_retries)
