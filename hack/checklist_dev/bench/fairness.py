"""What receivers that never answer, or hardly, do to the others: the same load twice, first with healthy ones only.

All endpoints belong to one organization, and each has a host of its own. A third of them stays healthy; of the others
one half drops every connection attempt and the other half takes nine seconds for a status line. The figure is what
happens to the healthy third: from an event's time to its first byte.
"""

import asyncio
import random
import socket
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Final

from checklist_crds.times import parse_timestamp
from checklist_dev.bench.answers import answers_to, open_runs, runs_needed
from checklist_dev.bench.latency import at_steady_rate
from checklist_dev.bench.report import Figure, Goal, percentile
from checklist_dev.failures import Failure
from checklist_dev.load.client import Person, ServiceClient
from checklist_dev.load.received import ReceiverLog, Transmission
from checklist_dev.load.rig import Rig, lasting_port

HOSTS: Final = 20
"""Of each kind."""
ARRIVES_WITHIN_S: Final = 60.0


async def measure_fairness(
    rig: Rig, client: ServiceClient, template_id: str, *, healthy_per_s: float, for_s: float
) -> list[Figure]:
    """`healthy_per_s` events a second for the healthy third, and twice as many for the others."""
    healthy, slow = loopback_hosts(3), loopback_hosts(4)
    port = rig.start_receiver("endpoints", hosts=["127.0.0.1", *healthy, *slow])
    log = ReceiverLog(rig.receiver_log("endpoints"))
    events = int(healthy_per_s * for_s)
    with black_holes(loopback_hosts(5)) as (holes, hole_port):
        alike = [f"http://{host}:{port}/ok/hook" for host in healthy]
        dripping = [f"http://{host}:{port}/drip/hook" for host in slow]
        dead = [f"http://{host}:{hole_port}/hook" for host in holes]

        async def people_of(urls: Sequence[str], count: int) -> list[Person]:
            each = -(-runs_needed(count) // len(urls))
            groups = [await open_runs(client, template_id, [url], each) for url in urls]
            return [person for together in zip(*groups, strict=True) for person in together]

        calm = await _window(
            await people_of(alike, events),
            [await people_of(alike, events), await people_of(alike, events)],
            log,
            events=events,
            per_second=3 * healthy_per_s,
        )
        hard = await _window(
            await people_of(alike, events),
            [await people_of(dripping, events), await people_of(dead, events)],
            log,
            events=events,
            per_second=3 * healthy_per_s,
        )
    without = percentile(calm, 99)
    return [
        Figure(
            "healthy receivers beside dead and slow ones: p99 over p99 without them",
            percentile(hard, 99) / without,
            "",
            Goal("<=", 2),
            f"event to first byte, all healthy: p50 {percentile(calm, 50):.0f} ms, p99 {without:.0f} ms",
        ),
        Figure("healthy receivers beside dead and slow ones: p50", percentile(hard, 50), "ms"),
        Figure("healthy receivers beside dead and slow ones: p99", percentile(hard, 99), "ms"),
    ]


async def _window(
    healthy: list[Person], others: list[list[Person]], log: ReceiverLog, *, events: int, per_second: float
) -> list[float]:
    """Milliseconds from an event to its first byte, for the events of `healthy`."""
    list(log.new())
    groups = [list(answers_to(people))[:events] for people in (healthy, *others)]
    planned = [each for group in groups for each in group]
    random.Random(1).shuffle(planned)
    wanted = {each.key for each in groups[0]}
    await at_steady_rate((each.give for each in planned), per_second=per_second)
    return [_latency_ms(each) for each in await _arrivals(log, wanted)]


def _latency_ms(each: Transmission) -> float:
    return (each.at - parse_timestamp(each.envelope["ts"]).timestamp()) * 1000


async def _arrivals(log: ReceiverLog, wanted: set[tuple[str, str]]) -> list[Transmission]:
    """The first transmission of each wanted event. Raises Failure when some do not come."""
    arrived: dict[tuple[str, str], Transmission] = {}
    deadline = asyncio.get_running_loop().time() + ARRIVES_WITHIN_S
    while len(arrived) < len(wanted):
        if asyncio.get_running_loop().time() > deadline:
            raise Failure(f"{len(wanted) - len(arrived)} events of healthy receivers did not arrive")
        await asyncio.sleep(0.1)
        for each in log.new():
            key = (each.run_id, str(each.envelope.get("data", {}).get("step_id")))
            if key in wanted:
                arrived.setdefault(key, each)
    return list(arrived.values())


def loopback_hosts(net: int) -> list[str]:
    """Addresses that are hosts of their own to the operator."""
    return [f"127.0.{net}.{number}" for number in range(1, HOSTS + 1)]


@contextmanager
def black_holes(hosts: Sequence[str]) -> Iterator[tuple[Sequence[str], int]]:
    """Addresses, and a port, at which a connection attempt is neither taken nor refused: their queues are full."""
    port = lasting_port()
    with ExitStack() as stack:
        for host in hosts:
            listener = stack.enter_context(socket.socket())
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((host, port))
            listener.listen(0)
            for _ in range(2):  # one more than the queue holds
                filling = stack.enter_context(socket.socket())
                filling.setblocking(False)
                filling.connect_ex((host, port))
        yield hosts, port
