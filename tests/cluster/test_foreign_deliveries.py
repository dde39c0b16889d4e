"""A WebhookDelivery that somebody made by hand, to have the operator sign for a URL of theirs."""

import json
import uuid

from tests.cluster.operator_lab import Lab, OperatorProcess, Receiver
from tests.cluster.replay_lab import ask, made_failed, replayed, until, until_answered

from checklist_crds.kube.kinds import WEBHOOK_DELIVERY
from checklist_crds.resource_types import API_VERSION
from checklist_crds.times import format_timestamp, utc_now


async def made_by_hand(lab: Lab, run: str, url: str) -> str:
    """A delivery of `run` to `url` whose second attempt is due; its name."""
    name, now = f"evt-{uuid.uuid4()}", utc_now()
    message = {"event_id": name, "event": "run.completed", "run_id": run, "data": {}, "seq": 1}
    spec = {
        "organizationRef": {"name": lab.organization},
        "runRef": {"name": run},
        "eventId": name,
        "event": "run.completed",
        "seq": 1,
        "ts": format_timestamp(now),
        "url": url,
        "payload": json.dumps(message),
    }
    attempt = {"number": 1, "startedAt": format_timestamp(now), "durationMs": 3, "outcome": "http_5xx"}
    status = {"phase": "Pending", "attempt": 1, "attempts": [attempt], "nextAttemptAt": format_timestamp(now)}
    body = {"apiVersion": API_VERSION, "kind": "WebhookDelivery", "metadata": {"name": name}, "spec": spec}
    await lab.client.create(WEBHOOK_DELIVERY, body, lab.namespace)
    await lab.client.patch_status(WEBHOOK_DELIVERY, name, status, lab.namespace)
    return name


async def test_nothing_is_signed_for_another_url_than_the_run_s(
    lab: Lab, receiver: Receiver, operator: OperatorProcess
) -> None:
    run = await lab.dispatch("https://hooks.example.com/")
    name = await made_by_hand(lab, run, receiver.url)
    body = await until(lab, name, lambda one: one["status"].get("settled"))
    assert body["status"]["phase"] == "Failed"
    (told,) = [one for one in body["status"]["conditions"] if one["type"] == "Delivered"]
    assert (told["status"], told["reason"]) == ("False", "ForeignTarget")
    assert receiver.received == []


async def test_nor_by_a_replay(lab: Lab, receiver: Receiver, operator: OperatorProcess) -> None:
    run = await lab.dispatch("https://hooks.example.com/")
    (name,) = await made_failed(lab, run, receiver.url, 1)
    await ask(lab, name)
    body = await until_answered(lab, name)
    assert replayed(body) == ("False", "ForeignTarget")
    assert body["status"]["phase"] == "Failed"
    assert receiver.received == []


async def test_the_same_url_written_in_another_way_is_the_same(
    lab: Lab, receiver: Receiver, operator: OperatorProcess
) -> None:
    run = await lab.dispatch(receiver.url.replace("http:", "HTTP:").replace("/hook", "/./hook"))
    name = await made_by_hand(lab, run, receiver.url)
    body = await until(lab, name, lambda one: one["status"].get("settled"))
    assert body["status"]["phase"] == "Delivered"
    assert [one.envelope["event_id"] for one in receiver.received] == [name]
