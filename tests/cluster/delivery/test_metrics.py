"""What the operator reports on /metrics about deliveries, while they happen and afterwards (docs/metrics.md)."""

import asyncio
import re

from prometheus_client.parser import text_string_to_metric_families
from tests.cluster.operator_lab import Delivered, Lab, OperatorProcess, Receiver
from tests.waiting import eventually

from checklist_crds.resources.delivery import OutcomeClass
from checklist_dev.repository import ROOT
from checklist_dev.system.ports import free_ports

DOCUMENT = ROOT / "docs" / "metrics.md"
Series = tuple[str, frozenset[tuple[str, str]]]


async def scraped(operator: OperatorProcess) -> dict[Series, float]:
    """Every series as Prometheus reads it."""
    status, text = await operator.get("/metrics")
    assert status == 200
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


async def value(operator: OperatorProcess, name: str, **labels: str) -> float:
    return (await scraped(operator)).get((f"checklists_{name}", frozenset(labels.items())), 0.0)


async def pending(operator: OperatorProcess, *names: str) -> list[float]:
    seen = await scraped(operator)
    return [seen.get(("checklists_pending", frozenset({("of", name)})), 0.0) for name in names]


async def test_attempts_are_counted_by_class_and_number_and_timed(
    lab: Lab, receiver: Receiver, operator: OperatorProcess
) -> None:
    async def answer(one: Delivered) -> int:
        await asyncio.sleep(0.15 if one.attempt < 3 else 0)
        return {1: 500, 2: 404}.get(one.attempt, 200)

    receiver.answer = answer
    await lab.cancelled(receiver.url)
    await lab.cancelled(f"http://127.0.0.1:{free_ports(1)[0]}/hook")
    await lab.until_settled(await lab.dispatch(expires_in_s=1))

    # A delivery is counted when the cluster's answer to the last write has come.
    for name, labels in (("deliveries_total", {"result": "failed"}), ("expiry_lag_seconds_count", {})):
        await eventually(lambda name=name, labels=labels: value(operator, name, **labels))
    seen = await scraped(operator)

    def of(name: str, **labels: str) -> float:
        return seen.get((f"checklists_{name}", frozenset(labels.items())), 0.0)

    attempts = {tuple(sorted(labels)): n for (name, labels), n in seen.items() if name.endswith("attempts_total")}
    classes = [*("http_5xx", "http_4xx", "success"), *["connect"] * 5]
    numbers = [1, 2, 3, *range(1, 6)]
    assert attempts == {
        (("attempt", str(number)), ("outcome", outcome)): 1 for number, outcome in zip(numbers, classes, strict=True)
    }
    for outcome, least in (("http_5xx", 0.15), ("http_4xx", 0.15), ("success", 0.0)):
        assert of("delivery_attempt_seconds_count", outcome=outcome) == 1
        assert least <= of("delivery_attempt_seconds_sum", outcome=outcome) < 10
    assert (of("deliveries_total", result="delivered"), of("deliveries_total", result="failed")) == (1, 1)
    assert of("outbox_lag_seconds_count", receiver="prompt") == 2
    assert of("outbox_lag_seconds_count", receiver="slow") == 0
    assert 0 < of("outbox_lag_seconds_sum", receiver="prompt") < 10
    assert of("retry_lag_seconds_count") == 2 + 4, "each retry, and nothing else, has a time at which it was due"
    assert 0 <= of("retry_lag_seconds_sum") < 10
    assert 0 < of("expiry_lag_seconds_sum") < 10


async def test_what_is_in_flight_and_what_waits_is_reported_with_its_age(
    lab: Lab, receiver: Receiver, operator: OperatorProcess
) -> None:
    gate = receiver.hold()
    runs = [await lab.dispatch(receiver.url) for _ in range(10)]
    for run in runs:
        await lab.cancel(run)
    await eventually(lambda: len(receiver.received) == 4)  # so many places has a host that was never heard of

    async def all_are_there() -> bool:
        return await pending(operator, "first_attempts", "permits", "waiting_for_permit") == [10, 4, 6]

    await eventually(all_are_there)
    before = await value(operator, "oldest_waiting_seconds", of="first_attempt")

    async def it_grows() -> bool:
        return await value(operator, "oldest_waiting_seconds", of="first_attempt") >= before + 0.4

    await eventually(it_grows)
    gate.set()
    for run in runs:
        await lab.until_settled(run)

    async def nothing_waits() -> bool:
        return not any(await pending(operator, "permits", "waiting_for_permit", "first_attempts", "retries_in_flight"))

    await eventually(nothing_waits)
    assert await value(operator, "oldest_waiting_seconds", of="first_attempt") == 0

    gate = receiver.hold(lambda one: one.attempt == 2, others=500)
    run = await lab.dispatch(receiver.url)
    await lab.cancel(run)
    await eventually(lambda: receiver.attempts(run) == [1, 2])

    async def it_takes_long() -> bool:
        return await value(operator, "oldest_waiting_seconds", of="retry") >= 0.5

    await eventually(it_takes_long)
    assert await pending(operator, "retries_in_flight", "permits") == [1, 1]
    gate.set()
    await lab.until_settled(run)
    await eventually(nothing_waits)
    assert await value(operator, "oldest_waiting_seconds", of="retry") == 0

    words = set(re.findall(r"`([\w:.]+)`", DOCUMENT.read_text()))
    served = {value for _, labels in await scraped(operator) for label, value in labels if label == "of"}
    assert len(served) > 10
    assert {outcome.value for outcome in OutcomeClass} <= words
    assert {"queue:..." if value.startswith("queue:") else value for value in served} <= words
