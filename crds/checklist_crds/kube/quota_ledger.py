"""The monthly run count of an organization: exact under concurrency, cheap under load.

All dispatches of one organization that wait in this process share one conditional patch (group commit): while a patch
is in progress, the next ones are collected. Confirmations and releases are written with them, or alone after a delay.

In a burst of dispatches, if the plan has enough runs left, a patch also counts runs that are not requested yet: ids are
prefetched for the next dispatches. They are pending like others, and are released when the burst ends, when the count
is read (`flush`), or, after a crash, by the operator.
"""

import asyncio
import contextlib
import logging
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final

from ..ids import new_id
from ..limits import quota as arithmetic
from ..limits.quota import Quota, Verdict, period_of
from ..resources.kinds import ORGANIZATION
from ..resources.organization import OrganizationSpec
from ..times import Clock
from ..values.json_text import JsonObject
from .client import KubeClient
from .errors import KubeConflict, KubeError, KubeUnavailable

logger = logging.getLogger(__name__)

_TRIES: Final = 60
_FLUSH_DELAY_S: Final = 0.5
_LONGEST_FLUSH_DELAY_S: Final = 8.0
"""Between two tries of a failed write."""
_GATHER_S: Final = 0.008
"""How long a write waits for more requests in a burst. A patch of the organization costs the API server more than
creating a run, so halving their number is worth the delay; a single dispatch never waits."""
_BATCH: Final = 1000
_BURST: Final = 4
"""A patch also prefetches ids if at least this many runs were dispatched since the patch before it."""
_MAX_PREFETCHED: Final = 64
_REFILL_BELOW: Final = 16
_FRESH_S: Final = 10.0
"""How long a prefetched id may be used; well below the time after which the operator releases it."""
_PREFETCH_ABOVE: Final = 20 * _MAX_PREFETCHED
"""Ids are prefetched only while the plan has at least this many runs left, so that its last runs are counted one by one
and none is refused because of an id that is never used."""


@dataclass(frozen=True, slots=True)
class Reservation:
    """Result of a request to dispatch one run, and the count at that time."""

    verdict: Verdict
    quota: Quota
    limit: int | None
    since: datetime
    """When it was counted; identifies the count when it is released."""


@dataclass(slots=True)
class _Prefetched:
    """Ids of runs that are already counted, oldest last, and the count at that time."""

    entries: list[tuple[datetime, str]]
    reservation: Reservation


@dataclass(frozen=True, slots=True)
class _Batch:
    """The content of one patch."""

    pending: list[str]
    ahead: list[str]
    confirmed: set[str]
    released: set[tuple[str, datetime | None]]


@dataclass(slots=True)
class _Account:
    """Unwritten changes of one organization."""

    pending: dict[str, list[asyncio.Future[Reservation]]] = field(default_factory=dict)
    confirmed: set[str] = field(default_factory=set)
    released: set[tuple[str, datetime | None]] = field(default_factory=set)
    """Ids to release, and the times of their counts; None for any."""
    prefetched: _Prefetched | None = None
    taken: int = 0
    """Prefetched ids used since the last patch."""
    flushing: list[asyncio.Future[None]] = field(default_factory=list)
    worker: asyncio.Task[None] | None = None
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    known: JsonObject | None = None


