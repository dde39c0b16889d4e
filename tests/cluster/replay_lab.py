"""Deliveries that have ended, and what asks for them again: for the tests of history and replay."""

import asyncio
import json
import uuid
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from tests.cluster.operator_lab import Lab, Receiver, condition, resource
from tests.waiting import eventually

from checklist_crds.resources.base import ORGANIZATION_LABEL
from checklist_crds.resources.delivery import REPLAY_ANNOTATION
from checklist_crds.resources.kinds import DELIVERY_REPLAY, EVENT, WEBHOOK_DELIVERY
from checklist_crds.times import format_timestamp, utc_now
from checklist_crds.values.json_text import JsonObject


async def failed(lab: Lab, receiver: Receiver, *, run: str | None = None) -> tuple[str, str]:
    """A cancelled run whose event failed five times; run id and event id. The receiver answers 500."""
    receiver.answer = lambda _: 500
    run = run or await lab.dispatch(receiver.url)
    await lab.cancel(run)
    await lab.until_settled(run)
    (made,) = await lab.deliveries(run)
    return run, made["metadata"]["name"]


async def ask(lab: Lab, event_id: str) -> None:
    annotations = {REPLAY_ANNOTATION: format_timestamp(utc_now())}
    await lab.client.patch(WEBHOOK_DELIVERY, event_id, {"metadata": {"annotations": annotations}}, lab.namespace)


async def until(lab: Lab, event_id: str, holds: Callable[[JsonObject], Any]) -> JsonObject:
    """The delivery as soon as `holds(body)`."""
    return await lab.until(WEBHOOK_DELIVERY, event_id, holds)


async def until_answered(lab: Lab, event_id: str) -> JsonObject:
    """The delivery as soon as its request was dealt with: the annotation is gone, and nothing is under way."""

    def answered(body: JsonObject) -> bool:
        annotations = body["metadata"].get("annotations") or {}
        return REPLAY_ANNOTATION not in annotations and "replay" not in body["status"]

    return await until(lab, event_id, answered)


async def verdict(lab: Lab, event_id: str) -> tuple[str, str]:
    """Ask for a replay; what `replayed` says as soon as the request was dealt with."""
    await ask(lab, event_id)
    return replayed(await until_answered(lab, event_id))


def replayed(body: JsonObject) -> tuple[str, str]:
    """Status and reason of the condition about the last request."""
    found = condition(body, "Replayed")
    assert found is not None
    return found["status"], found["reason"]


async def kube_event(lab: Lab, about: str, reason: str) -> JsonObject:
    """The Kubernetes Event with this reason about an object, as soon as there is one."""

    async def look() -> JsonObject | None:
        items, _ = await lab.client.list_all(EVENT, lab.namespace, field_selector=f"involvedObject.name={about}")
        return next((one for one in items if one["reason"] == reason), None)

    found: JsonObject = await eventually(look)
    return found


async def made_failed(lab: Lab, run: str, url: str, count: int, **differences: Any) -> list[str]:
    """Deliveries of a run that failed five times, as the operator leaves them, without the waiting; their event ids.

    `differences`: `event`, `outcome`, `finished_at` where they are to be others, and `organization`.
    """
    now = utc_now()
    ended = format_timestamp(now - timedelta(hours=1))
    organization = differences.get("organization", lab.organization)
    event = differences.get("event", "step.completed")
    outcome = differences.get("outcome", "http_5xx")
    names = [f"evt-{uuid.uuid4()}" for _ in range(count)]
    status = {
        "phase": "Failed",
        "attempt": 5,
        "attempts": [{"number": 5, "startedAt": ended, "durationMs": 3, "outcome": outcome}],
        "settled": True,
        "finishedAt": format_timestamp(differences.get("finished_at", now - timedelta(hours=1))),
    }

    async def make(seq: int, name: str) -> None:
        message = {"event_id": name, "event": event, "run_id": run, "data": {}, "seq": seq}
        at = format_timestamp(now - timedelta(hours=2) + timedelta(seconds=seq))
        body = delivery_body(lab, message, url, at, organization=organization)
        await lab.client.create(WEBHOOK_DELIVERY, body, lab.namespace)
        await lab.client.patch_status(WEBHOOK_DELIVERY, name, status, lab.namespace)

    await asyncio.gather(*(make(seq, name) for seq, name in enumerate(names, 1)))
    return names


def delivery_body(lab: Lab, message: Mapping[str, Any], url: str, at: str, *, organization: str = "") -> JsonObject:
    """A WebhookDelivery of this message, of the organization of the lab or another one."""
    organization = organization or lab.organization
    spec = {
        "organizationRef": {"name": organization},
        "runRef": {"name": message["run_id"]},
        "eventId": message["event_id"],
        "event": message["event"],
        "seq": message["seq"],
        "ts": at,
        "url": url,
        "payload": json.dumps(message),
    }
    labels = {ORGANIZATION_LABEL: organization}
    return resource("WebhookDelivery", message["event_id"], spec, namespace=lab.namespace, labels=labels)


async def bulk(lab: Lab, name: str = "again", **spec: Any) -> str:
    """Makes a DeliveryReplay; its name."""
    await lab.client.create(DELIVERY_REPLAY, lab.owned("DeliveryReplay", name, **spec), lab.namespace)
    return name


async def until_ended(lab: Lab, name: str = "again") -> dict[str, Any]:
    """The status of a DeliveryReplay as soon as it has ended."""
    return dict((await lab.until(DELIVERY_REPLAY, name, lambda body: body["status"].get("settled")))["status"])


def counts(status: Mapping[str, Any]) -> tuple[int, ...]:
    """total, done, delivered, failed, refused"""
    return tuple(status.get(name, 0) for name in ("total", "done", "delivered", "failed", "refused"))
