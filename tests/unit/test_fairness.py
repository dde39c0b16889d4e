"""Permits: who may transmit now. Every test waits in virtual time only."""

import asyncio
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest

from checklist_operator.delivery.fairness import Limits, Permits, host_of
from checklist_operator.delivery.host_standing import REMEMBERED_HOSTS
from checklist_operator.delivery.outcome import OutcomeClass

SMALL = Limits(
    total=8,
    per_organization=6,
    per_host=4,
    reserved=0.25,
    slow_lane=2,
    per_slow_host=1,
    in_doubt=1.0,  # here nobody is in doubt; what becomes of those who are is told at the end
    per_unheard_host=4,
)


SMALL_WITH_DOUBT = replace(SMALL, in_doubt=0.5, per_unheard_host=2)


class Attempt:
    """One attempt that waits for its permit and holds it until told to finish."""

    def __init__(
        self, permits: Permits, host: str = "a.example", organization: str = "org-1", *, first: bool = True
    ) -> None:
        self.running = False
        self._finish = asyncio.Event()
        self.task = asyncio.create_task(self._run(permits, host, organization, first))

    async def _run(self, permits: Permits, host: str, organization: str, first: bool) -> None:
        async with permits.permit(host=host, organization=organization, first=first):
            self.running = True
            try:
                await self._finish.wait()
            finally:
                self.running = False

    async def finish(self) -> None:
        self._finish.set()
        await self.task
        await settle()


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def started(attempts: list[Attempt]) -> int:
    await settle()
    return sum(attempt.running for attempt in attempts)


async def end(*attempts: Attempt) -> None:
    for attempt in attempts:
        attempt.task.cancel()
    await asyncio.gather(*(attempt.task for attempt in attempts), return_exceptions=True)


def answered(permits: Permits, *hosts: str, after_s: float = 0.05) -> None:
    for host in hosts:
        permits.record(host, OutcomeClass.SUCCESS, after_s)


@pytest.mark.parametrize(
    ("spread", "expected"),
    [
        (lambda n: ("a.example", "org-1"), 16),
        (lambda n: (f"{n}.example", "org-1"), 64),
        (lambda n: (f"{n}.example", f"org-{n}"), 512),
    ],
    ids=["per host", "per organization", "in all"],
)
async def test_the_limits_are_those_of_the_profile(spread: Callable[[int], tuple[str, str]], expected: int) -> None:
    permits = Permits()
    answered(permits, *{spread(number)[0] for number in range(600)})
    attempts = [Attempt(permits, *spread(number)) for number in range(600)]
    assert await started(attempts) == expected == permits.in_flight
    assert permits.waiting == 600 - expected
    await end(*attempts)
    assert (permits.in_flight, permits.waiting) == (0, 0)


async def test_a_full_host_does_not_hold_up_another_host() -> None:
    permits = Permits(SMALL)
    busy = [Attempt(permits, "busy.example") for _ in range(50)]
    other = Attempt(permits, "other.example")
    assert await started(busy) == 4
    assert other.running
    await end(*busy, other)


async def test_a_full_organization_does_not_hold_up_another_organization() -> None:
    permits = Permits(SMALL)
    busy = [Attempt(permits, f"{number}.example", "org-1") for number in range(50)]
    other = Attempt(permits, "other.example", "org-2")
    assert await started(busy) == 6
    assert other.running
    await end(*busy, other)


@pytest.mark.parametrize(
    ("retry_at", "first_at", "retries"),
    [
        (("a.example", "org-1"), ("a.example", "org-1"), 3),
        (("{n}.example", "org-1"), ("new.example", "org-1"), 5),
        (("{n}.example", "org-{n}"), ("new.example", "org-new"), 6),
    ],
    ids=["at a host", "in an organization", "in all"],
)
async def test_retries_leave_room_for_first_attempts(
    retry_at: tuple[str, str], first_at: tuple[str, str], retries: int
) -> None:
    permits = Permits(SMALL)
    waiting = [Attempt(permits, *(part.format(n=n) for part in retry_at), first=False) for n in range(20)]
    assert await started(waiting) == retries
    first = Attempt(permits, *first_at)
    assert await started([first]) == 1
    await end(*waiting, first)


async def test_a_retry_uses_the_room_that_first_attempts_leave() -> None:
    permits = Permits(SMALL)
    firsts = [Attempt(permits, first=True) for _ in range(4)]
    retry = Attempt(permits, first=False)
    assert await started([retry]) == 0
    await firsts[0].finish()
    assert retry.running
    await end(*firsts, retry)


