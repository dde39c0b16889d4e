"""Measures many retries that are due in a short time: their lateness, and that none is early, missing or doubled."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta

from checklist_crds.times import utc_now
from checklist_dev.local.stored_deliveries import StoredDelivery
from checklist_dev.perf.bench.answers import USUAL_STEPS, open_runs, template_of
from checklist_dev.perf.bench.report import Figure, Goal, percentile
from checklist_dev.perf.bench.sizes import Sizes
from checklist_dev.perf.bench.stage import Stage
from checklist_dev.perf.bench.waiting_deliveries import create, let_wait, waiting_deliveries
from checklist_dev.perf.load.received import Transmission, collect

STARTS_WITHIN_S = 10.0
HOSTS = 20
"""Addresses that the operator treats as different hosts."""


async def measure_retries(stage: Stage, sizes: Sizes) -> list[Figure]:
    """Second attempts of many runs in turn, evenly distributed over the time."""
    cluster, operator, count, within_s = stage.cluster, stage.operator, sizes.retries, sizes.retries_within_s
    hosts = [f"127.0.3.{number}" for number in range(1, HOSTS + 1)]
    port = stage.rig.start_receiver("endpoints", hosts=["127.0.0.1", *hosts])
    template_id = await stage.client.create_template(template_of(USUAL_STEPS))
    urls = [f"http://{host}:{port}/ok/hook" for host in hosts]
    people = await open_runs(stage.client, template_id, urls, sizes.retrying_runs)
    runs = await asyncio.gather(*(cluster.get_run(person.run_id) for person in people))
    await stage.stop(operator)
    log = stage.log("endpoints")

    deliveries = list(waiting_deliveries(runs, count))
    rate = await create(cluster, deliveries)
    first_due = utc_now() + timedelta(seconds=1.5 * count / rate + STARTS_WITHIN_S)
    due = [first_due + timedelta(seconds=number * within_s / count) for number in range(count)]
    await let_wait(cluster, deliveries, due)
    await stage.start(operator)
    arrived = await collect(log, count)
    lateness = _lateness_ms(arrived, dict(zip((each.name for each in deliveries), due, strict=True)))
    pace = f"{count:,} retries due within {within_s:.0f} s"
    return [
        Figure(f"{pace}: late, p50", percentile(lateness, 50), "ms"),
        Figure(f"{pace}: late, p99", percentile(lateness, 99), "ms", Goal("<=", 1000)),
        Figure("retries that were early", sum(late < 0 for late in lateness), "", Goal("==", 0)),
        _unaccounted(deliveries, arrived),
    ]


def _lateness_ms(arrived: Sequence[Transmission], due: dict[str, datetime]) -> list[float]:
    return [(each.at - due[each.event_id].timestamp()) * 1000 for each in arrived if each.event_id in due]


def _unaccounted(deliveries: Sequence[StoredDelivery], arrived: Sequence[Transmission]) -> Figure:
    received = Counter((each.event_id, each.attempt) for each in arrived)
    expected = {(each.name, 2) for each in deliveries}
    missing, strange = len(expected - received.keys()), len(received.keys() - expected)
    twice = sum(times - 1 for times in received.values())
    counts = f"{len(expected)} retries: {missing} missing, {strange} unknown, {twice} twice"
    return Figure("retries unaccounted for", missing + strange + twice, "", Goal("==", 0), counts)
