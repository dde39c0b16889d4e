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

pytestmark = pytest.mark.looptime


def delivery(name: str = "e-1", *, claim: Claim | None = None, **status: Any) -> Delivery:
    known = WebhookDeliveryStatus(**{"attempt": 1, "next_attempt_at": NOW, "claim": claim, **status})
    return Delivery(name, "n", "u", "7", 1, NOW, WebhookDeliverySpec.model_construct(), known)


class Bench:
    """Claims under a lease that answers as the test says."""

    def __init__(self, per_s: int) -> None:
        self.written: list[WebhookDeliveryStatus] = []
        self.asked = 0
        self.answering = asyncio.Event()
        self.answering.set()
        self.error: Exception | None = None
        objects: Any = self
        self.claims = Claims(objects, self.confirm, holder="me", clock=lambda: NOW, one_by_one_per_s=per_s)

    async def write(self, known: Delivery, status: WebhookDeliveryStatus) -> Delivery:
        self.written.append(status)
        return delivery(known.name, **dict(status))

    async def confirm(self) -> None:
        self.asked += 1
        await self.answering.wait()
        if self.error is not None:
            raise self.error

    async def take(self, count: int) -> list[bool]:
        """Whether each was claimed by itself."""
        taken = await asyncio.gather(*(self.claims.take(delivery(f"e-{n}"), ATTEMPT) for n in range(count)))
        return [one.is_claimed for one in taken]


async def test_a_few_are_claimed_one_by_one_and_those_beyond_are_covered_by_one_look_at_the_lease() -> None:
    few = Bench(per_s=3)
    for _ in range(4):
        assert await few.take(3) == [True, True, True]
        await asyncio.sleep(1)
    assert few.asked == 0
    claims = {(one.phase, one.claim and one.claim.holder) for one in few.written}
    assert claims == {(DeliveryPhase.IN_FLIGHT, "me")}
    few = Bench(per_s=3)
    assert await few.take(100) == [True] * 3 + [False] * 97
    assert (few.asked, len(few.written)) == (1, 3)


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


async def test_a_look_at_the_lease_covers_only_those_who_were_ready_when_it_began() -> None:
    bench = Bench(per_s=0)
    bench.answering.clear()
    first = asyncio.create_task(bench.take(5))
    await asyncio.sleep(0.1)
    later, stopped = asyncio.create_task(bench.take(5)), asyncio.create_task(bench.take(1))
    await asyncio.sleep(0.1)
    stopped.cancel()  # which does not stop the look of the others
    assert bench.asked == 1
    bench.answering.set()
    assert await first == await later == [False] * 5
    assert bench.asked == 2


async def test_nothing_is_sent_without_the_lease_or_without_an_answer_of_the_cluster() -> None:
    bench = Bench(per_s=0)
    for error, raised in ((KubeConflict("not ours"), LeadNotConfirmed), (KubeUnavailable("down"), KubeUnavailable)):
        bench.error = error
        with pytest.raises(raised):
            await bench.take(3)
    bench.error = None
    assert await bench.take(1) == [False]


async def test_replays_and_what_a_crash_left_claimed_are_claimed_in_a_crowd_too() -> None:
    bench = Bench(per_s=0)
    left = delivery(claim=Claim(attempt=2, holder="me", until=NOW))
    assert (await bench.claims.take(left, ATTEMPT)).is_claimed
    assert (await bench.claims.take(delivery(), Send(1, manual=True))).is_claimed


async def test_an_outcome_is_ours_to_record_until_another_one_has_gone_on() -> None:
    claims = Bench(per_s=0).claims
    mine, other = (Claim(attempt=2, holder=holder, until=NOW) for holder in ("me", "other"))
    assert claims.is_ours(delivery(claim=mine), ATTEMPT, was_claimed=True)
    assert claims.is_ours(delivery(), ATTEMPT, was_claimed=False)
    for known in (delivery(claim=other), delivery()):
        assert not claims.is_ours(known, ATTEMPT, was_claimed=True)
    for known in (delivery(claim=other), delivery(attempt=2), delivery(phase=DeliveryPhase.DELIVERED)):
        assert not claims.is_ours(known, ATTEMPT, was_claimed=False)
