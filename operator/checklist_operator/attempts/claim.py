"""Claims an attempt exclusively by compare-and-swap, before its first byte leaves.

A claim stands in the delivery itself: attempt, holder, until when. It costs a write of the cluster, a third of all that
a retry costs there. When more retries are due than that is good for, one reading of the lease, begun after all of them
were ready, covers all: nobody else can hold it until it has run out, and the sender stops counting on it well before.
What a crash leaves is the same either way, an attempt without a record, and it is made again under its number: without
a claim at once, with one when that has run out.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from checklist_crds.kube.errors import KubeConflict
from checklist_crds.times import Clock
from checklist_operator.attempts.delivery_objects import Delivery, DeliveryObjects
from checklist_operator.attempts.progress import Send, claimed
from checklist_operator.runtime.call_coalescer import CallCoalescer

_SECOND: Final = 1.0


class LeadNotConfirmed(Exception):
    """The cluster does not say that the lease is ours; whether it is will show in a moment."""


@dataclass(frozen=True, slots=True)
class Taken:
    """An attempt that only we make. `delivery` is as it was last read or written."""

    delivery: Delivery
    is_claimed: bool


class Claims:
    """`take` an attempt before it is made; afterwards `is_ours` says whether its outcome is still ours to record."""

    def __init__(
        self,
        objects: DeliveryObjects,
        confirm_lead: Callable[[], Awaitable[None]],
        *,
        holder: str,
        clock: Clock,
        one_by_one_per_s: int,
    ) -> None:
        """`confirm_lead` asks the cluster whether the lease is ours, and raises KubeConflict unless it is."""
        self._objects = objects
        self._holder = holder
        self._clock = clock
        self._burst = _Burst(one_by_one_per_s)
        self._confirmations: CallCoalescer[None, None, None] = CallCoalescer(lambda *_: confirm_lead())

    async def take(self, delivery: Delivery, step: Send) -> Taken:
        """Raises KubeConflict when somebody else was faster, LeadNotConfirmed, and KubeErrors of an unwell cluster."""
        if self._burst.grows() and not step.manual and delivery.status.claim is None:
            try:
                await self._confirmations.add(None, None)
            except KubeConflict:
                raise LeadNotConfirmed from None
            return Taken(delivery, is_claimed=False)
        status = claimed(delivery.status, step, holder=self._holder, now=self._clock())
        return Taken(await self._objects.write(delivery, status), is_claimed=True)

    def is_ours(self, delivery: Delivery, step: Send, *, was_claimed: bool) -> bool:
        """Whether `delivery`, as it is now, still waits for the outcome of the attempt that was taken."""
        status = delivery.status
        if was_claimed:
            claim = status.claim
            mine = self._holder, step.attempt, step.manual
            return claim is not None and (claim.holder, claim.attempt, claim.manual) == mine
        return status.claim is None and not status.phase.is_final and status.attempt == step.attempt - 1

    async def close(self) -> None:
        await self._confirmations.close()


class _Burst:
    """Whether more than so many came within about a second."""

    def __init__(self, per_s: int) -> None:
        self._per_s = per_s
        self._since = float("-inf")
        self._now = 0
        self._before = 0

    def grows(self) -> bool:
        """One more has come."""
        clock = asyncio.get_running_loop().time()
        if clock - self._since >= _SECOND:
            self._before = self._now if clock - self._since < 2 * _SECOND else 0
            self._since, self._now = clock, 0
        self._now += 1
        return max(self._now, self._before) > self._per_s
