"""A bounded, fair queue in front of the Kubernetes API, with load shedding.

An unbounded queue turns overload into latency: at twice the capacity every request waits for seconds, and most work is
for clients that have timed out. So at most `concurrency` calls run, and a request whose first call would wait longer
than `LONGEST_QUEUE_WAIT_S` (`BURST_S` in a burst) is refused before anything is sent: load shedding by sojourn time, as
in CoDel (RFC 8289), with Little's law as the prediction, and fair queuing between organizations, as in API Priority and
Fairness of kube-apiserver. Adaptive limits by latency (TCP Vegas, Netflix's gradient, Envoy) do not fit: they mistake a
distant or CPU-starved server for an overloaded one. A dozen calls keep kube-apiserver busy.

A request that has begun is never refused: its further calls, and those of background tasks, have priority over requests
that have not.
"""

import asyncio
import contextlib
import logging
import math
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final

from checklist_crds.kube.errors import KubeOverloaded

logger = logging.getLogger(__name__)

LONGEST_QUEUE_WAIT_S: Final = 0.6
"""While requests have been waiting for longer than `BURST_S`. Leaves room for a busy process to answer a refusal within
a second of the request."""
BURST_S: Final = 1.0
"""While the queue was empty this recently, requests may wait this long: a burst is not an overload."""
LONGEST_RETRY_AFTER_S: Final = 30
_FIRST_GUESS_S: Final = 0.05
_WEIGHT: Final = 0.1
"""Weight of the newest call in the moving average of call times."""
_CALM_S: Final = 30.0
"""Time without refusals after which the next one is logged as a new overload."""
_Queue = deque[asyncio.Future[None]]


@dataclass(slots=True)
class Ticket:
    """The queue state of an HTTP request. `has_begun`: its calls have priority; `holds_slot`: its calls share a slot;
    `waits_since`: when it first waited, for an object's lock or a slot."""

    organization: str = ""
    waits_since: float | None = None
    has_begun: bool = False
    holds_slot: bool = False


_ticket: ContextVar[Ticket | None] = ContextVar("ticket", default=None)


def open_ticket() -> Ticket:
    """Open a ticket for the request of the current task. Set `has_begun` at its end, so that tasks that it started
    count as background tasks."""
    ticket = Ticket()
    _ticket.set(ticket)
    return ticket


def charge_to(organization: str) -> None:
    """Assign the request of the current task to the queue of an organization."""
    if (ticket := _ticket.get()) is not None:
        ticket.organization = organization