async def test_attempts_that_are_alike_start_in_the_order_in_which_they_came() -> None:
    permits = Permits(Limits(per_host=1, reserved=0))
    order: list[int] = []

    async def attempt(number: int) -> None:
        async with permits.permit(host="a.example", organization="org-1", first=True):
            order.append(number)
            await asyncio.sleep(0)

    await asyncio.gather(*(attempt(number) for number in range(50)))
    assert order == list(range(50))


async def test_hosts_that_wait_for_the_same_place_take_turns() -> None:
    permits = Permits(Limits(total=1, reserved=0))
    order: list[str] = []

    async def attempt(host: str) -> None:
        async with permits.permit(host=host, organization=host, first=True):
            order.append(host)
            await asyncio.sleep(0)

    await asyncio.gather(*(attempt(host) for host in ["flood"] * 50 + ["a", "b"]))
    assert order.index("a") < 5
    assert order.index("b") < 5


async def test_first_attempts_without_end_do_not_starve_a_retry() -> None:
    permits = Permits(Limits(total=4, per_host=4, per_organization=4, reserved=0.25))
    alive = [Attempt(permits) for _ in range(4)]
    retry = Attempt(permits, first=False)
    await settle()
    for _ in range(8):
        alive.append(Attempt(permits))
        await settle()
        await next(attempt for attempt in alive if attempt.running).finish()
        alive = [attempt for attempt in alive if not attempt.task.done()]
    assert retry.running or retry.task.done()
    await end(*alive, retry)


@pytest.mark.parametrize("first_comes", [True, False], ids=["the first attempt", "the retry"])
async def test_of_a_first_attempt_and_a_retry_who_has_waited_longer_goes_first(*, first_comes: bool) -> None:
    permits = Permits(Limits(total=4, per_host=4, per_organization=4, reserved=0.25, in_doubt=1.0))
    holders = [Attempt(permits) for _ in range(4)]
    await settle()
    earlier = Attempt(permits, first=first_comes)
    await settle()
    later = Attempt(permits, first=not first_comes)
    await settle()
    await holders[0].finish()
    assert (earlier.running, later.running) == (True, False)
    await holders[1].finish()
    assert later.running
    await end(*holders, earlier, later)


async def test_a_cancelled_wait_takes_no_place_and_holds_up_nobody() -> None:
    permits = Permits(Limits(per_host=1, reserved=0))
    holder, cancelled, patient = (Attempt(permits) for _ in range(3))
    await settle()
    cancelled.task.cancel()
    await settle()
    await holder.finish()
    assert patient.running
    assert permits.in_flight == 1
    await end(patient, cancelled)


async def test_a_wait_that_is_cancelled_just_as_it_is_granted_passes_its_place_on() -> None:
    permits = Permits(Limits(per_host=1, reserved=0))
    holder, cancelled, patient = (Attempt(permits) for _ in range(3))
    await settle()
    holder._finish.set()
    while permits.waiting == 2:
        await asyncio.sleep(0)
    cancelled.task.cancel()  # the permit is granted, the task does not know yet
    await settle()
    assert patient.running
    await end(patient, cancelled, holder)
    assert permits.in_flight == 0


async def test_a_place_that_one_organization_cannot_use_goes_to_the_next_that_waits_for_it() -> None:
    permits = Permits(Limits(per_host=1, per_organization=1, reserved=0))
    holder = Attempt(permits, "shared.example", "org-0")
    blocked = Attempt(permits, "shared.example", "org-1")
    await settle()
    elsewhere = Attempt(permits, "other.example", "org-1")  # now org-1 is full, and so is the host
    behind = Attempt(permits, "shared.example", "org-2")
    await settle()
    await holder.finish()
    assert (blocked.running, behind.running) == (False, True)
    await elsewhere.finish()
    assert not blocked.running
    await behind.finish()
    assert blocked.running
    await end(blocked)


async def test_a_line_that_was_cancelled_away_does_not_take_its_successor_along() -> None:
    permits = Permits(Limits(per_host=1, reserved=0))

    async def hold_and_come_back(release: asyncio.Event) -> None:
        async with permits.permit(host="a.example", organization="org-1", first=True):
            await release.wait()
        async with (
            permits.permit(host="a.example", organization="org-1", first=True),
            permits.permit(host="b.example", organization="org-1", first=True),
        ):
            await asyncio.sleep(1000)

    release = asyncio.Event()
    holder = asyncio.create_task(hold_and_come_back(release))
    await settle()
    cancelled = Attempt(permits)
    await settle()
    release.set()
    cancelled.task.cancel()
    successor = Attempt(permits)
    await settle()
    assert (successor.running, permits.waiting) == (False, 1)
    holder.cancel()
    await settle()
    assert successor.running
    await end(successor, cancelled)


