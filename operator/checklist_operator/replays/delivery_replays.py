"""Bulk replay: processes DeliveryReplays and shows their progress in their status.

Each delivery is requested as if by hand and goes through the normal pipeline: permits pace it, and first attempts keep
their reserved slots. Hosts take turns with a few requests in progress each, and organizations with a few replays, so
that unresponsive receivers delay no one else. All state is derived from the cluster, and derived again after a crash or
an outage of the Kubernetes API.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Final

from pydantic import ValidationError

from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.errors import KubeConflict, KubeNotFound
from checklist_crds.resources.delivery import LastReplay, ReplayRequest
from checklist_crds.resources.kinds import DELIVERY_REPLAY, Key, key_of
from checklist_crds.resources.replay import KEPT_FOR_S, DeliveryReplayStatus, ReplayPhase
from checklist_crds.resources.run import ObjectNameRef
from checklist_crds.runs.replay_rules import ReplayRefusal
from checklist_crds.times import Clock
from checklist_crds.values.json_text import JsonObject
from checklist_operator.attempts.delivery_objects import DeliveryObjects
from checklist_operator.attempts.replay_state import has_fault
from checklist_operator.controllers.labels import labelled
from checklist_operator.controllers.tenancy import Tenancy
from checklist_operator.replays.replay_objects import BulkReplay, BulkReplayStatus
from checklist_operator.replays.requests import ReplayRequests
from checklist_operator.replays.search import Found, search
from checklist_operator.replays.selection import Choice, Target
from checklist_operator.replays.turns import Places, Turns, UnderWay
from checklist_operator.runtime.json_logging import about
from checklist_operator.runtime.kube_events import EventRecorder
from checklist_operator.runtime.paging import pages
from checklist_operator.runtime.work_queue import WorkQueue

logger = logging.getLogger(__name__)

_SHOW_EVERY_S: Final = 1.0
_POLL_S: Final = 15.0
_SEARCHES_AT_ONCE: Final = 8


class DeliveryReplays:
    """Processes unsettled DeliveryReplays."""

    def __init__(
        self,
        client: KubeClient,
        *,
        requests: ReplayRequests,
        objects: DeliveryObjects,
        tenancy: Tenancy,
        kube_events: EventRecorder,
        clock: Clock,
        namespaces: tuple[str, ...],
        on_removed: Callable[[str], None],
        on_bug: Callable[[str], None],
        workers: int = 1024,
    ) -> None:
        """`workers`: how many are processed concurrently, of all organizations; they mostly wait."""
        self._client = client
        self._requests = requests
        self._objects = objects
        self._tenancy = tenancy
        self._status = BulkReplayStatus(client, kube_events, clock)
        self._clock = clock
        self._namespaces = namespaces
        self._on_removed = on_removed
        self._known: set[Key] = set()
        self._room = Places()
        self._searches = asyncio.Semaphore(_SEARCHES_AT_ONCE)
        self._under_way: Counter[str] = Counter()
        self._awaited: dict[Key, set[asyncio.Event]] = {}
        self.queue: WorkQueue[Key] = WorkQueue("delivery_replays", self._reconcile, workers=workers, on_bug=on_bug)

    def observe(self, type_: str | None, body: JsonObject) -> None:
        key = key_of(body)
        if type_ == "DELETED":
            self._known.discard(key)
            self.queue.forget(key)
        elif key not in self._known:
            self._known.add(key)
            self.queue.add(key)

    def delivery_settled(self, key: Key) -> None:
        """Wakes replays that wait for a delivery, which is settled or deleted."""
        for event in self._awaited.get(key, ()):
            event.set()

    async def sweep(self) -> int:
        """Deletes those that ended long enough ago; returns their number. Raises KubeError."""
        removed = 0
        async for page in pages(self._client, DELIVERY_REPLAY, self._namespaces, field_selector="status.settled=true"):
            for body in page:  # a refused one may have an unreadable spec
                ended_at = DeliveryReplayStatus.model_validate(body["status"]).finished_at
                keep = timedelta(seconds=body["spec"].get("ttlSecondsAfterFinished", KEPT_FOR_S))
                if ended_at is not None and self._clock() - ended_at >= keep:
                    removed += await self._remove(body)
        return removed

    async def _remove(self, body: JsonObject) -> int:
        namespace, name = key_of(body)
        version = body["metadata"]["resourceVersion"]
        try:
            await self._client.delete(DELIVERY_REPLAY, name, namespace, resource_version=version)
        except (KubeNotFound, KubeConflict):
            return 0
        self._on_removed(DELIVERY_REPLAY.kind)
        return 1

    # -- one bulk replay ------------------------------------------------------------------------------------------

    async def _reconcile(self, key: Key) -> float | None:
        try:
            body = await self._client.get(DELIVERY_REPLAY, key[1], key[0])
            try:
                replay = BulkReplay.parse(body)
            except ValidationError as error:
                await self._status.refuse_unreadable(body, error)
                return None
            if not replay.status.settled:
                organization = replay.spec.organization_ref.name
                refusal = await self._tenancy.refusal(organization, replay.namespace)
                if refusal is not None:
                    await self._status.end(replay, ReplayPhase.REFUSED, refusal.reason, refusal.message)
                elif not self._room.take((organization, bool(replay.spec.filter.event_ids)), key):
                    return None  # enqueued when a place becomes free
                else:
                    await self._process(replay)
        except KubeNotFound:
            pass
        except KubeConflict:
            return 0.1  # another leader, or a changed label
        finally:
            successor = self._room.release(key)
            if successor is not None:
                self.queue.add(successor)
        self._known.discard(key)
        return None

    async def _process(self, replay: BulkReplay) -> None:
        organization = replay.spec.organization_ref.name
        replay = BulkReplay.parse(await labelled(self._client, DELIVERY_REPLAY, replay.body, organization))
        is_new = replay.status.started_at is None
        if is_new:
            started = {"started_at": self._clock(), "phase": ReplayPhase.RUNNING}
            replay = await self._status.write(replay, replay.status.model_copy(update=started))
        choice = Choice(replay.spec.filter, organization, self._request(replay))
        async with self._searches:
            found = await search(self._client, await self._places(organization), choice, is_new=is_new)
        replay = await self._status.show(replay, found.tally, total=found.tally.done + len(found.targets))
        if replay.spec.dry_run:
            message = f"{len(found.targets)} deliveries would be replayed, {found.tally.refused} could not be."
            await self._status.end(replay, ReplayPhase.COMPLETED, "DryRun", message)
            return
        logger.info(
            "bulk_replay.started",
            extra=about(replay=replay.name, left=len(found.targets), done=found.tally.done, is_new=is_new),
        )
        ended = await self._replay_all(replay, found, choice)
        if ended is None:
            logger.info("bulk_replay.deleted", extra=about(replay=replay.name))
            return
        tally = found.tally
        message = f"{tally.delivered} delivered, {tally.failed} failed again, {tally.refused} could not be replayed."
        await self._status.end(ended, ReplayPhase.COMPLETED, "Finished", message)

    def _request(self, replay: BulkReplay) -> ReplayRequest:
        """Returns the request made for each delivery, the same before and after a crash."""
        by = replay.spec.requested_by or f"DeliveryReplay {replay.name}"
        requested_at = replay.status.started_at or self._clock()
        return ReplayRequest(
            requested_at=requested_at, requested_by=by[:200], replay_ref=ObjectNameRef(name=replay.name)
        )

    async def _places(self, organization: str) -> list[str]:
        """Returns the namespaces of the organization that this operator serves."""
        namespaces = await self._tenancy.namespaces_of(organization)
        return [namespace for namespace in namespaces if not self._namespaces or namespace in self._namespaces]

    async def _replay_all(self, replay: BulkReplay, found: Found, choice: Choice) -> BulkReplay | None:
        """Processes all targets; None when the DeliveryReplay was deleted. Raises KubeError; progress is kept."""
        turns, under_way = Turns(found.targets), UnderWay(self._under_way, choice.organization)
        loop = asyncio.get_running_loop()
        shown_at = loop.time()
        try:
            while under_way.tasks or turns.left:
                if replay.key not in self._known:
                    return None
                for aside in under_way.take_set_aside():
                    turns.release(aside)
                while under_way.has_room and (target := turns.take()) is not None:
                    under_way.start(target, self._replay_one(target, choice.request, under_way.set_aside))
                ended, _ = await asyncio.wait(
                    under_way.tasks, timeout=_SHOW_EVERY_S, return_when=asyncio.FIRST_COMPLETED
                )
                for task in ended:
                    if (done := under_way.end(task)) is not None:
                        turns.release(done)
                    found.tally.count(task.result())
                if loop.time() - shown_at >= _SHOW_EVERY_S:
                    replay = await self._status.show(replay, found.tally)
                    shown_at = loop.time()
        finally:
            await under_way.cancel()
        return await self._status.show(replay, found.tally)

    async def _replay_one(
        self, target: Target, request: ReplayRequest, set_aside: Callable[[Target], None]
    ) -> LastReplay | ReplayRefusal:
        """Requests one replay and waits for its end: woken by `delivery_settled`, and by polling."""
        namespace = target.namespace
        key, changed = (namespace, target.event_id), asyncio.Event()
        self._awaited.setdefault(key, set()).add(changed)
        try:
            from_run = target.run if target.from_run else None
            refusal = await self._requests.request(key, request, from_run=from_run)
            while refusal is None:
                try:
                    status = (await self._objects.get(*key)).status
                except KubeNotFound:
                    return ReplayRefusal.RUN_DELETED
                if status.replay is None and status.settled and status.last_replay is not None:
                    return status.last_replay
                if has_fault(status):
                    set_aside(target)
                try:
                    async with asyncio.timeout(_POLL_S):
                        await changed.wait()
                except TimeoutError:
                    pass
                changed.clear()
            return refusal
        finally:
            self._awaited[key].discard(changed)
            if not self._awaited[key]:
                del self._awaited[key]
