"""The facts after a load: what was acknowledged, stored and received, and which processes were killed."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from typing import Any, Final

from checklist_crds.kube.client import KubeClient
from checklist_crds.limits.quota import Quota
from checklist_crds.resources.base import ORGANIZATION_LABEL
from checklist_crds.resources.delivery import WebhookDeliveryStatus
from checklist_crds.resources.delivery_records import DeliveryRecord
from checklist_crds.resources.kinds import ORGANIZATION, RUN, WEBHOOK_DELIVERY
from checklist_crds.resources.run import Run
from checklist_crds.runs.lifecycle import is_settled
from checklist_crds.times import utc_now
from checklist_dev.local.bootstrap import NAMESPACE
from checklist_dev.perf.load.ledger import Kill, RunRecord
from checklist_dev.perf.load.received import Transmission

MAX_SHOWN = 20
_SOON: Final = timedelta(minutes=1)
"""Longer than the expiry of runs in the load."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Whether one guarantee held. `violations` name the run or the event."""

    name: str
    checked: int
    violations: Sequence[str] = ()

    @property
    def holds(self) -> bool:
        return not self.violations

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "holds": self.holds,
            "checked": self.checked,
            "violations": len(self.violations),
            "examples": list(self.violations[:MAX_SHOWN]),
        }


@dataclass(frozen=True)
class ClusterState:
    """The objects of one organization."""

    runs: Mapping[str, Run]
    deliveries: Mapping[str, WebhookDeliveryStatus]
    """By event id."""
    quota: Quota

    def unsettled(self) -> list[str]:
        """Runs with an event to send or record, runs that expire soon, and ended runs that are not settled."""
        soon = utc_now() + _SOON
        return [
            run.id
            for run in self.runs.values()
            if run.status.outbox
            or any(not record.phase.is_final for record in run.status.delivery_records)
            or run.phase_at(soon) is not run.status.phase
            or (run.status.phase.is_final and is_settled(run.status) and not run.status.settled)
        ]


async def cluster_state(kube: KubeClient, organization: str) -> ClusterState:
    """Raises KubeError."""
    label = f"{ORGANIZATION_LABEL}={organization}"
    runs, _ = await kube.list_all(RUN, NAMESPACE, label_selector=label)
    deliveries, _ = await kube.list_all(WEBHOOK_DELIVERY, NAMESPACE, label_selector=label)
    body = await kube.get(ORGANIZATION, organization)
    return ClusterState(
        runs={run.id: run for run in map(Run.parse, runs)},
        deliveries={
            delivery["spec"]["eventId"]: WebhookDeliveryStatus.model_validate(delivery.get("status") or {})
            for delivery in deliveries
        },
        quota=Quota.parse((body.get("status") or {}).get("quota")),
    )


@dataclass(frozen=True)
class Facts:
    """The input of every check in `invariants`."""

    records: Sequence[RunRecord]
    state: ClusterState
    transmissions: Sequence[Transmission]
    kills: Sequence[Kill]
    gaps: Sequence[float]
    views: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """GET /v1/runs/{run_id} of every run, at the end."""
    abandoned: str = "abandoned"
    """executorRef of runs whose dispatch got no answer and was not repeated: they may exist or not."""

    @cached_property
    def by_event(self) -> Mapping[str, Sequence[Transmission]]:
        """Transmissions by event id, in order of arrival."""
        grouped: dict[str, list[Transmission]] = defaultdict(list)
        for transmission in sorted(self.transmissions, key=lambda each: each.at):
            grouped[transmission.event_id].append(transmission)
        return grouped

    @cached_property
    def operator_kills(self) -> Sequence[Kill]:
        return [kill for kill in self.kills if kill.of_operator]

    def operator_died_between(self, start: float, end: float) -> bool:
        return any(kill.after >= start and kill.before <= end for kill in self.operator_kills)

    def events(self) -> Iterable[tuple[RunRecord, Run, DeliveryRecord]]:
        """Every event that left an outbox, with its run."""
        for record in self.records:
            run = self.state.runs.get(record.run_id)
            if run is not None:
                for delivery in run.status.delivery_records:
                    yield record, run, delivery
