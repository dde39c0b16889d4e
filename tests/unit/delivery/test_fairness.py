"""Permits: who may transmit now."""

import asyncio
import random
from collections import Counter
from dataclasses import dataclass, replace

import pytest

from checklist_crds.resources.webhook_url import host_of
from checklist_operator.runtime.metrics import Metrics
from checklist_operator.transport.fairness import PermitLimits, Permits
from checklist_operator.transport.host_standing import REMEMBERED_HOSTS, HostStandings
from checklist_operator.transport.outcome import OutcomeClass

ROOM = PermitLimits(total=8, per_organization=6, per_host=4, reserved=0.25, slow_lane=2, per_slow_host=1)
SMALL = replace(ROOM, in_doubt=1.0, per_unheard_host=4)  # no host is in doubt
SMALL_WITH_DOUBT = replace(ROOM, in_doubt=0.5, per_unheard_host=2)


class Attempt:
    """Waits for its permit and holds it until `finish`."""

    def __init__(
        self, permits: Permits, host: str = "a.example", organization: str = "org-1", *, first: bool = True
    ) -> None:
        self.running = False
        self._finish = asyncio.Event()
        self.task = asyncio.create_task(self._run(permits, host, organization, first))

    async def _run(self, permits: Permits, host: str, organization: str, first: bool) -> None:
        async with permits.held(permits.apply(host=host, organization=organization, first=first)):
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


@dataclass(frozen=True)
class Load:
    """Attempts number 0 to `count`, as text: `{n}` is the number, `{h}` the number modulo `hosts`."""

    count: int
    host: str = "a.example"
    organization: str = "org-1"
    first: bool = True
    hosts: int = 1

    def places(self) -> list[tuple[str, str]]:
        numbers = [{"n": number, "h": number % self.hosts} for number in range(self.count)]
        return [(self.host.format(**each), self.organization.format(**each)) for each in numbers]

    def begin(self, permits: Permits) -> list[Attempt]:
        return [Attempt(permits, *place, first=self.first) for place in self.places()]


def answered(permits: Permits, *hosts: str, after_s: float = 0.05) -> None:
    for host in hosts:
        permits.record(host, OutcomeClass.SUCCESS, after_s)


def time_out(permits: Permits, host: str, times: int = 5) -> None:
    for _ in range(times):
        permits.record(host, OutcomeClass.TIMEOUT)


def with_history(limits: PermitLimits, *loads: Load) -> Permits:
    """Permits where the hosts that are called "known" have answered, and those that are called "slow" have not."""
    permits = Permits(limits)
    hosts = {host for load in loads for host, _ in load.places()}
    answered(permits, *(host for host in hosts if "known" in host))
    for host in hosts:
        time_out(permits, host, 5 if "slow" in host else 0)
    return permits


async def test_the_limits_are_those_of_the_profile() -> None:
    each = "{n}.known.example"
    for load, expected in ((Load(40, "known"), 16), (Load(80, each), 64), (Load(520, each, "org-{n}"), 512)):
        permits = with_history(PermitLimits(), load)
        attempts = load.begin(permits)
        assert await started(attempts) == expected == permits.in_flight
        assert permits.waiting == load.count - expected
        await end(*attempts)
        assert (permits.in_flight, permits.waiting) == (0, 0)


DEFAULT = PermitLimits()
UNHEARD = Load(300, "{n}.new", "org-{n}")
UNHEARD_OF_ONE = Load(60, "{n}.new")
SLOW = Load(100, "{h}.slow", "org-{n}", hosts=20)


@pytest.mark.parametrize(
    ("limits", "busy", "running", "others"),
    [
        pytest.param(SMALL, Load(50), 4, Load(1, "b.example"), id="full host"),
        pytest.param(SMALL, Load(50, "{n}.example"), 6, Load(1, "b.example", "org-2"), id="full organization"),
        pytest.param(SMALL, Load(20, first=False), 3, Load(1), id="retries at a host"),
        pytest.param(SMALL, Load(20, "{n}.a", first=False), 5, Load(1, "b"), id="retries in an organization"),
        pytest.param(SMALL, Load(20, "{n}.a", "org-{n}", first=False), 6, Load(1, "b", "org-b"), id="retries in all"),
        pytest.param(SMALL, SLOW, 2, Load(6, "{n}.b", "org-{n}"), id="slow hosts"),
        pytest.param(SMALL, Load(10, "a.slow"), 1, Load(1, "b.slow"), id="slow host has one place in the lane"),
        pytest.param(DEFAULT, Load(10, "new", first=False), 3, Load(1, "new"), id="retries at an unheard host"),
        pytest.param(DEFAULT, UNHEARD, 256, Load(256, "{n}.known", "o-{n}"), id="unheard hosts"),
        pytest.param(DEFAULT, UNHEARD_OF_ONE, 32, Load(16, "known"), id="unheard hosts of an organization"),
    ],
)
async def test_what_is_full_leaves_room_for_the_others(
    limits: PermitLimits, busy: Load, running: int, others: Load
) -> None:
    permits = with_history(limits, busy, others)
    waiting = busy.begin(permits)
    assert await started(waiting) == running
    rest = others.begin(permits)
    assert await started(rest) == others.count
    assert await started(waiting) == running
    await end(*waiting, *rest)
    assert (permits.in_flight, permits.waiting) == (0, 0)


