"""Plays one case: an operator meets its fate at a point, and a successor finishes its work."""

import asyncio
import contextlib
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final

from checklist_crds.resources.delivery import REPLAY_ANNOTATION
from checklist_crds.resources.delivery_records import DeliveryPhase, recorded_events, waiting_events
from checklist_crds.resources.kinds import RUN, WEBHOOK_DELIVERY
from checklist_crds.resources.run import Run
from checklist_crds.times import format_timestamp
from checklist_dev.faults.cuts.course import Course, Cut, Fate
from checklist_dev.faults.cuts.feed import Feed, Strand, insist
from checklist_dev.faults.cuts.ground import Ground
from checklist_dev.faults.cuts.instruments import CourseLead, SteppingClient, Wiring, instrumented
from checklist_dev.faults.cuts.post import Mailbox, Post, Transmission
from checklist_dev.faults.cuts.scenarios import Scenario
from checklist_operator.attempts.delivery_objects import Delivery
from checklist_operator.runtime.handover import NO_HANDOVER, Handover
from checklist_operator.runtime.metrics import Metrics
from checklist_operator.term import Term

END_WITHIN_S: Final = 240.0
"""A case that has not ended by then has lost something (or the machine is far too slow)."""
_LOOK_EVERY_S: Final = 0.05
_SETTLE_S: Final = 0.2
"""Four gaps: a repeated transmission happens within it."""
_BEHIND_S: Final = 1.5
"""Longer than claims are valid here, to show that they do not wait for a wrong clock."""
_RECORDED_WITHIN_S: Final = 0.5
"""10 s in the service: how long a successor waits for the records of a killed operator."""
_AWAKE_S: Final = 0.4
"""How long a resumed operator works until it notices the lost lease, which it checks every 0.2 s."""
JUMP: Final = timedelta(hours=2)