class QuotaLedger:
    """Reserves runs against the plan; `checklist_crds.limits.quota` has the rules."""

    def __init__(self, client: KubeClient, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._accounts: dict[str, _Account] = {}
        self._closing = False

    async def reserve(self, organization: str, run_id: str) -> Reservation:
        """Counts one run. Raises KubeError; then nothing is counted, or it is released later."""
        account = self._account(organization)
        future: asyncio.Future[Reservation] = asyncio.get_running_loop().create_future()
        account.pending.setdefault(run_id, []).append(future)
        self._wake(organization, account)
        return await future

    async def take(self, organization: str) -> tuple[str, Reservation]:
        """Counts one run with a new id, which is returned. Raises like `reserve`."""
        account = self._account(organization)
        taken = self._take_prefetched(account)
        if taken is None or account.prefetched is None:
            run_id = new_id("r")
            return run_id, await self.reserve(organization, run_id)
        since, run_id = taken
        if len(account.prefetched.entries) < min(account.taken, _REFILL_BELOW):
            account.wake.set()
            self._wake(organization, account)
        return run_id, replace(account.prefetched.reservation, since=since)

    async def flush(self, organization: str) -> None:
        """Returns when all changes of this process are written, or have failed.

        Releases prefetched ids, so that the count read afterwards is that of existing runs.
        """
        account = self._account(organization)
        if account.worker is None or account.worker.done():
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        account.flushing.append(future)
        account.wake.set()
        await future

    def confirm(self, organization: str, run_id: str) -> None:
        """Records that the run exists."""
        account = self._account(organization)
        account.confirmed.add(run_id)
        self._wake(organization, account)

    def release(self, organization: str, run_id: str, since: datetime | None = None) -> None:
        """Records that the run counted at `since` (None: by any request) does not exist and never will.

        A count that another request has taken over since then stays.
        """
        account = self._account(organization)
        account.released.add((run_id, since))
        self._wake(organization, account)

    async def close(self) -> None:
        """Writes outstanding changes (at most a second), then stops."""
        self._closing = True
        workers = [account.worker for account in self._accounts.values() if account.worker]
        for account in self._accounts.values():
            account.wake.set()
        if workers:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(asyncio.gather(*workers, return_exceptions=True), 1.0)

    def _account(self, organization: str) -> _Account:
        return self._accounts.setdefault(organization, _Account())

    def _take_prefetched(self, account: _Account) -> tuple[datetime, str] | None:
        """Returns a prefetched id of this month that is fresh enough, and when it was counted."""
        prefetched, now = account.prefetched, self._clock()
        if prefetched is None or not prefetched.entries:
            return None
        since, _ = prefetched.entries[-1]
        if period_of(since) != period_of(now) or not timedelta() <= now - since <= timedelta(seconds=_FRESH_S):
            self._release_prefetched(account)
            return None
        account.taken += 1
        return prefetched.entries.pop()

    @staticmethod
    def _release_prefetched(account: _Account) -> None:
        if account.prefetched is not None:
            account.released.update((run_id, since) for since, run_id in account.prefetched.entries)
            account.prefetched = None

    def _wake(self, organization: str, account: _Account) -> None:
        if account.pending:
            account.wake.set()
        if account.worker is None or account.worker.done():
            account.worker = asyncio.create_task(self._work(organization, account), name=f"quota {organization}")

    async def _work(self, organization: str, account: _Account) -> None:
        burst = failures = 0
        while account.pending or account.confirmed or account.released or account.prefetched or account.flushing:
            if not account.pending:
                try:
                    delay_s = min(_FLUSH_DELAY_S * 2**failures, _LONGEST_FLUSH_DELAY_S)
                    await asyncio.wait_for(account.wake.wait(), delay_s)
                except TimeoutError:
                    self._release_prefetched(account)
            if account.pending and burst > 1:
                await asyncio.sleep(_GATHER_S)
            account.wake.clear()
            flushing, account.flushing = account.flushing, []
            if flushing:
                self._release_prefetched(account)
            pending = dict(list(account.pending.items())[:_BATCH])
            for run_id in pending:
                del account.pending[run_id]
            burst, account.taken = len(pending) + account.taken, 0
            ahead = [] if flushing else _ids_to_prefetch(burst, account.prefetched)
            batch = _Batch(list(pending), ahead, account.confirmed, account.released)
            account.confirmed, account.released = set(), set()
            try:
                reservations = await self._commit(organization, account, batch)
            except KubeError as error:
                logger.warning("quota of %s not written: %s", organization, error.message)
                _fail(pending, error)
                failures = min(failures + 1, 8)
                self._keep(account, batch, error)
                continue
            except BaseException:
                _fail(pending, KubeUnavailable("the quota writer was stopped"))
                raise
            finally:
                for waiter in flushing:
                    if not waiter.done():
                        waiter.set_result(None)
            failures = 0
            for run_id, futures in pending.items():
                _answer(futures, reservations[run_id])

    def _keep(self, account: _Account, batch: _Batch, error: KubeError) -> None:
        """Keeps confirmations and releases for a later write; otherwise the operator finds stale entries."""
        if isinstance(error, KubeUnavailable) and not self._closing:
            account.confirmed |= batch.confirmed
            account.released |= batch.released

    async def _commit(self, organization: str, account: _Account, batch: _Batch) -> dict[str, Reservation]:
        for number in range(_TRIES):
            remembered, account.known = account.known, None
            body = remembered or await self._client.get(ORGANIZATION, organization)
            limit = OrganizationSpec.model_validate(body["spec"]).plan.runs_per_month
            before, now = Quota.parse((body.get("status") or {}).get("quota")), self._clock()
            current = arithmetic.confirm(before, batch.confirmed)
            current = arithmetic.release(current, arithmetic.still_counted(current, batch.released))
            after, verdicts = arithmetic.reserve(current, batch.pending, limit=limit, now=now)
            if remembered and Verdict.OVER_QUOTA in verdicts.values():
                continue  # The plan may have been raised: refuse only after a fresh read.
            ahead = batch.ahead if limit is None or limit - after.used >= _PREFETCH_ABOVE else []
            after, _ = arithmetic.reserve(after, ahead, limit=limit, now=now)
            if remembered and after == before and (batch.confirmed or batch.released):
                continue  # These ids may have been counted by another process: read again.
            if after != before:
                try:
                    body = await self._client.patch_status(
                        ORGANIZATION,
                        organization,
                        {"quota": after.as_status()},
                        resource_version=body["metadata"]["resourceVersion"],
                    )
                except KubeConflict:
                    await asyncio.sleep(0.001 * min(number, 20))
                    continue
            account.known = body
            if ahead:
                left = account.prefetched.entries if account.prefetched is not None else []
                entries = [(now, run_id) for run_id in ahead] + left
                account.prefetched = _Prefetched(entries, Reservation(Verdict.RESERVED, after, limit, now))
            return {run_id: Reservation(verdict, after, limit, now) for run_id, verdict in verdicts.items()}
        raise KubeUnavailable("the organization changes too fast")


def _ids_to_prefetch(burst: int, prefetched: _Prefetched | None) -> list[str]:
    """New ids to prefetch, for about two bursts like the last one; none without a burst."""
    left = len(prefetched.entries) if prefetched is not None else 0
    return [new_id("r") for _ in range(min(2 * burst, _MAX_PREFETCHED) - left)] if burst >= _BURST else []


def _answer(futures: list[asyncio.Future[Reservation]], reservation: Reservation) -> None:
    """Gives the verdict to the first request for the id; concurrent ones with the same id must wait for its result."""
    waiting = [future for future in futures if not future.done()]
    for number, future in enumerate(waiting):
        is_later = number > 0 and reservation.verdict is not Verdict.OVER_QUOTA
        verdict = Verdict.ALREADY_PENDING if is_later else reservation.verdict
        future.set_result(replace(reservation, verdict=verdict))
    if not waiting:
        logger.debug("reservation abandoned; the operator will release it")


def _fail(pending: dict[str, list[asyncio.Future[Reservation]]], error: KubeError) -> None:
    for futures in pending.values():
        for future in futures:
            if not future.done():
                future.set_exception(error)
