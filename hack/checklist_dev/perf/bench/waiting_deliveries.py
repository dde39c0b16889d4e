"""Deliveries that wait for a retry, as stored by the operator after a failed first attempt."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import cycle
from typing import Any, Final

from checklist_crds.ids import new_id
from checklist_crds.resources.base import ORGANIZATION_LABEL, OrganizationRef
from checklist_crds.resources.delivery import Attempt, OutcomeClass, WebhookDeliverySpec, WebhookDeliveryStatus
from checklist_crds.resources.event_names import EventName
from checklist_crds.resources.kinds import WEBHOOK_DELIVERY
from checklist_crds.resources.run import ObjectNameRef
from checklist_crds.times import format_timestamp, utc_now
from checklist_dev.local.bootstrap import NAMESPACE
from checklist_dev.perf.load.pace import rate_of
from checklist_dev.perf.load.raw import RawCluster

Json = dict[str, Any]
FILLING: Final = 32


@dataclass(frozen=True, slots=True)
class Waiting:
    """One delivery without a time for its second attempt."""

    name: str
    url: str
    body: bytes

    def status(self, due: datetime) -> Json:
        """The status after a first attempt with 503; the next one is due at `due`."""
        attempt = Attempt(
            number=1,
            started_at=utc_now(),
            duration_ms=12,
            outcome=OutcomeClass.HTTP_5XX,
            http_status=503,
            next_attempt_at=due,
        )
        return WebhookDeliveryStatus(attempt=1, next_attempt_at=due, attempts=[attempt]).to_kube()


def waiting_deliveries(runs: Sequence[Mapping[str, Any]], count: int) -> Iterator[Waiting]:
    """`count` deliveries for `runs` (as in the cluster) in turn, to their webhooks."""
    for number, run in zip(range(1, count + 1), cycle(runs), strict=False):
        yield _waiting(run, run["spec"]["webhook"]["url"], seq=number)


def _waiting(run: Mapping[str, Any], url: str, *, seq: int) -> Waiting:
    event_id, now = new_id("evt"), utc_now()
    run_id, organization = run["metadata"]["name"], run["metadata"]["labels"][ORGANIZATION_LABEL]
    spec = WebhookDeliverySpec(
        organization_ref=OrganizationRef(name=organization),
        run_ref=ObjectNameRef(name=run_id),
        event_id=event_id,
        event=EventName.STEP_COMPLETED,
        seq=seq,
        ts=now,
        url=url,
        payload=json.dumps(_envelope(event_id, run_id, seq, format_timestamp(now)), separators=(",", ":")),
    )
    body = {
        "apiVersion": WEBHOOK_DELIVERY.api_version,
        "kind": WEBHOOK_DELIVERY.kind,
        "metadata": {"name": event_id, "namespace": NAMESPACE, "labels": {ORGANIZATION_LABEL: organization}},
        "spec": spec.to_kube(),
    }
    return Waiting(event_id, url, json.dumps(body, separators=(",", ":")).encode())


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


async def create(cluster: RawCluster, deliveries: Sequence[Waiting]) -> float:
    """Create the objects without status, while no operator runs; returns objects per second."""
    calls = (partial(cluster.create, WEBHOOK_DELIVERY, each.body) for each in deliveries)
    return await rate_of(calls, concurrency=FILLING)


async def let_wait(cluster: RawCluster, deliveries: Sequence[Waiting], due: Sequence[datetime]) -> None:
    """Set the times of the second attempts."""
    await rate_of(
        (
            partial(cluster.patch_status, WEBHOOK_DELIVERY, each.name, each.status(moment))
            for each, moment in zip(deliveries, due, strict=True)
        ),
        concurrency=FILLING,
    )