async def test_waits_that_were_given_up_leave_nothing_behind() -> None:
    permits = Permits(Limits(per_host=1, reserved=0))
    holder = Attempt(permits)
    given_up = [Attempt(permits, organization=f"org-{number}") for number in range(50)]
    await settle()
    await end(*given_up)
    await holder.finish()
    assert not (permits._lines or permits._hosts or permits._organizations)


# --- the slow lane --------------------------------------------------------------------------------------------------


async def test_room_is_told_before_anybody_waits_for_it_and_asking_takes_none() -> None:
    permits = Permits(SMALL)

    def room(host: str, *, first: bool) -> bool:
        return permits.has_room(host=host, organization="org-1", first=first)

    assert room("a.example", first=False)
    retries = [Attempt(permits, "a.example", "org-1", first=False) for _ in range(3)]
    assert await started(retries) == 3
    assert not room("a.example", first=False)
    assert room("a.example", first=True)
    assert room("b.example", first=False)
    await end(*retries)
    assert room("a.example", first=False)
    assert (permits.in_flight, permits.waiting) == (0, 0)


def time_out(permits: Permits, host: str, times: int = 5) -> None:
    for _ in range(times):
        permits.record(host, OutcomeClass.TIMEOUT)


async def test_five_timeouts_in_a_row_put_a_host_into_the_slow_lane() -> None:
    permits = Permits()
    time_out(permits, "slow.example", 4)
    assert not permits.is_slow("slow.example")
    permits.record("slow.example", OutcomeClass.TIMEOUT)
    assert permits.is_slow("slow.example")
    assert not permits.is_slow("other.example")
    assert permits.slow_hosts == 1


@pytest.mark.parametrize("between", ["success", "http_5xx", "http_4xx", "connect"])
async def test_another_outcome_breaks_the_row(between: str) -> None:
    permits = Permits()
    time_out(permits, "a.example", 4)
    permits.record("a.example", OutcomeClass(between))
    time_out(permits, "a.example", 4)
    assert not permits.is_slow("a.example")


@pytest.mark.parametrize(("outcome", "still_slow"), [("http_5xx", True), ("connect", True), ("success", False)])
async def test_only_a_success_leads_out_of_the_slow_lane(outcome: str, still_slow: bool) -> None:
    permits = Permits()
    time_out(permits, "a.example")
    permits.record("a.example", OutcomeClass(outcome))
    assert permits.is_slow("a.example") is still_slow


async def test_slow_hosts_share_a_narrow_lane_and_leave_the_rest_to_the_others() -> None:
    permits = Permits(SMALL)
    for number in range(20):
        time_out(permits, f"{number}.slow.example")
    slow = [Attempt(permits, f"{n % 20}.slow.example", f"org-{n}") for n in range(100)]
    assert await started(slow) == 2
    healthy = [Attempt(permits, f"{n}.example", f"org-{n}") for n in range(6)]
    assert await started(healthy) == 6
    await end(*slow, *healthy)


async def test_a_slow_host_has_a_single_place_in_the_lane() -> None:
    permits = Permits(SMALL)
    time_out(permits, "a.slow.example")
    time_out(permits, "b.slow.example")
    many = [Attempt(permits, "a.slow.example") for _ in range(10)]
    other = Attempt(permits, "b.slow.example")
    assert await started(many) == 1
    assert other.running
    await end(*many, other)


async def test_after_a_success_everything_that_waits_for_the_host_goes_on_at_full_width() -> None:
    permits = Permits(SMALL)
    time_out(permits, "a.example")
    waiting = [Attempt(permits, "a.example") for _ in range(10)]
    assert await started(waiting) == 1
    permits.record("a.example", OutcomeClass.SUCCESS)
    assert await started(waiting) == 4
    for attempt in waiting:
        await attempt.finish()
    assert (permits.in_flight, permits.waiting) == (0, 0)


async def test_what_waits_behind_a_full_lane_goes_on_when_its_host_recovers() -> None:
    permits = Permits(SMALL)
    for name in "abc":
        time_out(permits, f"{name}.example")
    holders = [Attempt(permits, "a.example"), Attempt(permits, "b.example")]
    blocked = Attempt(permits, "c.example")
    assert await started([blocked]) == 0
    permits.record("c.example", OutcomeClass.SUCCESS)
    assert await started([blocked]) == 1
    await end(*holders, blocked)


async def test_the_memory_of_hosts_is_bounded() -> None:
    permits = Permits()
    for number in range(12_000):
        permits.record(f"{number}.example", OutcomeClass.TIMEOUT)
    assert len(permits._standings) == REMEMBERED_HOSTS


