"""The pipeline of attempts: what it counts as under way, and what it does not start any more."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest

from checklist_crds.kube.errors import KubeConflict
from checklist_crds.resources.delivery import WebhookDeliverySpec, WebhookDeliveryStatus
from checklist_crds.resources.event_names import EventName
from checklist_crds.resources.run import OutboxEntry, Run
from checklist_operator.attempts.attempt import FIRST_ATTEMPT, Attempt, RecordedAttempt, SentAttempt
from checklist_operator.attempts.claim import ClaimedAttempt, Claims
from checklist_operator.attempts.delivery_objects import Delivery
from checklist_operator.attempts.delivery_state import Send
from checklist_operator.attempts.envelopes import EventPhotos
from checklist_operator.attempts.pauses import Paused, Pauses
from checklist_operator.attempts.pipeline import AttemptPipeline
from checklist_operator.attempts.record import AttemptRecorder
from checklist_operator.attempts.send import Transmitter
from checklist_operator.faults import LocalFault
from checklist_operator.runtime.deadlines import ShutdownDeadlines
from checklist_operator.runtime.metrics import Metrics
from checklist_operator.transport.fairness import PermitLimits, Permits
from checklist_operator.transport.outcome import Outcome, OutcomeClass

RUN_ID = "r-00000000-0000-4000-8000-000000000001"
NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
URL = "https://a.example/hook"
EVENT = OutboxEntry(seq=1, event=EventName.RUN_CANCELLED, event_id="evt-1", ts=NOW)
BODY = {
    "metadata": {"name": RUN_ID, "namespace": "n", "resourceVersion": "1", "creationTimestamp": "2026-11-21T12:00:00Z"},
    "spec": {"organizationRef": {"name": "org-1"}},
}

pytestmark = pytest.mark.looptime


def delivery() -> Delivery:
    status = WebhookDeliveryStatus(attempt=1, next_attempt_at=NOW)
    return Delivery("evt-1", "n", "u", "7", 1, NOW, WebhookDeliverySpec.model_construct(), status)


def attempt(*, number: int = 1, first: bool = True) -> Attempt:
    return Attempt(
        event=EVENT,
        action=FIRST_ATTEMPT if first else Send(number),
        run=Run.parse(BODY),
        run_body=BODY,
        organization="org-1",
        url=URL,
        secret=b"sixteen or more characters",
        message=lambda: {"event_id": "evt-1", "data": {}},
        due_at=NOW,
        delivery=None if first else delivery(),
    )


class Bench:
    """A pipeline whose neighbours do as the test says, and note what they are asked."""

    def __init__(self, *, places: int = 8) -> None:
        self.sent: list[bytes] = []
        self.postponed: list[tuple[str, str]] = []
        self.claimed = 0
        self.answering = asyncio.Event()
        self.answering.set()
        self.recording = asyncio.Event()
        self.error: Exception | None = None
        self.paused = False
        this = cast(Any, self)
        permits = Permits(PermitLimits(total=places))
        self.pipeline = AttemptPipeline(
            permits=permits,
            claims=cast(Claims, this),
            transmitter=Transmitter(
                sender=cast(Any, _Sender(self)), permits=permits, metrics=Metrics(), leads=lambda: True
            ),
            recorder=cast(AttemptRecorder, this),
            photos=cast(EventPhotos, this),
            pauses=cast(Pauses, this),
            metrics=Metrics(),
            clock=lambda: NOW + timedelta(seconds=3),
        )

    async def with_photo_urls(self, message: dict[str, Any], _: Any) -> dict[str, Any]:
        return message

    def check_known(self, *_: Any) -> None:
        if self.paused:
            raise Paused("The run")

    async def take(self, known: Delivery, step: Send) -> ClaimedAttempt:
        self.claimed += 1
        return ClaimedAttempt(known, is_claimed=True)

    async def postpone(self, known: Delivery, step: Send, fault: LocalFault) -> None:
        self.postponed.append((known.name, fault.reason))

    async def record(self, sent: SentAttempt) -> RecordedAttempt:
        await self.recording.wait()
        return RecordedAttempt(delivery=sent.delivery)

    async def make(self, wanted: Attempt) -> SentAttempt | None:
        async def prepared() -> Attempt:
            return wanted

        return await self.pipeline.make(URL, "org-1", prepared, first=wanted.is_first)


class _Sender:
    def __init__(self, bench: Bench) -> None:
        self._bench = bench

    async def send(self, url: str, body: bytes, *_: Any) -> Outcome:
        self._bench.sent.append(body)
        await self._bench.answering.wait()
        if self._bench.error is not None:
            raise self._bench.error
        return Outcome(OutcomeClass.SUCCESS, 204, NOW, 20, "")


def deadlines() -> ShutdownDeadlines:
    return ShutdownDeadlines(stop_sending=lambda: None, discard_responses=lambda: None)


async def test_an_attempt_is_unrecorded_from_its_answer_until_it_is_recorded_and_only_then() -> None:
    bench = Bench()
    bench.answering.clear()
    making = asyncio.create_task(bench.make(attempt(number=2, first=False)))
    await asyncio.sleep(0.1)
    assert (bench.pipeline.in_flight, bench.pipeline.retries_in_flight, bench.pipeline.unrecorded) == (1, 1, {})
    bench.answering.set()
    sent = await making
    assert sent is not None
    assert (sent.outcome.ok, sent.is_claimed, bench.claimed) == (True, True, 1)
    assert (bench.pipeline.in_flight, bench.pipeline.unrecorded) == (1, {"evt-1": 2})
    recording = asyncio.create_task(bench.pipeline.record(sent))
    await asyncio.sleep(10)
    assert bench.pipeline.unrecorded == {"evt-1": 2}
    bench.recording.set()
    await recording
    assert (bench.pipeline.in_flight, bench.pipeline.unrecorded) == (0, {})


async def test_of_two_attempts_of_an_event_the_later_one_is_named_and_one_that_ends_leaves_the_other() -> None:
    bench = Bench()
    bench.recording.set()
    first, retry = await bench.make(attempt()), await bench.make(attempt(number=2, first=False))
    assert first is not None and retry is not None
    assert (bench.claimed, bench.pipeline.retries_in_flight, bench.pipeline.unrecorded) == (1, 1, {"evt-1": 2})
    await bench.pipeline.record(first)
    assert bench.pipeline.unrecorded == {"evt-1": 2}
    bench.pipeline.abandon(retry)
    assert bench.pipeline.unrecorded == {}


async def test_after_a_stop_nothing_is_sent_any_more_and_only_what_was_sent_is_waited_for() -> None:
    bench = Bench(places=1)
    bench.answering.clear()
    begun, waiting = (asyncio.create_task(bench.make(attempt(number=2, first=False))) for _ in range(2))
    await asyncio.sleep(0.1)
    assert len(bench.sent) == 1
    bench.pipeline.stop()
    draining = asyncio.create_task(bench.pipeline.drain_responses(deadlines()))
    await asyncio.sleep(0.1)
    assert not draining.done()
    bench.answering.set()
    await draining
    assert (await begun is not None, await waiting, len(bench.sent), bench.claimed) == (True, None, 1, 1)


async def test_an_answer_that_does_not_come_is_not_waited_for_longer_than_an_end_may_take() -> None:
    bench = Bench()
    bench.answering.clear()
    making = asyncio.create_task(bench.make(attempt()))
    await asyncio.sleep(0.1)
    bench.pipeline.stop()
    await asyncio.wait_for(bench.pipeline.drain_responses(deadlines()), 2)
    making.cancel()
    await asyncio.gather(making, return_exceptions=True)
    assert (bench.pipeline.in_flight, bench.pipeline.unrecorded) == (0, {})


async def test_what_is_paused_when_its_turn_comes_is_neither_claimed_nor_sent() -> None:
    bench = Bench()
    bench.paused = True
    with pytest.raises(Paused):
        await bench.make(attempt(number=2, first=False))
    assert (bench.claimed, bench.sent, bench.postponed, bench.pipeline.in_flight) == (0, [], [], 0)


@pytest.mark.parametrize(("first", "postponed"), [(True, []), (False, [("evt-1", "TransportUnavailable")])])
async def test_local_faults_are_no_outcome(first: bool, postponed: list[tuple[str, str]]) -> None:
    """The faults of first attempts are gathered by the outbox, one for each run."""
    bench = Bench()
    bench.error = LocalFault("TransportUnavailable", "no name server answers")
    with pytest.raises(LocalFault):
        await bench.make(attempt(number=2, first=first))
    assert (bench.postponed, bench.pipeline.in_flight, bench.pipeline.unrecorded) == (postponed, 0, {})


async def test_a_lost_claim_sends_nothing() -> None:
    bench = Bench()

    async def refuse(*_: Any) -> ClaimedAttempt:
        raise KubeConflict("changed in between")

    bench.take = refuse  # type: ignore[method-assign]
    with pytest.raises(KubeConflict):
        await bench.make(attempt(number=2, first=False))
    assert (bench.sent, bench.pipeline.in_flight) == ([], 0)


def test_the_secret_of_an_attempt_is_not_printed() -> None:
    assert "sixteen" not in repr(attempt())
