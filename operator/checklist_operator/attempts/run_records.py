"""What the operator records on runs: how their deliveries ended, and the condition Delivering.

Pure functions on runs, and `RunRecords`, which writes the ends of retries and replays: concurrent ones of one run share
a write.
"""

from collections.abc import Container, Iterable, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.errors import KubeNotFound
from checklist_crds.kube.run_writes import change_run_status
from checklist_crds.platform.ttl_cache import TTLCache
from checklist_crds.resources.base import ConditionStatus, with_condition
from checklist_crds.resources.delivery_records import DeliveryRecord, merge, text_of
from checklist_crds.resources.kinds import RUN, version_of
from checklist_crds.resources.run import MAX_DELIVERY_RECORDS, Run, RunStatus
from checklist_crds.runs.lifecycle import is_settled
from checklist_crds.times import Clock
from checklist_crds.values.json_text import JsonObject
from checklist_operator.runtime.call_coalescer import CallCoalescer
from checklist_operator.runtime.fresh_reads import FreshReads

DELIVERING: Final = "Delivering"
_WRITING_AT_ONCE: Final = 8
"""Concurrent writes to runs. They compete with time-critical starts of retries for the cluster."""
_REMEMBERED: Final = 256
"""Number of runs kept as last written."""
_KNOWN: Final = 16_384
"""Number of runs whose last written version is kept: a write based on an older read would fail."""


def with_records(run: Run, records: Iterable[DeliveryRecord]) -> RunStatus:
    """Returns the status with these records, and `settled` when nothing is left.

    A recorded success stays; a failure is only replaced by a success.
    """
    status = run.status
    merged = merge(status.delivery_records, records)
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


class RunPlace(NamedTuple):
    """Where a run is, and its id: its name may be used again after it was deleted."""

    namespace: str
    name: str
    run_id: str


Entry = tuple[DeliveryRecord, JsonObject | None]
"""The record, and the run as read before."""


class RunRecords:
    """Writes the ends of deliveries to their runs."""

    def __init__(self, client: KubeClient, reads: FreshReads, clock: Clock) -> None:
        self._client = client
        self._reads = reads
        self._clock = clock
        self._written: TTLCache[RunPlace, JsonObject] = TTLCache(_REMEMBERED)
        self._versions: TTLCache[RunPlace, int] = TTLCache(_KNOWN)
        self._writes: CallCoalescer[RunPlace, Entry, JsonObject | None] = CallCoalescer(
            self._write, at_once=_WRITING_AT_ONCE
        )

    async def record(
        self, run: RunPlace, record: DeliveryRecord, *, known: JsonObject | None = None
    ) -> JsonObject | None:
        """Returns the updated run; None when it is gone. `known` is the run as read before. Raises KubeError."""
        return await self._writes.add(run, (record, known))

    async def close(self) -> None:
        await self._writes.close()

    async def _write(self, run: RunPlace, entries: Sequence[Entry]) -> JsonObject | None:
        records = [record for record, _ in entries]

        def change(now: Run) -> RunStatus:
            if now.public_id != run.run_id:
                raise KubeNotFound(f"run {run.run_id} is gone")
            return with_delivering(now, with_records(now, records), None, now=self._clock())

        try:
            body = await change_run_status(
                self._client,
                run.namespace,
                run.name,
                change,
                known=self._freshest(run, [body for _, body in entries if body is not None]),
            )
        except KubeNotFound:
            return None
        self._reads.note(RUN, body)
        self._written.put(run, body)
        self._versions.put(run, version_of(body))
        return body

    def _freshest(self, run: RunPlace, read: Sequence[JsonObject]) -> JsonObject | None:
        """Returns the newest known state of the run; None if it has certainly changed since."""
        written = self._written.get(run)
        known = max([*read, *([written] if written is not None else [])], key=version_of, default=None)
        return known if known is not None and version_of(known) >= (self._versions.get(run) or 0) else None


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
