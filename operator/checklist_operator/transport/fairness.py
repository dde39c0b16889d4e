"""Permits to transmit, so that one bad receiver or one busy organization does not delay the others.

Delivery profile, "Fairness". An attempt waits for its permit before its ten seconds start, so the wait never counts
against a receiver. Attempts are only delayed: none is dropped or sent twice.

A permit takes a slot at three gates: all, organization, host. At each gate a part of the slots is reserved for first
attempts, so retries to dead endpoints cannot delay new events.

Hosts that are not known to answer quickly (`host_standing`) may together use half of all slots and half of their
organization's, so that room is left for the others however many fail at once. A long attempt counts as one of theirs
from then on. A new host starts with few slots. After five timeouts in a row, a host must also pass the slow lane, which
is narrow and shared by all such hosts, until one success.

Waiters with the same host, organization and kind form a line and start in order of arrival. A line that meets a full
gate is parked there and costs nothing until that gate has a free slot. Thousands may wait for one host, so a waiter
needs no task: `apply` returns its place in the line.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import count

from checklist_operator.transport.gates import Gate, Grant, Line
from checklist_operator.transport.host_standing import HostStandings
from checklist_operator.transport.outcome import OutcomeClass


@dataclass(frozen=True, slots=True)
class PermitLimits:
    """Attempts in flight. `reserved` is the part of each of the first three that only first attempts may use, and
    `in_doubt` the part of the first two that hosts in doubt may use. An attempt longer than `prompt_s` is in doubt."""

    total: int = 512
    per_organization: int = 64
    per_host: int = 16
    reserved: float = 0.25
    slow_lane: int = 32
    per_slow_host: int = 2
    slow_after_timeouts: int = 5
    in_doubt: float = 0.5
    per_unheard_host: int = 4
    prompt_s: float = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """A place in a line, and the permit once it is granted. Its holder must `leave` it."""

    host: str
    organization: str
    first: bool
    grant: asyncio.Future[Grant]

    @property
    def is_granted(self) -> bool:
        return self.grant.done() and not self.grant.cancelled()


class Permits:
    """Grants permits within the limits. One per process, in one event loop."""

    def __init__(self, limits: PermitLimits | None = None) -> None:
        self._limits = limits or PermitLimits()
        self._tickets = count(1)
        self._total = self._gate(self._limits.total)
        self._in_doubt = self._gate_in_doubt(self._limits.total)
        self._slow_lane = Gate(self._limits.slow_lane, 0)
        self._organizations: dict[str, Gate] = {}
        self._hosts: dict[str, Gate] = {}
        self._organizations_in_doubt: dict[str, Gate] = {}
        self._unheard_hosts: dict[str, Gate] = {}
        self._slow_hosts: dict[str, Gate] = {}
        self._lines: dict[tuple[str, str, bool], Line] = {}
        self._lines_to: dict[str, set[Line]] = {}
        self._standings = HostStandings(
            slow_after_timeouts=self._limits.slow_after_timeouts, prompt_s=self._limits.prompt_s
        )

    @asynccontextmanager
    async def held(self, place: Place) -> AsyncIterator[None]:
        """Waits for the permit and holds it while the block runs. Safe to cancel at any point."""
        try:
            await place.grant
            yield
        finally:
            self.leave(place)

    def apply(self, *, host: str, organization: str, first: bool) -> Place:
        """Joins the line for a permit, which may be granted at once."""
        key = (host, organization, first)
        line = self._lines.get(key)
        if line is None:
            line = self._lines[key] = Line(host, organization, first)
            self._lines_to.setdefault(host, set()).add(line)
        place = Place(host, organization, first, asyncio.get_running_loop().create_future())
        line.waiters.append((next(self._tickets), place.grant))
        if line.parked_at is None:
            self._advance(line)
        return place

    def leave(self, place: Place) -> None:
        """Releases a permit, or gives up the place before it is granted: once for each place."""
        # A waiter that gives up leaves its line when the line next moves.
        if not place.grant.cancel() and not place.grant.cancelled():
            self._release(place.grant.result(), place.host, place.organization, place.first)

    def line_length(self, *, host: str, organization: str, first: bool) -> int:
        """How many wait for such a permit."""
        line = self._lines.get((host, organization, first))
        return 0 if line is None else len(line.waiters)

    def record(self, host: str, outcome_class: OutcomeClass, duration_s: float = 0.0) -> None:
        """Records the outcome for the host's standing. Call it once per transmission, while holding its permit."""
        gate = self._hosts.get(host)
        more = gate is not None and gate.used > 1
        self._standings.ended(host, outcome_class, duration_s, _now(), more_in_flight=more)
        if outcome_class is not OutcomeClass.TIMEOUT:
            self._reconsider(host)

    def is_slow(self, host: str) -> bool:
        return self._standings.is_slow(host)

    def delays_attempts(self, host: str) -> bool:
        """Whether attempts wait because of the receiver itself."""
        return self._standings.delays_attempts(host, _now())

    @property
    def in_flight(self) -> int:
        return self._total.used

    @property
    def waiting(self) -> int:
        return sum(not future.done() for line in self._lines.values() for _, future in line.waiters)

    @property
    def slow_hosts(self) -> int:
        return self._standings.slow

    def _gate(self, places: int) -> Gate:
        return Gate(places, min(int(places * self._limits.reserved), places - 1))

    def _gate_in_doubt(self, places: int) -> Gate:
        return self._gate(max(1, int(places * self._limits.in_doubt)))

    def _gates(self, line: Line) -> Iterator[Gate]:
        """Yields gates from narrowest to widest, so that a line is parked where its slot will become free."""
        host, organization, limits = line.host, line.organization, self._limits
        if self.is_slow(host):
            if host not in self._slow_hosts:
                self._slow_hosts[host] = Gate(limits.per_slow_host, 0)
            yield self._slow_hosts[host]
            yield self._slow_lane
        if self._standings.is_unheard(host):
            if host not in self._unheard_hosts:
                self._unheard_hosts[host] = self._gate(limits.per_unheard_host)
            yield self._unheard_hosts[host]
        if host not in self._hosts:
            self._hosts[host] = self._gate(limits.per_host)
        yield self._hosts[host]
        doubt = self._gates_in_doubt(organization) if self._standings.is_in_doubt(host, _now()) else ()
        yield from doubt[:1]
        if organization not in self._organizations:
            self._organizations[organization] = self._gate(limits.per_organization)
        yield self._organizations[organization]
        yield from doubt[1:]
        yield self._total

    def _gates_in_doubt(self, organization: str) -> tuple[Gate, ...]:
        if organization not in self._organizations_in_doubt:
            self._organizations_in_doubt[organization] = self._gate_in_doubt(self._limits.per_organization)
        return self._organizations_in_doubt[organization], self._in_doubt

    def _advance(self, line: Line) -> None:
        """Grants permits to the line until it is empty, or parks it at a full gate."""
        line.drop_finished()
        while line.waiters:
            gates = list(self._gates(line))
            full = next((gate for gate in gates if not gate.has_room(first=line.first)), None)
            if full is not None:
                line.parked_at = full
                full.parked(first=line.first).append(line)
                return
            for gate in gates:
                gate.enter(first=line.first)
            self._standings.begun(line.host, _now())
            grant = Grant(gates)
            if self._in_doubt not in gates:
                grant.overdue = asyncio.get_running_loop().call_later(
                    self._limits.prompt_s, self._mark_overdue, grant, line.organization, line.first
                )
            _, future = line.waiters.popleft()
            future.set_result(grant)
            line.drop_finished()
        del self._lines[line.host, line.organization, line.first]
        self._lines_to[line.host].discard(line)
        if not self._lines_to[line.host]:
            del self._lines_to[line.host]
        self._forget_idle(line.host, line.organization)

    def _mark_overdue(self, grant: Grant, organization: str, first: bool) -> None:
        """Counts a long attempt as in doubt from now on, even above that limit."""
        grant.overdue = None
        for gate in self._gates_in_doubt(organization):
            gate.enter(first=first)
            grant.gates.append(gate)

    def _release(self, grant: Grant, host: str, organization: str, first: bool) -> None:
        if grant.overdue is not None:
            grant.overdue.cancel()
        for gate in grant.gates:
            gate.leave(first=first)
        # A line released here may park at another gate without using the slot, so continue with the next line.
        for gate in grant.gates:
            while (line := gate.next_line()) is not None:
                self._advance(line)
        self._forget_idle(host, organization)

    def _forget_idle(self, host: str, organization: str) -> None:
        if host in self._hosts and not self._hosts[host].used:
            self._standings.idle(host)
        for gates, key in (
            (self._hosts, host),
            (self._unheard_hosts, host),
            (self._slow_hosts, host),
            (self._organizations, organization),
            (self._organizations_in_doubt, organization),
        ):
            if key in gates and gates[key].idle:
                del gates[key]

    def _reconsider(self, host: str) -> None:
        """After news of the host: its lines may no longer have to pass the gate at which they are parked."""
        for line in list(self._lines_to.get(host, ())):
            gate = line.parked_at
            if gate is not None and gate not in tuple(self._gates(line)):
                gate.parked(first=line.first).remove(line)
                line.parked_at = None
                self._advance(line)


def _now() -> float:
    return asyncio.get_running_loop().time()
