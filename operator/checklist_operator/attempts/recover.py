"""Finds deliveries that an earlier process created or finished but did not write to the run."""

from collections.abc import AsyncIterator, Container

from checklist_crds.resources.delivery_records import DeliveryPhase, DeliveryRecord
from checklist_crds.resources.run import Run
from checklist_operator.attempts.delivery_objects import DeliveryObjects


async def find_records(
    objects: DeliveryObjects, run: Run, *, excluding: Container[str]
) -> AsyncIterator[DeliveryRecord | None]:
    """Yields the progress of each event of the run that may have a delivery; None for an event without one.

    `excluding`: events that are being sent now. Raises KubeError.
    """
    outbox = {entry.event_id for entry in run.status.outbox}
    for entry in run.status.outbox:
        if entry.event_id not in excluding:
            yield await objects.record_of(run.namespace, entry.event_id, in_outbox=True)
    if not run.status.phase.is_final:
        return
    for record in run.status.delivery_records:
        if record.phase.is_final:
            continue
        found = await objects.record_of(run.namespace, record.event_id, in_outbox=record.event_id in outbox)
        is_lost = found is None and record.event_id not in outbox
        yield record.model_copy(update={"phase": DeliveryPhase.FAILED}) if is_lost else found
