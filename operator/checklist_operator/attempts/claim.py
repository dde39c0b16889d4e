"""Claims an attempt exclusively by compare-and-swap, before its first byte is sent.

A claim in the delivery names attempt, holder and expiry. It costs a write, a third of a retry's cost for the cluster.
Above a rate of due retries, one read of the lease, started after they were prepared, covers all of them: no other
process can hold the lease until it expires, and the sender stops relying on it well before. After a crash, both leave
an attempt without a record, which is repeated under its number: at once without a claim, else when the claim expires.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from checklist_crds.kube.errors import KubeConflict
from checklist_crds.times import Clock
from checklist_operator.attempts.delivery_objects import Delivery, DeliveryObjects
from checklist_operator.attempts.delivery_state import Send, claimed
from checklist_operator.runtime.call_coalescer import CallCoalescer

_SECOND: Final = 1.0


class LeadNotConfirmed(Exception):
    """The cluster did not confirm that the lease is ours; try again in a moment."""


@dataclass(frozen=True, slots=True)
class ClaimedAttempt:
    """An exclusively claimed attempt. `delivery` is as last read or written."""

    delivery: Delivery
    is_claimed: bool


class Claims:
    """Claims attempts with `take`; `is_ours` then says whether the outcome may still be recorded."""

    def __init__(
        self,
        objects: DeliveryObjects,
        confirm_lead: Callable[[], Awaitable[None]],
        *,
        holder: str,
        clock: Clock,
        one_by_one_per_s: int,
    ) -> None:
        """`confirm_lead` asks the cluster whether the lease is ours, and raises KubeConflict if it is not."""
        self._objects = objects
        self._holder = holder
        self._clock = clock
        self._burst = _Burst(one_by_one_per_s)
        self._confirmations: CallCoalescer[None, None, None] = CallCoalescer(lambda *_: confirm_lead())

    async def take(self, delivery: Delivery, action: Send) -> ClaimedAttempt:
        """Raises KubeConflict when another process was faster, LeadNotConfirmed, and other KubeErrors."""
        if self._burst.is_exceeded() and not action.is_replay and delivery.status.claim is None:
            try:
                await self._confirmations.add(None, None)
            except KubeConflict:
                raise LeadNotConfirmed from None
            return ClaimedAttempt(delivery, is_claimed=False)
        status = claimed(delivery.status, action, holder=self._holder, now=self._clock())
        return ClaimedAttempt(await self._objects.write(delivery, status), is_claimed=True)

    def is_ours(self, delivery: Delivery, action: Send, *, was_claimed: bool) -> bool:
        """Whether `delivery`, as it is now, still waits for the outcome of the claimed attempt."""
        status = delivery.status
        if was_claimed:
            claim = status.claim
            mine = self._holder, action.attempt, action.is_replay
            return claim is not None and (claim.holder, claim.attempt, claim.manual) == mine
        return status.claim is None and not status.phase.is_final and status.attempt == action.attempt - 1

    async def close(self) -> None:
        await self._confirmations.close()


class _Burst:
    """Detects more than `per_s` events within about a second."""

    def __init__(self, per_s: int) -> None:
        self._per_s = per_s
        self._since = float("-inf")
        self._now = 0
        self._before = 0

    def is_exceeded(self) -> bool:
        """Counts an event; returns whether the rate is exceeded."""
        clock = asyncio.get_running_loop().time()
        if clock - self._since >= _SECOND:
            self._before = self._now if clock - self._since < 2 * _SECOND else 0
            self._since, self._now = clock, 0
        self._now += 1
        return max(self._now, self._before) > self._per_s
