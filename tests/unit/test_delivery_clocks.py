"""Clocks that do not agree: of the operator and the cluster, and of one operator and the next."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from checklist_crds.delivery_types import Claim, OutcomeClass, WebhookDeliveryStatus
from checklist_crds.event_names import EventName
from checklist_crds.kube.errors import KubeAlreadyExists, KubeConflict, KubeNotFound, KubeUnavailable
from checklist_crds.run_types import DeliveryPhase, OutboxEntry, Run
from checklist_crds.times import format_timestamp, parse_timestamp
from checklist_operator.delivery.outcome import Outcome
from checklist_operator.delivery.schedule import RetrySchedule
from checklist_operator.delivery_objects import DeliveryObjects
from checklist_operator.delivery_progress import (
    CLAIM_S,
    ORPHAN_S,
    Send,
    Step,
    Wait,
    claimed,
    found_delivered,
    next_step,
)
from checklist_operator.fresh_reads import FreshReads

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
HOURS = [timedelta(hours=-2), timedelta(), timedelta(hours=2)]


def step(status: WebhookDeliveryStatus, *, holder: str, now: datetime = NOW, led_for_s: float = 0.0) -> Step:
    return next_step(status, now=now, holder=holder, created_at=NOW, led_for_s=led_for_s)


@pytest.fixture
def in_flight() -> WebhookDeliveryStatus:
    """Attempt 2 is under way, claimed by `before`."""
    return claimed(WebhookDeliveryStatus(attempt=1, next_attempt_at=NOW), Send(2), holder="before", now=NOW)


@pytest.mark.parametrize("jump", HOURS[:2])
def test_a_new_leader_leaves_a_claim_alone_while_it_holds(in_flight: WebhookDeliveryStatus, jump: timedelta) -> None:
    now = NOW + jump
    assert step(in_flight, holder="after", now=now) == Wait(now + timedelta(seconds=CLAIM_S))
    assert step(in_flight, holder="after", now=now, led_for_s=CLAIM_S - 1) == Wait(now + timedelta(seconds=1))
    assert step(in_flight, holder="after", now=now, led_for_s=CLAIM_S) == Send(2)


@pytest.mark.parametrize("jump", HOURS)
def test_its_own_claim_an_operator_takes_up_at_once(in_flight: WebhookDeliveryStatus, jump: timedelta) -> None:
    assert step(in_flight, holder="before", now=NOW + jump) == Send(2)


def test_a_claim_ends_when_it_has_run_out_or_with_an_earlier_success(in_flight: WebhookDeliveryStatus) -> None:
    assert step(in_flight, holder="after", now=NOW + timedelta(seconds=CLAIM_S)) == Send(2)
    status = found_delivered(in_flight, now=NOW, generation=1)
    assert (status.phase, status.claim, status.next_attempt_at) == (DeliveryPhase.DELIVERED, None, None)
    assert status.conditions[0].reason == "DeliveredBefore"


@pytest.mark.parametrize("jump", HOURS)
def test_what_looks_half_made_is_left_to_the_outbox_in_the_first_minute_of_a_leader(jump: timedelta) -> None:
    now = NOW + timedelta(hours=2) + jump
    for led_for_s in (0, ORPHAN_S - 1):
        assert isinstance(step(WebhookDeliveryStatus(), holder="after", now=now, led_for_s=led_for_s), Wait)
    late = NOW + timedelta(hours=2)
    assert step(WebhookDeliveryStatus(), holder="after", now=late, led_for_s=ORPHAN_S) == Send(1)


class Cluster:
    """Holds one delivery, whose creation ends with `go_on`; its clock is the true one."""

    def __init__(self) -> None:
        self.body: dict[str, Any] | None = None
        self.version = 0
        self.created = asyncio.Event()
        self.go_on = asyncio.Event()
        self.failures = 0

    async def create(self, _: Any, body: dict[str, Any], __: str) -> dict[str, Any]:
        self.version += 1
        metadata = {**body["metadata"], "creationTimestamp": format_timestamp(NOW), "uid": "u"}
        self.body = {**body, "metadata": {**metadata, "resourceVersion": str(self.version)}}
        self.created.set()
        await self.go_on.wait()
        return self.body

    async def get(self, *_: Any) -> dict[str, Any]:
        if self.body is None:
            raise KubeNotFound("none", status=404)
        return self.body

    async def patch_status(
        self, _: Any, __: str, status: dict[str, Any], ___: str, *, resource_version: str
    ) -> dict[str, Any]:
        if self.failures:
            self.failures -= 1
            raise KubeUnavailable("not now")
        assert self.body is not None
        if resource_version != self.body["metadata"]["resourceVersion"]:
            raise KubeConflict("stale", status=409)
        self.version += 1
        metadata = {**self.body["metadata"], "resourceVersion": str(self.version)}
        merged = {key: value for key, value in {**self.body.get("status", {}), **status}.items() if value is not None}
        self.body = {**self.body, "metadata": metadata, "status": merged}
        return self.body


class HandOver:
    """A first attempt that failed, on its way into a delivery."""

    def __init__(self, clock: datetime = NOW) -> None:
        self.cluster = Cluster()
        client: Any = self.cluster
        reads, schedule = FreshReads(client), RetrySchedule()
        self.objects = DeliveryObjects(client, reads, schedule, clock=lambda: clock, rng=lambda: 0.0)

    async def begin(self) -> asyncio.Task[Any]:
        """Go on until the delivery is created."""
        metadata = {"name": "r-1", "namespace": "n", "uid": "u", "resourceVersion": "1"}
        spec = {"organizationRef": {"name": "org-1"}, "createdAt": format_timestamp(NOW)}
        run = Run.parse({"metadata": metadata, "spec": spec})
        entry = OutboxEntry(seq=1, event=EventName.RUN_CANCELLED, event_id="evt-1", ts=NOW)
        outcome = Outcome(OutcomeClass.HTTP_5XX, 500, NOW, 20, "HTTP 500")
        message = {"event_id": "evt-1", "data": {}}
        place = {"url": "http://a.test/", "organization": "org-1"}
        task = asyncio.create_task(self.objects.hand_over(run, entry, message, outcome, **place))
        await self.cluster.created.wait()
        return task


@pytest.mark.parametrize("jump", HOURS)
async def test_a_delivery_that_is_being_handed_over_is_not_sent_whatever_the_clock_says(jump: timedelta) -> None:
    making = HandOver(NOW + jump)
    task = await making.begin()
    with pytest.raises(KubeConflict):
        await making.objects.get("n", "evt-1")
    making.cluster.go_on.set()
    record = await task
    assert (record.phase, record.attempts) == (DeliveryPhase.PENDING, 1)
    assert (await making.objects.get("n", "evt-1")).status.attempt == 1


@pytest.mark.looptime
async def test_it_stays_in_hand_while_the_cluster_does_not_take_it() -> None:
    making = HandOver()
    making.cluster.go_on.set()
    making.cluster.failures = 5
    task = await making.begin()
    while making.cluster.failures:
        with pytest.raises(KubeConflict):
            await making.objects.get("n", "evt-1")
        await asyncio.sleep(0.05)
    await task
    await making.objects.get("n", "evt-1")


async def test_a_hand_over_that_was_cancelled_is_out_of_hand() -> None:
    making = HandOver()
    task = await making.begin()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert (await making.objects.get("n", "evt-1")).status.attempt == 0


async def test_a_first_attempt_that_somebody_else_has_claimed_is_left_to_them() -> None:
    making = HandOver()
    task = await making.begin()
    claim = Claim(attempt=1, holder="after", until=NOW + timedelta(seconds=30))
    status = WebhookDeliveryStatus(phase=DeliveryPhase.IN_FLIGHT, claim=claim).to_kube()
    await making.cluster.patch_status(None, "", status, "n", resource_version="1")

    async def exists(*_: Any) -> Any:
        raise KubeAlreadyExists("there", status=409)

    making.cluster.create = exists  # type: ignore[method-assign]
    making.cluster.go_on.set()
    record = await task
    assert record is None or record.attempts == 0
    assert making.cluster.body is not None
    assert making.cluster.body["status"]["claim"]["holder"] == "after"


def test_a_gap_does_not_begin_before_the_attempt_has_ended() -> None:
    """Start and length are whole milliseconds: cut, and rounded to the nearest."""
    truly_ended = NOW + timedelta(microseconds=999 + 20_499)
    outcome = Outcome(OutcomeClass.HTTP_5XX, 500, NOW, 20, "HTTP 500")
    objects = HandOver().objects
    for number, gap_s in enumerate(RetrySchedule().gaps, start=1):
        due = objects.next_attempt_at(outcome, number)
        assert due is not None
        assert truly_ended + timedelta(seconds=gap_s) <= due <= truly_ended + timedelta(seconds=gap_s, milliseconds=3)
        assert parse_timestamp(format_timestamp(due)) == due
