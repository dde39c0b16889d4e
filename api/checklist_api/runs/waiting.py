"""Long polling for the end of a run: `GET /v1/runs/{run_id}?wait=N` (contract section 11).

The run index, which a watch updates on every replica, wakes waiting requests; meanwhile nothing is sent to the
Kubernetes API. A waiting request costs as much as a plain one: one read of the run, at its end. It ends early when the
client disconnects and when the process shuts down. A key that was revoked meanwhile gets 401.
"""

import asyncio
import contextlib
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from typing import Final

from aiohttp import web

from checklist_crds.errors import RateLimited, ServiceUnavailable
from checklist_crds.resources.run import Run
from checklist_crds.runs.row import milliseconds
from checklist_crds.times import Clock

from ..http.middleware import add_waited
from ..http.server import on_connection_lost
from ..index.run_rows import FINAL
from ..index.runs import RowChange, RunIndex
from ..metrics import Metrics
from ..organizations.directory import Organization
from .access import RunAccess

LONGEST_WAIT_S: Final = 60
WAITS_OF_AN_ORGANIZATION: Final = 2_000
WAITS_OF_A_PROCESS: Final = 4_000
_RETRY_AFTER_S: Final = 5
_CONCURRENT_READS: Final = 4
"""Limit for waits that end: a thousand can end at once, and must not delay other requests."""
_EXPIRY_MARGIN_S: Final = 0.005
"""Wake this long after expiry, so that one check is enough."""

Reauthorize = Callable[[], Awaitable[Organization]]
"""Returns the caller's organization as it is now. Raises Unauthorized if the key was revoked."""


class _Waiter:
    """One waiting request. A wake-up before `wait` is kept until then."""

    __slots__ = ("_is_woken", "_wake_up", "is_disconnected", "organization")

    def __init__(self, organization: str) -> None:
        self.organization = organization
        self.is_disconnected = False
        self._is_woken = False
        self._wake_up: asyncio.Future[None] | None = None

    def wake(self) -> None:
        self._is_woken = True
        self._end()

    def disconnect(self) -> None:
        self.is_disconnected = True
        self.wake()

    async def wait(self, seconds: float) -> None:
        if not self._is_woken and seconds > 0:
            loop = asyncio.get_running_loop()
            self._wake_up = loop.create_future()
            timer = loop.call_later(seconds, self._end)
            try:
                await self._wake_up
            finally:
                timer.cancel()
                self._wake_up = None
        self._is_woken = False

    def _end(self) -> None:
        if self._wake_up is not None and not self._wake_up.done():
            self._wake_up.set_result(None)


class RunWaits:
    """All waiting requests of the process."""

    def __init__(self, runs: RunAccess, index: RunIndex, metrics: Metrics, clock: Clock) -> None:
        self._runs = runs
        self._index = index
        self._clock = clock
        self._waiters: dict[str, set[_Waiter]] = {}
        """By run id."""
        self._counts: Counter[str] = Counter()
        """By organization."""
        self._reads = asyncio.Semaphore(_CONCURRENT_READS)
        self._closing = False
        index.add_listener(self._on_change)
        metrics.run_waits.set_function(self.__len__)

    def __len__(self) -> int:
        return self._counts.total()

    def close(self) -> None:
        """End all waits, also later ones, with the run as it is."""
        self._closing = True
        for waiters in self._waiters.values():
            for waiter in waiters:
                waiter.wake()

    async def until_ended(
        self, request: web.Request, run_id: str, organization: Organization, seconds: float, reauthorize: Reauthorize
    ) -> Run:
        """Return the run of `organization` when it has ended, or as it is after `seconds`.

        Raises RunNotFound, also if the run is deleted meanwhile; RateLimited and ServiceUnavailable if too many
        requests wait; ConnectionError if the client disconnects; and the errors of `reauthorize` and RunAccess.
        """
        now = asyncio.get_running_loop().time
        deadline = now() + seconds
        with self._waiting(run_id, organization.name) as waiter, on_connection_lost(request, waiter.disconnect):
            # Registered before the first check, so that no change of the run is missed.
            ends_at = self._open_until(run_id, organization)
            if ends_at is None:
                # It has ended, does not exist, or was just created by another replica.
                run = await self._runs.of_organization(run_id, organization)
                if self._is_over(run, deadline):
                    return run
                ends_at = _expiry(run)
                del run  # frees memory: a thousand runs take tens of megabytes
            while True:
                began = now()
                expires_in_s = (ends_at - milliseconds(self._clock())) / 1000 + _EXPIRY_MARGIN_S
                await waiter.wait(max(0.0, min(deadline - began, max(expires_in_s, _EXPIRY_MARGIN_S))))
                add_waited(request, now() - began)
                if waiter.is_disconnected:
                    raise ConnectionResetError("the client disconnected")
                organization = await reauthorize()
                async with self._reads:
                    run = await self._runs.of_organization(run_id, organization)
                if self._is_over(run, deadline):
                    return run
                ends_at = _expiry(run)

    def _is_over(self, run: Run, deadline: float) -> bool:
        """Whether the run has ended or the time is up."""
        time_is_up = self._closing or asyncio.get_running_loop().time() >= deadline
        return time_is_up or run.phase_at(self._clock()).is_final

    def _open_until(self, run_id: str, organization: Organization) -> float | None:
        if not self._index.informer.connected:
            return None
        return self._index.open_until(run_id, organization.name, organization.namespaces, now=self._clock())

    @contextlib.contextmanager
    def _waiting(self, run_id: str, organization: str) -> Iterator[_Waiter]:
        """Raises RateLimited, ServiceUnavailable."""
        if len(self) >= WAITS_OF_A_PROCESS:
            raise ServiceUnavailable("Too many requests are waiting for runs.", retry_after_s=_RETRY_AFTER_S)
        if self._counts[organization] >= WAITS_OF_AN_ORGANIZATION:
            raise RateLimited(_RETRY_AFTER_S)
        waiter = _Waiter(organization)
        self._waiters.setdefault(run_id, set()).add(waiter)
        self._counts[organization] += 1
        if self._closing:
            waiter.wake()
        try:
            yield waiter
        finally:
            self._waiters[run_id].discard(waiter)
            if not self._waiters[run_id]:
                del self._waiters[run_id]
            self._counts[organization] -= 1
            if not self._counts[organization]:
                del self._counts[organization]

    def _on_change(self, change: RowChange) -> None:
        waiters = self._waiters.get(change.run_id)
        if not waiters:
            return
        status = change.status_at(self._clock())
        if status is None or status in FINAL:
            for waiter in waiters:
                if waiter.organization == change.organization:
                    waiter.wake()


def _expiry(run: Run) -> float:
    """Expiry of the run in milliseconds since 1970; infinite without one."""
    return float("inf") if run.expires_at is None else milliseconds(run.expires_at)
