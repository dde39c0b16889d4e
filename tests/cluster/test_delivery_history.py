"""What became of an event, attempt by attempt, as kubectl tells it; and a replay by kubectl alone."""

import asyncio
import json
import re
from itertools import pairwise

from tests.cluster.operator_lab import Lab, OperatorProcess, Receiver
from tests.cluster.replay_lab import failed, made_failed, replayed, told_events, until, until_answered
from tests.waiting import eventually

from checklist_crds.kube.kinds import WEBHOOK_DELIVERY
from checklist_crds.outcome_class import OutcomeClass
from checklist_crds.run_types import DeliveryPhase
from checklist_dev.kubectl import Kubectl
from checklist_dev.ports import free_ports


def row(kubectl: Kubectl, lab: Lab, name: str, *options: str) -> dict[str, str]:
    """The line of `kubectl get`, by column."""
    text = kubectl("get", "cldel", name, "-n", lab.namespace, *options)
    head, line = text.splitlines()
    starts = [match.start() for match in re.finditer(r"\S+( \S+)*", head)]
    bounds = zip(starts, [*starts[1:], None], strict=True)
    return {head[start:end].strip(): line[start:end].strip() for start, end in bounds}


async def test_every_attempt_is_kept_with_its_class_its_duration_and_what_went_wrong(
    lab: Lab, receiver: Receiver, operator: OperatorProcess
) -> None:
    statuses = iter([500, 301, 404, 410])
    receiver.answer = lambda _: next(statuses, 204)
    run = await lab.dispatch(receiver.url)
    await lab.cancel(run)
    await lab.until_settled(run)
    (body,) = await lab.deliveries(run)
    attempts = body["status"]["attempts"]
    assert [(one["number"], one["outcome"], one["httpStatus"], one.get("detail")) for one in attempts] == [
        (1, "http_5xx", 500, None),
        (2, "http_3xx", 301, None),
        (3, "http_4xx", 404, None),
        (4, "http_4xx", 410, None),
        (5, "success", 204, None),
    ]
    assert all(one["nextAttemptAt"] <= later["startedAt"] for one, later in pairwise(attempts))
    assert all(one["nextAttemptAt"] > one["startedAt"] for one in attempts[:4])
    assert "nextAttemptAt" not in attempts[-1]
    assert all(one["durationMs"] >= 0 for one in attempts)
    (record,) = (await lab.run(run)).status.deliveries
    assert (record.phase, record.outcome, record.attempts) == (DeliveryPhase.DELIVERED, OutcomeClass.SUCCESS, 5)


async def test_the_run_says_when_an_event_happened_and_how_its_last_attempt_ended(
    lab: Lab, receiver: Receiver, operator: OperatorProcess
) -> None:
    port = free_ports(1)[0]
    for url, outcome in ((receiver.url, OutcomeClass.SUCCESS), (f"http://127.0.0.1:{port}/", OutcomeClass.CONNECT)):
        run = await lab.dispatch(url)
        await lab.cancel(run)
        settled = await lab.until_settled(run)
        (record,) = settled.status.deliveries
        assert (record.outcome, record.ts) == (outcome, settled.status.cancelled_at)
    (body,) = await lab.deliveries(run)
    assert {one["detail"] for one in body["status"]["attempts"]} == {"no connection: connection refused"}


async def test_kubectl_tells_the_story_of_a_delivery_that_failed_and_of_its_replay(
    lab: Lab, receiver: Receiver, operator: OperatorProcess, kubectl: Kubectl
) -> None:
    run, event_id = await failed(lab, receiver)
    shown = row(kubectl, lab, event_id, "-o", "wide")
    assert shown["EVENT"] == "run.cancelled"
    assert (shown["PHASE"], shown["ATTEMPTS"], shown["OUTCOME"], shown["HTTP"]) == ("Failed", "5", "http_5xx", "500")
    assert (shown["REASON"], shown["RUN"], shown["NEXT"], shown["REPLAYED"]) == ("AttemptsExhausted", run, "", "")
    event = await told_events(lab, event_id, "DeliveryFailed")
    assert (event["type"], event["count"]) == ("Warning", 1)
    assert event["message"] == (
        "run.cancelled (seq 1) to 127.0.0.1: All 5 attempts failed, the last one with HTTP 500."
    )
    assert (await told_events(lab, run, "DeliveryFailed"))["involvedObject"]["kind"] == "Run"
    now = "2026-11-21T12:00:00Z"
    kubectl("annotate", "cldel", event_id, "-n", lab.namespace, f"checklists.dev/replay={now}")
    body = await until_answered(lab, event_id)
    assert body["status"]["lastReplay"]["requestedBy"] == "kubectl-annotate"
    receiver.answer = lambda _: 200
    kubectl("annotate", "cldel", event_id, "-n", lab.namespace, "checklists.dev/replay=2026-11-21T12:00:01Z")
    await until(lab, event_id, lambda one: one["status"]["phase"] == "Delivered")
    await told_events(lab, event_id, "Replayed")
    shown = row(kubectl, lab, event_id)
    assert (shown["PHASE"], shown["OUTCOME"], shown["HTTP"]) == ("Delivered", "success", "200")
    assert re.fullmatch(r"\d+[smh]", shown["REPLAYED"])
    story = re.sub(" +", " ", kubectl("describe", "cldel", event_id, "-n", lab.namespace))
    for words in (
        "Outcome: http_5xx",
        "Manual: true",
        "Reason: Replayed",
        "The replay was answered with 200.",
        "Last Replay:",
        "DeliveryFailed",
        "All 5 attempts failed, the last one with HTTP 500.",
        "The replay failed with HTTP 500.",
    ):
        assert words in story, story
    assert "a secret of the caller" not in story
    assert "DeliveryFailed" in kubectl("describe", "clrun", run, "-n", lab.namespace)


async def test_an_event_about_a_request_counts_and_is_not_made_twice(
    lab: Lab, receiver: Receiver, operator: OperatorProcess, kubectl: Kubectl
) -> None:
    run = await lab.dispatch(receiver.url)
    (name,) = await made_failed(lab, run, receiver.url, 1)
    for number in range(3):
        kubectl("annotate", "cldel", name, "-n", lab.namespace, f"checklists.dev/replay=soon-{number}")
        assert replayed(await until_answered(lab, name)) == ("False", "InvalidTimestamp")

    async def counted() -> bool:
        return (await told_events(lab, name, "ReplayRefused"))["count"] == 3

    await eventually(counted)


async def test_metadata_of_settled_deliveries_comes_without_their_payload(lab: Lab, receiver: Receiver) -> None:
    run = await lab.dispatch(receiver.url)
    (first,) = await made_failed(lab, run, receiver.url, 1)
    selector = "status.settled=true"
    pages = lab.client.pages(WEBHOOK_DELIVERY, lab.namespace, field_selector=selector, metadata_only=True)
    items, version = await anext(pages)
    assert [(one["metadata"]["name"], "spec" in one, "status" in one) for one in items] == [(first, False, False)]
    watch = lab.client.watch(
        WEBHOOK_DELIVERY, lab.namespace, resource_version=version, field_selector=selector, metadata_only=True
    )
    (second,) = await made_failed(lab, run, receiver.url, 1)
    async with asyncio.timeout(30):
        async for event in watch:
            if event.object["metadata"].get("name") == second:
                break
    assert event.type == "ADDED"
    assert event.object["kind"] == "PartialObjectMetadata"
    assert "payload" not in json.dumps({key: value for key, value in event.object.items() if key != "metadata"})
