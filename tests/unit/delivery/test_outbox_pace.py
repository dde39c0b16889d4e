"""First attempts of a run: their order, how long results wait for a write, and what an end waits for and leaves."""

import asyncio
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest
from tests.waiting import eventually

from checklist_crds.kube.errors import KubeNotFound
from checklist_crds.platform.tracing import NO_TRACES
from checklist_crds.resources.kinds import Kind
from checklist_crds.times import utc_now
from checklist_operator.attempts.prepare import Preparation
from checklist_operator.controllers.outbox_lane import HEAD_START_S, Turn
from checklist_operator.controllers.record_pace import (
    ACTIVE_S,
    BACKLOG,
    ENOUGH,
    GATHER_S,
    LONGEST_S,
    MOST_WAITING,
    RecordPace,
)
from checklist_operator.controllers.run_outbox import RunOutbox
from checklist_operator.runtime.deadlines import FOR_ANSWERS_S, FOR_RECORDS_S, FOR_STARTS_S, ShutdownDeadlines
from checklist_operator.runtime.handover import (
    MOST_ATTEMPTS,
    NO_HANDOVER,
    AttemptMade,
    Handover,
    InheritedAttempts,
    note_of,
    read_note,
)


class Attempts:
    """First attempts of one run, in the order of events."""

    def __init__(self, takes_s: list[float], *, waits_for_permit_s: list[float] | None = None) -> None:
        self.started: list[tuple[int, float]] = []
        self._takes_s = takes_s
        self._permit_s = waits_for_permit_s or [0.0] * len(takes_s)
        self._turns: list[Turn] = []
        for _ in takes_s:
            self._turns.append(Turn(self._turns[-1] if self._turns else None))

    async def play(self) -> None:
        """All begin at once, the last one first."""
        numbers = reversed(range(len(self._turns)))
        await asyncio.gather(*(asyncio.create_task(self._attempt(number)) for number in numbers))

    async def _attempt(self, number: int) -> None:
        turn, loop = self._turns[number], asyncio.get_running_loop()
        try:
            await turn.wait()
            await asyncio.sleep(self._permit_s[number])
            turn.started.set()
            self.started.append((number, loop.time()))
            await asyncio.sleep(self._takes_s[number])
            turn.ended.set()
        finally:
            turn.end()

    @property
    def order(self) -> list[int]:
        return [number for number, _ in self.started]


@pytest.mark.looptime
@pytest.mark.parametrize(("takes_s", "pause_s"), [(0.02, 0.02), (10.0, HEAD_START_S)])
async def test_events_wait_for_the_previous_answer(takes_s: float, pause_s: float) -> None:
    attempts = Attempts([takes_s] * 5)
    await attempts.play()
    assert attempts.order == list(range(5))
    pauses_s = [after - before for (_, before), (_, after) in pairwise(attempts.started)]
    assert pauses_s == pytest.approx([pause_s] * 4, abs=0.002)
    attempts = Attempts([takes_s] * 20, waits_for_permit_s=[0.2 if number % 3 == 0 else 0.0 for number in range(20)])
    await attempts.play()
    assert attempts.order == list(range(20)), "in the order in which they are ready"


@pytest.mark.looptime
async def test_an_abandoned_attempt_lets_the_next_one_start() -> None:
    first = Turn(None)
    second = Turn(first)
    waiting = asyncio.create_task(second.wait())
    await asyncio.sleep(60)
    assert not waiting.done()
    first.end()
    await asyncio.wait_for(waiting, 1)


@pytest.mark.looptime
async def test_receivers_are_waited_for_shortly_and_records_longer() -> None:
    called_at: list[float] = []
    loop = asyncio.get_running_loop()
    began = loop.time()

    def note() -> None:
        called_at.append(loop.time() - began)

    deadlines = ShutdownDeadlines(stop_sending=note, discard_responses=note)
    assert deadlines.allows_responses()
    await asyncio.sleep(FOR_ANSWERS_S)
    assert called_at == [pytest.approx(FOR_STARTS_S), pytest.approx(FOR_ANSWERS_S)]
    assert (deadlines.allows_responses(), deadlines.allows_records()) == (False, True)
    assert deadlines.seconds_for_records() == pytest.approx(FOR_RECORDS_S - FOR_ANSWERS_S)
    await asyncio.sleep(FOR_RECORDS_S - FOR_ANSWERS_S)
    assert not deadlines.allows_records()
    ShutdownDeadlines(stop_sending=note, discard_responses=note).cancel()  # all is done before
    await asyncio.sleep(FOR_ANSWERS_S * 2)
    assert len(called_at) == 2


LEFT = {"evt-1": AttemptMade(1, 8.5), "evt-2": AttemptMade(4, 5.0)}