class CaseClock:
    """The wall clock of a case, which can be set."""

    def __init__(self) -> None:
        self.offset = timedelta()

    def __call__(self) -> datetime:
        now = datetime.now(UTC) + self.offset
        return now.replace(microsecond=now.microsecond // 1000 * 1000)

    def seconds(self) -> float:
        return (datetime.now(UTC) + self.offset).timestamp()


@dataclass(slots=True)
class Played:
    """The result of a case."""

    scenario: Scenario
    cut: Cut | None
    reached: bool = False
    ended: bool = False
    points: list[str] = field(default_factory=list)
    """Points of the first operator."""
    sent: list[list[tuple[int, int]]] = field(default_factory=list)
    """For each operator, seq and number of the transmissions it began, in order."""
    received: list[Transmission] = field(default_factory=list)
    phases: dict[str, list[tuple[float, DeliveryPhase]]] = field(default_factory=dict)
    settled_at: float | None = None
    run: Run | None = None
    deliveries: list[Delivery] = field(default_factory=list)
    bugs: list[str] = field(default_factory=list)

    @property
    def title(self) -> str:
        where = f"{self.cut.fate} at [{self.cut.point}]" if self.cut else "undisturbed"
        return f"{self.scenario.name}: {where}"


class Stage:
    """Plays cases, many at a time."""

    def __init__(self, ground: Ground, feed: Feed, post: Post) -> None:
        self._ground = ground
        self._feed = feed
        self._post = post
        self._discovery: dict[str, tuple[int, str]] = {}

    async def play(self, scenario: Scenario, cut: Cut | None = None) -> Played:
        """Raises KubeUnavailable if the cluster keeps failing for the test itself."""

        async def once() -> Played:
            return await _Case(self._ground, self._feed, self._post, self._discovery, Played(scenario, cut)).play()

        return await insist(once)


class _Case:
    def __init__(
        self, ground: Ground, feed: Feed, post: Post, discovery: dict[str, tuple[int, str]], played: Played
    ) -> None:
        self._ground = ground
        self._feed = feed
        self._post = post
        self._discovery = discovery
        self._played = played
        self._name = f"r-{uuid.uuid4()}"
        self._clock = CaseClock()
        self._roles: dict[str, str] = {self._name: "run"}
        self._strand: Strand = feed.strand(self._name)
        self._course = Course(played.cut)
        self._mailbox = Mailbox(
            played.scenario.answer,
            self._clock.seconds,
            lambda seq, number: self._course.arrival(f"net event {seq} attempt {number} arrived"),
            played.received,
        )
        self._answered = not played.scenario.replayed

    async def play(self) -> Played:
        played = self._played
        self._post.mailboxes[self._name] = self._mailbox
        asking = asyncio.create_task(self._ask_for_a_replay(), name="customer")
        try:
            async with asyncio.timeout(END_WITHIN_S):
                await self._live_through()
            played.ended = True
        except TimeoutError:
            pass  # judged later
        finally:
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
            played.points = self._course.points
            played.reached = self._course.reached.is_set()
            played.phases, played.settled_at = self._strand.phases, self._strand.settled_at
            del self._post.mailboxes[self._name]
            self._feed.forget(self._name)
        await self._look()
        return played

    async def _live_through(self) -> None:
        async with self._operator("first", self._course) as term:
            await self._strand.followed.wait()
            run = await self._ground.plant(self._name, self._played.scenario, self._post.url(self._name))
            self._roles |= {entry.event_id: f"event {entry.seq}" for entry in run.status.outbox}
            self._strand.release()
            await self._until_done_or(self._course.reached)
            cut = self._played.cut
            if cut is None or not self._course.reached.is_set():
                await asyncio.sleep(_SETTLE_S)
                return
            await self._suffer(cut.fate, term)

    async def _suffer(self, fate: Fate, term: Term) -> None:
        match fate:
            case Fate.UNANSWERED:
                await self._until_done()
            case Fate.AHEAD:
                self._clock.offset = JUMP
                await self._until_done()
            case Fate.BACK:
                self._clock.offset = -JUMP
                await asyncio.sleep(2 * _SETTLE_S)
                self._clock.offset = timedelta()  # the two hours have passed
                await self._until_done()
            case Fate.KILLED:
                await term.stop(gracefully=False)
                await self._finish("first")
            case Fate.ENDED:
                await term.stop(gracefully=True)
                await self._finish("second")
            case Fate.RELIEVED | Fate.LOST:
                await self._relieve(term, killed=fate is Fate.LOST)
            case Fate.SUCCEEDED:
                await term.stop(gracefully=False)
                await self._finish("second")
            case Fate.SUCCEEDED_AHEAD:
                await term.stop(gracefully=False)
                self._clock.offset = JUMP
                await self._finish("second")
            case Fate.SUCCEEDED_BEHIND:
                await term.stop(gracefully=False)
                self._clock.offset = -JUMP
                async with self._operator("second", Course()):
                    await self._until_done(within_s=_BEHIND_S)
                    self._clock.offset = timedelta()  # the two hours have passed
                    await self._until_done()
                    await asyncio.sleep(_SETTLE_S)
            case Fate.PAUSED:
                async with self._operator("second", Course()):
                    await self._until_done()
                    self._course.wake()
                    await asyncio.sleep(_AWAKE_S)
                    await term.stop(gracefully=False)
                    await self._until_settled_in_the_cluster()
                    await self._until_done()
                    await asyncio.sleep(_SETTLE_S)
        await asyncio.sleep(_SETTLE_S)

    async def _relieve(self, term: Term, *, killed: bool) -> None:
        """Start the second operator once the first has handed over what it is still recording."""
        handovers: asyncio.Queue[Handover] = asyncio.Queue()
        stopping = asyncio.create_task(term.stop(gracefully=True, step_down=handovers.put), name="orderly end")
        handover = await handovers.get()
        if killed:
            self._course.kill()
            stopping.cancel()
            handover = {name: replace(made, for_s=_RECORDED_WITHIN_S) for name, made in handover.items()}
        await self._finish("second", handover)
        await asyncio.gather(stopping, return_exceptions=True)

    async def _finish(self, operator_id: str, handover: Handover = NO_HANDOVER) -> None:
        async with self._operator(operator_id, Course(), handover):
            await self._until_done()
            await asyncio.sleep(_SETTLE_S)

    @asynccontextmanager
    async def _operator(
        self, operator_id: str, course: Course, handover: Handover = NO_HANDOVER
    ) -> AsyncIterator[Term]:
        """A term of leadership that runs during the block; it may be stopped before."""
        ground = self._ground
        begun: list[tuple[int, int]] = []
        self._played.sent.append(begun)
        wiring = Wiring(
            course,
            self._roles,
            lambda observe: self._strand.follow(ground.client, ground.namespace, course, observe),
            lambda observe: self._strand.follow_settled(ground.client, ground.namespace, course, observe),
            lambda seq, number: begun.append((seq, number)),
        )
        client = SteppingClient(ground.client, wiring, self._discovery)
        with instrumented(wiring):
            term = Term(
                ground.settings(operator_id, overloaded=self._played.scenario.overloaded),
                client,
                Metrics(),
                seals=ground.seals,
                clock=self._clock,
                take_signals=lambda: None,
                lead=CourseLead(course),
                handover=handover,
            )
        working = asyncio.create_task(term.run(), name=f"operator {operator_id}")
        try:
            yield term
        finally:
            working.cancel()
            await term.stop(gracefully=False)
            (end,) = await asyncio.gather(working, return_exceptions=True)
            if isinstance(end, Exception):
                self._played.bugs.append(f"operator {operator_id} ended by itself: {end!r}")

    def _done(self) -> bool:
        return self._answered and self._all_ended()

    def _all_ended(self) -> bool:
        strand, scenario = self._strand, self._played.scenario
        if strand.unsettled:
            return False
        if scenario.final:
            return strand.settled_at is not None
        status = (strand.body or {}).get("status") or {}
        phases = [DeliveryPhase(record["phase"]) for record in recorded_events(status).values()]
        return not waiting_events(status) and len(phases) == len(scenario.ends) and all(one.is_final for one in phases)

    async def _ask_for_a_replay(self) -> None:
        """Request a replay once everything has ended, and wait until an operator answers it."""
        if self._answered:
            return
        await self._strand.until(self._all_ended)
        client, namespace = self._ground.client, self._ground.namespace
        event_id = next(name for name, role in self._roles.items() if role == "event 1")
        self._mailbox.replay = True
        asked = {"metadata": {"annotations": {REPLAY_ANNOTATION: format_timestamp(self._clock())}}}
        await insist(partial(client.patch, WEBHOOK_DELIVERY, event_id, asked, namespace))
        while not self._answered:
            await asyncio.sleep(_LOOK_EVERY_S)
            body = await insist(partial(client.get, WEBHOOK_DELIVERY, event_id, namespace))
            cleared = REPLAY_ANNOTATION not in (body["metadata"].get("annotations") or {})
            status = body["status"]
            self._answered = cleared and "replay" not in status and bool(status.get("settled"))
        self._strand.look_again()

    async def _until_done(self, within_s: float | None = None) -> None:
        """Wait until the case is done, or for `within_s`."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                await self._strand.until(self._done)

    async def _until_settled_in_the_cluster(self) -> None:
        """Poll the cluster, because the watch may not have delivered the last write yet."""
        while not all(one.status.settled for one in await self._deliveries()):  # noqa: ASYNC110 - no event for it
            await asyncio.sleep(_LOOK_EVERY_S)

    async def _until_done_or(self, reached: asyncio.Event) -> None:
        waits = [asyncio.create_task(self._until_done()), asyncio.create_task(reached.wait())]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()

    async def _look(self) -> None:
        """Read what the cluster stores."""
        ground = self._ground
        self._played.run = Run.parse(await insist(partial(ground.client.get, RUN, self._name, ground.namespace)))
        self._played.deliveries = await self._deliveries()

    async def _deliveries(self) -> list[Delivery]:
        client, namespace = self._ground.client, self._ground.namespace
        mine = f"spec.runRef.name={self._name}"
        bodies, _ = await insist(partial(client.list_all, WEBHOOK_DELIVERY, namespace, field_selector=mine))
        return [Delivery.parse(body) for body in bodies]