@pytest.mark.looptime
async def test_half_the_hosts_dead_leaves_the_healthy_ones_as_fast_as_before() -> None:
    """A simulation in virtual time: 40 black holes of ten seconds each, 40 hosts that answer in 50 ms."""
    permits = Permits()
    waits: list[float] = []
    loop = asyncio.get_running_loop()

    async def attempt(host: str, duration: float, outcome: OutcomeClass, at: float) -> None:
        await asyncio.sleep(at)
        asked = loop.time()
        async with permits.permit(host=host, organization=host, first=True):
            if outcome is OutcomeClass.SUCCESS:
                waits.append(loop.time() - asked)
            await asyncio.sleep(duration)
        permits.record(host, outcome)

    async with asyncio.TaskGroup() as group:
        for number in range(4000):
            at = number * 0.02
            if number % 2:
                group.create_task(attempt(f"{number % 40}.dead.example", 10.0, OutcomeClass.TIMEOUT, at))
            else:
                group.create_task(attempt(f"{number % 40}.example", 0.05, OutcomeClass.SUCCESS, at))
        await asyncio.sleep(80)
        assert len(waits) == 2000
        assert sorted(waits)[int(len(waits) * 0.99)] < 0.05
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()


@pytest.mark.looptime
@pytest.mark.parametrize("limits", [SMALL, SMALL_WITH_DOUBT], ids=["without doubt", "with doubt"])
@pytest.mark.parametrize("seed", range(12))
async def test_whatever_happens_no_limit_is_passed_and_nobody_is_forgotten(seed: int, limits: Limits) -> None:
    """A random crowd that waits, times out, recovers and is cancelled: every permit comes back, every wait ends."""
    source = random.Random(seed)
    permits = Permits(limits)
    loads: Counter[str] = Counter()
    served: list[int] = []

    async def attempt(number: int) -> None:
        host, organization = f"{source.randint(1, 5)}.example", f"org-{source.randint(1, 3)}"
        await asyncio.sleep(source.random() * 10)
        async with permits.permit(host=host, organization=organization, first=source.random() < 0.5):
            loads.update((host, organization, "total"))
            assert loads[host] <= 4
            assert loads[organization] <= 6
            assert loads["total"] <= 8
            try:
                await asyncio.sleep(source.random())
            finally:
                loads.subtract((host, organization, "total"))
            outcome = source.choice([OutcomeClass.TIMEOUT] * 4 + [OutcomeClass.SUCCESS])
            permits.record(host, outcome, source.random() * 2)
        served.append(number)

    tasks = [asyncio.create_task(attempt(number)) for number in range(300)]
    await asyncio.sleep(5)
    cancelled = source.sample(range(300), 60)
    for number in cancelled:
        tasks[number].cancel()
    await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 1000)
    failures = [task for task in tasks if not task.cancelled() and task.exception()]
    assert failures == []
    assert len(served) == sum(not task.cancelled() for task in tasks) >= 240
    assert (permits.in_flight, permits.waiting) == (0, 0)
    assert not permits._lines
    assert not permits._hosts
    assert not permits._organizations
    assert not permits._slow_hosts
    assert not permits._unheard_hosts
    assert not permits._organizations_in_doubt
    assert not permits._lines_to


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://a.example/", "a.example"),
        ("https://a.example:8443/x?y", "a.example"),
        ("https://[2606:4700::1]:8443/", "2606:4700::1"),
    ],
)
def test_a_host_is_the_same_host_on_every_port(url: str, host: str) -> None:
    assert host_of(url) == host


# --- hosts in doubt -------------------------------------------------------------------------------------------------


async def test_a_host_that_was_never_heard_of_starts_with_few_places_until_it_answers() -> None:
    permits = Permits()
    waiting = [Attempt(permits, "new.example") for _ in range(40)]
    assert await started(waiting) == 4
    permits.record("new.example", OutcomeClass.HTTP_5XX, 0.1)
    assert await started(waiting) == 16
    await end(*waiting)


async def test_of_the_few_places_of_a_new_host_retries_leave_one_to_first_attempts() -> None:
    permits = Permits()
    retries = [Attempt(permits, "new.example", first=False) for _ in range(10)]
    assert await started(retries) == 3
    first = Attempt(permits, "new.example")
    assert await started([first]) == 1
    await end(*retries, first)