def test_a_note_is_read_as_it_was_written_and_fits_into_annotations_and_what_is_not_understood_is_none() -> None:
    assert (read_note(note_of(LEFT)), note_of(NO_HANDOVER)) == (LEFT, None)
    long = {f"evt-0b0f6f5e-8d5c-4d0c-9a55-2f4f0d1{number:05d}": AttemptMade(5, 10.0) for number in range(9000)}
    note = note_of(long)
    assert note is not None
    assert (len(read_note(note)), len(note) < 220 * 1024) == (MOST_ATTEMPTS, True)
    attempts = ("3", "[1]", "[1, 2, 3]", '["first", 3]', '[1, "soon"]', "[1, -1]", "[1, NaN]", "[1, 1e9]")
    for text in (None, "", "not JSON", "[]", "7", "{}", *(f'{{"evt-1": {attempt}}}' for attempt in attempts)):
        assert read_note(text) == NO_HANDOVER, text


@pytest.mark.looptime
async def test_an_attempt_may_be_being_recorded_for_so_long_and_no_other_one() -> None:
    none = InheritedAttempts(NO_HANDOVER)
    assert (none.for_s(["evt-1"], 1), none.with_ours({}, 9.0)) == (0.0, NO_HANDOVER)
    left = InheritedAttempts(LEFT)
    await asyncio.sleep(3.0)
    assert left.for_s(["evt-0", "evt-2"], 4) == pytest.approx(2.0)
    assert (left.for_s(["evt-2"], 5), left.for_s(["evt-0"], 1), left.for_s([], 1)) == (0.0, 0.0, 0.0)
    rest = {"evt-1": AttemptMade(1, pytest.approx(5.5)), "evt-2": AttemptMade(5, 9.0), "evt-3": AttemptMade(1, 9.0)}
    assert left.with_ours({"evt-2": 5, "evt-3": 1}, 9.0) == rest
    await asyncio.sleep(3.0)
    assert (left.for_s(["evt-2"], 4), left.for_s(["evt-1"], 1)) == (0.0, pytest.approx(2.5))
    assert left.with_ours({}, 9.0) == {"evt-1": AttemptMade(1, pytest.approx(2.5))}
    await asyncio.sleep(2.5)
    assert (left.for_s(["evt-1"], 1), left.with_ours({}, 9.0)) == (0.0, NO_HANDOVER)


class Time:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def pace(time: Time) -> RecordPace:
    return RecordPace(time)


def delay(pace: RecordPace, run: str, *, in_flight: int = 0, is_final: bool = False, urgent: bool = False) -> float:
    return pace.delay_s(run, in_flight=in_flight, is_final=is_final, urgent=urgent)


def answered(pace: RecordPace, time: Time, run: str, *, gap_s: float) -> None:
    """Two changes of the run, so far apart; the second one now."""
    pace.event_added(run, 1)
    time.now += gap_s
    pace.event_added(run, 2)


def test_results_of_a_run_that_is_being_answered_wait_and_others_do_not(pace: RecordPace, time: Time) -> None:
    assert (delay(pace, "unknown"), delay(pace, "unknown", in_flight=1)) == (0, GATHER_S)
    answered(pace, time, "fast", gap_s=ACTIVE_S - 0.5)
    answered(pace, time, "slow", gap_s=ACTIVE_S + 0.5)
    pace.event_added("fast", 3)
    assert (delay(pace, "fast"), delay(pace, "slow")) == (0, 0), "both had paused"
    time.now += 0.5
    pace.event_added("fast", 4)
    assert (delay(pace, "fast"), delay(pace, "fast", in_flight=1)) == (LONGEST_S, LONGEST_S)
    assert delay(pace, "fast", urgent=True) == 0
    assert (delay(pace, "fast", is_final=True), delay(pace, "fast", in_flight=1, is_final=True)) == (0, GATHER_S)
    assert delay(pace, "fast", in_flight=1, urgent=True) == GATHER_S
    pace.event_added("fast", 4)  # the watch shows the same again
    time.now += ACTIVE_S + 0.1
    assert delay(pace, "fast") == 0, "no answer since"


@pytest.mark.parametrize("is_final", [False, True])
def test_results_of_a_backlog_share_writes_until_the_last_attempt_has_ended(pace: RecordPace, is_final: bool) -> None:
    assert delay(pace, "run", in_flight=BACKLOG - 1, is_final=is_final) == GATHER_S
    pace.waits("run", 1)
    assert delay(pace, "run", in_flight=BACKLOG - 1, is_final=is_final) == LONGEST_S
    assert delay(pace, "run", in_flight=BACKLOG - 1, is_final=is_final, urgent=True) == GATHER_S
    pace.waits("run", BACKLOG)
    assert delay(pace, "run", in_flight=1, is_final=is_final) == LONGEST_S
    assert delay(pace, "run", in_flight=0, is_final=is_final) == 0
    pace.waits("run", ENOUGH)
    assert delay(pace, "run", in_flight=BACKLOG, is_final=is_final) == GATHER_S


