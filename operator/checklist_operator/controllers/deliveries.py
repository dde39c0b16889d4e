"""Schedules retries and replays.

A WebhookDelivery is sent when it is due, until it is delivered or has failed five times; a replay is sent once.

Memory holds only due times. The cluster's state decides, so two overlapping leaders send an attempt at most twice, with
the same number. For one attempt, see `attempts.pipeline`.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Final, NamedTuple

from checklist_crds.kube.errors import KubeConflict, KubeNotFound
from checklist_crds.platform.ttl_cache import TTLCache
from checklist_crds.resources.delivery import WebhookDeliveryStatus
from checklist_crds.resources.kinds import Key, key_of
from checklist_crds.resources.webhook_url import host_of
from checklist_crds.times import Clock, parse_timestamp
from checklist_crds.values.json_text import JsonObject
from checklist_operator.attempts.attempt import Attempt
from checklist_operator.attempts.claim import LeadNotConfirmed
from checklist_operator.attempts.delivery_state import Conclude, Send, Wait
from checklist_operator.attempts.pauses import Paused
from checklist_operator.attempts.replay_state import is_incomplete
from checklist_operator.attempts.wiring import AttemptParts
from checklist_operator.faults import LocalFault
from checklist_operator.runtime.timers import Timers
from checklist_operator.runtime.work_queue import WorkQueue
from checklist_operator.transport.fairness import Place

_LOCAL_FAULT_PAUSE_S: Final = 10.0
_CONFLICT_PAUSE_S: Final = 0.05
"""After a concurrent write."""
_PAUSED_POLL_S: Final = 30.0
"""A replay may belong to a settled run, which the watch does not show: the end of its pause is found by polling."""
_UNCONFIRMED_PAUSE_S: Final = 1.0
"""By then the term has ended, or the lease is confirmed."""

_MOST_READY: Final = 256
_READY_FOR_S: Final = 2.0
"""How long a prepared attempt may be sent without reading its objects again."""


class _Target(NamedTuple):
    url: str
    organization: str
    run: str
    has_attempt: bool
    """Whether an attempt is left to send, as last seen."""
    is_replay: bool


class Deliveries:
    """Sends unsettled WebhookDelivery objects when they are due."""

    def __init__(
        self,
        attempts: AttemptParts,
        *,
        timers: Timers,
        clock: Clock,
        on_gone: Callable[[Key], None],
        on_bug: Callable[[str], None],
        workers: int = 4096,
    ) -> None:
        """`on_gone` is called with a delivery that is settled or deleted."""
        self._preparation = attempts.preparation
        self._pipeline = attempts.pipeline
        self._recorder = attempts.recorder
        self._settler = attempts.settler
        self._pauses = attempts.pauses
        self._permits = attempts.permits
        self._clock = clock
        self._on_gone = on_gone
        self._targets: dict[Key, _Target] = {}
        self._paused: set[Key] = set()
        self._waiting: dict[Key, datetime] = {}
        self._in_hand: set[Key] = set()
        self._places: dict[Key, Place] = {}
        """Those that wait for a permit, which takes no worker, or have one and wait for a worker."""
        self._ready: TTLCache[Key, Attempt] = TTLCache(_MOST_READY, ttl_s=_READY_FOR_S)
        self._stopping = False
        self.queue: WorkQueue[Key] = WorkQueue("deliveries", self._reconcile, workers=workers, on_bug=on_bug)
        self._due = timers.topic(self._fall_due)

    def observe(self, type_: str | None, body: JsonObject) -> None:
        key = key_of(body)
        if type_ == "DELETED":
            self._targets.pop(key, None)
            self._paused.discard(key)
            self._waiting.pop(key, None)
            self._due.cancel(key)
            self.queue.forget(key)
            self._leave_line(key)
            self._on_gone(key)
            return
        spec = body["spec"]
        status = WebhookDeliveryStatus.model_validate(body.get("status") or {})
        if is_incomplete(body, status):
            return  # a replay is creating it: its first attempt was made long ago
        action = self._preparation.next_action(status, parse_timestamp(body["metadata"]["creationTimestamp"]))
        self._targets[key] = _Target(
            url=spec["url"],
            organization=spec["organizationRef"]["name"],
            run=spec["runRef"]["name"],
            has_attempt=not isinstance(action, Conclude),
            is_replay=status.replay is not None,
        )
        match action:
            case Wait(until=until):
                self._due.set(key, until)
            case Send() if key in self._places or (key in self._in_hand and status.claim is not None):
                pass  # it waits for a permit; or our own claim, seen in the watch
            case Send() | Conclude():
                self._waiting.setdefault(key, status.next_attempt_at or self._clock())
                self.queue.add(key)

    def resumed(self) -> None:
        """A pause has ended."""
        for key in self._paused:
            self.queue.add(key)
        self._paused.clear()

    def oldest_waiting_s(self) -> float:
        """Seconds since the oldest unrecorded retry became due; 0 without one."""
        oldest = min(self._waiting.values(), default=None)
        return 0.0 if oldest is None else max(0.0, (self._clock() - oldest).total_seconds())

    def stop(self) -> None:
        """Starts no more attempts."""
        self._stopping = True

    async def close(self) -> None:
        """Cancels everything; the next leader repeats claimed attempts."""
        self._stopping = True
        await self.queue.close()

    def _fall_due(self, key: Key) -> None:
        self._waiting.setdefault(key, self._clock())
        self.queue.add(key)

    async def _reconcile(self, key: Key) -> float | None:
        target = self._targets.get(key)
        if target is None or self._stopping or self._is_in_line(key):
            return None
        self._in_hand.add(key)
        try:
            self._pauses.check_known((key[0], target.run), target.organization)
            if not await self._send(key, target):
                return None
        except KubeNotFound:
            self._targets.pop(key, None)
        except KubeConflict:
            return _CONFLICT_PAUSE_S
        except LeadNotConfirmed:
            return _UNCONFIRMED_PAUSE_S
        except Paused as pause:
            self._paused.add(key)
            self._waiting.pop(key, None)  # paused, so not late
            self._leave_line(key)
            if target.is_replay:
                await self._recorder.hold_replay(key, pause)
            return _PAUSED_POLL_S
        except LocalFault:
            return _LOCAL_FAULT_PAUSE_S
        finally:
            self._in_hand.discard(key)
        # Only here: a retry that waits for a local fault or for the cluster is late, and the metrics must show it.
        self._waiting.pop(key, None)
        return None

    async def _send(self, key: Key, target: _Target) -> bool:
        """Returns False when the delivery has to wait for a permit: without a worker, as thousands may wait for one
        host."""
        place = self._places.get(key) or await self._apply(key, target)
        if place is None:
            return True
        if not place.is_granted:
            return False
        del self._places[key]

        async def prepared() -> Attempt | None:
            return self._ready.pop(key) or await self._prepare(key)

        sent = await self._pipeline.make(target.url, target.organization, prepared, first=False, place=place)
        if sent is None:
            return True
        recorded = await self._pipeline.record(sent)
        if recorded is None or recorded.delivery is None:
            self.queue.add(key)
        elif recorded.delivery.status.settled:
            self._settler.announce(recorded.delivery)
        elif recorded.delivery.status.next_attempt_at is not None:
            self._due.set(key, recorded.delivery.status.next_attempt_at)
        else:
            self.queue.add(key)  # a replay was accepted before the answer to our record arrived
        return True

    async def _apply(self, key: Key, target: _Target) -> Place | None:
        """Prepares the attempt and applies for a permit; None when nothing is left to send."""
        host, organization = _host(target.url), target.organization
        # Prepared before a permit is taken, which is for sending only; but not in a long line, as it would be too old
        # in the end. A cache keeps the newest ones while they are fresh: an attempt that waits long must not hold
        # memory.
        others = self._permits.line_length(host=host, organization=organization, first=False)
        if others < _MOST_READY or not target.has_attempt:
            ready = await self._prepare(key)
            if ready is None or key not in self._targets:
                return None
            self._ready.put(key, ready)
        self._waiting.setdefault(key, self._clock())  # no longer known after a pause
        place = self._places[key] = self._permits.apply(host=host, organization=organization, first=False)
        if not place.is_granted:
            place.grant.add_done_callback(lambda _: self.queue.add(key, ahead=True))
        return place

    def _is_in_line(self, key: Key) -> bool:
        place = self._places.get(key)
        return place is not None and not place.is_granted

    def _leave_line(self, key: Key) -> None:
        place = self._places.pop(key, None)
        if place is not None:
            self._permits.leave(place)

    async def _prepare(self, key: Key) -> Attempt | None:
        if self._stopping:
            return None
        prepared = await self._preparation.of_delivery(key)
        if isinstance(prepared, Wait):
            self._due.set(key, prepared.until)
            return None
        if prepared is not None:
            self._waiting.setdefault(key, prepared.due_at or self._clock())
        return prepared


def _host(url: str) -> str:
    try:
        return host_of(url)
    except ValueError:  # made by hand; preparation refuses it
        return ""
