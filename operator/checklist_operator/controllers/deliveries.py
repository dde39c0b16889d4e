"""Retries: a WebhookDelivery is sent again when it is due, until it is delivered or has failed five times; and replays,
which are sent once each.

Only due times are kept in memory. When one comes up: permit, read, make sure that it is ours (`claims`), send with a
fresh signature, record. What the cluster holds decides, so two leaders that overlap can at worst send one attempt
twice, under the same number.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from checklist_crds.delivery_records import DeliveryPhase
from checklist_crds.delivery_types import Attempt, WebhookDeliveryStatus
from checklist_crds.kube.client import JsonObject, KubeClient
from checklist_crds.kube.errors import KubeConflict, KubeError, KubeNotFound
from checklist_crds.kube.informer import Key, key_of
from checklist_crds.kube.kinds import RUN
from checklist_crds.replay_rules import ReplayRefusal
from checklist_crds.run_types import Run, Webhook
from checklist_crds.times import Clock, parse_timestamp
from checklist_crds.webhook_url import Openness
from checklist_operator.attempts.claim import Claims, LeadNotConfirmed, Taken
from checklist_operator.attempts.delivery_end import DeliveryEnd
from checklist_operator.attempts.delivery_objects import Delivery, DeliveryObjects
from checklist_operator.attempts.envelopes import body_of, kept_message
from checklist_operator.attempts.event_photos import EventPhotos
from checklist_operator.attempts.pauses import Held, Pauses
from checklist_operator.attempts.progress import (
    Conclude,
    Send,
    Step,
    Wait,
    after_attempt,
    next_step,
    settled,
)
from checklist_operator.attempts.replay_progress import held_up, is_half_made, replayed
from checklist_operator.attempts.run_deliveries import target_of
from checklist_operator.attempts.run_records import RunRecords
from checklist_operator.attempts.run_status import change_run_status, with_delivering
from checklist_operator.attempts.send import Origin, Transmitter, attempt_record
from checklist_operator.attempts.signing_secrets import SigningSecrets
from checklist_operator.faults import LocalFault
from checklist_operator.runtime.deadlines import ShutdownDeadlines
from checklist_operator.runtime.fresh_reads import FreshReads
from checklist_operator.runtime.handover import InheritedAttempts
from checklist_operator.runtime.json_logging import about
from checklist_operator.runtime.kube_events import EventRecorder
from checklist_operator.runtime.metrics import Metrics
from checklist_operator.runtime.timers import Timers
from checklist_operator.runtime.ttl_cache import TTLCache
from checklist_operator.runtime.work_queue import Backoff, WorkQueue
from checklist_operator.transport.outcome import Outcome

logger = logging.getLogger(__name__)

_OUR_FAULT_PAUSE_S: Final = 10.0
_CONFLICT_PAUSE_S: Final = 0.05
"""Somebody else was faster: look again."""
_PAUSED_LOOK_S: Final = 30.0
"""Of a settled run, whose delivery is replayed, the watch does not show the end of a pause."""
_UNCONFIRMED_PAUSE_S: Final = 1.0
"""By then the term has ended, or the lease is ours again."""
_BACKOFF: Final = Backoff(first=0.1, longest=10.0)
_RECORDING_AT_ONCE: Final = 8
"""Outcomes that are being written. Starts compete with them for the cluster, and are what has to be on time."""

_MOST_READY: Final = 256
_READY_FOR_S: Final = 2.0
"""For how long what was read for an attempt is good enough to make it."""


@dataclass(frozen=True, slots=True)
class _Ready:
    """An attempt that is due, with the delivery and its run as they were read for it."""

    delivery: Delivery
    step: Send
    run: JsonObject
    webhook: Webhook


@dataclass(frozen=True, slots=True)
class _Made:
    """An attempt that ended and is still to be recorded. `run` is as it was read for the attempt."""

    taken: Taken
    step: Send
    outcome: Outcome
    run: JsonObject

    @property
    def delivery(self) -> Delivery:
        return self.taken.delivery


class Deliveries:
    """Shown every unsettled WebhookDelivery."""

    def __init__(
        self,
        client: KubeClient,
        *,
        objects: DeliveryObjects,
        reads: FreshReads,
        claims: Claims,
        secrets: SigningSecrets,
        transmitter: Transmitter,
        pauses: Pauses,
        photos: EventPhotos,
        inherited: InheritedAttempts,
        timers: Timers,
        metrics: Metrics,
        events: EventRecorder,
        clock: Clock,
        holder: str,
        allow_insecure: Openness,
        on_settled: Callable[[Key], None],
        on_bug: Callable[[str], None],
        workers: int = 4096,
    ) -> None:
        self._client = client
        self._objects = objects
        self._reads = reads
        self._claims = claims
        self._secrets = secrets
        self._transmitter = transmitter
        self._pauses = pauses
        self._photos = photos
        self._inherited = inherited
        self._metrics = metrics
        self._clock = clock
        self._holder = holder
        self._on_settled = on_settled
        self._target_of = partial(target_of, allow_insecure=allow_insecure)
        self._records = records = RunRecords(client, reads, clock)
        self._end = DeliveryEnd(objects, records, metrics=metrics, events=events, clock=clock, on_settled=on_settled)
        self._targets: dict[Key, tuple[str, str, str]] = {}
        self._held: set[Key] = set()
        self._waiting: dict[Key, datetime] = {}
        self._in_hand: set[Key] = set()
        self._ready: TTLCache[Key, _Ready] = TTLCache(_MOST_READY, ttl_s=_READY_FOR_S)
        self._sending = 0
        self._unrecorded: dict[str, int] = {}
        self._recording = asyncio.Semaphore(_RECORDING_AT_ONCE)
        self._stopping = False
        self._began_at = asyncio.get_running_loop().time()
        # A worker here mostly waits for a permit; what bounds the load are the permits.
        self.queue: WorkQueue[Key] = WorkQueue("deliveries", self._reconcile, workers=workers, on_bug=on_bug)
        self._due = timers.topic(self._fall_due)

    @property
    def in_flight(self) -> int:
        return self._sending

    @property
    def unrecorded(self) -> dict[str, int]:
        """The attempts that have ended and that the cluster does not know of: event id and number."""
        return dict(self._unrecorded)

    def observe(self, type_: str | None, body: JsonObject) -> None:
        key = key_of(body)
        if type_ == "DELETED":
            self._targets.pop(key, None)
            self._held.discard(key)
            self._waiting.pop(key, None)
            self._due.cancel(key)
            self.queue.forget(key)
            self._on_settled(key)
            return
        spec = body["spec"]
        status = WebhookDeliveryStatus.model_validate(body.get("status") or {})
        if is_half_made(body, status):
            return  # just being made for a replay, by `replay_requests`: its first attempt was made long ago
        self._targets[key] = (spec["url"], spec["organizationRef"]["name"], spec["runRef"]["name"])
        created_at = parse_timestamp(body["metadata"]["creationTimestamp"])
        match self._next_step(status, created_at):
            case Wait(until=until):
                self._due.set(key, until)
            case Send() if key in self._in_hand:
                pass  # our own claim, as the watch shows it
            case Send() | Conclude():
                self._waiting.setdefault(key, status.next_attempt_at or self._clock())
                self.queue.add(key)

    def resumed(self) -> None:
        """A pause has ended."""
        for key in self._held:
            self.queue.add(key)
        self._held.clear()

    def _fall_due(self, key: Key) -> None:
        self._waiting.setdefault(key, self._clock())
        self.queue.add(key)

    def oldest_waiting_s(self) -> float:
        """For how many seconds the oldest retry that has not been recorded has been due; 0 when there is none."""
        oldest = min(self._waiting.values(), default=None)
        return 0.0 if oldest is None else max(0.0, (self._clock() - oldest).total_seconds())

    async def drain_responses(self, deadlines: ShutdownDeadlines) -> None:
        """Starts nothing new; waits for the answers to what has been sent."""
        self._stopping = True
        while self._sending > len(self._unrecorded) and deadlines.allows_responses():  # noqa: ASYNC110 - rare and short
            await asyncio.sleep(0.02)

    async def drain_records(self, deadlines: ShutdownDeadlines) -> None:
        """Waits, after that, until all outcomes are recorded."""
        while self._unrecorded and deadlines.allows_records():  # noqa: ASYNC110 - rare and short
            await asyncio.sleep(0.02)

    async def close(self) -> None:
        """Cancels everything; claimed attempts are made again by the next leader."""
        self._stopping = True
        await asyncio.gather(self.queue.close(), self._claims.close(), self._records.close(), self._reads.close())

    async def _reconcile(self, key: Key) -> float | None:
        target = self._targets.get(key)
        if target is None or self._stopping:
            return None
        self._in_hand.add(key)
        try:
            url, organization, run = target
            self._pauses.check_known((key[0], run), organization)
            await self._retry(key, url, organization)
        except KubeNotFound:
            self._targets.pop(key, None)
        except KubeConflict:
            return _CONFLICT_PAUSE_S
        except LeadNotConfirmed:
            return _UNCONFIRMED_PAUSE_S
        except Held:
            self._held.add(key)
            self._waiting.pop(key, None)  # nothing is late
            return _PAUSED_LOOK_S
        except LocalFault:
            return _OUR_FAULT_PAUSE_S
        finally:
            self._in_hand.discard(key)
        # Not before: what waits for our own faults, or for the cluster, is late, and the figures must say so.
        self._waiting.pop(key, None)
        return None

    async def _retry(self, key: Key, url: str, organization: str) -> None:
        # Read before the permit is taken, since a place is for who transmits. It is kept while it is fresh, and for
        # those who came last: whoever waits long for a place must not hold anything meanwhile.
        ready = await self._make_ready(key)
        if ready is None:
            return
        self._ready.put(key, ready)
        del ready
        async with self._transmitter.permit(url, organization, first=False):
            still = self._ready.pop(key) or await self._make_ready(key)
            made = await self._attempt(still) if still is not None else None
        if made is not None:
            await self._record(made)

    async def _send_step(self, delivery: Delivery) -> Send | None:
        """The attempt that is to be made now; None when something else was to be done, which is done then."""
        key = (delivery.namespace, delivery.name)
        match self._step(delivery):
            case Send() as step if waits_s := self._inherited.for_s((delivery.name,), step.attempt):
                self._due.set(key, self._clock() + timedelta(seconds=waits_s))
            case Send() as step:
                self._waiting.setdefault(key, delivery.status.next_attempt_at or self._clock())
                return step
            case Conclude():
                await self._end.conclude(delivery)
            case Wait(until=until):
                self._due.set(key, until)
        return None

    def _step(self, delivery: Delivery) -> Step:
        return self._next_step(delivery.status, delivery.created_at)

    def _next_step(self, status: WebhookDeliveryStatus, created_at: datetime) -> Step:
        led_for_s = asyncio.get_running_loop().time() - self._began_at
        return next_step(status, now=self._clock(), holder=self._holder, created_at=created_at, led_for_s=led_for_s)

    # -- an attempt -----------------------------------------------------------------------------------------------

    async def _make_ready(self, key: Key) -> _Ready | None:
        """What an attempt needs; None when none is due, or none is to be made any more, which is written then."""
        if self._stopping:
            return None
        delivery = await self._objects.look(*key)
        step = await self._send_step(delivery)
        if step is None:
            return None
        run_body = await self._run_of(delivery)
        if run_body is not None:
            self._transmitter.bind_trace_context(run_body)
        run = Run.parse(run_body) if run_body is not None else None
        if run_body is None or run is None or run.spec.webhook is None:
            await self._end.give_up(delivery, step, ReplayRefusal.RUN_DELETED)
            return None
        if self._target_of(delivery.spec.url) != self._target_of(run.spec.webhook.url):
            # Somebody has made it by hand. Signed for its URL, it would let them sign what they like.
            await self._end.give_up(delivery, step, ReplayRefusal.FOREIGN_TARGET)
            return None
        if not step.manual and _has_arrived(run, delivery.name):
            await self._end.arrived_before(delivery)
            return None
        await self._pauses.check(run_body, delivery.spec.organization_ref.name)
        return _Ready(delivery, step, run_body, run.spec.webhook)

    async def _attempt(self, ready: _Ready) -> _Made | None:
        """One attempt: claimed by compare and swap, then sent.

        Raises KubeConflict when somebody else was faster, and LocalFault, which leaves the number to be used again.
        """
        if self._stopping:
            return None  # whoever ends cleanly has begun to count what is to be waited for
        delivery = ready.delivery
        run = delivery.namespace, delivery.spec.run_ref.name
        self._pauses.check_known(run, delivery.spec.organization_ref.name)
        # Counted before the claim is written: who ends cleanly waits for what was claimed, else nobody would send it
        # until the claim has run out.
        self._sending += 1
        try:
            made = await self._claim_and_send(ready)
            if made is None:
                self._sending -= 1
            else:
                self._unrecorded[ready.delivery.name] = ready.step.attempt
            return made
        except BaseException as error:
            self._sending -= 1
            if isinstance(error, LocalFault):
                await self._tell_fault(ready.delivery, ready.step, error)
            raise

    async def _claim_and_send(self, ready: _Ready) -> _Made | None:
        delivery, step = ready.delivery, ready.step
        run_id = delivery.spec.run_ref.name
        secret = await self._secrets.of(delivery.namespace, run_id, ready.webhook)
        body = body_of(await self._photos.with_photo_urls(kept_message(delivery.spec.payload)), step.attempt)
        if self._stopping:
            return None
        taken = await self._claims.take(delivery, step)
        if delivery.status.next_attempt_at is not None:
            lag = (self._clock() - delivery.status.next_attempt_at).total_seconds()
            self._metrics.retry_lag.observe(max(0.0, lag))
        origin = Origin(ready.run, delivery.name, delivery.spec.event.value, first_attempt=delivery.traceparent)
        outcome = await self._transmitter.send(
            delivery.spec.url, body, secret, run_id, attempt=step.attempt, origin=origin
        )
        return _Made(taken, step, outcome, ready.run)

    async def _run_of(self, delivery: Delivery) -> JsonObject | None:
        try:
            return await self._reads.get(RUN, delivery.spec.run_ref.name, delivery.namespace)
        except KubeNotFound:
            return None

    async def _record(self, made: _Made) -> None:
        try:
            recorded = await self._record_attempt(made)
        finally:
            self._sending -= 1
            self._unrecorded.pop(made.delivery.name, None)
        if recorded is None:
            self.queue.add((made.delivery.namespace, made.delivery.name))
        elif recorded.status.settled:
            self._end.announce(recorded)
        elif recorded.status.next_attempt_at is not None:
            self._due.set((recorded.namespace, recorded.name), recorded.status.next_attempt_at)

    async def _record_attempt(self, made: _Made) -> Delivery | None:
        """Goes on until the cluster has it, since the outcome exists nowhere else; None when it is no longer ours.

        When it was the last one, the run is told first: a success that it has on record ends everything, also when
        this process ends before the delivery says so.
        """
        delivery, step, outcome = made.delivery, made.step, made.outcome
        known: JsonObject | None = made.run
        self._log(delivery, step, outcome)
        next_attempt_at = None if step.manual else self._objects.next_attempt_at(outcome, step.attempt)
        attempt = attempt_record(step.attempt, outcome, next_attempt_at, manual=step.manual)
        ended = replayed if step.manual else after_attempt
        failures = 0
        while True:
            status = ended(delivery.status, attempt, ok=outcome.ok, now=self._clock(), generation=delivery.generation)
            try:
                if status.phase.is_final and not status.settled:
                    await self._end.tell_run(delivery, status, known)
                    status = settled(status)
                async with self._recording:
                    return await self._objects.write(delivery, status)
            except KubeNotFound:
                return None
            except KubeError as error:
                failures += 1
                known = None
                if not isinstance(error, KubeConflict):
                    logger.warning("attempt not recorded: %s", error.message, extra=about(event_id=delivery.name))
                await asyncio.sleep(_BACKOFF.after(failures))
                refreshed = await self._reread(delivery)
                if refreshed is not None and _tells(refreshed, attempt):
                    return refreshed  # only the answer was lost
                if refreshed is None or not self._claims.is_ours(refreshed, step, was_claimed=made.taken.is_claimed):
                    return None  # no longer ours to record
                delivery = refreshed

    async def _reread(self, delivery: Delivery) -> Delivery | None:
        failures = 0
        while True:
            try:
                return await self._objects.get(delivery.namespace, delivery.name)
            except KubeNotFound:
                return None
            except KubeError:
                failures += 1
                await asyncio.sleep(_BACKOFF.after(failures))

    async def _tell_fault(self, delivery: Delivery, step: Send, fault: LocalFault) -> None:
        """On the run, as of first attempts; of a replay, which may be of a run that is long over, on the delivery."""
        logger.warning(
            "%s cannot be sent: %s",
            "replay" if step.manual else "retry",
            fault.message,
            extra=about(event_id=delivery.name, reason=fault.reason),
        )
        self._metrics.own_faults.labels(fault.reason).inc()
        with contextlib.suppress(KubeNotFound, KubeConflict):  # changed meanwhile: the next look will find out
            if step.manual:
                status = held_up(
                    delivery.status, *fault.as_condition, now=self._clock(), generation=delivery.generation
                )
                await self._objects.write(delivery, status)
                return
            await change_run_status(
                self._client,
                delivery.namespace,
                delivery.spec.run_ref.name,
                lambda run: with_delivering(run, run.status, fault.as_condition, now=self._clock()),
            )

    def _log(self, delivery: Delivery, step: Send, outcome: Outcome) -> None:
        logger.info(
            "event delivered" if outcome.ok else "attempt failed",
            extra=about(
                event_id=delivery.name,
                run_id=delivery.spec.run_ref.name,
                attempt=step.attempt,
                manual=step.manual,
                outcome=outcome.outcome_class.value,
                status=outcome.http_status,
                duration_ms=outcome.duration_ms,
            ),
        )


def _tells(delivery: Delivery, attempt: Attempt) -> bool:
    return bool(delivery.status.attempts) and delivery.status.attempts[-1].to_kube() == attempt.to_kube()


def _has_arrived(run: Run, event_id: str) -> bool:
    """Whether the run has a success of the event on record."""
    return any(one.event_id == event_id and one.phase is DeliveryPhase.DELIVERED for one in run.status.deliveries)
