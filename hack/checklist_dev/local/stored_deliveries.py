"""WebhookDeliveries as the operator stores them, to be created without waiting for attempts."""

import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from checklist_crds.ids import new_id
from checklist_crds.resources.base import ORGANIZATION_LABEL, OrganizationRef
from checklist_crds.resources.delivery import DeliveryAttempt, OutcomeClass, WebhookDeliverySpec, WebhookDeliveryStatus
from checklist_crds.resources.delivery_records import DeliveryPhase
from checklist_crds.resources.event_names import EventName
from checklist_crds.resources.kinds import WEBHOOK_DELIVERY
from checklist_crds.resources.run import ObjectNameRef
from checklist_crds.times import format_timestamp
from checklist_dev.local.bootstrap import NAMESPACE

Json = dict[str, Any]
_GAPS_S: Final = (30, 120, 600, 3600)


@dataclass(frozen=True, slots=True)
class StoredDelivery:
    """A delivery of `step.completed` that happened at `ts`. `body` is without a status."""

    name: str
    url: str
    ts: datetime
    body: Json

    @classmethod
    def of(cls, organization: str, run_id: str, url: str, *, seq: int, ts: datetime) -> "StoredDelivery":
        event_id = new_id("evt")
        spec = WebhookDeliverySpec(
            organization_ref=OrganizationRef(name=organization),
            run_ref=ObjectNameRef(name=run_id),
            event_id=event_id,
            event=EventName.STEP_COMPLETED,
            seq=seq,
            ts=ts,
            url=url,
            payload=json.dumps(_envelope(event_id, run_id, seq, format_timestamp(ts)), separators=(",", ":")),
        )
        labels = {ORGANIZATION_LABEL: organization}
        body = {
            "apiVersion": WEBHOOK_DELIVERY.api_version,
            "kind": WEBHOOK_DELIVERY.kind,
            "metadata": {"name": event_id, "namespace": NAMESPACE, "labels": labels},
            "spec": spec.to_kube(),
        }
        return cls(event_id, url, ts, body)

    def waiting(self, due: datetime) -> Json:
        """The status after a first attempt with 503; the next one is due at `due`."""
        attempt = _attempt(1, self.ts, OutcomeClass.HTTP_5XX, due)
        return WebhookDeliveryStatus(attempt=1, next_attempt_at=due, attempts=[attempt]).to_kube()

    def failed(self, outcome: OutcomeClass) -> Json:
        """The status after five failed attempts, the first of them at `ts`."""
        started, attempts = self.ts, []
        for number, gap in enumerate((*_GAPS_S, None), 1):
            due = None if gap is None else started + timedelta(seconds=gap)
            attempts.append(_attempt(number, started, outcome, due))
            started = due or started
        return WebhookDeliveryStatus(
            phase=DeliveryPhase.FAILED, attempt=5, attempts=attempts, settled=True, finished_at=started
        ).to_kube()


def _attempt(number: int, started_at: datetime, outcome: OutcomeClass, due: datetime | None) -> DeliveryAttempt:
    is_answered = outcome is OutcomeClass.HTTP_5XX
    return DeliveryAttempt(
        number=number,
        started_at=started_at,
        duration_ms=52,
        outcome=outcome,
        http_status=503 if is_answered else None,
        next_attempt_at=due,
        detail="The endpoint answered with 503." if is_answered else "Nothing was answered within 10 s.",
    )


def _envelope(event_id: str, run_id: str, seq: int, ts: str) -> Json:
    return {
        "event_id": event_id,
        "event": "step.completed",
        "run_id": run_id,
        "template_id": "t-00000000-0000-4000-8000-000000000000",
        "template_v": 1,
        "ts": ts,
        "identity": {"mode": "anonymous"},
        "data": {
            "step_id": "s-closed",
            "section_id": "g-store",
            "type": "boolean",
            "label": "The door closes by itself",
            "value": True,
            "display": "Yes",
            "photos": [],
            "geo": None,
            "at": ts,
            "by": None,
            "revision": 1,
            "progress": {"total": 9, "answered": 1, "skipped": 0},
        },
        "seq": seq,
        "executor_ref": None,
    }
