"""What waits for the Kubernetes API, for how long, in which order, and what those hear that may not wait."""

import asyncio
import contextlib
import itertools
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from checklist_api.cluster.call_queue import (
    BURST_S,
    LONGEST_QUEUE_WAIT_S,
    LONGEST_RETRY_AFTER_S,
    CallQueue,
    charge_to,
    open_ticket,
)
from checklist_crds.kube.errors import KubeOverloaded

pytestmark = pytest.mark.looptime
SLOTS = 4
CALL_S = 0.1
PER_S = SLOTS / CALL_S


def now() -> float:
    return asyncio.get_running_loop().time()


class Server:
    """Takes `call_s` for each call."""

    def __init__(self, call_s: float = CALL_S) -> None:
        self.call_s = call_s
        self.refusals = 0
        self.queue = CallQueue(SLOTS, self._refused)
        self.done: Counter[str] = Counter()

    def _refused(self) -> None:
        self.refusals += 1

    async def call(self) -> None:
        async with self.queue.slot():
            await asyncio.sleep(self.call_s)

    async def request(self, organization: str = "a", calls: int = 1) -> tuple[float, int | None]:
        """Seconds until it was answered, and Retry-After if it was refused."""
        ticket, started = open_ticket(), now()
        charge_to(organization)
        try:
            for _ in range(calls):
                await self.call()
        except KubeOverloaded as error:
            assert error.status == 429, "nothing was sent, so what was prepared can be taken back"
            return now() - started, error.retry_after_s
        finally:
            ticket.has_begun = True
        self.done[organization] += 1
        return now() - started, None

    async def offer(self, per_s: float, for_s: float, organization: str = "a", calls: int = 1) -> Sequence[Any]:
        """In an open loop."""
        tasks = []
        for _ in range(int(per_s * for_s)):
            tasks.append(asyncio.create_task(self.request(organization, calls)))
            await asyncio.sleep(1 / per_s)
        return await asyncio.gather(*tasks)


async def test_calls_within_the_capacity_are_admitted_and_a_short_burst_waits() -> None:
    server = Server()
    answers = await server.offer(0.9 * PER_S, 20)
    others = await asyncio.gather(*(server.request() for _ in range(int(0.5 * PER_S))))
    assert {retry for _, retry in (*answers, *others)} == {None}
    assert max(seconds for seconds, _ in answers) < 2 * CALL_S
    assert server.refusals == server.queue.waiting == 0


async def test_a_burst_after_calm_may_wait_longer_than_requests_in_an_overload() -> None:
    burst = int(0.9 * BURST_S * PER_S)
    server = Server(call_s=CALL_S)
    answers = await asyncio.gather(*(server.request() for _ in range(burst)))
    assert {retry for _, retry in answers} == {None}
    assert max(seconds for seconds, _ in answers) > LONGEST_QUEUE_WAIT_S + CALL_S
    flood = asyncio.create_task(server.offer(2 * PER_S, 10))
    await asyncio.sleep(5)
    answers = await asyncio.gather(*(server.request("b") for _ in range(burst)))
    assert max(seconds for seconds, _ in answers) <= LONGEST_QUEUE_WAIT_S + 2 * CALL_S
    assert {retry is None for _, retry in answers} == {True, False}
    await flood


@pytest.mark.parametrize("times", [2, 10])
@pytest.mark.parametrize("calls", [1, 3])
async def test_overload_is_refused_within_a_second(times: float, calls: int) -> None:
    server = Server()
    per_s = times * PER_S / calls
    answers = await server.offer(per_s, 20, calls=calls)
    taken = [seconds for seconds, retry in answers if retry is None]
    refused = [seconds for seconds, retry in answers if retry is not None]
    assert len(taken) >= 0.95 * 20 * PER_S / calls, "slots are never idle"
    assert server.refusals == len(refused)
    assert max(taken) <= BURST_S + calls * 2 * CALL_S
    assert max(refused) <= BURST_S + 0.001
    after_burst = answers[int(2 * BURST_S * per_s) :]
    assert max(seconds for seconds, retry in after_burst if retry is None) <= LONGEST_QUEUE_WAIT_S + calls * 2 * CALL_S
    assert max(seconds for seconds, retry in after_burst if retry is not None) <= LONGEST_QUEUE_WAIT_S + 0.001
    if calls == 1:  # else the prediction is too low, and the time limit of the queue refuses
        assert sum(seconds == 0 for seconds in refused) > 0.9 * len(refused), "at once, without waiting in vain"