async def test_attempts_that_are_alike_start_in_the_order_in_which_they_came_and_hosts_take_turns() -> None:
    async def order_of_starts(permits: Permits, hosts: list[str]) -> list[int]:
        order: list[int] = []

        async def attempt(number: int, host: str) -> None:
            async with permits.held(permits.apply(host=host, organization=host, first=True)):
                order.append(number)
                await asyncio.sleep(0)

        await asyncio.gather(*(attempt(number, host) for number, host in enumerate(hosts)))
        return order

    assert await order_of_starts(Permits(PermitLimits(per_host=1, reserved=0)), ["a"] * 50) == list(range(50))
    order = await order_of_starts(Permits(PermitLimits(total=1, reserved=0)), ["flood"] * 50 + ["a", "b"])
    assert set(order[:5]) >= {50, 51}


@pytest.mark.parametrize("first_comes", [True, False], ids=["the first attempt", "the retry"])
async def test_of_a_first_attempt_and_a_retry_who_has_waited_longer_goes_first(*, first_comes: bool) -> None:
    permits = Permits(PermitLimits(total=4, per_host=4, per_organization=4, reserved=0.25, in_doubt=1.0))
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


@pytest.mark.parametrize("granted", [False, True], ids=["while it waits", "just as it is granted"])
async def test_a_cancelled_wait_takes_no_permit_and_blocks_no_other(granted: bool) -> None:
    permits = Permits(PermitLimits(per_host=1, reserved=0))
    holder, cancelled, patient = (Attempt(permits) for _ in range(3))
    await settle()
    if granted:
        holder._finish.set()
        while permits.waiting == 2:
            await asyncio.sleep(0)
    cancelled.task.cancel()  # if the permit is granted, its task has not run yet
    await settle()
    await holder.finish()
    assert patient.running
    assert permits.in_flight == 1
    await end(patient, cancelled)
    assert permits.in_flight == 0


async def test_a_place_that_one_organization_cannot_use_goes_to_the_next_that_waits_for_it() -> None:
    permits = Permits(PermitLimits(per_host=1, per_organization=1, reserved=0))
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


async def test_a_line_that_was_cancelled_away_does_not_take_its_successor_along() -> None:
    permits = Permits(PermitLimits(per_host=1, reserved=0))

    async def hold_and_come_back(release: asyncio.Event) -> None:
        async with permits.held(permits.apply(host="a.example", organization="org-1", first=True)):
            await release.wait()
        async with (
            permits.held(permits.apply(host="a.example", organization="org-1", first=True)),
            permits.held(permits.apply(host="b.example", organization="org-1", first=True)),
        ):
            await asyncio.sleep(1000)

    holder = asyncio.create_task(hold_and_come_back(release := asyncio.Event()))
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


async def test_a_host_is_slow_after_five_timeouts_in_a_row_until_a_success() -> None:
    for before, outcome, after, slow in [
        (3, "timeout", 0, False),
        (4, "timeout", 0, True),
        *((4, other, 4, False) for other in ("success", "http_5xx", "http_4xx", "connect")),
        *((5, other, 0, other != "success") for other in ("http_5xx", "connect", "success")),
    ]:
        permits = Permits()
        time_out(permits, "a.example", before)
        permits.record("a.example", OutcomeClass(outcome))
        time_out(permits, "a.example", after)
        assert (permits.is_slow("a.example"), permits.slow_hosts) == (slow, int(slow)), (before, outcome, after)


async def test_after_a_success_everything_that_waits_for_the_host_goes_on_at_full_width() -> None:
    permits = Permits(SMALL)
    time_out(permits, "a.example")
    waiting = [Attempt(permits, "a.example") for _ in range(10)]
    assert await started(waiting) == 1
    permits.record("a.example", OutcomeClass.SUCCESS)
    assert await started(waiting) == 4
    await end(*waiting)
    for name in "abc":
        time_out(permits, f"{name}.example")
    under_way = [Attempt(permits, "a.example"), Attempt(permits, "b.example")]  # collected, they would give it back
    assert await started(under_way) == 2
    blocked = Attempt(permits, "c.example")
    assert await started([blocked]) == 0
    permits.record("c.example", OutcomeClass.SUCCESS)
    assert await started([blocked]) == 1
    await end(*under_way, blocked)


