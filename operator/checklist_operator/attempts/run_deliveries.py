"""Deliveries derived from a run: the webhook's target, and the delivery of an event that never had one.

An event that is delivered at its first attempt leaves only a record in the run. A final run does not change, so the
event's envelope can be built again, identical except for signatures in photo URLs (delivery profile, "Body").
"""

from datetime import datetime

from checklist_crds.kube.client import JsonObject
from checklist_crds.resources.delivery_records import DeliveryRecord
from checklist_crds.resources.run import OutboxEntry, Run
from checklist_crds.resources.webhook_url import InsecureTargets, InvalidTarget, canonical_url
from checklist_crds.runs.events import EventName, envelope, final_data
from checklist_operator.attempts.delivery_objects import new_delivery
from checklist_operator.attempts.event_photos import key_of


def delivery_from_run(run: Run, record: DeliveryRecord, *, allow_insecure: InsecureTargets) -> JsonObject:
    """Builds the object without status, for an event that `replay_rules.refusal_of_record` accepts.

    Raises ValueError for a run without webhook, and for an event that cannot be derived from a final run.
    """
    webhook = run.spec.webhook
    if webhook is None:
        raise ValueError(f"run {run.name} has no webhook")
    entry = OutboxEntry(seq=record.seq, event=record.event, event_id=record.event_id, ts=time_of(run, record))
    message = envelope(entry, run, final_data(record.event, run, entry.ts, key_of))
    url = target_of(webhook.url, allow_insecure=allow_insecure)
    return new_delivery(run, entry, message, url=url, organization=run.admitted_as.organization)


def target_of(url: str, *, allow_insecure: InsecureTargets) -> str:
    """Returns the canonical URL; an invalid URL is returned as is, and the sender refuses it."""
    try:
        return canonical_url(url, allow_insecure=allow_insecure)
    except InvalidTarget:
        return url


def time_of(run: Run, record: DeliveryRecord) -> datetime:
    """When the event happened; from the run for records of earlier versions, which lack it."""
    if record.ts is not None:
        return record.ts
    moment = {
        EventName.RUN_COMPLETED: run.status.completed_at,
        EventName.RUN_CANCELLED: run.status.cancelled_at,
        EventName.RUN_EXPIRED: run.expires_at,
    }.get(record.event)
    return moment or run.created_at
