"""Creates deliveries that failed hours ago, as the operator stores them, without waiting for the retries."""

import asyncio
import json
from collections.abc import Iterable
from datetime import timedelta
from functools import partial
from typing import Any

from checklist_crds.ids import new_id
from checklist_crds.resources.base import ORGANIZATION_LABEL, OrganizationRef
from checklist_crds.resources.delivery import Attempt, WebhookDeliverySpec, WebhookDeliveryStatus
from checklist_crds.resources.delivery_records import DeliveryPhase
from checklist_crds.resources.event_names import EventName
from checklist_crds.resources.kinds import WEBHOOK_DELIVERY
from checklist_crds.resources.outcome import OutcomeClass
from checklist_crds.resources.run import ObjectNameRef
from checklist_crds.times import format_timestamp, utc_now
from checklist_dev.browser.checklists import checklist, step
from checklist_dev.browser.office import Office
from checklist_dev.browser.stage import Link
from checklist_dev.local.bootstrap import NAMESPACE
from checklist_dev.local.local_service import is_ready

AT_ONCE = 16
READY_WITHIN_S = 90.0
GAPS_S = (30, 120, 600, 3600)


async def make_failed(office: Office, count: int, *, outcome: OutcomeClass = OutcomeClass.HTTP_5XX) -> Link:
    """Create a run and `count` of its events with five failed attempts.

    The operator is stopped meanwhile, because it would send new events.
    """
    link = office.dispatch(checklist(step("clean")), webhook=office.webhook())
    url = office.webhook()["url"]
    operator = office.stage.service.operator
    await asyncio.to_thread(operator.stop)
    numbers = iter(range(1, count + 1))
    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(AT_ONCE):
                group.create_task(_make(office, link, url, numbers, outcome))
    finally:
        operator.start()
    ready = partial(is_ready, office.stage.service.operator_port)
    await asyncio.to_thread(operator.wait_until, ready, timeout_s=READY_WITHIN_S)
    return link


async def _make(office: Office, link: Link, url: str, numbers: Iterable[int], outcome: OutcomeClass) -> None:
    organization = office.organization
    for number in numbers:
        event_id, happened = new_id("evt"), utc_now() - timedelta(hours=3)
        envelope = {
            "event_id": event_id,
            "event": "step.completed",
            "run_id": link.run_id,
            "ts": format_timestamp(happened),
            "data": {"step_id": "s-clean", "value": True},
            "seq": number,
        }
        spec = WebhookDeliverySpec(
            organization_ref=OrganizationRef(name=organization),
            run_ref=ObjectNameRef(name=link.run_id),
            event_id=event_id,
            event=EventName.STEP_COMPLETED,
            seq=number,
            ts=happened,
            url=url,
            payload=json.dumps(envelope),
        )
        status = 503 if outcome is OutcomeClass.HTTP_5XX else None
        attempts = []
        started = happened
        for attempt, gap in enumerate((*GAPS_S, None), 1):
            due = None if gap is None else started + timedelta(seconds=gap)
            attempts.append(
                Attempt(
                    number=attempt,
                    started_at=started,
                    duration_ms=52,
                    outcome=outcome,
                    http_status=status,
                    next_attempt_at=due,
                    detail="The endpoint answered with 503." if status else "Nothing was answered within 10 s.",
                )
            )
            started = due or started
        failed = WebhookDeliveryStatus(
            phase=DeliveryPhase.FAILED, attempt=5, attempts=attempts, settled=True, finished_at=started
        )
        metadata: dict[str, Any] = {
            "name": event_id,
            "namespace": NAMESPACE,
            "labels": {ORGANIZATION_LABEL: organization},
        }
        body = {
            "apiVersion": WEBHOOK_DELIVERY.api_version,
            "kind": WEBHOOK_DELIVERY.kind,
            "metadata": metadata,
            "spec": spec.to_kube(),
        }
        await office.kube.create(WEBHOOK_DELIVERY, body, NAMESPACE)
        await office.kube.patch_status(WEBHOOK_DELIVERY, event_id, failed.to_kube(), NAMESPACE)
