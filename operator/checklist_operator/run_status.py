"""The operator's own writes to a run's status: what happened to its events, and whether they can be sent at all.

Pure functions on RunStatus, and the one way in which they reach the cluster: read, change, write on condition that
nobody wrote in between.
"""

from collections.abc import Callable, Iterable
from datetime import datetime

from checklist_crds import merge_patch
from checklist_crds.kube.client import JsonObject, KubeClient, retry_conflicts
from checklist_crds.kube.kinds import RUN
from checklist_crds.resource_types import ConditionStatus, with_condition
from checklist_crds.run_lifecycle import is_settled
from checklist_crds.run_types import MAX_DELIVERY_RECORDS, DeliveryPhase, DeliveryRecord, Run, RunStatus

DELIVERING = "Delivering"

StatusChange = Callable[[Run], RunStatus]


def with_records(status: RunStatus, records: Iterable[DeliveryRecord]) -> RunStatus:
    """The status after these events left the outbox, or got further after they had. `settled` when nothing is left.

    A recorded success stays, and a failure is only replaced by a success, whatever comes late.
    """
    known = {record.event_id: record for record in status.deliveries}
    named = set()
    for record in records:
        named.add(record.event_id)
        before = known.get(record.event_id)
        if before is None or not before.phase.is_final or _is_late_success(before, record):
            known[record.event_id] = record
    outbox = [entry for entry in status.outbox if entry.event_id not in named]
    deliveries = _trimmed(sorted(known.values(), key=lambda record: record.seq))
    return settled_if_done(status.model_copy(update={"outbox": outbox, "deliveries": deliveries}))


def settled_if_done(status: RunStatus) -> RunStatus:
    """`settled` as soon as the run is final and nothing is left to send."""
    return status.model_copy(update={"settled": True}) if is_settled(status) and not status.settled else status


def with_delivering(run: Run, status: RunStatus, fault: tuple[str, str] | None, *, now: datetime) -> RunStatus:
    """The condition Delivering: False with (reason, message) of a fault of our own, and True again after one.

    A run that never had a fault has no such condition.
    """
    before = next((condition for condition in status.conditions if condition.type == DELIVERING), None)
    if fault is None:
        if before is None or before.status is ConditionStatus.TRUE:
            return status
        fault = ("Recovered", "Events are being sent again.")
        holds = True
    else:
        holds = False
        if before is not None and before.status is ConditionStatus.FALSE and before.reason == fault[0]:
            return status
    conditions = with_condition(status.conditions, DELIVERING, holds, *fault, now=now, generation=run.generation)
    return status.model_copy(update={"conditions": conditions})


async def change_run_status(
    client: KubeClient, namespace: str, name: str, change: StatusChange, *, known: JsonObject | None = None
) -> JsonObject:
    """Writes `change(run)` and returns the run as it is then. `known` is a copy that spares the first read.

    Raises KubeNotFound, KubeUnavailable and other KubeErrors. `change` may be called several times.
    """
    remembered = [known] if known is not None else []

    async def attempt() -> JsonObject:
        body = remembered.pop() if remembered else await client.get(RUN, name, namespace)
        run = Run.parse(body)
        patch = merge_patch.diff(run.status.to_kube(), change(run).to_kube())
        if not patch:
            return body
        return await client.patch_status(RUN, name, patch, namespace, resource_version=run.resource_version)

    written: JsonObject = await retry_conflicts(attempt)
    return written


def _is_late_success(before: DeliveryRecord, record: DeliveryRecord) -> bool:
    return before.phase is DeliveryPhase.FAILED and record.phase is DeliveryPhase.DELIVERED


def _trimmed(records: list[DeliveryRecord]) -> list[DeliveryRecord]:
    """The newest records; of a long run the oldest finished ones go first, unfinished ones never."""
    excess = len(records) - MAX_DELIVERY_RECORDS
    kept = []
    for record in records:
        if excess > 0 and record.phase.is_final:
            excess -= 1
        else:
            kept.append(record)
    return kept