async def test_retry_after_grows_with_those_that_were_refused_and_falls_when_it_is_calm() -> None:
    server = Server()
    answers = await server.offer(2 * PER_S, 60)
    asked = [retry for _, retry in answers if retry is not None]
    assert asked[0] <= 2
    assert all(later >= earlier - 1 for earlier, later in itertools.pairwise(asked))
    assert asked[-1] == LONGEST_RETRY_AFTER_S
    refusals = next(place for place, retry in enumerate(asked) if retry >= 10)
    assert refusals == pytest.approx(9 * PER_S, rel=0.2), "they come back at half the rate of a service"
    await asyncio.sleep(LONGEST_RETRY_AFTER_S)
    again = await asyncio.gather(*(server.request() for _ in range(100)))
    assert min(retry for _, retry in again if retry is not None) == 1


async def test_a_stalled_server_keeps_no_call_in_the_queue() -> None:
    server = Server(call_s=10.0)
    answers = await asyncio.gather(*(server.request() for _ in range(20)))
    assert Counter(retry is None for _, retry in answers) == {True: SLOTS, False: 20 - SLOTS}
    assert max(seconds for seconds, retry in answers if retry is not None) <= BURST_S + 0.001
    server.call_s = CALL_S
    after = await server.offer(0.9 * PER_S, 10)
    assert {retry for _, retry in after} == {None}, "it is forgotten"


@pytest.mark.parametrize("per_s", [8, 10, 30])
async def test_also_with_a_server_that_can_do_little_what_is_taken_is_done_in_three_seconds(per_s: int) -> None:
    """It does one after the other, so each of the 16 under way takes 16 times as long as alone."""
    queue, one = CallQueue(16), asyncio.Lock()
    taken: list[float] = []

    async def request() -> None:
        open_ticket()
        started = now()
        with contextlib.suppress(KubeOverloaded):
            async with queue.slot(), one:
                await asyncio.sleep(1 / per_s)
            taken.append(now() - started)

    for _ in range(10 * 3 * per_s):
        asyncio.create_task(request())  # noqa: RUF006 - they end below
        await asyncio.sleep(1 / (3 * per_s))
    await asyncio.sleep(10)
    assert len(taken) > 0.95 * 10 * per_s
    assert sorted(taken)[int(0.99 * len(taken))] <= 3.0


async def test_a_flood_of_one_organization_costs_the_others_nothing() -> None:
    server = Server()
    flood = asyncio.create_task(server.offer(10 * PER_S, 10, "flood"))
    others = await asyncio.gather(*(server.offer(0.2 * PER_S, 10, name) for name in ("b", "c")))
    assert {retry for answers in others for _, retry in answers} == {None}
    assert max(seconds for answers in others for seconds, _ in answers) < 3 * CALL_S
    await flood
    assert server.done["flood"] >= 0.5 * 10 * PER_S, "what the others leave is the flood's"


async def test_two_floods_share_equally_however_different_they_are() -> None:
    server = Server()
    await asyncio.gather(server.offer(10 * PER_S, 10, "much"), server.offer(PER_S, 10, "some"))
    assert server.done["some"] == pytest.approx(server.done["much"], rel=0.1)


