"""A WebhookDelivery that a person made, to have the operator sign for a URL of theirs."""

import uuid

from tests.cluster.operator_lab import Lab, OperatorProcess, Receiver, condition
from tests.cluster.replay_lab import delivery_body, made_failed, until, verdict

from checklist_crds.kube.kinds import WEBHOOK_DELIVERY
from checklist_crds.times import format_timestamp, utc_now


async def made_by_hand(lab: Lab, run: str, url: str) -> str:
    """A delivery of `run` to `url` whose second attempt is due; its name."""
    name, now = f"evt-{uuid.uuid4()}", format_timestamp(utc_now())
    message = {"event_id": name, "event": "run.completed", "run_id": run, "data": {}, "seq": 1}
    attempt = {"number": 1, "startedAt": now, "durationMs": 3, "outcome": "http_5xx"}
    status = {"phase": "Pending", "attempt": 1, "attempts": [attempt], "nextAttemptAt": now}
    await lab.client.create(WEBHOOK_DELIVERY, delivery_body(lab, message, url, now), lab.namespace)
    await lab.client.patch_status(WEBHOOK_DELIVERY, name, status, lab.namespace)
    return name


async def test_nothing_is_signed_for_another_url_than_the_run_s(
    lab: Lab, receiver: Receiver, operator: OperatorProcess
) -> None:
    run = await lab.dispatch("https://hooks.example.com/")
    name = await made_by_hand(lab, run, receiver.url)
    body = await until(lab, name, lambda one: one["status"].get("settled"))
    assert body["status"]["phase"] == "Failed"
    verdict_on_it = condition(body, "Delivered")
    assert (verdict_on_it["status"], verdict_on_it["reason"]) == ("False", "ForeignTarget")
    (failed,) = await made_failed(lab, run, receiver.url, 1)
    assert await verdict(lab, failed) == ("False", "ForeignTarget")
    assert (await lab.get(WEBHOOK_DELIVERY, failed))["status"]["phase"] == "Failed"
    assert receiver.received == []

    # The same URL written in another way is the same.
    run = await lab.dispatch(receiver.url.replace("http:", "HTTP:").replace("/hook", "/./hook"))
    name = await made_by_hand(lab, run, receiver.url)
    body = await until(lab, name, lambda one: one["status"].get("settled"))
    assert body["status"]["phase"] == "Delivered"
    assert [one.envelope["event_id"] for one in receiver.received] == [name]
