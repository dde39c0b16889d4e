"""Replays of one delivery, and how requests for them are seen."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import httpx
from tests.cluster.operator_lab import OTHER_SECRET, WEBHOOK_SECRET, Lab, OperatorProcess, Receiver
from tests.cluster.replay_lab import ask, failed, kube_event, made_failed, replayed, until, until_answered, verdict
from tests.cluster.severed_line import SeveredLine
from tests.waiting import eventually

from checklist_crds.kube.client import KubeClient, KubeConnection
from checklist_crds.kube.errors import KubeGone
from checklist_crds.resources.delivery_records import DeliveryPhase
from checklist_crds.resources.kinds import EVENT, RUN, SECRET, WEBHOOK_DELIVERY
from checklist_crds.values.json_text import JsonObject
from checklist_dev.local.kubectl import Kubectl
from checklist_operator.attempts.replay_state import is_requested
from checklist_operator.replays.settled_deliveries import SettledDeliveries


def row(kubectl: Kubectl, lab: Lab, name: str) -> dict[str, str]:
    """The line of `kubectl get`, by column."""
    text = kubectl("get", "cldel", name, "-n", lab.namespace, "-o", "wide")
    head, line = text.splitlines()
    starts = [match.start() for match in re.finditer(r"\S+( \S+)*", head)]
    bounds = zip(starts, [*starts[1:], None], strict=True)
    return {head[start:end].strip(): line[start:end].strip() for start, end in bounds}


async def test_a_delivery_that_failed_is_replayed_until_it_arrives_and_every_reader_sees_its_history(
    lab: Lab, receiver: Receiver, operator: OperatorProcess, kubectl: Kubectl, rest: httpx.AsyncClient
) -> None:
    async def read(path: str) -> JsonObject:
        response = await rest.get(path)
        assert response.status_code == 200, response.text
        assert WEBHOOK_SECRET not in response.text
        return dict(response.json())

    async def until_shown(attempts: int, **wanted: object) -> JsonObject:
        """The delivery as the API shows it, as soon as it has so many attempts and these fields."""

        async def look() -> JsonObject | None:
            shown = await read(f"/v1/deliveries/{event_id}")
            return shown if shown | wanted == shown and len(shown["attempts"]) == attempts else None

        return dict(await eventually(look))

    def annotate(text: str) -> None:
        kubectl("annotate", "cldel", event_id, "-n", lab.namespace, f"checklists.dev/replay={text}")

    run, event_id = await failed(lab, receiver)
    before = await lab.get(WEBHOOK_DELIVERY, event_id)
    shown = row(kubectl, lab, event_id)
    assert (shown["EVENT"], shown["RUN"], shown["REASON"]) == ("run.cancelled", run, "AttemptsExhausted")
    assert (shown["PHASE"], shown["ATTEMPTS"], shown["OUTCOME"], shown["HTTP"]) == ("Failed", "5", "http_5xx", "500")
    assert (shown["NEXT"], shown["REPLAYED"]) == ("", "")
    event = await kube_event(lab, event_id, "DeliveryFailed")
    assert (event["type"], event["count"]) == ("Warning", 1)
    assert event["message"] == "run.cancelled (seq 1) to 127.0.0.1: All 5 attempts failed, the last one with HTTP 500."
    assert (await kube_event(lab, run, "DeliveryFailed"))["involvedObject"]["kind"] == "Run"
    assert "DeliveryFailed" in kubectl("describe", "clrun", run, "-n", lab.namespace)

    for number in range(3):
        annotate(f"soon-{number}")
        assert replayed(await until_answered(lab, event_id)) == ("False", "InvalidTimestamp")
    refused = (await kube_event(lab, event_id, "ReplayRefused"))["metadata"]["name"]
    await lab.until(EVENT, refused, lambda one: one["count"] == 3)  # one Event that counts
    receiver.answer = lambda _: 418
    annotate("2026-11-21T12:00:00Z")
    body = await until_answered(lab, event_id)
    status = body["status"]
    assert replayed(body) == ("False", "ReplayFailed")
    assert (status["phase"], status["settled"], status["attempt"]) == ("Failed", True, 5)
    assert status["finishedAt"] == before["status"]["finishedAt"]
    assert (status["lastReplay"]["outcome"], status["lastReplay"]["requestedBy"]) == ("http_4xx", "kubectl-annotate")
    assert "HTTP 418" in (await kube_event(lab, event_id, "ReplayFailed"))["message"]

    receiver.answer = lambda _: 202
    failures = await until_shown(6, status="failed", replayable=True)
    assert (await rest.post(f"/v1/deliveries/{event_id}/replay")).status_code == 202
    after = await until_shown(7, status="delivered", replayable=True)
    assert after["attempts"][:6] == failures["attempts"]
    assert [(each["number"], each["http_status"], each["manual"]) for each in after["attempts"]] == [
        *[(number, 500, False) for number in range(1, 6)],
        (5, 418, True),
        (5, 202, True),
    ]
    last, again = receiver.received[-2:]
    assert again.body == last.body
    assert again.headers["Signature"] != last.headers["Signature"]
    body = await until(
        lab, event_id, lambda one: one["status"].get("settled") and one["status"]["phase"] == "Delivered"
    )
    assert replayed(body) == ("True", "Delivered")
    assert body["status"]["lastReplay"] == {
        "requestedAt": after["last_replay"]["requested_at"],
        "requestedBy": "Acme",
        "attemptedAt": body["status"]["attempts"][-1]["startedAt"],
        "outcome": "success",
        "httpStatus": 202,
    }
    assert (await kube_event(lab, event_id, "Replayed"))["type"] == "Normal"
    shown = row(kubectl, lab, event_id)
    assert (shown["PHASE"], shown["OUTCOME"], shown["HTTP"]) == ("Delivered", "success", "202")
    assert re.fullmatch(r"\d+[smh]", shown["REPLAYED"])
    story = re.sub(" +", " ", kubectl("describe", "cldel", event_id, "-n", lab.namespace))
    for words in (
        *("Outcome: http_5xx", "Manual: true", "Reason: Replayed", "Last Replay:", "DeliveryFailed"),
        *("The replay was answered with 202.", "The replay failed with HTTP 418.", event["message"].partition(": ")[2]),
    ):
        assert words in story, story
    assert WEBHOOK_SECRET not in story
    assert (await read("/v1/deliveries"))["data"] == [after]
    [endpoint] = (await read("/v1/endpoints"))["data"]
    assert (endpoint["host"], endpoint["attempts"], endpoint["success_rate"]) == ("127.0.0.1", 7, round(1 / 7, 4))
    assert (endpoint["failed"], endpoint["pending"], endpoint["last_error"]["http_status"]) == (0, 0, 418)

    # What is delivered can be replayed, too, and stays delivered whatever comes of it.
    receiver.answer = lambda _: 503
    assert await verdict(lab, event_id) == ("False", "ReplayFailed")
    assert (await lab.get(WEBHOOK_DELIVERY, event_id))["status"]["phase"] == "Delivered"
    assert receiver.attempts(run) == [1, 2, 3, 4, 5, 5, 5, 5]
    (record,) = (await lab.run(run)).status.delivery_records
    delivered = (DeliveryPhase.DELIVERED, 5, 202, "success")
    assert (record.phase, record.attempts, record.http_status, record.outcome) == delivered


async def test_a_replay_needs_its_secret_and_its_run(lab: Lab, receiver: Receiver, operator: OperatorProcess) -> None:
    run, event_id = await failed(lab, receiver, run=await lab.apply_run_with_secret(receiver.url))
    await operator.kill()  # a secret that was read is remembered for a while
    await lab.client.delete(SECRET, "hook", lab.namespace)
    await operator.start()
    receiver.answer = lambda _: 200
    await ask(lab, event_id)
    await lab.until_condition(WEBHOOK_DELIVERY, event_id, "Replayed", status="Unknown", reason="SecretNotFound")
    assert len(receiver.received) == 5
    await lab.secret("hook", OTHER_SECRET)
    assert replayed(await until_answered(lab, event_id)) == ("True", "Delivered")
    assert len(receiver.received) == 6

    await lab.client.delete(RUN, run, lab.namespace)
    assert await verdict(lab, event_id) == ("False", "RunDeleted")
    assert (await lab.get(WEBHOOK_DELIVERY, event_id))["status"]["settled"] is True
    assert len(receiver.received) == 6


@asynccontextmanager
async def watching(client: KubeClient, namespace: str) -> AsyncIterator[set[str]]:
    """The names of those that were seen with a request."""
    seen: set[str] = set()

    def observe(_: str | None, body: JsonObject) -> None:
        assert "spec" not in body
        if is_requested(body):
            seen.add(body["metadata"]["name"])

    task = asyncio.create_task(
        SettledDeliveries(client=client, observe=observe, namespaces=(namespace,), page_pause_s=0.01).run()
    )
    try:
        yield seen
        assert not task.done()
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_requests_on_every_page_are_seen(lab: Lab, receiver: Receiver) -> None:
    run = await lab.dispatch(receiver.url)
    names = sorted(await made_failed(lab, run, receiver.url, 520))
    for name in (names[0], names[-1]):
        await ask(lab, name)
    async with watching(lab.client, lab.namespace) as seen:
        await eventually(lambda: seen == {names[0], names[-1]})
        await ask(lab, names[7])
        await eventually(lambda: names[7] in seen)


class Forgetful(KubeClient):
    """Breaks off the first watch as a server does whose history is gone; `meanwhile` happens before."""

    meanwhile: Callable[[], Awaitable[object]] | None = None

    async def watch(self, *arguments: object, **named: object):  # type: ignore[no-untyped-def, override]
        if self.meanwhile:
            meanwhile, self.meanwhile = self.meanwhile, None
            await meanwhile()
            raise KubeGone("too old resource version", status=410)
        async for event in super().watch(*arguments, **named):  # type: ignore[arg-type]
            yield event


async def test_requests_are_seen_after_a_broken_watch(lab: Lab, receiver: Receiver, line: SeveredLine) -> None:
    run = await lab.dispatch(receiver.url)
    names = await made_failed(lab, run, receiver.url, 3)
    client = Forgetful(await KubeConnection.load(str(line.kubeconfig)))
    client.meanwhile = lambda: ask(lab, names[0])  # no watch will ever bring this one
    async with client, watching(client, lab.namespace) as seen:
        await eventually(lambda: names[0] in seen)
        line.down = True
        line.cut()
        await ask(lab, names[1])
        await asyncio.sleep(0.3)
        assert names[1] not in seen
        line.down = False
        await eventually(lambda: names[1] in seen)
        await ask(lab, names[2])
        await eventually(lambda: names[2] in seen)
