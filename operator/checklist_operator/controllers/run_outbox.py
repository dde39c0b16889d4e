"""First attempts: events in a run's outbox are sent from memory and then taken out of it (architecture section 3).

For each run with something to send there is a lane. It starts attempts in the order of events, gathers what came of
them, and writes that to the run in one go: a delivered event leaves the outbox; a failed one first becomes a
WebhookDelivery, which retries it. If the process dies in between, the event is still in the outbox and is sent again
with the same event_id and number: a duplicate, never a loss.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Final

from checklist_crds.delivery_records import DeliveryPhase, DeliveryRecord, waiting_events
from checklist_crds.kube.client import JsonObject, KubeClient
from checklist_crds.kube.errors import KubeError, KubeNotFound
from checklist_crds.kube.informer import Key, key_of, version_of
from checklist_crds.kube.kinds import RUN
from checklist_crds.kube.revisions import RevisionStore
from checklist_crds.run_types import OutboxEntry, Run, RunStatus
from checklist_crds.times import Clock, parse_timestamp
from checklist_crds.webhook_url import Openness
from checklist_operator.attempts.delivery_objects import DeliveryObjects
from checklist_operator.attempts.envelopes import body_of, first_envelope
from checklist_operator.attempts.event_photos import EventPhotos
from checklist_operator.attempts.event_photos import key_of as key_of_photo
from checklist_operator.attempts.pauses import Held, Pauses
from checklist_operator.attempts.run_deliveries import target_of
from checklist_operator.attempts.run_status import change_run_status, with_delivering, with_records
from checklist_operator.attempts.send import Origin, Transmitter
from checklist_operator.attempts.signing_secrets import SigningSecrets
from checklist_operator.controllers.outbox_lane import FirstAttempt, Lane, Turn, awaits_retries, has_work
from checklist_operator.controllers.record_pace import GATHER_S, RecordPace
from checklist_operator.faults import LocalFault
from checklist_operator.runtime.deadlines import ShutdownDeadlines
from checklist_operator.runtime.handover import InheritedAttempts
from checklist_operator.runtime.json_logging import about
from checklist_operator.runtime.kube_events import EventRecorder, ObjectReference
from checklist_operator.runtime.metrics import Metrics
from checklist_operator.runtime.work_queue import Backoff, WorkQueue
from checklist_operator.transport.outcome import Outcome

logger = logging.getLogger(__name__)

_AT_ONCE: Final = 64
_FAULT_BACKOFF: Final = Backoff(first=2.0, longest=60.0)


class RunOutbox:
    """Shown every unsettled run; acts on those with events in their outbox."""

    def __init__(
        self,
        client: KubeClient,
        *,
        revisions: RevisionStore,
        secrets: SigningSecrets,
        transmitter: Transmitter,
        deliveries: DeliveryObjects,
        pauses: Pauses,
        metrics: Metrics,
        events: EventRecorder,
        clock: Clock,
        photos: EventPhotos,
        inherited: InheritedAttempts,
        allow_insecure: Openness,
        on_bug: Callable[[str], None],
        workers: int = 64,
    ) -> None:
        self._client = client
        self._revisions = revisions
        self._secrets = secrets
        self._transmitter = transmitter
        self._deliveries = deliveries
        self._pauses = pauses
        self._metrics = metrics
        self._events = events
        self._clock = clock
        self._photos = photos
        self._inherited = inherited
        self._allow_insecure = allow_insecure
        self._on_bug = on_bug
        self._lanes: dict[Key, Lane] = {}
        self._held: set[Key] = set()
        self._pace = RecordPace(time.monotonic)
        self._stopping = False
        self.queue: WorkQueue[Key] = WorkQueue("run_outbox", self._reconcile, workers=workers, on_bug=on_bug)

    def observe(self, type_: str | None, body: JsonObject) -> None:
        key = key_of(body)
        lane = self._lanes.get(key)
        if type_ == "DELETED":
            self._forget(key)
            return
        if lane is None:
            if not has_work(body) and not (type_ is None and awaits_retries(body)):
                return
            version = version_of(body)
            lane = self._lanes[key] = Lane(body, version, version)
        else:
            lane.seen = max(lane.seen, version_of(body))
            lane.learn(body)
        status = body.get("status") or {}
        self._pace.changed(key, status.get("seq", 0))
        lane.look_up |= type_ is None and not lane.in_flight and not lane.results
        if lane.is_idle:
            self._drop_if_caught_up(key, lane)
        else:
            self.queue.add(key)

    @property
    def in_flight(self) -> int:
        return sum(len(lane.in_flight) for lane in self._lanes.values())

    @property
    def unrecorded(self) -> dict[str, int]:
        """The attempts that have ended and that the cluster does not know of: event id and number."""
        lanes = self._lanes.values()
        return {event_id: 1 for lane in lanes for event_id in (*lane.answered, *lane.results)}

    def oldest_waiting_s(self) -> float:
        """Age in seconds of the oldest event whose first attempt has not ended, but for paused ones; 0 for none."""
        waiting = (
            entry["ts"]
            for key, lane in self._lanes.items()
            if key not in self._held
            for entry in waiting_events(lane.body.get("status") or {})
            if entry["eventId"] not in lane.results
        )
        oldest = min(waiting, default=None)
        return 0.0 if oldest is None else max(0.0, (self._clock() - parse_timestamp(oldest)).total_seconds())

    def resumed(self) -> None:
        """A pause has ended."""
        for key in self._held:
            self.queue.add(key)

    async def drain_responses(self, deadlines: ShutdownDeadlines) -> None:
        """Starts nothing new, writes what waited to be written, and waits for the answers to what has been sent."""
        self._stopping = True
        for key, lane in self._lanes.items():
            if lane.results:
                self.queue.add(key)
        while deadlines.allows_responses():
            if not any(len(lane.in_flight) > len(lane.answered) for lane in self._lanes.values()):
                return
            await asyncio.sleep(0.02)

    async def drain_records(self, deadlines: ShutdownDeadlines) -> None:
        """Waits, after that, until all results are written."""
        while self.unrecorded and deadlines.allows_records():  # noqa: ASYNC110 - rare and short
            await asyncio.sleep(0.02)

    async def close(self) -> None:
        """Cancels everything. What was in flight will be sent again by the next leader."""
        self._stopping = True
        await self.queue.close()
        tasks = [task for lane in self._lanes.values() for task in lane.in_flight.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # -- one look at a run ----------------------------------------------------------------------------------------

    async def _reconcile(self, key: Key) -> float | None:
        lane = self._lanes.get(key)
        if lane is None:
            return None
        self._transmitter.bind_trace_context(lane.body)
        if lane.results and self._patience_s(key, lane) <= 0:
            await self._write_results(key, lane)
        try:
            await self._start_attempts(key, lane)
        except LocalFault as fault:
            lane.fault = fault
        if lane.fault is not None and not lane.in_flight:
            return await self._tell_fault(key, lane)
        if not lane.in_flight and not lane.results and not lane.run.status.outbox and has_work(lane.body):
            await self._write_results(key, lane)  # final, and only `settled` is missing
        self._drop_if_caught_up(key, lane)
        if lane.results:
            return max(0.01, self._patience_s(key, lane))
        return self._waits_for_records_s(lane) or None

    def _waits_for_records_s(self, lane: Lane) -> float:
        """How long nothing of this run is sent, as the leader before us is writing down what it has sent of it."""
        outbox = waiting_events(lane.body.get("status") or {})
        return self._inherited.for_s((entry["eventId"] for entry in outbox), attempt=1)

    def _patience_s(self, key: Key, lane: Lane) -> float:
        """How much longer the lane's results may wait to be written."""
        urgent = (
            self._stopping
            or lane.has_ended
            or any(record.phase is not DeliveryPhase.DELIVERED for record in lane.results.values())
        )
        patience = self._pace.patience_s(key, more_to_come=bool(lane.in_flight), urgent=urgent)
        return lane.first_result_at + patience - asyncio.get_running_loop().time()

    async def _start_attempts(self, key: Key, lane: Lane) -> None:
        """Starts what is in the outbox and not yet under way, in order. Raises LocalFault and KubeError."""
        if self._stopping:
            return
        if self._waits_for_records_s(lane) > 0:
            return
        if lane.look_up:
            await self._look_up(key, lane)
        run = lane.run
        entries = [
            entry
            for entry in sorted(run.status.outbox, key=lambda entry: entry.seq)
            if entry.event_id not in lane.in_flight and entry.event_id not in lane.results
        ][: _AT_ONCE - len(lane.in_flight)]
        webhook, resolved = run.spec.webhook, run.resolved
        if not entries or webhook is None or resolved is None or lane.fault is not None:
            return
        await self._pauses.check(lane.body, resolved.organization)
        if key in self._held:
            self._held.discard(key)
            lane.free_since = self._clock()
        try:
            definition = await self._revisions.definition(run.namespace, resolved.revision_ref.name)
        except KubeNotFound:
            raise LocalFault("RevisionMissing", f"TemplateRevision {resolved.revision_ref.name} is gone") from None
        secret = await self._secrets.of(run.namespace, run.name, webhook)
        if self._lanes.get(key) is not lane:
            return
        url = target_of(webhook.url, allow_insecure=self._allow_insecure)
        for entry in entries:
            lane.last_turn = Turn(lane.last_turn)
            attempt = FirstAttempt(entry, run, definition, url, secret, resolved.organization, lane.last_turn)
            task = asyncio.create_task(self._attempt(key, lane, attempt), name=f"first attempt {entry.event_id}")
            lane.in_flight[entry.event_id] = task

    async def _look_up(self, key: Key, lane: Lane) -> None:
        """After a start: what an earlier process had handed over, or had seen finished, but not written to the run.

        The run is read anew, because a list may show it as it was before our last write.
        """
        try:
            lane.learn(await self._client.get(RUN, key[1], key[0]))
        except KubeNotFound:
            self._forget(key)
            return
        run = lane.run
        outbox = {entry.event_id for entry in run.status.outbox}
        names = [entry.event_id for entry in run.status.outbox if entry.event_id not in lane.in_flight]
        if run.status.phase.is_final:
            names += [record.event_id for record in run.status.deliveries if not record.phase.is_final]
        for name in names:
            if self._stopping:
                return  # the next leader looks, too
            record = await self._deliveries.record_of(key[0], name, in_outbox=name in outbox)
            if record is not None:
                self._keep_result(key, lane, record)
            elif name not in outbox:
                lost = next(record for record in run.status.deliveries if record.event_id == name)
                self._keep_result(key, lane, lost.model_copy(update={"phase": DeliveryPhase.FAILED}))
        lane.look_up = False
        if lane.results:
            await self._write_results(key, lane)

    # -- one attempt ----------------------------------------------------------------------------------------------

    async def _attempt(self, key: Key, lane: Lane, attempt: "FirstAttempt") -> None:
        event_id = attempt.entry.event_id
        try:
            record = await self._transmit(key, lane, attempt)
            if record is not None:
                self._keep_result(key, lane, record)
        except LocalFault as fault:
            lane.fault = fault
        except Exception:
            logger.exception("first attempt failed unexpectedly", extra=about(run_id=key[1], event_id=event_id))
            self._on_bug("run_outbox")
            lane.fault = LocalFault("InternalError", "the operator failed; its log says why")
        finally:
            attempt.turn.end()
            del lane.in_flight[event_id]
            lane.answered.discard(event_id)
            if self._lanes.get(key) is lane:
                if lane.in_flight:
                    self.queue.add_later(key, GATHER_S)
                else:
                    self.queue.add(key)

    async def _transmit(self, key: Key, lane: Lane, attempt: "FirstAttempt") -> DeliveryRecord | None:
        entry, run = attempt.entry, attempt.run
        await attempt.turn.come()
        held_up = self._transmitter.receiver_holds_up(attempt.url)
        async with self._transmitter.permit(attempt.url, attempt.organization, first=True):
            if self._stopping or lane.fault is not None or self._lanes.get(key) is not lane:
                return None
            self._pauses.check_known(key, attempt.organization)
            message = first_envelope(entry, run, attempt.definition, key_of_photo)
            body = body_of(await self._photos.with_photo_urls(message), 1)
            attempt.turn.started.set()
            held_up = held_up or self._transmitter.receiver_holds_up(attempt.url)
            free_since = entry.ts if lane.free_since is None else max(entry.ts, lane.free_since)
            self._metrics.first_attempt_started((self._clock() - free_since).total_seconds(), held_up=held_up)
            origin = Origin(lane.body, entry.event_id, entry.event.value, waiting_since=free_since)
            outcome = await self._transmitter.send(
                attempt.url, body, attempt.secret, run.name, attempt=1, origin=origin
            )
        attempt.turn.ended.set()
        lane.answered.add(entry.event_id)
        self._log(outcome, attempt)
        if outcome.ok:
            self._metrics.deliveries.labels("delivered").inc()
            return _record(entry, DeliveryPhase.DELIVERED, outcome)
        if self._lanes.get(key) is not lane:
            return None  # the run was deleted meanwhile, and nothing is retried without it
        return await self._deliveries.hand_over(
            run, entry, message, outcome, url=attempt.url, organization=attempt.organization
        )

    def _keep_result(self, key: Key, lane: Lane, record: DeliveryRecord) -> None:
        if not lane.results:
            lane.first_result_at = asyncio.get_running_loop().time()
        lane.results[record.event_id] = record
        lane.faults = 0
        if self._lanes.get(key) is lane:
            self._pace.waits(key, len(lane.results))

    def _log(self, outcome: Outcome, attempt: "FirstAttempt") -> None:
        logger.info(
            "event delivered" if outcome.ok else "first attempt failed",
            extra=about(
                run_id=attempt.run.name,
                event_id=attempt.entry.event_id,
                event_name=attempt.entry.event.value,
                seq=attempt.entry.seq,
                outcome=outcome.outcome_class.value,
                status=outcome.http_status,
                duration_ms=outcome.duration_ms,
            ),
        )

    # -- writing --------------------------------------------------------------------------------------------------

    async def _write_results(self, key: Key, lane: Lane) -> None:
        records = dict(lane.results)

        def change(run: Run) -> RunStatus:
            return with_delivering(run, with_records(run, records.values()), None, now=self._clock())

        try:
            tidy = not self._pace.is_active(key)
            body = await change_run_status(self._client, *key, change, known=lane.body, tidy=tidy)
        except KubeNotFound:
            self._forget(key)
            return
        lane.learn(body)
        for event_id in records:
            lane.results.pop(event_id, None)
        self._pace.waits(key, len(lane.results))
        lane.first_result_at = asyncio.get_running_loop().time()

    async def _tell_fault(self, key: Key, lane: Lane) -> float:
        """Shows the fault on the run, and says when to try again."""
        fault, lane.fault = lane.fault, None
        lane.faults += 1
        pause = _FAULT_BACKOFF.after(lane.faults)
        if fault is not None:
            if isinstance(fault, Held):
                self._held.add(key)
                logger.info("events wait: %s", fault.message, extra=about(run_id=key[1]))
            else:
                self._warn(key, lane, fault, pause)
            try:
                body = await change_run_status(
                    self._client,
                    *key,
                    lambda run: with_delivering(run, run.status, fault.as_condition, now=self._clock()),
                    known=lane.body,
                )
                lane.learn(body)
            except KubeNotFound:
                self._forget(key)
            except KubeError as error:
                logger.warning("condition not written: %s", error.message, extra=about(run_id=key[1]))
        return pause

    def _warn(self, key: Key, lane: Lane, fault: LocalFault, pause: float) -> None:
        logger.warning(
            "events cannot be sent: %s",
            fault.message,
            extra=about(run_id=key[1], reason=fault.reason, again_in_s=pause),
        )
        self._metrics.own_faults.labels(fault.reason).inc()
        if lane.faults == 1:
            self._events.warn(ObjectReference.of(RUN, lane.body), fault.reason, f"Events wait: {fault.message}.")

    def _forget(self, key: Key) -> None:
        self._held.discard(key)
        self._lanes.pop(key, None)
        self._pace.waits(key, 0)
        self.queue.forget(key)

    def _drop_if_caught_up(self, key: Key, lane: Lane) -> None:
        """A lane stays until the watch has brought our own last write: an older state must not send anything again."""
        if lane.is_idle and lane.seen >= lane.version and self._lanes.get(key) is lane:
            del self._lanes[key]


def _record(entry: OutboxEntry, phase: DeliveryPhase, outcome: Outcome) -> DeliveryRecord:
    return DeliveryRecord(
        seq=entry.seq,
        event=entry.event,
        event_id=entry.event_id,
        ts=entry.ts,
        phase=phase,
        attempts=1,
        started_at=outcome.started_at,
        duration_ms=outcome.duration_ms,
        outcome=outcome.outcome_class,
        http_status=outcome.http_status,
    )
