"""One transmission: claimed by who holds the lease, noted for fairness and figures, recorded with others."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.unit.kube.memory_cluster import MemoryCluster

from checklist_crds.ids import new_id
from checklist_crds.kube.errors import KubeConflict, KubeUnavailable
from checklist_crds.resources.delivery import Claim, WebhookDeliverySpec, WebhookDeliveryStatus
from checklist_crds.resources.delivery_records import DeliveryPhase, DeliveryRecord, recorded_events
from checklist_crds.resources.event_names import EventName
from checklist_crds.resources.kinds import RUN
from checklist_operator.attempts.claim import Claims, LeadNotConfirmed
from checklist_operator.attempts.delivery_objects import Delivery
from checklist_operator.attempts.delivery_state import Send
from checklist_operator.attempts.run_records import RunPlace, RunRecords
from checklist_operator.attempts.send import Transmitter
from checklist_operator.faults import LocalFault
from checklist_operator.runtime.fresh_reads import FreshReads
from checklist_operator.runtime.metrics import Metrics
from checklist_operator.transport.fairness import Permits
from checklist_operator.transport.outcome import Outcome, OutcomeClass

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


async def test_a_burst_lasts_until_a_second_without_new_attempts() -> None:
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


async def test_replays_and_attempts_that_a_crash_left_claimed_are_claimed_in_a_burst_too() -> None:
    bench = Bench(per_s=0)
    left = delivery(claim=Claim(attempt=2, holder="me", until=NOW))
    assert (await bench.claims.take(left, ATTEMPT)).is_claimed
    assert (await bench.claims.take(delivery(), Send(1, is_replay=True))).is_claimed


async def test_an_outcome_is_ours_to_record_until_another_one_has_gone_on() -> None:
    claims = Bench(per_s=0).claims
    mine, other = (Claim(attempt=2, holder=holder, until=NOW) for holder in ("me", "other"))
    assert claims.is_ours(delivery(claim=mine), ATTEMPT, was_claimed=True)
    assert claims.is_ours(delivery(), ATTEMPT, was_claimed=False)
    for known in (delivery(claim=other), delivery()):
        assert not claims.is_ours(known, ATTEMPT, was_claimed=True)
    for known in (delivery(claim=other), delivery(attempt=2), delivery(phase=DeliveryPhase.DELIVERED)):
        assert not claims.is_ours(known, ATTEMPT, was_claimed=False)


URL = "https://a.example/hook"


class Recorder:
    """A sender whose transmissions all end the same way."""

    def __init__(self, outcome_class: OutcomeClass = OutcomeClass.SUCCESS, duration_ms: int = 20) -> None:
        self.sent = 0
        self.fault: LocalFault | None = None
        self._outcome = Outcome(outcome_class, None, NOW, duration_ms, "")

    async def send(self, *_: Any) -> Outcome:
        self.sent += 1
        if self.fault is not None:
            raise self.fault
        return self._outcome


def transmitter(sender: Any, *, leads: bool = True) -> Transmitter:
    return Transmitter(sender=sender, permits=Permits(None), metrics=Metrics(), leads=lambda: leads)


async def transmit(over: Transmitter) -> Outcome:
    async with over._permits.held(over._permits.apply(host="a.example", organization="org-1", first=True)):
        return await over.send(URL, b"{}", b"secret", "r-1", attempt=1)


@pytest.mark.looptime
@pytest.mark.parametrize(
    ("leads", "stop", "sent"),
    [
        (False, lambda over: None, 0),
        (True, Transmitter.stop_sending, 0),
        (True, Transmitter.discard_responses, 1),  # the answer comes when it can no longer be recorded
    ],
    ids=["without the lease", "no more starts", "no more answers"],
)
async def test_without_the_lease_nothing_is_sent(leads: bool, stop: Callable[[Transmitter], None], sent: int) -> None:
    sender = Recorder()
    over = transmitter(sender, leads=leads)
    stop(over)
    sending = asyncio.create_task(transmit(over))
    await asyncio.sleep(3600)
    assert (sending.done(), sender.sent) == (False, sent)
    sending.cancel()
    await asyncio.gather(sending, return_exceptions=True)
    assert sending.cancelled()


async def test_the_length_of_an_answer_is_noted_for_fairness_and_a_fault_of_our_own_is_not() -> None:
    for duration_ms, in_doubt in ((20, False), (9_000, True)):
        over = transmitter(sender := Recorder(duration_ms=duration_ms))
        assert (await transmit(over)).ok
        assert sender.sent == 1
        assert over._permits._standings.is_in_doubt("a.example", asyncio.get_running_loop().time()) is in_doubt
    over = transmitter(Recorder(OutcomeClass.TIMEOUT, 10_000))
    for _ in range(5):
        await transmit(over)
    assert over._permits.is_slow("a.example")
    sender = Recorder()
    sender.fault = LocalFault("TransportUnavailable", "out of sockets")
    over = transmitter(sender)
    with pytest.raises(LocalFault, match="out of sockets"):
        await transmit(over)
    assert over._permits._standings.is_unheard("a.example")


def cluster_with(*names: str) -> MemoryCluster:
    cluster = MemoryCluster()
    for name in names:
        webhook = {"url": "https://a.example/", "events": ["*"], "sealedSecret": "k1:a"}
        cluster.put(RUN, name, {"templateId": "t", "webhook": webhook}, namespace="n")
    return cluster


def run(number: int) -> str:
    return f"r-00000000-0000-4000-8000-{number:012}"


def place(name: str) -> RunPlace:
    return RunPlace("n", name, name)


def record(seq: int) -> DeliveryRecord:
    event = {"event": EventName.STEP_COMPLETED, "event_id": new_id("evt"), "ts": NOW}
    return DeliveryRecord(seq=seq, **event, phase=DeliveryPhase.DELIVERED, attempts=2)


def records_of(cluster: Any) -> RunRecords:
    return RunRecords(cluster, FreshReads(cluster), lambda: NOW)


def recorded(cluster: MemoryCluster, name: str) -> list[int]:
    return [one["seq"] for one in recorded_events(cluster.read(RUN, name)["status"]).values()]


async def test_a_hundred_that_end_together_are_few_writes_and_each_is_recorded() -> None:
    cluster = cluster_with(run(1), run(2))
    runs = records_of(cluster)
    known = {name: cluster.read(RUN, name) for name in (run(1), run(2))}
    await asyncio.gather(
        *(runs.record(place(name), record(seq), known=known[name]) for seq in range(1, 51) for name in known)
    )
    assert recorded(cluster, run(1)) == recorded(cluster, run(2)) == list(range(1, 51))
    assert cluster.asked == {"patch": 2}


async def test_an_old_read_is_not_tried_when_only_the_version_of_the_run_is_remembered() -> None:
    names = [run(number) for number in range(300)]
    cluster = cluster_with(*names)
    runs = records_of(cluster)
    before = cluster.read(RUN, run(0))
    for name in names:
        await runs.record(place(name), record(1), known=cluster.read(RUN, name))
    cluster.asked.clear()
    await runs.record(place(run(0)), record(2), known=before)
    assert recorded(cluster, run(0)) == [1, 2]
    assert cluster.asked == {"get": 1, "patch": 1}
    for seq in (3, 4):
        await runs.record(place(run(0)), record(seq), known=before)
    assert (recorded(cluster, run(0)), cluster.asked) == ([1, 2, 3, 4], {"get": 1, "patch": 3})


async def test_a_foreign_write_is_found_and_kept_and_a_run_that_is_gone_is_none() -> None:
    cluster = cluster_with(run(1))
    runs = records_of(cluster)
    await runs.record(place(run(1)), record(1), known=cluster.read(RUN, run(1)))
    await cluster.patch_status(RUN, run(1), {"phase": "InProgress"}, "n")
    await runs.record(place(run(1)), record(2))
    assert cluster.asked["conflict"] == 0, "a change of the run is none of its records' business"
    await records_of(cluster).record(place(run(1)), record(3))
    await runs.record(place(run(1)), record(4))
    assert recorded(cluster, run(1)) == [1, 2, 3, 4]
    assert cluster.read(RUN, run(1))["status"]["phase"] == "InProgress"
    assert cluster.asked["conflict"] == 1
    del cluster.objects[RUN, run(1)]
    assert await runs.record(place(run(1)), record(5)) is None


async def test_a_later_run_of_the_name_gets_no_record_of_the_one_before() -> None:
    cluster = cluster_with("daily")
    body = cluster.objects[RUN, "daily"]
    resolved = {"organization": "acme", "templateId": "t-1", "templateVersion": 1, "templateName": "Opening"}
    resolved |= {"revisionRef": {"name": "t-1-v1"}, "identityMode": "anonymous", "stepCount": 1, "applicableSteps": 1}
    body["status"] = {"resolved": {**resolved, "runId": run(2)}}
    runs = records_of(cluster)
    assert await runs.record(RunPlace("n", "daily", run(1)), record(1)) is None
    assert await runs.record(RunPlace("n", "daily", run(2)), record(1)) is not None
    assert recorded(cluster, "daily") == [1]
