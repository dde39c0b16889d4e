"""The operator's writes to a run's status: records of its events, and the condition Delivering.

Pure functions on runs, and `change_run_status`, which writes their result (`run_writes`).
"""

from collections.abc import Callable, Container, Iterable, Sequence
from datetime import datetime

from checklist_crds.kube.client import JsonObject, KubeClient
from checklist_crds.kube.run_writes import read_decide_write, write_status
from checklist_crds.resources.base import ConditionStatus, with_condition
from checklist_crds.resources.delivery_records import DeliveryRecord, merge, text_of
from checklist_crds.resources.kinds import RUN
from checklist_crds.resources.run import MAX_DELIVERY_RECORDS, Run, RunStatus
from checklist_crds.runs.lifecycle import is_settled

DELIVERING = "Delivering"

StatusChange = Callable[[Run], RunStatus]


def with_records(run: Run, records: Iterable[DeliveryRecord]) -> RunStatus:
    """Returns the status with these records, and `settled` when nothing is left.

    A recorded success stays; a failure is only replaced by a success.
    """
    status = run.status
    merged = merge(status.deliveries, records)
    named = {record.event_id for record in merged}
    outbox = [entry for entry in status.outbox if entry.event_id not in named]
    kept = _trimmed(merged, still_in_outbox={entry["seq"] for entry in run.stored.get("outbox") or ()})
    update = {"outbox": outbox, "records": text_of(kept), "structured_records": []}
    return settled_if_done(status.model_copy(update=update))


def settled_if_done(status: RunStatus) -> RunStatus:
    """Sets `settled` if the run is final and has nothing left to send."""
    return status.model_copy(update={"settled": True}) if is_settled(status) and not status.settled else status


def with_delivering(run: Run, status: RunStatus, fault: tuple[str, str] | None, *, now: datetime) -> RunStatus:
    """Sets the condition Delivering: False with (reason, message) of a local fault, True after one.

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
    client: KubeClient,
    namespace: str,
    name: str,
    change: StatusChange,
    *,
    known: JsonObject | None = None,
    tidy: bool = False,
) -> JsonObject:
    """Writes `change(run)` and returns the updated run. `known` is a copy that saves the first read, `tidy` removes
    recorded events from the outbox, unless the run is being changed.

    `change` receives the run without answers, and may be called several times. Raises KubeNotFound, KubeUnavailable
    and other KubeErrors.
    """

    async def read() -> JsonObject:
        return await client.get(RUN, name, namespace)

    async def decide_and_write(body: JsonObject) -> JsonObject:
        nonlocal tidy
        run, is_tidy, tidy = Run.parse(body, answers=False), tidy, False
        return await write_status(client, run, change(run), tidy=is_tidy) or body

    return await read_decide_write(read, decide_and_write, known=known)


def _trimmed(records: Sequence[DeliveryRecord], *, still_in_outbox: Container[int]) -> list[DeliveryRecord]:
    """Drops the oldest finished records of a long run; keeps unfinished ones, and those whose event would count as
    unsent without them."""
    excess = len(records) - MAX_DELIVERY_RECORDS
    kept = []
    for record in records:
        if excess > 0 and record.phase.is_final and record.seq not in still_in_outbox:
            excess -= 1
        else:
            kept.append(record)
    return kept
