"""Makes first attempts: sends the events that wait in the outboxes of runs, and records them.

Each run with events has a lane. It starts attempts in the order of events, collects their results and writes them to
the run together, as lines of `records`; for a failed one, a WebhookDelivery is created first, which retries it.
Recorded entries leave the outbox with a later write (docs/design/data-plane.md). If the process dies in between, the
event is sent again with the same event_id and number: a duplicate, never a loss. For one attempt, see
`attempts.pipeline`.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Final

from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.errors import KubeNotFound
from checklist_crds.kube.run_writes import change_run_status
from checklist_crds.resources.delivery_records import DeliveryPhase, DeliveryRecord, waiting_events
from checklist_crds.resources.kinds import RUN, Key, key_of, version_of
from checklist_crds.resources.run import Run, RunStatus
from checklist_crds.times import Clock, parse_timestamp
from checklist_crds.values.json_text import JsonObject
from checklist_operator.attempts.attempt import Attempt
from checklist_operator.attempts.pauses import Paused
from checklist_operator.attempts.recover import find_records
from checklist_operator.attempts.run_records import with_delivering, with_records
from checklist_operator.attempts.wiring import AttemptParts
from checklist_operator.controllers.outbox_lane import Lane, Turn, awaits_retries, has_work
from checklist_operator.controllers.record_pace import GATHER_S, RecordPace
from checklist_operator.faults import LocalFault
from checklist_operator.runtime.json_logging import about
from checklist_operator.runtime.work_queue import Backoff, WorkQueue

logger = logging.getLogger(__name__)

_AT_ONCE: Final = 64
_SETTLED_FOR_S: Final = 60.0
"""How long the lane of a settled run waits for the watch to report it as deleted, which it does once at most."""
_FAULT_BACKOFF: Final = Backoff(first=2.0, longest=60.0)


class RunOutbox:
    """Sends the events of unsettled runs."""

    def __init__(
        self,
        client: KubeClient,
        attempts: AttemptParts,
        *,
        clock: Clock,
        on_bug: Callable[[str], None],
        workers: int = 64,
    ) -> None:
        self._client = client
        self._preparation = attempts.preparation
        self._pipeline = attempts.pipeline
        self._recorder = attempts.recorder
        self._tracing = attempts.tracing
        self._deliveries = attempts.objects
        self._clock = clock
        self._on_bug = on_bug
        self._lanes: dict[Key, Lane] = {}
        self._paused: set[Key] = set()
        self._pace = RecordPace(time.monotonic)
        self._stopping = False
        self.queue: WorkQueue[Key] = WorkQueue("run_outbox", self._reconcile, workers=workers, on_bug=on_bug)

    def observe(self, type_: str | None, body: JsonObject) -> None:
        key = key_of(body)
        lane = self._lanes.get(key)
        if type_ == "DELETED":
            self._forget(key)
            return
        if lane is not None and lane.body["metadata"].get("uid") != body["metadata"].get("uid"):
            self._forget(key)  # another run of the same name
            lane = None
        if lane is None:
            if not has_work(body) and not (type_ is None and awaits_retries(body)):
                return
            version = version_of(body)
            lane = self._lanes[key] = Lane(body, version, version)
        else:
            lane.seen = max(lane.seen, version_of(body))
            lane.learn(body)
        status = body.get("status") or {}
        self._pace.event_added(key, status.get("seq", 0))
        lane.needs_recovery |= type_ is None and not lane.in_flight and not lane.results
        if lane.is_idle:
            self._drop_if_caught_up(key, lane)
        else:
            self.queue.add(key)

    @property
    def in_flight(self) -> int:
        return sum(len(lane.in_flight) for lane in self._lanes.values())

    @property
    def unrecorded(self) -> dict[str, int]:
        """Attempts whose records this outbox has yet to write to their runs: the attempt's number by event id.

        `AttemptPipeline.unrecorded` has those before that, whose outcome the pipeline still handles.
        """
        return {event_id: 1 for lane in self._lanes.values() for event_id in lane.results}

    def oldest_waiting_s(self) -> float:
        """Seconds since the oldest event whose first attempt has not ended, without paused ones; 0 for none."""
        waiting = (
            entry["ts"]
            for key, lane in self._lanes.items()
            if key not in self._paused
            for entry in waiting_events(lane.body.get("status") or {})
            if entry["eventId"] not in lane.results
        )
        oldest = min(waiting, default=None)
        return 0.0 if oldest is None else max(0.0, (self._clock() - parse_timestamp(oldest)).total_seconds())

    def resumed(self) -> None:
        """A pause has ended."""
        for key in self._paused:
            self.queue.add(key)

    def stop(self) -> None:
        """Starts no more attempts, and writes waiting results."""
        self._stopping = True
        for key, lane in self._lanes.items():
            if lane.results:
                self.queue.add(key)

    async def close(self) -> None:
        """Cancels everything. The next leader repeats attempts in flight."""
        self._stopping = True
        await self.queue.close()
        tasks = [task for lane in self._lanes.values() for task in lane.in_flight.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # -- reconciling a run ----------------------------------------------------------------------------------------

    async def _reconcile(self, key: Key) -> float | None:
        lane = self._lanes.get(key)
        if lane is None:
            return None
        self._tracing.bind_logs(lane.body)
        if lane.results and self._remaining_delay_s(key, lane) <= 0:
            await self._write_results(key, lane)
        try:
            await self._start_attempts(key, lane)
        except LocalFault as fault:
            lane.fault = fault
        if lane.fault is not None and not lane.in_flight:
            return await self._postpone(key, lane)
        if not lane.in_flight and not lane.results and not lane.run.status.outbox and has_work(lane.body):
            await self._write_results(key, lane)  # final: only `settled` is missing
        self._drop_if_caught_up(key, lane)
        if lane.results:
            return max(0.01, self._remaining_delay_s(key, lane))
        if lane.is_settled and self._lanes.get(key) is lane:
            return max(0.01, self._remaining_keep_s(lane))
        return self._waits_for_records_s(lane) or None

    def _waits_for_records_s(self, lane: Lane) -> float:
        """Returns how long to wait for the previous leader, which is still recording attempts of this run."""
        outbox = waiting_events(lane.body.get("status") or {})
        return self._preparation.first_attempts_wait_s(entry["eventId"] for entry in outbox)

    def _remaining_delay_s(self, key: Key, lane: Lane) -> float:
        """Returns the remaining time that the lane's results may wait to be written."""
        urgent = self._stopping or any(record.phase is not DeliveryPhase.DELIVERED for record in lane.results.values())
        delay = self._pace.delay_s(key, in_flight=len(lane.in_flight), is_final=lane.has_ended, urgent=urgent)
        return lane.first_result_at + delay - asyncio.get_running_loop().time()

    async def _start_attempts(self, key: Key, lane: Lane) -> None:
        """Starts attempts for outbox events that have none, in order. Raises LocalFault and KubeError."""
        if self._stopping:
            return
        if self._waits_for_records_s(lane) > 0:
            return
        if lane.needs_recovery:
            await self._recover(key, lane)
        run = lane.run
        entries = [
            entry
            for entry in sorted(run.status.outbox, key=lambda entry: entry.seq)
            if entry.event_id not in lane.in_flight and entry.event_id not in lane.results
        ][: _AT_ONCE - len(lane.in_flight)]
        if not entries or run.spec.webhook is None or run.resolved is None or lane.fault is not None:
            return
        await self._preparation.check_paused(run, lane.body)
        if key in self._paused:
            self._paused.discard(key)
            lane.free_since = self._clock()
        attempts = await self._preparation.first_attempts(run, lane.body, entries, free_since=lane.free_since)
        if self._lanes.get(key) is not lane:
            return
        for attempt in attempts:
            lane.last_turn = Turn(lane.last_turn)
            making = self._make(key, lane, attempt, lane.last_turn)
            task = asyncio.create_task(making, name=f"first attempt {attempt.event_id}")
            lane.in_flight[attempt.event_id] = task

    async def _recover(self, key: Key, lane: Lane) -> None:
        """Finds results recorded before a restart. Reads the run again, because a list may be older than our last
        write."""
        try:
            lane.learn(await self._client.get(RUN, key[1], key[0]))
        except KubeNotFound:
            self._forget_lane(key, lane)
            return
        async for record in find_records(self._deliveries, lane.run, excluding=lane.in_flight):
            if record is not None:
                self._keep_result(key, lane, record)
            if self._stopping:
                return  # the next leader does the same
        lane.needs_recovery = False
        if lane.results:
            await self._write_results(key, lane)

    # -- one attempt ----------------------------------------------------------------------------------------------

    async def _make(self, key: Key, lane: Lane, attempt: Attempt, turn: Turn) -> None:
        event_id = attempt.event_id
        try:
            record = await self._send(key, lane, attempt, turn)
            if record is not None:
                self._keep_result(key, lane, record)
        except LocalFault as fault:
            lane.fault = fault
        except Exception:
            logger.exception("attempt.bug", extra=about(run_id=lane.run.public_id, event_id=event_id))
            self._on_bug("run_outbox")
            lane.fault = LocalFault("InternalError", "internal error; see the operator's log")
        finally:
            turn.end()
            del lane.in_flight[event_id]
            if self._lanes.get(key) is lane:
                if lane.in_flight:
                    self.queue.add_later(key, GATHER_S)
                else:
                    self.queue.add(key)

    async def _send(self, key: Key, lane: Lane, attempt: Attempt, turn: Turn) -> DeliveryRecord | None:
        async def prepared() -> Attempt | None:
            wanted = not self._stopping and lane.fault is None and self._lanes.get(key) is lane
            return attempt if wanted else None

        await turn.wait()
        sent = await self._pipeline.make(
            attempt.url, attempt.organization, prepared, first=True, starts=turn.started.set
        )
        turn.ended.set()
        if sent is None:
            return None
        if not sent.outcome.ok and self._lanes.get(key) is not lane:
            self._pipeline.abandon(sent)  # the run was deleted, so there are no retries
            return None
        recorded = await self._pipeline.record(sent)
        return recorded.record if recorded is not None else None

    def _keep_result(self, key: Key, lane: Lane, record: DeliveryRecord) -> None:
        if not lane.results:
            lane.first_result_at = asyncio.get_running_loop().time()
        lane.results[record.event_id] = record
        lane.faults = 0
        if self._lanes.get(key) is lane:
            self._pace.waits(key, len(lane.results))

    # -- writes ---------------------------------------------------------------------------------------------------

    async def _write_results(self, key: Key, lane: Lane) -> None:
        records = dict(lane.results)

        def change(run: Run) -> RunStatus:
            if run.uid != lane.run.uid:
                raise KubeNotFound(f"run {lane.run.name} is gone")
            return with_delivering(run, with_records(run, records.values()), None, now=self._clock())

        try:
            drop_recorded = not lane.in_flight and not self._pace.is_active(key)
            body = await change_run_status(self._client, *key, change, known=lane.body, drop_recorded=drop_recorded)
        except KubeNotFound:
            self._forget_lane(key, lane)
            return
        lane.learn(body)
        for event_id in records:
            lane.results.pop(event_id, None)
        self._pace.waits(key, len(lane.results))
        lane.first_result_at = lane.written_at = asyncio.get_running_loop().time()

    async def _postpone(self, key: Key, lane: Lane) -> float:
        """Shows the fault on the run; returns the seconds until the next try."""
        fault, lane.fault = lane.fault, None
        lane.faults += 1
        pause = _FAULT_BACKOFF.after(lane.faults)
        if fault is not None:
            if isinstance(fault, Paused):
                self._paused.add(key)
            first = lane.faults == 1
            body = await self._recorder.postpone_run(key, lane.body, fault, again_in_s=pause, first=first)
            if body is None:
                self._forget_lane(key, lane)
            else:
                lane.learn(body)
        return pause

    def _forget(self, key: Key) -> None:
        self._paused.discard(key)
        self._lanes.pop(key, None)
        self._pace.waits(key, 0)
        self.queue.forget(key)

    def _forget_lane(self, key: Key, lane: Lane) -> None:
        """Forgets a run that is gone, but not another one that has taken its name meanwhile."""
        if self._lanes.get(key) is lane:
            self._forget(key)

    def _drop_if_caught_up(self, key: Key, lane: Lane) -> None:
        """Keeps a lane until the watch shows our own last write, so that an older state sends nothing again."""
        is_shown = lane.seen >= lane.version or (lane.is_settled and self._remaining_keep_s(lane) <= 0)
        if lane.is_idle and is_shown and self._lanes.get(key) is lane:
            del self._lanes[key]

    def _remaining_keep_s(self, lane: Lane) -> float:
        return lane.written_at + _SETTLED_FOR_S - asyncio.get_running_loop().time()
