"""Who may transmit now: permits that keep one bad receiver, or one busy organization, from holding up the others.

Delivery profile, "Fairness". An attempt waits for its permit before its ten seconds start, so waiting here never counts
against a receiver. Attempts are only ever late: nothing is dropped and nothing is sent twice.

A permit takes a place at three gates: everything, the organization, the host. At each gate a part of the places is kept
for first attempts, so retries to dead endpoints cannot delay new events. A host with five timeouts in a row must also
pass the slow lane, which is narrow and shared by all such hosts, until one success.

Waiters with the same host, organization and kind stand in one line and start in the order in which they came. A line
that meets a full gate is parked there and costs nothing until a place at that very gate comes free.
"""

import asyncio
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Final
from urllib.parse import urlsplit

from checklist_operator.delivery.outcome import OutcomeClass

_REMEMBERED_HOSTS: Final = 10_000


@dataclass(frozen=True, slots=True)
class Limits:
    """Attempts in flight. `reserved` is the part of each of the first three that only first attempts may use."""

    total: int = 512
    per_organization: int = 64
    per_host: int = 16
    reserved: float = 0.25
    slow_lane: int = 32
    per_slow_host: int = 2
    slow_after_timeouts: int = 5


def host_of(url: str) -> str:
    """The key of a canonical URL's host: its name or address without the port."""
    return urlsplit(url).hostname or ""


@dataclass(slots=True, eq=False)
class _Line:
    """Waiters that are alike, in order of arrival, each with its ticket."""

    host: str
    organization: str
    first: bool
    waiters: deque[tuple[int, asyncio.Future[tuple["_Gate", ...]]]] = field(default_factory=deque)
    parked_at: "_Gate | None" = None

    def drop_finished(self) -> None:
        while self.waiters and self.waiters[0][1].done():
            self.waiters.popleft()

    @property
    def ticket(self) -> int:
        return self.waiters[0][0] if self.waiters else 0


@dataclass(slots=True, eq=False)
class _Gate:
    """Places, and the lines that wait for one: those of first attempts and those of retries."""

    places: int
    kept_for_first: int
    used: int = 0
    used_by_retries: int = 0
    parked_first: deque[_Line] = field(default_factory=deque)
    parked_retries: deque[_Line] = field(default_factory=deque)

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

    def parked(self, *, first: bool) -> deque[_Line]:
        return self.parked_first if first else self.parked_retries

    def next_line(self) -> _Line | None:
        """Takes out the parked line that has waited longest among those for which there is room."""
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


