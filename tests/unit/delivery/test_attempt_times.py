"""The schedule of attempts, and first attempts that become deliveries."""

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.kube.memory_cluster import MemoryCluster

from checklist_crds.ids import new_id
from checklist_crds.kube.errors import KubeAlreadyExists, KubeConflict, KubeUnavailable
from checklist_crds.resources.delivery import MAX_ATTEMPTS, Claim, OutcomeClass, WebhookDeliveryStatus
from checklist_crds.resources.delivery_records import DeliveryPhase
from checklist_crds.resources.event_names import EventName
from checklist_crds.resources.kinds import WEBHOOK_DELIVERY, Kind
from checklist_crds.resources.run import OutboxEntry, Run
from checklist_crds.times import format_timestamp, parse_timestamp
from checklist_crds.values.json_text import JsonObject
from checklist_operator.attempts.delivery_objects import DeliveryObjects
from checklist_operator.attempts.schedule import RetrySchedule
from checklist_operator.runtime.fresh_reads import FreshReads
from checklist_operator.transport.outcome import Outcome

FINISHED = datetime(2026, 11, 21, 13, 50, tzinfo=UTC)


def no_jitter() -> float:
    return 0.0


def test_the_four_gaps_lie_between_five_attempts() -> None:
    due = [RetrySchedule().next_attempt_at(FINISHED, attempt, no_jitter) for attempt in range(1, MAX_ATTEMPTS + 1)]
    assert due == [*(FINISHED + timedelta(seconds=gap) for gap in (30, 120, 600, 3600)), None]
    for attempt in (0, -1, 6):
        with pytest.raises(ValueError, match="1 to 5"):
            RetrySchedule().next_attempt_at(FINISHED, attempt, no_jitter)


@given(
    finished=st.datetimes(min_value=datetime(2026, 1, 1), max_value=datetime(2100, 1, 1), timezones=st.just(UTC)),
    attempt=st.integers(1, 4),
    jitter=st.floats(0, 1, exclude_max=True),
)
def test_an_attempt_is_never_early(finished: datetime, attempt: int, jitter: float) -> None:
    schedule = RetrySchedule()
    due = schedule.next_attempt_at(finished, attempt, lambda: jitter)
    assert due is not None
    gap = timedelta(seconds=schedule.gaps[attempt - 1])
    assert parse_timestamp(format_timestamp(due)) == due
    assert gap <= due - finished <= gap + min(gap * 0.05, timedelta(seconds=15)) + timedelta(milliseconds=1)


def test_jitter_adds_up_to_a_twentieth_and_at_most_fifteen_seconds() -> None:
    almost_one = 0.999_999
    for attempt, most in [(1, 1.5), (2, 6.0), (3, 15.0), (4, 15.0)]:
        without = RetrySchedule().next_attempt_at(FINISHED, attempt, no_jitter)
        with_most = RetrySchedule().next_attempt_at(FINISHED, attempt, lambda: almost_one)
        assert without and with_most
        assert (with_most - without).total_seconds() == pytest.approx(most, abs=0.002)


def test_the_setting_is_four_numbers_of_seconds() -> None:
    assert RetrySchedule.parse("30, 120,600,3600") == RetrySchedule()
    assert RetrySchedule.parse("0.1,0.2,0.3,0.4").gaps == (0.1, 0.2, 0.3, 0.4)
    exact = RetrySchedule.parse("1,2,3,4", jitter_fraction=0)
    assert exact.next_attempt_at(FINISHED, 2, lambda: 0.9) == FINISHED + timedelta(seconds=2)
    wrong_counts = ["", "30", "30,120,600", "30,120,600,3600,21600", "1,2,,4"]
    wrong_numbers = ["1,2,3,x", "1,2,3,0", "1,2,3,-1", "1,2,3,nan", "1,2,3,inf"]
    for text in wrong_counts + wrong_numbers:
        with pytest.raises(ValueError, match="30,120,600,3600"):
            RetrySchedule.parse(text)


NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
FAILED = Outcome(OutcomeClass.HTTP_5XX, 500, NOW, 20, "HTTP 500")
pytestmark = pytest.mark.looptime


