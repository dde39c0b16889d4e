"""What the operator tells on /metrics about deliveries, while they happen and afterwards (docs/metrics.md)."""

import asyncio
import re
import uuid
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families
from tests.cluster.operator_lab import Delivered, Lab, OperatorProcess, Receiver
from tests.waiting import eventually

from checklist_crds.delivery_types import OutcomeClass
from checklist_crds.kube.kinds import RUN, SECRET
from checklist_dev.controlplane import ControlPlane
from checklist_dev.ports import free_ports

DOCUMENT = Path(__file__).parents[2] / "docs" / "metrics.md"
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


async def deliver(lab: Lab, url: str) -> str:
    run = await lab.dispatch(url)
    await lab.cancel(run)
    await lab.until_settled(run)
    return run


async def until_told(operator: OperatorProcess) -> None:
    """One delivery has ended: it is counted when the cluster's answer to the last write has come."""

    async def told() -> bool:
        results = ("delivered", "failed")
        return sum([await value(operator, "deliveries_total", result=result) for result in results]) == 1

    await eventually(told)


async def test_attempts_are_counted_by_class_and_number_and_timed(
    lab: Lab, receiver: Receiver, operator: OperatorProcess
) -> None:
    async def answer(one: Delivered) -> int:
        number = one.envelope["delivery_attempt"]
        await asyncio.sleep(0.15 if number < 3 else 0)
        return {1: 500, 2: 404}.get(number, 200)

    receiver.answer = answer
    await deliver(lab, receiver.url)
    await until_told(operator)
    seen = await scraped(operator)

    def of(name: str, **labels: str) -> float:
        return seen.get((f"checklists_{name}", frozenset(labels.items())), 0.0)

    attempts = {tuple(sorted(labels)): n for (name, labels), n in seen.items() if name.endswith("attempts_total")}
    assert attempts == {
        (("attempt", "1"), ("outcome", "http_5xx")): 1,
        (("attempt", "2"), ("outcome", "http_4xx")): 1,
        (("attempt", "3"), ("outcome", "success")): 1,
    }
    for outcome, least, most in (("http_5xx", 0.15, 3.0), ("http_4xx", 0.15, 3.0), ("success", 0.0, 3.0)):
        assert of("delivery_attempt_seconds_count", outcome=outcome) == 1
        assert least <= of("delivery_attempt_seconds_sum", outcome=outcome) <= most
    assert (of("deliveries_total", result="delivered"), of("deliveries_total", result="failed")) == (1, 0)
    assert of("outbox_lag_seconds_count", receiver="prompt") == 1
    assert of("outbox_lag_seconds_count", receiver="slow") == 0
    assert 0 < of("outbox_lag_seconds_sum", receiver="prompt") < 10
    assert of("retry_lag_seconds_count") == 2, "each retry, and nothing else, has a time at which it was due"
    assert 0 <= of("retry_lag_seconds_sum") < 10


async def test_an_event_that_is_given_up_has_five_attempts_of_its_class(lab: Lab, operator: OperatorProcess) -> None:
    (nobody,) = free_ports(1)
    await deliver(lab, f"http://127.0.0.1:{nobody}/hook")
    await until_told(operator)
    seen = await scraped(operator)
    attempts = {labels: n for (name, labels), n in seen.items() if name == "checklists_delivery_attempts_total"}
    assert attempts == {frozenset({("outcome", "connect"), ("attempt", str(n))}): 1 for n in range(1, 6)}
    assert await value(operator, "deliveries_total", result="failed") == 1


async def test_what_is_in_flight_and_what_waits_is_told_while_it_is_so(
    lab: Lab, receiver: Receiver, operator: OperatorProcess
) -> None:
    let_go = asyncio.Event()

    async def hold(_: Delivered) -> int:
        await let_go.wait()
        return 200

    receiver.answer = hold
    runs = [await lab.dispatch(receiver.url) for _ in range(10)]
    for run in runs:
        await lab.cancel(run)
    await eventually(lambda: len(receiver.received) == 4)  # so many places has a host that was never heard of

    async def all_are_there() -> bool:
        return await value(operator, "pending", of="first_attempts") == 10

    await eventually(all_are_there)
    assert await value(operator, "pending", of="permits") == 4
    assert await value(operator, "pending", of="waiting_for_permit") == 6
    before = await value(operator, "oldest_waiting_seconds", of="first_attempt")
    await asyncio.sleep(0.5)
    after = await value(operator, "oldest_waiting_seconds", of="first_attempt")
    assert before + 0.4 <= after < before + 5
    let_go.set()
    for run in runs:
        await lab.until_settled(run)

    async def nothing_waits() -> bool:
        names = ("permits", "waiting_for_permit", "first_attempts", "retries_in_flight")
        return not any([await value(operator, "pending", of=name) for name in names])

    await eventually(nothing_waits)
    assert await value(operator, "oldest_waiting_seconds", of="first_attempt") == 0


async def test_a_retry_in_flight_is_told_with_its_age(lab: Lab, receiver: Receiver, operator: OperatorProcess) -> None:
    let_go = asyncio.Event()

    async def hold_the_second(one: Delivered) -> int:
        if one.envelope["delivery_attempt"] == 1:
            return 500
        await let_go.wait()
        return 200

    receiver.answer = hold_the_second
    run = await lab.dispatch(receiver.url)
    await lab.cancel(run)
    await eventually(lambda: len(receiver.received) == 2)
    await asyncio.sleep(0.5)
    assert await value(operator, "pending", of="retries_in_flight") == 1
    assert await value(operator, "pending", of="permits") == 1
    assert 0.5 <= await value(operator, "oldest_waiting_seconds", of="retry") < 10
    let_go.set()
    await lab.until_settled(run)

    async def nothing_waits() -> bool:
        return await value(operator, "oldest_waiting_seconds", of="retry") == 0

    await eventually(nothing_waits)