class Permits:
    """Grants permits within the limits. One per process, used from one event loop."""

    def __init__(self, limits: Limits | None = None) -> None:
        self._limits = limits or Limits()
        self._tickets = count(1)
        self._total = self._gate(self._limits.total)
        self._slow_lane = _Gate(self._limits.slow_lane, 0)
        self._organizations: dict[str, _Gate] = {}
        self._hosts: dict[str, _Gate] = {}
        self._slow_hosts: dict[str, _Gate] = {}
        self._lines: dict[tuple[str, str, bool], _Line] = {}
        self._timeouts: OrderedDict[str, int] = OrderedDict()

    @asynccontextmanager
    async def permit(self, *, host: str, organization: str, first: bool) -> AsyncIterator[None]:
        """Holds a permit while the block runs; waits for it first. Safe to cancel at any point."""
        gates = await self._acquire(host, organization, first)
        try:
            yield
        finally:
            self._release(gates, host, organization, first)

    def record(self, host: str, outcome_class: OutcomeClass) -> None:
        """Takes note of an outcome, to know which hosts are slow. Call it once per transmission."""
        if outcome_class is OutcomeClass.TIMEOUT:
            self._timeouts[host] = self._timeouts.pop(host, 0) + 1
            if len(self._timeouts) > _REMEMBERED_HOSTS:
                forgotten, _ = self._timeouts.popitem(last=False)
                self._leave_slow_lane(forgotten)
        elif outcome_class is OutcomeClass.SUCCESS or not self.is_slow(host):
            was_slow = self.is_slow(host)
            self._timeouts.pop(host, None)
            if was_slow:
                self._leave_slow_lane(host)

    def is_slow(self, host: str) -> bool:
        return self._timeouts.get(host, 0) >= self._limits.slow_after_timeouts

    @property
    def in_flight(self) -> int:
        return self._total.used

    @property
    def waiting(self) -> int:
        return sum(not future.done() for line in self._lines.values() for _, future in line.waiters)

    @property
    def slow_hosts(self) -> int:
        return sum(timeouts >= self._limits.slow_after_timeouts for timeouts in self._timeouts.values())

    def _gate(self, places: int) -> _Gate:
        return _Gate(places, min(int(places * self._limits.reserved), places - 1))

    async def _acquire(self, host: str, organization: str, first: bool) -> tuple[_Gate, ...]:
        key = (host, organization, first)
        line = self._lines.setdefault(key, _Line(host, organization, first))
        future: asyncio.Future[tuple[_Gate, ...]] = asyncio.get_running_loop().create_future()
        line.waiters.append((next(self._tickets), future))
        if line.parked_at is None:
            self._advance(line)
        try:
            return await future
        except asyncio.CancelledError:
            # A cancelled wait leaves its line when the line next moves; a permit that was just granted goes back now.
            if not future.cancelled():
                self._release(future.result(), host, organization, first)
            raise

    def _gates(self, line: _Line) -> Iterator[_Gate]:
        """From the narrowest to the widest, so that a line is parked where its place will come free."""
        if self.is_slow(line.host):
            if line.host not in self._slow_hosts:
                self._slow_hosts[line.host] = _Gate(self._limits.per_slow_host, 0)
            yield self._slow_hosts[line.host]
            yield self._slow_lane
        if line.host not in self._hosts:
            self._hosts[line.host] = self._gate(self._limits.per_host)
        yield self._hosts[line.host]
        if line.organization not in self._organizations:
            self._organizations[line.organization] = self._gate(self._limits.per_organization)
        yield self._organizations[line.organization]
        yield self._total

    def _advance(self, line: _Line) -> None:
        """Grants to the head of the line, and on, until the line is empty or meets a full gate and parks there."""
        line.drop_finished()
        while line.waiters:
            gates = tuple(self._gates(line))
            full = next((gate for gate in gates if not gate.has_room(first=line.first)), None)
            if full is not None:
                line.parked_at = full
                full.parked(first=line.first).append(line)
                return
            for gate in gates:
                gate.enter(first=line.first)
            _, future = line.waiters.popleft()
            future.set_result(gates)
            line.drop_finished()
        del self._lines[line.host, line.organization, line.first]
        self._forget_idle(line.host, line.organization)

    def _release(self, gates: tuple[_Gate, ...], host: str, organization: str, first: bool) -> None:
        for gate in gates:
            gate.leave(first=first)
        # A line that is let go here may park at another gate without using the place, so go on until nobody wants it.
        for gate in gates:
            while (line := gate.next_line()) is not None:
                self._advance(line)
        self._forget_idle(host, organization)

    def _forget_idle(self, host: str, organization: str) -> None:
        for gates, key in (
            (self._hosts, host),
            (self._slow_hosts, host),
            (self._organizations, organization),
        ):
            if key in gates and gates[key].idle:
                del gates[key]

    def _leave_slow_lane(self, host: str) -> None:
        """The lines of a host that answers again wait at its slow gates no longer."""
        slow_host = self._slow_hosts.get(host)
        for line in [line for line in self._lines.values() if line.host == host]:
            if line.parked_at is not None and line.parked_at in (self._slow_lane, slow_host):
                line.parked_at.parked(first=line.first).remove(line)
                line.parked_at = None
                self._advance(line)
