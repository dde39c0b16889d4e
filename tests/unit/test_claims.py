"""Who may send a retry: claimed one by one, or all at once under the lease."""

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest

from checklist_crds.delivery_types import Claim, WebhookDeliverySpec, WebhookDeliveryStatus
from checklist_crds.kube.errors import KubeConflict, KubeUnavailable
from checklist_crds.run_types import DeliveryPhase
from checklist_operator.claims import Claims, LeadNotConfirmed
from checklist_operator.delivery_objects import Delivery
from checklist_operator.delivery_progress import Send

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
ATTEMPT = Send(2)


def delivery(name: str = "e-1", *, claim: Claim | None = None, **status: Any) -> Delivery:
    known = WebhookDeliveryStatus(**{"attempt": 1, "next_attempt_at": NOW, "claim": claim, **status})
    return Delivery(name, "n", "u", "7", 1, NOW, WebhookDeliverySpec.model_construct(), known)


class Objects:
    """Takes every write, and keeps it."""

    def __init__(self) -> None:
        self.written: list[WebhookDeliveryStatus] = []

    async def write(self, known: Delivery, status: WebhookDeliveryStatus) -> Delivery:
        self.written.append(status)
        return delivery(known.name, **dict(status))


class Lease:
    """Asked for, it answers when it is told to."""

    def __init__(self) -> None:
        self.asked = 0
        self.answering = asyncio.Event()
        self.answering.set()
        self.error: Exception | None = None

    async def confirm(self) -> None:
        self.asked += 1
        await self.answering.wait()
        if self.error is not None:
            raise self.error


class Bench:
    def __init__(self, per_s: int) -> None:
        self.objects = Objects()
        self.lease = Lease()
        objects: Any = self.objects
        self.claims = Claims(objects, self.lease.confirm, holder="me", clock=lambda: NOW, one_by_one_per_s=per_s)

    async def take(self, count: int) -> list[bool]:
        """Whether each was claimed by itself."""
        taken = await asyncio.gather(*(self.claims.take(delivery(f"e-{n}"), ATTEMPT) for n in range(count)))
        return [one.is_claimed for one in taken]


@pytest.mark.looptime
async def test_a_few_are_claimed_one_by_one_before_they_are_sent() -> None:
    few = Bench(per_s=3)
    for _ in range(4):
        assert await few.take(3) == [True, True, True]
        await asyncio.sleep(1)
    assert few.lease.asked == 0
    assert {(one.phase, one.claim and one.claim.holder) for one in few.objects.written} == {
        (DeliveryPhase.IN_FLIGHT, "me")
    }


@pytest.mark.looptime
async def test_those_beyond_are_spoken_for_by_one_look_at_the_lease() -> None:
    few = Bench(per_s=3)
    claimed = await few.take(100)
    assert claimed == [True] * 3 + [False] * 97
    assert few.lease.asked == 1
    assert len(few.objects.written) == 3


@pytest.mark.looptime
async def test_a_crowd_is_one_until_a_second_went_by_without_it() -> None:
    few = Bench(per_s=3)
    await few.take(10)
    await asyncio.sleep(1.1)
    assert await few.take(1) == [False]
    await asyncio.sleep(1.1)
    assert await few.take(1) == [True]
    await few.take(10)
    await asyncio.sleep(5)
    assert await few.take(1) == [True]


@pytest.mark.looptime
async def test_nobody_is_spoken_for_by_a_look_that_was_begun_before_it_was_ready() -> None:
    bench = Bench(per_s=0)
    bench.lease.answering.clear()
    first = asyncio.create_task(bench.take(5))
    await asyncio.sleep(0.1)
    later = asyncio.create_task(bench.take(5))
    await asyncio.sleep(0.1)
    assert bench.lease.asked == 1
    bench.lease.answering.set()
    assert await first == await later == [False] * 5
    assert bench.lease.asked == 2


@pytest.mark.looptime
async def test_nothing_is_sent_when_the_lease_is_somebody_else_s_or_the_cluster_does_not_say() -> None:
    bench = Bench(per_s=0)
    for error, told in (
        (KubeConflict("the lease is not ours"), LeadNotConfirmed),
        (KubeUnavailable("no answer"), KubeUnavailable),
    ):
        bench.lease.error = error
        with pytest.raises(told):
            await bench.take(3)
    bench.lease.error = None
    assert await bench.take(1) == [False]


@pytest.mark.looptime
async def test_one_who_is_stopped_while_it_waits_does_not_stop_the_look_of_the_others() -> None:
    bench = Bench(per_s=0)
    bench.lease.answering.clear()
    stopped, other = asyncio.create_task(bench.take(1)), asyncio.create_task(bench.take(1))
    await asyncio.sleep(0.1)
    stopped.cancel()
    await asyncio.sleep(0.1)
    bench.lease.answering.set()
    assert await other == [False]


@pytest.mark.looptime
async def test_replays_and_what_a_crash_left_claimed_are_claimed_in_a_crowd_too() -> None:
    bench = Bench(per_s=0)
    left = delivery(claim=Claim(attempt=2, holder="me", until=NOW))
    assert (await bench.claims.take(left, ATTEMPT)).is_claimed
    assert (await bench.claims.take(delivery(), Send(1, manual=True))).is_claimed


def test_an_outcome_is_ours_to_record_while_nobody_has_gone_on_without_us() -> None:
    claims = Bench(per_s=0).claims
    mine, other = (Claim(attempt=2, holder=holder, until=NOW) for holder in ("me", "other"))
    assert claims.is_ours(delivery(claim=mine), ATTEMPT, was_claimed=True)
    assert not claims.is_ours(delivery(claim=other), ATTEMPT, was_claimed=True)
    assert not claims.is_ours(delivery(), ATTEMPT, was_claimed=True)
    assert claims.is_ours(delivery(), ATTEMPT, was_claimed=False)
    assert not claims.is_ours(delivery(claim=other), ATTEMPT, was_claimed=False)
    assert not claims.is_ours(delivery(attempt=2), ATTEMPT, was_claimed=False)
    assert not claims.is_ours(delivery(phase=DeliveryPhase.DELIVERED), ATTEMPT, was_claimed=False)