async def test_the_memory_of_hosts_is_bounded() -> None:
    permits = Permits()
    for number in range(12_000):
        permits.record(f"{number}.example", OutcomeClass.TIMEOUT)
    assert len(permits._standings) == REMEMBERED_HOSTS


@pytest.mark.looptime
@pytest.mark.parametrize("limits", [SMALL, SMALL_WITH_DOUBT], ids=["without doubt", "with doubt"])
@pytest.mark.parametrize("seed", range(2))
async def test_no_limit_is_passed_and_no_attempt_is_forgotten(seed: int, limits: PermitLimits) -> None:
    """A random crowd that waits, times out, recovers and is cancelled: every permit comes back, every wait ends."""
    source = random.Random(seed)
    permits = Permits(limits)
    loads: Counter[str] = Counter()
    served: list[int] = []

    async def attempt(number: int) -> None:
        host, organization = f"{source.randint(1, 5)}.example", f"org-{source.randint(1, 3)}"
        await asyncio.sleep(source.random() * 10)
        async with permits.held(permits.apply(host=host, organization=organization, first=source.random() < 0.5)):
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
    assert not (permits._lines or permits._lines_to or permits._hosts or permits._organizations)
    assert not (permits._slow_hosts or permits._unheard_hosts or permits._organizations_in_doubt)


def test_a_host_is_the_same_host_on_every_port() -> None:
    urls = ("https://a.example/", "https://a.example:8443/x?y", "https://[2606:4700::1]:8443/")
    assert [host_of(url) for url in urls] == ["a.example", "a.example", "2606:4700::1"]


async def test_a_host_is_in_doubt_until_it_answers_soon() -> None:
    permits = Permits()
    waiting = [Attempt(permits, "new.example") for _ in range(40)]
    assert await started(waiting) == 4
    permits.record("new.example", OutcomeClass.HTTP_5XX, 0.1)
    assert await started(waiting) == 16
    permits = Permits(PermitLimits(in_doubt=0.01, reserved=0))  # five places for all hosts in doubt
    answered(permits, *(f"{n}.example" for n in range(10)), after_s=9.0)
    waiting = [Attempt(permits, f"{n}.example", f"org-{n}") for n in range(10)]
    assert await started(waiting) == 5
    blocked = next(n for n in range(10) if not waiting[n].running)
    answered(permits, f"{blocked}.example")
    assert await started(waiting) == 6


@pytest.mark.looptime
async def test_a_host_that_falls_silent_is_in_doubt_before_anything_has_timed_out() -> None:
    permits = Permits(PermitLimits(in_doubt=0.01, reserved=0))
    answered(permits, "a.example", "b.example")
    held = [Attempt(permits, "a.example", f"org-{n}") for n in range(8)]
    assert await started(held) == 8
    await asyncio.sleep(1.5)
    later = [Attempt(permits, "a.example", f"org-later-{n}") for n in range(8)]
    other = [Attempt(permits, "b.example", f"org-{n}") for n in range(8)]
    assert (await started(later), await started(other)) == (0, 8)
    permits.record("a.example", OutcomeClass.HTTP_4XX, 0.1)
    assert await started(later) == 8


def test_a_host_holds_attempts_up_from_a_late_answer_until_it_answers_soon() -> None:
    of = HostStandings(slow_after_timeouts=5, prompt_s=1.0)
    of.begun("a.example", 0)
    assert [of.delays_attempts("a.example", at) for at in (0, 0.5, 1.5)] == [False, False, True]
    for outcome, duration_s, delays in (("timeout", 10.0, True), ("success", 0.1, False), ("success", 3.0, True)):
        of.ended("a.example", OutcomeClass(outcome), duration_s, 10, more_in_flight=False)
        assert of.delays_attempts("a.example", 11) is delays


def test_lags_of_first_attempts_are_counted_apart_for_slow_receivers() -> None:
    metrics = Metrics()
    metrics.first_attempt_started(7, delayed_by_receiver=True)
    metrics.first_attempt_started(-1, delayed_by_receiver=False)
    for receiver, seconds in (("slow", 7), ("prompt", 0)):
        labels = {"receiver": receiver}
        assert metrics.registry.get_sample_value("checklists_outbox_lag_seconds_sum", labels) == seconds
