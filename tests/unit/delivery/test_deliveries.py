"""Retries and replays: which are sent when, while others wait."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest
from tests.unit.delivery.test_attempt_pipeline import attempt
from tests.unit.delivery.test_fairness import answered

from checklist_crds.resources.delivery import WebhookDeliveryStatus
from checklist_crds.resources.kinds import Key
from checklist_crds.resources.webhook_url import host_of
from checklist_crds.values.json_text import JsonObject
from checklist_operator.attempts.attempt import Attempt, RecordedAttempt, SentAttempt
from checklist_operator.attempts.claim import ClaimedAttempt
from checklist_operator.attempts.delivery_objects import Delivery
from checklist_operator.attempts.delivery_state import NextAction, Send, next_action
from checklist_operator.attempts.pauses import Paused
from checklist_operator.attempts.pipeline import AttemptPipeline
from checklist_operator.attempts.send import Transmitter
from checklist_operator.attempts.wiring import AttemptParts
from checklist_operator.controllers.deliveries import Deliveries
from checklist_operator.runtime.metrics import Metrics
from checklist_operator.runtime.timers import Timers
from checklist_operator.transport.fairness import Permits
from checklist_operator.transport.outcome import Outcome, OutcomeClass

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
REPLAYING = {"attempt": 5, "phase": "Failed", "replay": {"requestedAt": "2026-11-21T12:00:00Z"}}

pytestmark = pytest.mark.looptime


class Bench:
    """Retries and replays over real permits. Its cluster is a dict of deliveries; no host of `dead` answers."""

    def __init__(self) -> None:
        self.bodies: dict[Key, JsonObject] = {}
        self.sent: dict[Key, list[float]] = {}
        self.preparing = asyncio.Event()
        self.preparing.set()
        self.paused: set[str] = set()
        self.held: list[Key] = []
        self.recording = asyncio.Event()
        self.recording.set()
        self.permits = permits = Permits()
        this = cast(Any, self)
        pipeline = AttemptPipeline(
            permits=permits,
            claims=this,
            transmitter=Transmitter(sender=this, permits=permits, metrics=Metrics(), leads=lambda: True),
            recorder=this,
            photos=this,
            pauses=this,
            metrics=Metrics(),
            clock=self.now,
        )
        parts = {
            "pipeline": pipeline,
            "permits": permits,
            "preparation": this,
            "pauses": this,
            "settler": this,
        } | dict.fromkeys(("objects", "recorder", "transmitter", "claims", "records", "reads", "tracing"), this)
        self.timers = Timers(self.now)
        self.deliveries = Deliveries(
            AttemptParts(**parts), timers=self.timers, clock=self.now, on_gone=lambda _: None, on_bug=pytest.fail
        )

    def now(self) -> datetime:
        return NOW + timedelta(seconds=asyncio.get_running_loop().time())

    def due(self, name: str, host: str, organization: str, **status: Any) -> Key:
        key = ("n", name)
        self.bodies[key] = {
            "metadata": {"namespace": "n", "name": name, "creationTimestamp": "2026-11-21T11:00:00Z"},
            "spec": {
                "url": f"https://{host}/hook",
                "organizationRef": {"name": organization},
                "runRef": {"name": name},
            },
            "status": status or {"attempt": 1, "phase": "Pending", "nextAttemptAt": "2026-11-21T12:00:00Z"},
        }
        self.deliveries.observe("MODIFIED", self.bodies[key])
        return key

    def delete(self, key: Key) -> None:
        self.deliveries.observe("DELETED", self.bodies.pop(key))

    # -- what the neighbours do -----------------------------------------------------------------------------------

    def next_action(self, status: WebhookDeliveryStatus, created_at: datetime) -> NextAction:
        return next_action(status, now=self.now(), holder="me", created_at=created_at)

    async def of_delivery(self, key: Key) -> Attempt | None:
        body = self.bodies[key]
        await self.preparing.wait()
        status = WebhookDeliveryStatus.model_validate(body["status"])
        action = self.next_action(status, NOW - timedelta(hours=1))
        if not isinstance(action, Send):
            return None
        spec = body["spec"]
        event = attempt().event.model_copy(update={"event_id": key[1]})
        known = Delivery(key[1], "n", "u", "7", 1, NOW, cast(Any, None), status)
        organization = spec["organizationRef"]["name"]
        return replace(
            attempt(first=False), action=action, event=event, url=spec["url"], organization=organization, delivery=known
        )

    def check_known(self, run: Key, organization: str) -> None:
        if organization in self.paused:
            raise Paused("The organization")

    async def with_photo_urls(self, message: JsonObject, _: Any) -> JsonObject:
        return message

    async def take(self, known: Delivery, action: Send) -> ClaimedAttempt:
        self.sent.setdefault((known.namespace, known.name), []).append(asyncio.get_running_loop().time())
        return ClaimedAttempt(known, is_claimed=False)

    async def send(self, url: str, *_: Any) -> Outcome:
        if "dead" in host_of(url):
            await asyncio.sleep(10)
            return Outcome(OutcomeClass.TIMEOUT, None, NOW, 10_000, "no answer")
        await asyncio.sleep(0.05)
        return Outcome(OutcomeClass.SUCCESS, 204, NOW, 50, "")

    async def record(self, sent: SentAttempt) -> RecordedAttempt:
        assert sent.delivery is not None
        await self.recording.wait()
        key = sent.delivery.namespace, sent.delivery.name
        status = WebhookDeliveryStatus.model_validate(self.bodies[key]["status"])
        if not status.replay or sent.attempt.action.is_replay:
            status = WebhookDeliveryStatus(attempt=5, settled=True)
            self.bodies[key]["status"] = status.to_kube()
        return RecordedAttempt(delivery=replace(sent.delivery, status=status))

    async def hold_replay(self, key: Key, pause: Paused) -> None:
        self.held.append(key)

    def announce(self, _: Delivery) -> None:
        pass


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    made = Bench()
    yield made
    await made.deliveries.close()


@pytest.mark.parametrize(("hosts", "organizations"), [(1, 1), (300, 40)])
async def test_retries_that_wait_for_dead_hosts_however_many_delay_no_other_organization(
    bench: Bench, hosts: int, organizations: int
) -> None:
    answered(bench.permits, "good.example")
    dead = [bench.due(f"evt-{n}", f"dead-{n % hosts}.example", f"org-{n % organizations}") for n in range(5_000)]
    await asyncio.sleep(60)
    begun = asyncio.get_running_loop().time()
    good = bench.due("evt-good", "good.example", "other")
    await asyncio.sleep(1)
    assert bench.sent[good] == [pytest.approx(begun, abs=0.1)]
    assert bench.deliveries.oldest_waiting_s() > 60
    deleted, kept = dead[:4_000], dead[4_000:]
    for key in deleted:
        bench.delete(key)
    for key in kept:
        bench.deliveries.observe(None, bench.bodies[key])  # a resync
    await asyncio.sleep(2 * 3600)
    assert [len(bench.sent[key]) for key in kept] == [1] * 1_000
    assert (bench.permits.in_flight, bench.permits.waiting, bench.deliveries.oldest_waiting_s()) == (0, 0, 0)


async def test_a_permit_of_a_paused_or_deleted_delivery_is_free_again(bench: Bench) -> None:
    waiting = [bench.due(f"evt-{n}", "dead.example", "org-1") for n in range(1_000)]
    await asyncio.sleep(1)
    bench.paused.add("org-1")
    bench.delete(waiting.pop())
    await asyncio.sleep(20)
    assert (bench.permits.in_flight, bench.permits.waiting, bench.deliveries.oldest_waiting_s()) == (0, 0, 0)
    bench.paused.clear()
    bench.deliveries.resumed()
    await asyncio.sleep(2 * 3600)
    assert [len(bench.sent[key]) for key in waiting] == [1] * 999
    assert (bench.permits.in_flight, bench.permits.waiting, bench.deliveries.oldest_waiting_s()) == (0, 0, 0)


async def test_of_paused_deliveries_only_the_replays_show_it(bench: Bench) -> None:
    bench.paused.add("org-1")
    bench.due("evt-retry", "a.example", "org-1")
    replay = bench.due("evt-replay", "a.example", "org-1", **REPLAYING)
    await asyncio.sleep(1)
    assert (bench.held, bench.sent) == ([replay], {})
    bench.paused.clear()
    bench.deliveries.resumed()
    await asyncio.sleep(1)
    assert len(bench.sent) == 2


@pytest.mark.parametrize("is_seen", [True, False])
async def test_a_replay_that_is_accepted_during_the_record_of_an_attempt_is_sent_after_it(
    bench: Bench, is_seen: bool
) -> None:
    bench.recording.clear()
    key = bench.due("evt-1", "a.example", "org-1")
    await asyncio.sleep(1)
    if is_seen:
        bench.due("evt-1", "a.example", "org-1", **REPLAYING)
    else:
        bench.bodies[key]["status"] = REPLAYING
    bench.recording.set()
    await asyncio.sleep(1)
    assert len(bench.sent[key]) == 2


async def test_deliveries_that_are_deleted_while_they_are_prepared_leave_nothing(bench: Bench) -> None:
    bench.preparing.clear()
    keys = [bench.due(f"evt-{n}", "dead.example", "org-1") for n in range(100)]
    await asyncio.sleep(1)
    for key in keys:
        bench.delete(key)
    bench.preparing.set()
    await asyncio.sleep(1)
    assert (bench.permits.in_flight, bench.permits.waiting, bench.deliveries.oldest_waiting_s()) == (0, 0, 0)
    assert bench.sent == {}
