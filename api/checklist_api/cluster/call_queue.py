"""A bounded, fair queue in front of the Kubernetes API: what cannot be done soon is refused at once.

A queue without a bound turns overload into latency: at twice the capacity every request waits for many seconds, and
most of the work is for callers that have given up. So at most `concurrency` calls are under way, and a request whose
first call would wait longer than `LONGEST_WAIT_S` is refused before anything was sent. This is load shedding by the
time in the queue, as CoDel does it (RFC 8289, "sojourn time"), with Little's law for the prediction, and fair queuing
between organizations, as in the API Priority and Fairness of kube-apiserver. A limit that follows latency (TCP Vegas,
Netflix's gradient, Envoy) was left out: it takes a server that is far away, or short of processor time, for an
overloaded one, and while it shrinks nobody is let in. A dozen calls keep kube-apiserver busy.

A request that has begun is never refused half-way: its later calls, and those of background tasks, go ahead of all
that have not begun.
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

LONGEST_WAIT_S: Final = 0.6
"""So that a busy process, too, answers a refusal within a second of the request."""
LONGEST_RETRY_AFTER_S: Final = 30
_FIRST_GUESS_S: Final = 0.05
_WEIGHT: Final = 0.1
"""Of the newest call in the average time of a call."""
_CALM_S: Final = 30.0
"""Without a refusal, until the next one is logged as a new overload."""
_Queue = deque[asyncio.Future[None]]


@dataclass(slots=True)
class Ticket:
    """One HTTP request. `has_begun`: its calls go ahead; `holds_slot`: its calls share one slot; `waits_since`: when it
    first had to wait, for its turn at an object or for a slot."""

    organization: str = ""
    waits_since: float | None = None
    has_begun: bool = False
    holds_slot: bool = False


_ticket: ContextVar[Ticket | None] = ContextVar("ticket", default=None)


def open_ticket() -> Ticket:
    """For the request that the current task serves from now on. Set `has_begun` when it ends: tasks that it has
    started are background tasks then."""
    ticket = Ticket()
    _ticket.set(ticket)
    return ticket


def charge_to(organization: str) -> None:
    """The request of the current task waits in the queue of this organization."""
    if (ticket := _ticket.get()) is not None:
        ticket.organization = organization


class CallQueue:
    """Gives out at most `concurrency` slots. Organizations with waiting requests get the next ones in turn."""

    def __init__(self, concurrency: int, on_refusal: Callable[[], None] = lambda: None) -> None:
        self._concurrency = concurrency
        self._on_refusal = on_refusal
        self._in_use = 0
        self._begun: _Queue = deque()
        self._new: dict[str, _Queue] = {}
        """By organization, none empty; the first is next."""
        self._held_s = _FIRST_GUESS_S
        """How long a slot is held, on average."""
        self._booked_until: dict[str, float] = {}
        """When the last refused request of an organization was asked to come back."""
        self._last_refusal = -math.inf

    @property
    def waiting(self) -> int:
        return len(self._begun) + sum(map(len, self._new.values()))

    @asynccontextmanager
    async def slot(self, *, for_all_calls: bool = False) -> AsyncIterator[None]:
        """One slot while the block runs. Raises KubeOverloaded when the request has not begun and would wait too long.

        `for_all_calls`: the calls that the request makes in the block need no slots of their own.
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
        # Requests that hold a slot may wait for a background task, which must not wait for their slots in turn.
        elif self._in_use < 2 * self._concurrency:
            self._in_use += 1
        else:
            await self._wait_in(self._begun)

    @asynccontextmanager
    async def turn(self, lock: asyncio.Lock) -> AsyncIterator[None]:
        """The turn of a request at an object that others change, too. Raises KubeOverloaded when that takes too long
        because slots are short; a crowd at one object alone waits for as long as it takes."""
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

    @staticmethod
    def _left_s(ticket: Ticket) -> float:
        """How long the request may still wait; its waiting begins now, if it has not begun."""
        now = asyncio.get_running_loop().time()
        if ticket.waits_since is None:
            ticket.waits_since = now
        return max(0.0, ticket.waits_since + LONGEST_WAIT_S - now)

    async def _wait_in_turn(self, ticket: Ticket) -> None:
        organization, left_s = ticket.organization, self._left_s(ticket)
        # One of each organization may always wait: it gets a turn in this round.
        if organization in self._new and self._expected_wait_s(organization) > left_s:
            raise self._refusal(organization)
        queue = self._new.setdefault(organization, deque())
        try:
            # The prediction is wrong when the server stalls, and low where requests need several calls.
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
            else:  # its turn came at the same moment
                self._leave()
            raise

    def _leave(self) -> None:
        """Pass the slot on."""
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
        """By Little's law: the calls that get their slots before, at the rate at which slots become free."""
        own = len(self._new.get(organization, ())) + 1
        ahead = sum(min(len(queue), own) for name, queue in self._new.items() if name != organization)
        return (len(self._begun) + ahead + own) * self._held_s / self._concurrency

    def _refusal(self, organization: str) -> KubeOverloaded:
        """Those that are refused come back one after the other, with half of what the organization is served with; the
        other half is for new ones. So Retry-After grows with their number, and falls as time passes."""
        now = asyncio.get_running_loop().time()
        each_s = 2 * max(1, len(self._new)) * self._held_s / self._concurrency
        booked = max(self._booked_until.get(organization, now), now) + each_s
        self._booked_until[organization] = booked = min(booked, now + LONGEST_RETRY_AFTER_S)
        if now - self._last_refusal > _CALM_S:
            logger.warning("requests.overload", extra={"waiting": self.waiting, "call_ms": round(self._held_s * 1000)})
        self._last_refusal = now
        self._on_refusal()
        return KubeOverloaded(math.ceil(booked - now))