class Cluster(MemoryCluster):
    """A creation ends with `go_on`, and with its `error`; so many writes of a status fail."""

    def __init__(self) -> None:
        super().__init__()
        self.created, self.go_on = asyncio.Event(), asyncio.Event()
        self.error: Exception | None = None
        self.failures = 0

    async def create(self, kind: Kind, body: Mapping[str, Any], *_: Any) -> JsonObject:
        made = self.put(kind, body["metadata"]["name"], body["spec"], "n")
        self.created.set()
        await self.go_on.wait()
        if self.error is not None:
            raise self.error
        return made

    async def patch_status(self, *arguments: Any, **options: Any) -> JsonObject:
        if self.failures:
            self.failures -= 1
            raise KubeUnavailable("not now")
        return await super().patch_status(*arguments, **options)


class HandOver:
    def __init__(self, clock: datetime = NOW) -> None:
        self.cluster = Cluster()
        client: Any = self.cluster
        self.objects = DeliveryObjects(
            client=client, reads=FreshReads(client), schedule=RetrySchedule(), clock=lambda: clock, rng=lambda: 0.0
        )

    async def begin(self) -> asyncio.Task[Any]:
        """Go on until the delivery is created."""
        metadata = {"name": new_id("r"), "namespace": "n", "uid": "u", "resourceVersion": "1"}
        spec = {"organizationRef": {"name": "org-1"}, "createdAt": format_timestamp(NOW)}
        run = Run.parse({"metadata": metadata, "spec": spec})
        entry = OutboxEntry(seq=1, event=EventName.RUN_CANCELLED, event_id="evt-1", ts=NOW)
        place = {"url": "http://a.test/", "organization": "org-1"}
        message = {"event_id": "evt-1", "data": {}}
        task = asyncio.create_task(self.objects.create_for_failed(run, entry, message, FAILED, **place))
        await self.cluster.created.wait()
        return task

    async def attempts_made(self) -> int:
        """Raises KubeConflict while it is in hand."""
        return (await self.objects.get("n", "evt-1")).status.attempt


@pytest.mark.looptime
@pytest.mark.parametrize("hours", [-2, 0, 2])
async def test_a_delivery_stays_in_hand_until_the_cluster_has_taken_it(hours: int) -> None:
    making = HandOver(NOW + timedelta(hours=hours))
    making.cluster.failures = 5
    task = await making.begin()
    with pytest.raises(KubeConflict):
        await making.attempts_made()
    making.cluster.go_on.set()
    while making.cluster.failures:
        with pytest.raises(KubeConflict):
            await making.attempts_made()
        await asyncio.sleep(0.05)
    record = await task
    assert (record.phase, record.attempts, await making.attempts_made()) == (DeliveryPhase.PENDING, 1, 1)


async def test_a_hand_over_that_was_cancelled_is_out_of_hand() -> None:
    making = HandOver()
    task = await making.begin()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert await making.attempts_made() == 0


async def test_a_first_attempt_that_another_operator_has_claimed_is_left_to_it() -> None:
    making = HandOver()
    making.cluster.error = KubeAlreadyExists("there", status=409)
    task = await making.begin()
    claim = Claim(attempt=1, holder="after", until=NOW + timedelta(seconds=30))
    status = WebhookDeliveryStatus(phase=DeliveryPhase.IN_FLIGHT, claim=claim).to_kube()
    await making.cluster.patch_status(WEBHOOK_DELIVERY, "evt-1", status)
    making.cluster.go_on.set()
    record = await task
    assert record is None or record.attempts == 0
    assert making.cluster.read(WEBHOOK_DELIVERY, "evt-1")["status"]["claim"]["holder"] == "after"


async def test_a_gap_does_not_begin_before_the_attempt_has_ended() -> None:
    """Start and length are whole milliseconds: cut, and rounded to the nearest."""
    truly_ended = NOW + timedelta(microseconds=999 + 20_499)
    objects = HandOver().objects
    for number, gap_s in enumerate(RetrySchedule().gaps, start=1):
        due = objects.next_attempt_at(FAILED, number)
        assert due is not None
        assert truly_ended + timedelta(seconds=gap_s) <= due <= truly_ended + timedelta(seconds=gap_s, milliseconds=3)
        assert parse_timestamp(format_timestamp(due)) == due