async def test_a_retry_that_a_fault_of_our_own_holds_up_goes_on_growing_older(
    lab: Lab, receiver: Receiver, control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    operator = OperatorProcess(tmp_path, control_plane.kubeconfig, namespace, CHECKLISTS_RETRY_GAPS="5,5,5,5")
    await operator.start()
    await lab.secret("hook", "sixteen characters and more")
    receiver.answer = lambda _: 500
    run = await lab.apply_run(
        templateRef={"name": lab.template["metadata"]["name"]},
        webhook={"url": receiver.url, "events": ["*"], "secretRef": {"name": "hook"}},
    )

    async def is_admitted() -> bool:
        return (await lab.run(run)).resolved is not None

    await eventually(is_admitted)
    await lab.cancel(run)

    async def is_to_be_retried() -> bool:
        return any((one.get("status") or {}).get("attempt") for one in await lab.deliveries(run))

    await eventually(is_to_be_retried)
    await operator.kill()  # a secret that was read is remembered for a while
    await lab.client.delete(SECRET, "hook", lab.namespace)
    await operator.start()

    async def ages() -> bool:
        return await value(operator, "oldest_waiting_seconds", of="retry") > 0

    await eventually(ages)
    for _ in range(10):
        before = await value(operator, "oldest_waiting_seconds", of="retry")
        await asyncio.sleep(0.2)
        assert await value(operator, "oldest_waiting_seconds", of="retry") >= before + 0.1
    await operator.stop()


async def test_a_fault_of_our_own_is_told_by_its_reason_and_is_no_attempt(
    lab: Lab, receiver: Receiver, operator: OperatorProcess
) -> None:
    like = await lab.client.get(RUN, await lab.dispatch(receiver.url), lab.namespace)
    name = f"r-{uuid.uuid4()}"
    webhook = {"url": receiver.url, "events": ["*"], "secretRef": {"name": "missing"}}
    body = {
        "apiVersion": like["apiVersion"],
        "kind": like["kind"],
        "metadata": {"name": name, "namespace": lab.namespace, "labels": like["metadata"]["labels"]},
        "spec": {**like["spec"], "webhook": webhook},
    }
    await lab.client.create(RUN, body, lab.namespace)
    await lab.cancel(name)

    async def is_told() -> bool:
        return await value(operator, "own_faults_total", reason="SecretNotFound") >= 1

    await eventually(is_told)
    assert await operator.metric("checklists_delivery_attempts_total") == 0
    assert receiver.received == []


async def test_more_runs_hosts_and_paths_make_no_more_series(
    lab: Lab, receiver: Receiver, operator: OperatorProcess
) -> None:
    receiver.answer = lambda one: 500 if one.envelope["delivery_attempt"] == 1 else 200
    first = await deliver(lab, receiver.url)
    known = set(await scraped(operator))
    others = [await deliver(lab, f"http://127.0.0.1:{receiver.port}/path-{n}?key={n}") for n in range(3)]
    (nobody,) = free_ports(1)
    hosts = [f"127.0.0.{n}" for n in range(2, 5)]
    receiver.answer = lambda _: 200
    dead = [await deliver(lab, f"http://{host}:{nobody}/hook") for host in hosts]
    seen = await scraped(operator)
    new = {labels for _, labels in set(seen) - known}
    assert {dict(labels).get("outcome", "connect") for labels in new} <= {"connect"}, new
    text = str(seen)
    for word in (first, *others, *dead, *hosts, "path-", lab.organization, lab.namespace):
        assert word not in text, word


async def test_every_value_of_a_label_is_described(lab: Lab, receiver: Receiver, operator: OperatorProcess) -> None:
    document = DOCUMENT.read_text()
    words = set(re.findall(r"`([\w:.]+)`", document))
    assert {outcome.value for outcome in OutcomeClass} <= words
    served = {value for name, labels in await scraped(operator) for label, value in labels if label == "of"}
    assert len(served) > 10
    assert {"queue:..." if value.startswith("queue:") else value for value in served} <= words


async def test_an_event_is_late_from_the_end_of_its_pause_on(
    lab: Lab, receiver: Receiver, operator: OperatorProcess
) -> None:
    run = await lab.dispatch(receiver.url)
    paused = {"metadata": {"annotations": {"checklists.dev/paused": "true"}}}
    await lab.client.patch(RUN, run, paused, lab.namespace)
    await asyncio.sleep(0.3)
    await lab.cancel(run)
    await asyncio.sleep(3)
    assert receiver.received == []
    await lab.client.patch(RUN, run, {"metadata": {"annotations": {"checklists.dev/paused": None}}}, lab.namespace)
    await lab.until_settled(run)
    assert await value(operator, "outbox_lag_seconds_count", receiver="prompt") == 1
    assert await value(operator, "outbox_lag_seconds_sum", receiver="prompt") < 2


async def test_expiry_is_timed(lab: Lab, operator: OperatorProcess) -> None:
    run = await lab.dispatch(expires_in_s=1)
    await lab.until_settled(run)
    assert await value(operator, "expiry_lag_seconds_count") == 1
    assert 0 < await value(operator, "expiry_lag_seconds_sum") < 10