def test_what_a_crash_would_repeat_is_bounded(pace: RecordPace, time: Time) -> None:
    for run in ("a", "b"):
        answered(pace, time, run, gap_s=0.0)
    pace.waits("a", ENOUGH)
    assert (delay(pace, "a"), delay(pace, "b")) == (0, LONGEST_S)
    for number in range(MOST_WAITING):
        pace.waits(number, 1)
    assert delay(pace, "b") == 0
    for number in range(MOST_WAITING):
        pace.waits(number, 0)
    pace.waits("never seen", 0)
    assert delay(pace, "b") == LONGEST_S


ENTRY = {"eventId": "evt-0b0f6f5e-8d5c-4d0c-9a55-2f4f0d1c9a11", "event": "step.completed", "seq": 1, "data": "{}"}
ENTRY["ts"] = "2026-11-22T12:00:00.000Z"


class _Double:
    """A client that has no object and counts who asks."""

    def __init__(self) -> None:
        self.asked = 0

    async def get(self, kind: Kind, name: str, namespace: str) -> Any:
        self.asked += 1
        raise KubeNotFound("none")


def _run(number: int) -> dict[str, Any]:
    metadata = {"name": f"r-{number}", "namespace": "checklists", "uid": str(number), "resourceVersion": "1"}
    metadata["creationTimestamp"] = "2026-11-22T12:00:00Z"
    spec = {"organizationRef": {"name": "acme"}, "templateRef": {"name": "t-opening"}}
    return {"metadata": metadata, "spec": spec, "status": {"phase": "Pending", "outbox": [ENTRY]}}


def preparation(left: Handover = NO_HANDOVER, **parts: Any) -> Preparation:
    """With these parts; the others are not used."""
    names = ("objects", "reads", "revisions", "secrets", "pauses", "settler", "recorder", "clock", "holder")
    unused: dict[str, Any] = dict.fromkeys(names)
    return Preparation(inherited=InheritedAttempts(left), tracing=NO_TRACES, allow_insecure=False, **unused | parts)


def _outbox(client: Any, bugs: list[str], left: Handover = NO_HANDOVER) -> RunOutbox:
    unused: Any = None
    attempts: Any = SimpleNamespace(
        preparation=preparation(left), tracing=NO_TRACES, pipeline=unused, recorder=unused, objects=unused
    )
    return RunOutbox(client, attempts, clock=utc_now, on_bug=bugs.append)


async def _listed(outbox: RunOutbox) -> None:
    """Twenty runs, as a start lists them, and time for the outbox to look at all of them."""
    for number in range(20):
        outbox.observe(None, _run(number))
    await eventually(lambda: not len(outbox.queue))


async def test_the_events_of_a_new_run_are_kept_when_the_old_one_of_its_name_is_found_gone() -> None:
    class Replacing(_Double):
        async def get(self, kind: Kind, name: str, namespace: str) -> Any:
            if not self.asked:
                new = _run(1)
                new["metadata"] |= {"uid": "new", "resourceVersion": "2"}
                outbox.observe("ADDED", new)
            return await super().get(kind, name, namespace)

    outbox = _outbox(client := Replacing(), bugs := [])
    outbox.observe(None, _run(1))
    await eventually(lambda: not len(outbox.queue))
    assert (client.asked, bugs) == (1, [])
    assert outbox.oldest_waiting_s() > 0
    await outbox.close()


@pytest.mark.looptime
async def test_a_settled_run_is_forgotten_though_the_watch_does_not_report_its_end() -> None:
    class Settling(_Double):
        async def json_patch_status(self, kind: Kind, name: str, patch: Any, namespace: str) -> Any:
            assert {"op": "add", "path": "/status/settled", "value": True} in patch
            settled = ended(version="2")
            settled["status"]["settled"] = True
            return settled

    def ended(version: str) -> dict[str, Any]:
        body = _run(1)
        body["metadata"]["resourceVersion"] = version
        return body | {"status": {"phase": "Cancelled"}}

    outbox = _outbox(Settling(), bugs := [])
    outbox.observe("MODIFIED", ended(version="1"))
    await asyncio.sleep(50)
    outbox.observe("MODIFIED", ended(version="1"))  # an older state, which is not settled again
    assert len(outbox._lanes) == 1
    await asyncio.sleep(20)
    assert (outbox._lanes, bugs) == ({}, [])
    await outbox.close()


async def test_a_start_looks_every_run_up_and_an_end_none() -> None:
    for ends, asked in ((False, 20), (True, 0)):
        client = _Double()
        outbox = _outbox(client, bugs := [])
        if ends:
            outbox.stop()
        await _listed(outbox)
        await outbox.close()
        assert (client.asked, bugs) == (asked, [])


@pytest.mark.looptime
async def test_what_the_leader_before_records_is_not_looked_up_until_it_should_have() -> None:
    client = _Double()
    outbox = _outbox(client, bugs := [], {str(ENTRY["eventId"]): AttemptMade(1, 3.0)})
    await _listed(outbox)
    assert client.asked == 0
    await asyncio.sleep(3.1)
    await eventually(lambda: not len(outbox.queue))
    await outbox.close()
    assert (client.asked, bugs) == (20, [])