async def test_what_has_begun_and_what_runs_in_the_background_is_never_refused_and_goes_first() -> None:
    server = Server()
    flood = asyncio.create_task(server.offer(10 * PER_S, 10))
    await asyncio.sleep(5)
    for _ in range(20):
        started = now()
        await server.call()  # no request: no ticket
        assert now() - started <= 2 * CALL_S + 0.001

    async def request() -> list[float]:
        open_ticket()
        charge_to("quiet")
        lasted = []
        for _ in range(5):
            started = now()
            await server.call()
            lasted.append(now() - started)
        return lasted

    lasted = await asyncio.create_task(request())
    assert max(lasted) <= 2 * CALL_S + 0.001
    await flood


async def test_tasks_that_a_refused_request_has_left_are_background_tasks() -> None:
    server = Server()
    flood = asyncio.create_task(server.offer(10 * PER_S, 5))
    await asyncio.sleep(2)

    async def refused() -> asyncio.Task[None]:
        ticket = open_ticket()
        charge_to("a")
        with pytest.raises(KubeOverloaded):
            await asyncio.gather(*(server.call() for _ in range(100)))
        ticket.has_begun = True
        return asyncio.create_task(server.call())

    started = now()
    await (await asyncio.create_task(refused()))
    assert now() - started <= 2 * CALL_S + 0.001
    flood.cancel()


async def test_a_block_of_calls_has_one_slot() -> None:
    server = Server()

    async def request() -> None:
        open_ticket()
        async with server.queue.slot(for_all_calls=True):
            assert server.queue._in_use == 1
            await asyncio.gather(*(server.call() for _ in range(2 * SLOTS)))
            assert server.queue._in_use == 1
        await server.call()

    await asyncio.create_task(request())
    assert server.queue._in_use == 0


async def test_a_background_call_passes_the_slots_that_wait_for_it() -> None:
    """As the flush of the quota, which runs in the context of a dispatch that has ended."""
    server, flushed = Server(), asyncio.Event()

    async def dispatch() -> None:
        open_ticket()
        async with server.queue.slot(for_all_calls=True):
            await flushed.wait()

    async def flush() -> None:
        open_ticket().has_begun = True
        await server.call()
        flushed.set()

    dispatches = [asyncio.create_task(dispatch()) for _ in range(SLOTS)]
    await asyncio.sleep(0)
    async with asyncio.timeout(10 * CALL_S):
        await asyncio.gather(asyncio.create_task(flush()), *dispatches)
    assert (await server.request())[1] is None


async def test_a_burst_at_one_object_is_refused_only_while_slots_are_short() -> None:
    server, lock = Server(), asyncio.Lock()

    async def change() -> tuple[float, bool]:
        open_ticket()
        started = now()
        try:
            async with server.queue.turn(lock):
                await server.call()
        except KubeOverloaded:
            return now() - started, False
        return now() - started, True

    alone = await asyncio.gather(*(change() for _ in range(30)))
    assert all(done for _, done in alone)
    assert max(seconds for seconds, _ in alone) == pytest.approx(30 * CALL_S)
    flood = asyncio.create_task(server.offer(10 * PER_S, 8, "flood"))
    await asyncio.sleep(2)
    meanwhile = await asyncio.gather(*(change() for _ in range(30)))
    assert max(seconds for seconds, done in meanwhile if not done) <= LONGEST_QUEUE_WAIT_S + 0.001
    assert 0 < sum(done for _, done in meanwhile) < 30
    assert not lock.locked()
    flood.cancel()


async def test_slots_of_callers_that_go_away_are_not_lost() -> None:
    server = Server()
    for cut_s in (0.0, 0.01, CALL_S, CALL_S + 0.01, 0.5):
        tasks = [asyncio.create_task(server.request(str(number % 3))) for number in range(6 * SLOTS)]
        background = [asyncio.create_task(server.call()) for _ in range(SLOTS)]
        await asyncio.sleep(cut_s)
        for task in (*tasks, *background):
            task.cancel()
        await asyncio.gather(*tasks, *background, return_exceptions=True)
        assert (server.queue._in_use, server.queue.waiting) == (0, 0), cut_s
