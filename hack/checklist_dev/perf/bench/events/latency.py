"""Measures from the commit of an event to its first byte at the receiver, at a steady rate of events.

The start is the envelope's `ts`, when the change was decided, just before it was written. The figure thus includes the
commit and can only be too large.
"""

from itertools import islice

from checklist_crds.times import parse_timestamp
from checklist_dev.perf.bench.answers import USUAL_STEPS, answers_to, open_runs, runs_needed, template_of
from checklist_dev.perf.bench.report import Figure, Goal, percentile
from checklist_dev.perf.bench.sizes import Sizes
from checklist_dev.perf.bench.stage import Stage
from checklist_dev.perf.load.pace import at_steady_rate
from checklist_dev.perf.load.received import collect


async def measure_latency(stage: Stage, sizes: Sizes) -> list[Figure]:
    """Raises Failure if an event does not arrive."""
    client, per_second = stage.client, sizes.events_per_s
    count = int(sizes.latency_round_s * per_second)
    template_id = await client.create_template(template_of(USUAL_STEPS))
    people = await open_runs(client, template_id, [stage.hook], runs_needed(sizes.latency_rounds * count))
    answers, log = answers_to(people), stage.log()
    latencies: list[float] = []
    rates: list[float] = []
    for _ in range(sizes.latency_rounds):
        planned = [each.give for each in islice(answers, count)]
        rates.append(await at_steady_rate(planned, per_second=per_second))
        for each in await collect(log, len(planned)):
            committed = parse_timestamp(each.envelope["ts"]).timestamp()
            latencies.append((each.at - committed) * 1000)
    name = f"event decided to first byte at {per_second:.0f} events/s"
    return [
        Figure(f"{name}, p50", percentile(latencies, 50), "ms", Goal("<=", 250)),
        Figure(f"{name}, p99", percentile(latencies, 99), "ms", Goal("<=", 1000)),
        Figure("events per second while that was measured", min(rates), "/s", Goal(">=", per_second * 0.95)),
    ]
