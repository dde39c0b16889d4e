"""One watch of all runs and deliveries, shared by all operators of the enumeration and split by case."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Final, TypeVar

from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.errors import KubeError, KubeUnavailable
from checklist_crds.resources.delivery_records import DeliveryPhase, recorded_events
from checklist_crds.resources.kinds import RUN, WEBHOOK_DELIVERY, Kind
from checklist_crds.values.json_text import JsonObject
from checklist_dev.faults.cuts.course import Course
from checklist_operator.runtime.handlers import SELECTED, Observe

_TRIES: Final = 30
_PAUSE_S: Final = 0.5
_SETTLED: Final = "status.settled=true"
_Change = tuple[Kind, str, JsonObject, bool]
"""Kind, event type, object, and whether it came from the watch of settled deliveries."""


T = TypeVar("T")


async def insist(call: Callable[[], Awaitable[T]]) -> T:
    """Call repeatedly while the cluster of a busy machine does not answer. `call` must be idempotent. Raises
    KubeUnavailable in the end."""
    for _ in range(_TRIES - 1):
        try:
            return await call()
        except KubeUnavailable:
            await asyncio.sleep(_PAUSE_S)
    return await call()


class Strand:
    """The watch events of one run and its deliveries, held back until `release`."""

    def __init__(self, run: str) -> None:
        self.run = run
        self.body: JsonObject | None = None
        self.settled_at: float | None = None
        """When the run left the selection, on the loop's clock."""
        self.unsettled: set[str] = set()
        """Names of unsettled deliveries."""
        self.phases: dict[str, list[tuple[float, DeliveryPhase]]] = {}
        """The successive phases of each event in the run, with their times."""
        self._backlog: list[_Change] | None = []
        self._followers: list[asyncio.Queue[_Change]] = []
        self._changed = asyncio.Event()
        self.followed = asyncio.Event()
        """Set once an operator is watching."""

    def put(self, change: _Change) -> None:
        if self._backlog is not None:
            self._backlog.append(change)
            return
        self._note(*change)
        for follower in self._followers:
            follower.put_nowait(change)
        self._changed.set()

    def release(self) -> None:
        """Deliver held back events, and later ones as they happen."""
        backlog, self._backlog = self._backlog or [], None
        for change in backlog:
            self.put(change)

    def look_again(self) -> None:
        """Check the condition again after a change that is not in the watch."""
        self._changed.set()

    async def until(self, holds: Callable[[], bool]) -> None:
        while not holds():
            self._changed.clear()
            await self._changed.wait()

    async def follow(self, client: KubeClient, namespace: str, course: Course, observe: Observe) -> AsyncIterator[None]:
        """Like an operator's own watch: first a list, then changes, which a paused operator gets later."""
        with self._joined() as queue:
            self.followed.set()
            if self._backlog is None:
                mine = {RUN: f"metadata.name={self.run}", WEBHOOK_DELIVERY: f"spec.runRef.name={self.run}"}
                for kind, selector in mine.items():
                    what = f"{selector},{SELECTED[kind]}"
                    bodies, _ = await insist(partial(client.list_all, kind, namespace, field_selector=what))
                    for body in bodies:
                        observe(kind, None, {"apiVersion": kind.api_version, "kind": kind.kind, **body})
            while True:
                kind, type_, body, settled = await queue.get()
                if not settled:
                    await course.awake()
                    observe(kind, type_, body)
                    yield

    async def follow_settled(
        self, client: KubeClient, namespace: str, course: Course, observe: Callable[[str | None, JsonObject], None]
    ) -> AsyncIterator[None]:
        """The same for settled deliveries."""
        with self._joined() as queue:
            if self._backlog is None:
                mine = f"spec.runRef.name={self.run},{_SETTLED}"
                bodies, _ = await insist(partial(client.list_all, WEBHOOK_DELIVERY, namespace, field_selector=mine))
                for body in bodies:
                    observe(None, body)
            while True:
                _, type_, body, settled = await queue.get()
                if settled and type_ != "DELETED":
                    await course.awake()
                    observe(type_, body)
                    yield

    @contextmanager
    def _joined(self) -> Iterator[asyncio.Queue[_Change]]:
        queue: asyncio.Queue[_Change] = asyncio.Queue()
        self._followers.append(queue)
        try:
            yield queue
        finally:
            self._followers.remove(queue)

    def _note(self, kind: Kind, type_: str, body: JsonObject, settled: bool) -> None:
        if settled:
            return
        now = asyncio.get_running_loop().time()
        name = body["metadata"]["name"]
        if kind == WEBHOOK_DELIVERY:
            (self.unsettled.discard if type_ == "DELETED" else self.unsettled.add)(name)
            return
        self.body = body
        self.settled_at = now if type_ == "DELETED" else None
        for event_id, record in recorded_events(body.get("status") or {}).items():
            phases = self.phases.setdefault(event_id, [])
            if not phases or phases[-1][1] != record["phase"]:
                phases.append((now, DeliveryPhase(record["phase"])))


class Feed:
    """The shared watch. Call `strand(run)` before the run is created."""

    def __init__(self, client: KubeClient, namespace: str) -> None:
        self._client = client
        self._namespace = namespace
        self._strands: dict[str, Strand] = {}

    def strand(self, run: str) -> Strand:
        made = self._strands[run] = Strand(run)
        return made

    def forget(self, run: str) -> None:
        del self._strands[run]

    async def run(self) -> None:
        """Run until cancelled."""
        await asyncio.gather(
            self._watch(RUN, SELECTED[RUN]),
            self._watch(WEBHOOK_DELIVERY, SELECTED[WEBHOOK_DELIVERY]),
            self._watch(WEBHOOK_DELIVERY, _SETTLED),
        )

    async def _watch(self, kind: Kind, selector: str) -> None:
        version = ""
        while True:
            try:
                if not version:
                    bodies, version = await self._client.list_all(kind, self._namespace, field_selector=selector)
                    for body in bodies:
                        self._route(kind, "MODIFIED", body, selector == _SETTLED)
                watch = self._client.watch(kind, self._namespace, resource_version=version, field_selector=selector)
                async for event in watch:
                    version = event.object["metadata"]["resourceVersion"]
                    if event.type != "BOOKMARK":
                        self._route(kind, event.type, event.object, selector == _SETTLED)
            except KubeError:
                version = ""
                await asyncio.sleep(_PAUSE_S)

    def _route(self, kind: Kind, type_: str, body: JsonObject, settled: bool) -> None:
        run = body["metadata"]["name"] if kind == RUN else body["spec"]["runRef"]["name"]
        strand = self._strands.get(run)
        if strand is not None:
            strand.put((kind, type_, body, settled))