async def test_hosts_that_were_never_heard_of_take_at_most_half_of_all_places() -> None:
    permits = Permits()
    answered(permits, *(f"{n}.example" for n in range(256)))
    unheard = [Attempt(permits, f"{n % 500}.new.example", f"org-{n % 500}") for n in range(2000)]
    assert await started(unheard) == 256
    known = [Attempt(permits, f"{n}.example", f"org-known-{n}") for n in range(256)]
    assert await started(known) == 256
    await end(*unheard, *known)
    assert (permits.in_flight, permits.waiting) == (0, 0)


async def test_the_dead_endpoints_of_an_organization_leave_room_to_its_living_ones() -> None:
    permits = Permits()
    answered(permits, "alive.example")
    dead = [Attempt(permits, f"{n % 100}.dead.example") for n in range(400)]
    assert await started(dead) == 32
    alive = [Attempt(permits, "alive.example") for _ in range(16)]
    assert await started(alive) == 16
    await end(*dead, *alive)


async def test_one_that_answered_late_is_in_doubt_until_it_answers_soon() -> None:
    permits = Permits(Limits(in_doubt=0.01, reserved=0))  # five places for everybody in doubt
    answered(permits, *(f"{n}.example" for n in range(10)), after_s=9.0)
    waiting = [Attempt(permits, f"{n}.example", f"org-{n}") for n in range(10)]
    assert await started(waiting) == 5
    blocked = [n for n in range(10) if not waiting[n].running]
    answered(permits, f"{blocked[0]}.example")
    assert await started(waiting) == 6
    await end(*waiting)


@pytest.mark.looptime
async def test_a_host_that_falls_silent_is_in_doubt_before_anything_has_timed_out() -> None:
    permits = Permits(Limits(in_doubt=0.01, reserved=0))
    answered(permits, "a.example", "b.example")
    held = [Attempt(permits, "a.example", f"org-{n}") for n in range(8)]
    assert await started(held) == 8
    await asyncio.sleep(1.5)
    later = [Attempt(permits, "a.example", f"org-later-{n}") for n in range(8)]
    other = [Attempt(permits, "b.example", f"org-{n}") for n in range(8)]
    assert (await started(later), await started(other)) == (0, 8)
    permits.record("a.example", OutcomeClass.HTTP_4XX, 0.1)
    assert await started(later) == 8
    await end(*held, *later, *other)


async def test_what_was_given_up_says_nothing_about_its_host() -> None:
    permits = Permits(Limits(in_doubt=0.01, reserved=0))
    answered(permits, "a.example")
    cancelled = Attempt(permits, "a.example")
    await settle()
    await end(cancelled)
    assert not permits._standings.is_in_doubt("a.example", asyncio.get_running_loop().time() + 3600)


async def _waits_of_the_living(
    *, dead: int, dead_each_s: float, heard: bool, lasts: float, ends: OutcomeClass
) -> float:
    """The 99th percentile of how long attempts at 40 hosts that answer in 50 ms wait for their permits, while others
    that take `lasts` seconds are sent `dead_each_s` events a second each. Virtual time."""
    permits = Permits()
    loop = asyncio.get_running_loop()
    waits: list[float] = []
    answered(permits, *(f"{n}.example" for n in range(40)))
    if heard:
        answered(permits, *(f"{n}.dead.example" for n in range(dead)))

    async def attempt(host: str, takes: float, outcome: OutcomeClass) -> None:
        asked = loop.time()
        async with permits.permit(host=host, organization=host, first=True):
            if takes < 1:
                waits.append(loop.time() - asked)
            await asyncio.sleep(takes)
            permits.record(host, outcome, takes)

    tasks = set()
    for tick in range(300):
        for number in range(dead):
            if (tick + number) % round(10 / dead_each_s) == 0:
                tasks.add(asyncio.create_task(attempt(f"{number}.dead.example", lasts, ends)))
        for number in range(10):
            tasks.add(asyncio.create_task(attempt(f"{(tick + number) % 40}.example", 0.05, OutcomeClass.SUCCESS)))
        await asyncio.sleep(0.1)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert len(waits) >= 2900
    return sorted(waits)[int(len(waits) * 0.99)]


@pytest.mark.looptime
@pytest.mark.parametrize(
    ("heard", "lasts", "ends"),
    [(False, 10.0, OutcomeClass.TIMEOUT), (True, 10.0, OutcomeClass.TIMEOUT), (True, 9.0, OutcomeClass.SUCCESS)],
    ids=["never heard of", "that die all at once", "that dribble for nine seconds"],
)
async def test_hundreds_of_hosts_leave_the_living_as_fast_as_before(
    heard: bool, lasts: float, ends: OutcomeClass
) -> None:
    waited = await _waits_of_the_living(dead=200, dead_each_s=1.0, heard=heard, lasts=lasts, ends=ends)
    assert waited < 0.05
