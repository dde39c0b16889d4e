"""Deliveries that have ended, and what asks for them again: for the tests of history and replay."""

import asyncio
import json
import uuid
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from tests.cluster.operator_lab import Lab, Receiver, condition
from tests.waiting import eventually

from checklist_crds.delivery_types import REPLAY_ANNOTATION, REPLAY_BY_ANNOTATION
from checklist_crds.kube.client import JsonObject
from checklist_crds.kube.kinds import DELIVERY_REPLAY, EVENT, WEBHOOK_DELIVERY
from checklist_crds.resource_types import API_VERSION, ORGANIZATION_LABEL
from checklist_crds.times import format_timestamp, utc_now


async def failed(lab: Lab, receiver: Receiver, *, url: str | None = None) -> tuple[str, str]:
    """A cancelled run whose event failed five times; run id and event id. The receiver answers 500."""
    run = await lab.dispatch(url or receiver.url)
    return run, await failed_event(lab, receiver, run)


async def failed_event(lab: Lab, receiver: Receiver, run: str) -> str:
    """Cancels the run and waits until its event has failed five times; event id."""
    receiver.answer = lambda _: 500
    await lab.cancel(run)
    await lab.until_settled(run)
    (made,) = await lab.deliveries(run)
    name: str = made["metadata"]["name"]
    await until(lab, name, lambda body: body["status"].get("settled"))
    return name


async def ask(lab: Lab, event_id: str, text: str | None = None, *, by: str | None = None) -> str:
    """Sets the annotation; the timestamp."""
    text = format_timestamp(utc_now()) if text is None else text
    annotations = {REPLAY_ANNOTATION: text} | ({REPLAY_BY_ANNOTATION: by} if by else {})
    await lab.client.patch(WEBHOOK_DELIVERY, event_id, {"metadata": {"annotations": annotations}}, lab.namespace)
    return text


async def delivery(lab: Lab, event_id: str) -> JsonObject:
    return await lab.client.get(WEBHOOK_DELIVERY, event_id, lab.namespace)


async def until(lab: Lab, event_id: str, holds: Any, *, within_s: float = 60.0) -> JsonObject:
    """The delivery as soon as `holds(body)`."""

    async def look() -> JsonObject | None:
        body = await delivery(lab, event_id)
        return body if holds(body) else None

    found: JsonObject = await eventually(look, within_s=within_s)
    return found


async def until_answered(lab: Lab, event_id: str, *, within_s: float = 60.0) -> JsonObject:
    """The delivery as soon as its request was dealt with: the annotation is gone, and nothing is under way."""

    def answered(body: JsonObject) -> bool:
        annotations = body["metadata"].get("annotations") or {}
        return REPLAY_ANNOTATION not in annotations and "replay" not in body["status"]

    return await until(lab, event_id, answered, within_s=within_s)


def replayed(body: JsonObject) -> tuple[str, str]:
    """Status and reason of the condition that tells of the last request."""
    told = condition(body, "Replayed")
    assert told is not None
    return told["status"], told["reason"]


async def told_events(lab: Lab, about: str, reason: str, *, within_s: float = 60.0) -> JsonObject:
    """The Kubernetes Event with this reason about an object, as soon as there is one."""

    async def look() -> JsonObject | None:
        items, _ = await lab.client.list_all(EVENT, lab.namespace, field_selector=f"involvedObject.name={about}")
        return next((one for one in items if one["reason"] == reason), None)

    found: JsonObject = await eventually(look, within_s=within_s)
    return found


async def made_failed(lab: Lab, run: str, url: str, count: int, **differences: Any) -> list[str]:
    """Deliveries of a run that failed five times, as the operator leaves them, without the waiting; their event ids.

    `differences`: `event`, `outcome`, `finished_at` where they are to be others, and `organization`.
    """
    now = utc_now()
    organization = differences.get("organization", lab.organization)
    event = differences.get("event", "step.completed")
    names = [f"evt-{uuid.uuid4()}" for _ in range(count)]

    async def make(seq: int, name: str) -> None:
        message = {"event_id": name, "event": event, "run_id": run, "data": {}, "seq": seq}
        spec = {
            "organizationRef": {"name": organization},
            "runRef": {"name": run},
            "eventId": name,
            "event": event,
            "seq": seq,
            "ts": format_timestamp(now - timedelta(hours=2) + timedelta(seconds=seq)),
            "url": url,
            "payload": json.dumps(message),
        }
        attempt = {
            "number": 5,
            "startedAt": format_timestamp(now - timedelta(hours=1)),
            "durationMs": 3,
            "outcome": differences.get("outcome", "http_5xx"),
        }
        status = {
            "phase": "Failed",
            "attempt": 5,
            "attempts": [attempt],
            "settled": True,
            "finishedAt": format_timestamp(differences.get("finished_at", now - timedelta(hours=1))),
        }
        metadata = {"name": name, "namespace": lab.namespace, "labels": {ORGANIZATION_LABEL: organization}}
        # Settled from the start: the operator would otherwise take it for one that is just being made.
        body = {"apiVersion": API_VERSION, "kind": "WebhookDelivery", "metadata": metadata, "spec": spec}
        await lab.client.create(WEBHOOK_DELIVERY, body, lab.namespace)
        await lab.client.patch_status(WEBHOOK_DELIVERY, name, status, lab.namespace)

    await asyncio.gather(*(make(seq, name) for seq, name in enumerate(names, 1)))
    return names


async def bulk(lab: Lab, name: str = "again", **spec: Any) -> str:
    """Makes a DeliveryReplay; its name."""
    body = {
        "apiVersion": API_VERSION,
        "kind": "DeliveryReplay",
        "metadata": {"name": name, "namespace": lab.namespace},
        "spec": {"organizationRef": {"name": lab.organization}, **spec},
    }
    await lab.client.create(DELIVERY_REPLAY, body, lab.namespace)
    return name


async def until_ended(lab: Lab, name: str = "again", *, within_s: float = 60.0) -> dict[str, Any]:
    """The status of a DeliveryReplay as soon as it has ended."""

    async def look() -> dict[str, Any] | None:
        status: dict[str, Any] = (await lab.client.get(DELIVERY_REPLAY, name, lab.namespace))["status"]
        return status if status.get("settled") else None

    found: dict[str, Any] = await eventually(look, within_s=within_s)
    return found


def counts(status: Mapping[str, Any]) -> tuple[int, ...]:
    """total, done, delivered, failed, refused"""
    return tuple(status.get(name, 0) for name in ("total", "done", "delivered", "failed", "refused"))
