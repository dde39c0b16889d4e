"""The monthly count of an organization in the cluster: exact under any concurrency, cheap under load.

All dispatches of one organization that wait in this process share one conditional patch (group commit): while a patch
is under way, the next ones gather. Confirmations and releases ride along; when nothing else comes, they are written by
themselves a little later.
"""

import asyncio
import contextlib
import logging
from dataclasses import dataclass, field
from typing import Final

from .. import quota as arithmetic
from ..organization_types import OrganizationSpec
from ..quota import Quota, Verdict
from ..times import Clock
from .client import JsonObject, KubeClient
from .errors import KubeConflict, KubeError, KubeUnavailable
from .kinds import ORGANIZATION

logger = logging.getLogger(__name__)

_TRIES: Final = 60
_LINGER_S: Final = 0.5
_GATHER_S: Final = 0.008
"""How long a write waits for company while dispatches come in crowds. A patch of the organization costs the API server
more than creating a run, so halving their number is worth more than these milliseconds; a lone dispatch never waits."""
_BATCH: Final = 1000


@dataclass(frozen=True, slots=True)
class Reservation:
    """What became of the wish to dispatch one run, and the count as it was then."""

    verdict: Verdict
    quota: Quota
    limit: int | None


@dataclass(slots=True)
class _Account:
    """What waits to be written for one organization."""

    wishes: dict[str, list[asyncio.Future[Reservation]]] = field(default_factory=dict)
    confirmed: set[str] = field(default_factory=set)
    released: set[str] = field(default_factory=set)
    worker: asyncio.Task[None] | None = None
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    known: JsonObject | None = None


class QuotaLedger:
    """Reserves runs against the plan; see `checklist_crds.quota` for the rules."""

    def __init__(self, client: KubeClient, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._accounts: dict[str, _Account] = {}

    async def reserve(self, organization: str, run_id: str) -> Reservation:
        """Count one run. Raises KubeError; then nothing is counted, or it is released by itself later."""
        account = self._account(organization)
        future: asyncio.Future[Reservation] = asyncio.get_running_loop().create_future()
        account.wishes.setdefault(run_id, []).append(future)
        self._wake(organization, account)
        return await future

    def confirm(self, organization: str, run_id: str) -> None:
        """The run exists."""
        account = self._account(organization)
        account.confirmed.add(run_id)
        self._wake(organization, account)

    def release(self, organization: str, run_id: str) -> None:
        """The run was not made and never will be."""
        account = self._account(organization)
        account.released.add(run_id)
        self._wake(organization, account)

    async def close(self) -> None:
        """Write what is still waiting (at most a second), then stop."""
        workers = [account.worker for account in self._accounts.values() if account.worker]
        for account in self._accounts.values():
            account.wake.set()
        if workers:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(asyncio.gather(*workers, return_exceptions=True), 1.0)

    def _account(self, organization: str) -> _Account:
        return self._accounts.setdefault(organization, _Account())

    def _wake(self, organization: str, account: _Account) -> None:
        if account.wishes:
            account.wake.set()
        if account.worker is None or account.worker.done():
            account.worker = asyncio.create_task(self._work(organization, account), name=f"quota {organization}")

    async def _work(self, organization: str, account: _Account) -> None:
        crowd = 0
        while account.wishes or account.confirmed or account.released:
            if not account.wishes:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(account.wake.wait(), _LINGER_S)
            if account.wishes and crowd > 1:
                await asyncio.sleep(_GATHER_S)
            account.wake.clear()
            wishes = dict(list(account.wishes.items())[:_BATCH])
            for run_id in wishes:
                del account.wishes[run_id]
            crowd = len(wishes)
            confirmed, account.confirmed = account.confirmed, set()
            released, account.released = account.released, set()
            try:
                reservations = await self._commit(organization, account, list(wishes), confirmed, released)
            except KubeError as error:
                # Forgotten confirmations are found again by the operator, which looks after stale pending runs.
                logger.warning("quota of %s not written: %s", organization, error.message)
                _fail(wishes, error)
                continue
            except BaseException:
                _fail(wishes, KubeUnavailable("the quota writer was stopped"))
                raise
            for run_id, futures in wishes.items():
                _answer(futures, reservations[run_id])

    async def _commit(
        self, organization: str, account: _Account, wishes: list[str], confirmed: set[str], released: set[str]
    ) -> dict[str, Reservation]:
        for number in range(_TRIES):
            remembered, account.known = account.known, None
            body = remembered or await self._client.get(ORGANIZATION, organization)
            limit = OrganizationSpec.model_validate(body["spec"]).plan.runs_per_month
            before = Quota.parse((body.get("status") or {}).get("quota"))
            settled = arithmetic.release(arithmetic.confirm(before, confirmed), released)
            after, verdicts = arithmetic.reserve(settled, wishes, limit=limit, now=self._clock())
            if remembered and Verdict.OVER_QUOTA in verdicts.values():
                continue  # The plan may have been raised since: a refusal is only ever given on a fresh reading.
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
            return {run_id: Reservation(verdict, after, limit) for run_id, verdict in verdicts.items()}
        raise KubeUnavailable("the organization changes too fast")


def _answer(futures: list[asyncio.Future[Reservation]], reservation: Reservation) -> None:
    """The first who asked for the id gets the verdict; who asked for the same id meanwhile has to wait for it."""
    waiting = [future for future in futures if not future.done()]
    for number, future in enumerate(waiting):
        is_later = number > 0 and reservation.verdict is Verdict.RESERVED
        verdict = Verdict.ALREADY_PENDING if is_later else reservation.verdict
        future.set_result(Reservation(verdict, reservation.quota, reservation.limit))
    if not waiting:
        logger.debug("nobody waits for a reservation any more; the operator will release it")


def _fail(wishes: dict[str, list[asyncio.Future[Reservation]]], error: KubeError) -> None:
    for futures in wishes.values():
        for future in futures:
            if not future.done():
                future.set_exception(error)