class CallQueue:
    """Limits concurrent calls to `concurrency` slots, given to organizations round robin."""

    def __init__(self, concurrency: int, on_refusal: Callable[[], None] = lambda: None) -> None:
        self._concurrency = concurrency
        self._on_refusal = on_refusal
        self._in_use = 0
        self._begun: _Queue = deque()
        self._new: dict[str, _Queue] = {}
        """Waiting new requests by organization in round-robin order; no queue is empty."""
        self._held_s = _FIRST_GUESS_S
        """Moving average of the time that a slot is held."""
        self._booked_until: dict[str, float] = {}
        """By organization, the latest time at which a refused request should retry."""
        self._last_refusal = -math.inf
        self._waiting_since = -math.inf
        """When the first of an unbroken series of new requests began to wait."""

    @property
    def waiting(self) -> int:
        return len(self._begun) + sum(map(len, self._new.values()))

    @asynccontextmanager
    async def slot(self, *, for_all_calls: bool = False) -> AsyncIterator[None]:
        """Hold a slot while the block runs. Raises KubeOverloaded if the request has not begun and would wait too long.

        `for_all_calls`: calls of the request within the block need no further slots.
        """
        ticket = _ticket.get()
        if ticket is not None and ticket.holds_slot:
            yield
            return
        await self._enter(ticket)
        started = asyncio.get_running_loop().time()
        if ticket is not None:
            ticket.has_begun, ticket.holds_slot = True, for_all_calls
        try:
            yield
        finally:
            if ticket is not None:
                ticket.holds_slot = False
            self._held_s += _WEIGHT * (asyncio.get_running_loop().time() - started - self._held_s)
            self._leave()

    async def _enter(self, ticket: Ticket | None) -> None:
        if ticket is not None and not ticket.has_begun:
            if self._in_use < self._concurrency:
                self._in_use += 1
            else:
                await self._wait_in_turn(ticket)
        # Background tasks get extra slots, because requests that hold slots may wait for them (deadlock).
        elif self._in_use < 2 * self._concurrency:
            self._in_use += 1
        else:
            await self._wait_in(self._begun)

    @asynccontextmanager
    async def turn(self, lock: asyncio.Lock) -> AsyncIterator[None]:
        """Hold an object's lock while the block runs. Raises KubeOverloaded after the time limit if slots are short;
        contention for the object alone has no time limit."""
        ticket = _ticket.get()
        if ticket is None or ticket.has_begun or not lock.locked():
            await lock.acquire()
        else:
            while not await self._acquired(lock, ticket):
                if self._in_use >= self._concurrency:
                    raise self._refusal(ticket.organization)
                ticket.waits_since = None
        try:
            yield
        finally:
            lock.release()

    async def _acquired(self, lock: asyncio.Lock, ticket: Ticket) -> bool:
        try:
            async with asyncio.timeout(self._left_s(ticket)):
                return await lock.acquire()
        except TimeoutError:
            return False

    def _left_s(self, ticket: Ticket) -> float:
        """Return how long the request may still wait; starts its waiting time if needed."""
        now = asyncio.get_running_loop().time()
        if ticket.waits_since is None:
            ticket.waits_since = now
        longest_s = BURST_S if not self._new or now < self._waiting_since + BURST_S else LONGEST_QUEUE_WAIT_S
        return max(0.0, ticket.waits_since + longest_s - now)

    async def _wait_in_turn(self, ticket: Ticket) -> None:
        organization, left_s = ticket.organization, self._left_s(ticket)
        # One request per organization may always wait, since it is served in this round.
        if organization in self._new and self._expected_wait_s(organization) > left_s:
            raise self._refusal(organization)
        if not self._new:
            self._waiting_since = asyncio.get_running_loop().time()
        queue = self._new.setdefault(organization, deque())
        try:
            # The prediction may be too low: the server stalls, or requests need several calls.
            async with asyncio.timeout(left_s):
                await self._wait_in(queue)
        except TimeoutError:
            raise self._refusal(organization) from None
        finally:
            if not queue and self._new.get(organization) is queue:
                del self._new[organization]

    async def _wait_in(self, queue: _Queue) -> None:
        turn = asyncio.get_running_loop().create_future()
        queue.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                with contextlib.suppress(ValueError):
                    queue.remove(turn)
            else:  # it was given the slot concurrently
                self._leave()
            raise

    def _leave(self) -> None:
        """Pass the slot to the next waiting call."""
        if not self._begun and self._in_use > self._concurrency:
            self._in_use -= 1
            return
        while (turn := self._next()) is not None:
            if not turn.done():
                turn.set_result(None)
                return
        self._in_use -= 1

    def _next(self) -> asyncio.Future[None] | None:
        if self._begun:
            return self._begun.popleft()
        if not self._new:
            return None
        organization, queue = next(iter(self._new.items()))
        del self._new[organization]
        turn = queue.popleft()
        if queue:
            self._new[organization] = queue
        return turn

    def _expected_wait_s(self, organization: str) -> float:
        """Predict by Little's law: calls ahead times the average call time, divided by the slots."""
        own = len(self._new.get(organization, ())) + 1
        ahead = sum(min(len(queue), own) for name, queue in self._new.items() if name != organization)
        return (len(self._begun) + ahead + own) * self._held_s / self._concurrency

    def _refusal(self, organization: str) -> KubeOverloaded:
        """Create the error. Refused requests are scheduled to retry at half of the organization's throughput (the other
        half is for new ones), so Retry-After grows with their number and falls with time."""
        now = asyncio.get_running_loop().time()
        each_s = 2 * max(1, len(self._new)) * self._held_s / self._concurrency
        booked = max(self._booked_until.get(organization, now), now) + each_s
        self._booked_until[organization] = booked = min(booked, now + LONGEST_RETRY_AFTER_S)
        if now - self._last_refusal > _CALM_S:
            logger.warning("requests.overload", extra={"waiting": self.waiting, "call_ms": round(self._held_s * 1000)})
        self._last_refusal = now
        self._on_refusal()
        return KubeOverloaded(math.ceil(booked - now))
